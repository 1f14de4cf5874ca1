// Package ingest takes what is published on the subjects of streams, has it stored, and answers the publishers.
//
// A message goes through four hands:
//
//	Take      on the publisher's worker: copies the message once into the stream's queue, which is bounded
//	drain     makes commands of what is in the queue, packs them and starts them
//	the log   stores, and calls back with the results, in the order of the commands
//	acker     one of a few, with an outlet each: acknowledges, republishes, tells consumers
//
// None of them has a goroutine of its own. At the end of a batch the worker drains (Flush), as long as nothing has to be
// waited for; then a goroutine goes on, which lives as long as the queue is not empty. Whoever has applied the commands
// answers them, for all that were safe at the same time. So a message that comes alone wakes nobody but the log, and
// messages that come together cost little more than one.
//
// Only drain waits when the log takes nothing, on its goroutine, so a full disk holds up the publishers of one stream and nobody's
// connection. A message that cannot wait is refused with a 429 status. A publisher gets no answer when it is not
// known what became of its message.
//
// # Batches
//
// Drain puts atomic batches together and gives each to the log as one command. Messages of fast batches are stored
// as they come, like others; drain sees to their order, and the acker says how far a batch has come. Both kinds are only in
// memory: after a restart their publishers are told that the batch is not known. A batch that is left alone ends
// after some seconds, by a timer that a stream has while batches are open.
//
// # Who owns what
//
// A stream's queue has a mutex. What drain needs between messages belongs to drain: there is one at a time, and
// the mutex hands it from one to the next. All records of a stream go through the same acker, which owns what it
// needs of the stream likewise. Records pass from hand to hand and are never shared.
package ingest
