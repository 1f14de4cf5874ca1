// Package workload is what clients do to a cluster while faults happen: the workloads W1 to W14 (there is no W12 yet). Each writes a
// history of what it did and what came of it (package history), which is all that the checks get to see.
//
// # Processes
//
// A process is one client: a connection of its own to one server, and one thing at a time. It stays with its server
// and reconnects for ever, so that the history knows at which server something was done. While it is not connected it does
// nothing. What it has begun when the workload ends it brings to an end. Every call has a time limit, and a watchdog
// notices clients that come to nothing though their server answers: each time is a [history.Stall].
//
// A message's value is "<process>-<n>", and its body repeats the value up to the size of the load, so that a body that was
// damaged is known when it is read.
//
// # What is asked once
//
// No request is sent twice by a library: what is tried again is an operation again. So a refusal is always about the
// operation that it stands at. Which answers are refusals is in result.go. Reads that fail are not in the history.
//
// # Reading from one replica
//
// What a single replica has is read in two ways, which are the same on this server and on nats-server 2.15:
//
//   - Direct get. All replicas of a stream with allow_direct subscribe to the requests, as one queue group. A server takes a
//     member of its own before one elsewhere, so the request is answered by the server that the client is connected to if that has a replica
//     which is current, and by another one otherwise. The answer does not say by whom. Therefore final reads wait
//     until all replicas are current, and only ask servers that the stream's information names. (Seen on nats-server
//     2.15.2: of three servers two are stopped in turn, and the third answers every direct get, with and without batch.)
//   - A pinned consumer. The leader of a consumer reads what its own server has. A request to CONSUMER.LEADER.STEPDOWN whose
//     placement prefers a server moves the leader there. nats-server moves the consumer alone, here the consumers are
//     led by who leads the stream, so the stream moves too. The consumer's information says who leads, before and after the
//     reading. What has one replica has one leader, and nothing is moved. Work queues and streams that are kept by
//     interest are only read by direct gets, since a consumer would change them.
//
// Requests to STREAM.MSG.GET are answered by who takes itself for the stream's leader.
package workload
