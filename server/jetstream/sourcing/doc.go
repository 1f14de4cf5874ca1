// Package sourcing copies messages from streams into others: into mirrors, which are copies with the same sequences
// and times, and into streams with sources, which gather what others have.
//
// The origin may be in the same server or anywhere else: it is only ever reached over the API of the account. For each
// mirror and source there is a puller. It has the origin make a push consumer that delivers to a subject of the
// puller's own, and turns what comes into commands. Flow control is answered when what came before it is stored, so
// that neither side piles up messages. When something is missing in what the consumer counts, or the origin is
// silent for ten seconds, the consumer is given up, and another one goes on behind the last message that was
// stored. Where that is, is never remembered apart from the messages: the state of the stream knows it.
//
// # Goroutines
//
// A puller is an actor: a mutex guards its mailbox, and one goroutine empties it, which exists only while there is
// something to do. An idle puller has nothing but its two subscriptions and one timer. Handlers of subscriptions,
// timers and results of commands only put something into the mailbox.
package sourcing
