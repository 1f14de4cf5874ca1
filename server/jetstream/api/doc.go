// Package api is the vocabulary of the JetStream API: its subjects, requests, answers, errors, advisories, statuses
// and acknowledgements, as bytes and as values.
//
// It is pure. Nothing here keeps state, knows a stream, a connection or a clock, or starts anything; every function
// may be called by anybody at any time. What is parsed comes from clients and may be anything; what is wrong is
// refused with an *Error of the one table in errors.json or with a status line, and memory stays in proportion to
// the input.
//
//	endpoint.go  subject.go   which call is meant: endpoint, domain, stream, consumer, filter
//	decode.go    scan.go      bodies of requests, strict or not, by the rule of the endpoint
//	request.go   get.go       what requests say
//	answer.go    info.go      what answers say, their types and the members that always stand in them
//	acksubject.go ackbody.go  acknowledgements
//	pull.go      status.go    pull requests and what is said to them instead of messages
//	advisory.go               what is published about what happens
//	level.go                  required levels, and metadata about them
package api
