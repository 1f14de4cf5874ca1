// Package msgtrace is how the way of a single message through the server is told to who asks.
//
// A publisher asks with a header: Nats-Trace-Dest names the subject on which a report is published, and Nats-Trace-Only
// says that the message itself is to reach nobody. Accounts may have messages reported, too, that belong to a trace of
// another system, which their header traceparent says. The package reads these headers, and a Trace takes the steps of
// one message and is what the report shows of them; it knows neither connections nor streams, and who uses it publishes
// the report.
package msgtrace
