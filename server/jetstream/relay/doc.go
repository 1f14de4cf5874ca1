// Package relay looks after requests for messages that another server answers: pulls of consumers, and direct gets.
//
// They go to the one server that leads a stream, or to one that has it, and nobody else hears of them. If that server goes, whoever
// waits would learn nothing. So the server whose client has asked remembers, for a while, who was sent what ([Relay.Witness]), and when
// a server is gone ([Relay.Lost]) a pull ends with 409 Leadership Change: its client has got what it has got, and asks again. A direct
// get of one message is put to another server, which is no harm if it was answered; one of several messages, which may have been
// answered in part, ends with 503.
//
// A pull that nobody got, since nobody leads the stream at the moment, is held until somebody does.
package relay
