// Package monitor answers "how is the server doing": the HTTP monitoring pages (/varz, /connz, ...), the
// health probe and the Prometheus metrics.
//
// It knows no engine and no socket of the server. Everything it shows comes from a [Source], which hands out
// plain copies; a page therefore never holds a lock of the server and can be built while messages flow.
//
// The same typed pages serve two callers: [Handler] puts them on HTTP, package system answers requests
// on $SYS subjects with them. Each page has one options type that is read from a URL query or from a JSON
// object under the parameter names documented for nats-server; a bad value is refused with an error that
// names the parameter and what it may be.
package monitor
