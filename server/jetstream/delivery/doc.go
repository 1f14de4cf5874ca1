// Package delivery sends what streams have to those who consume it.
//
//	pool := delivery.New(delivery.Config{Outlet: ..., Watch: ..., Events: ...})
//	deliveries := pool.Open(account, log, clock) // for all consumers that the log has
//	deliveries.Stored(subject, sequence)         // after each publish that was applied
//	deliveries.Pull("consumer", request)         // and Ack, FlowControl, as they come in
//
// # Who does what
//
// What a consumer has delivered, and what waits for an answer, is in the stream's state and changes by commands
// alone. What is here is only who waits for messages, and how far has been sent: it may be lost at any time.
//
// Each consumer is an actor. Whatever happens to it is put into its mailbox; one worker of the pool at a time takes
// the mailbox and gives the consumer a turn: answers become one Ack command, requests join those that wait, messages
// are read, staged in the worker's Outlet and noted in one Deliver command. A turn is bounded, after it the
// consumer stands behind the others that are ready. A consumer that has nothing to do has no goroutine, no timer and no
// buffers.
//
// # The cursor
//
// Commands are started and not waited for, since each takes as long as the disk takes. So a consumer is ahead of its
// applied state: its cursor says which consumer sequence and which message came last, and its flights are the commands
// whose results are still out. A flight carries the state that it was made from. If that no longer holds
// when it is applied (the consumer was reset, the stream purged) it is refused, and the consumer goes on from the
// applied state: what was sent is sent again.
//
// # Committed first
//
// Where a stream has replicas, what is to be acknowledged one by one is not sent before its delivery is in the state, since
// somebody else may lead the stream next. A turn chooses messages and who gets them, which takes up requests and
// windows at once; they are held in a parcel, which travels with the flight. The turn that sees the flight land sends
// them. If it fails, what they took up is given back, and nothing was sent. A request ends when it has got what
// is held for it. Here the cursor is ahead of what was sent, too.
//
// Acknowledgements that nobody waits for go into the entry of the next delivery, or wait for a moment.
//
// So it is with keys, on one server too: otherwise a start could find that a message is to come again whose successor somebody has.
//
// # Looking ahead
//
// A consumer with a content filter or with keys has a lookout (see package ahead), which chooses what is sent. What it has looked at
// becomes a Skip command, in front of the Deliver that names what was sent of it: the cursor is where it has looked to. Where
// nothing was for the consumer that may wait for a moment.
//
// # Trouble
//
// A command that cannot be started, because the disk is full or the log is busy, waits in the outbox. The
// consumer sends nothing new meanwhile and tries again with growing pauses.
//
// # Locks
//
// A consumer's mutex guards its mailbox and phase, a pool's its queue. Neither is held while anything else is called.
package delivery
