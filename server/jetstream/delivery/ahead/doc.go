// Package ahead chooses what a consumer gets next where that is not simply the next message of its stream: a content filter
// leaves messages out, and with keys one waits until the one before it of its key is done.
//
//	a := ahead.New(rules, held, upTo)      // from the state, when nothing is under way
//	look, err := a.Look(source, at, want)  // messages to deliver, and what was looked at for that
//	a.Sent(n)                              // so many of them were; the others come first in the next look
//	a.Done(sequence)                       // and Failed, as answers come in
//	a.Review(state)                        // now and then: what has gone in other ways
//
// # Where messages come from
//
// A look takes, in this order: messages that are ready, since those before them of their keys are done; those that the state
// has as passed over and this Ahead does not know yet, since it was made when another one had looked at them; and what comes next
// in the stream. What it looked at in the stream is to become a Skip command, before any of it is delivered. It names as passed
// over all that the consumer is to get, also what is delivered at once: so whoever leads the consumer next finds in the state
// whatever was not delivered.
//
// # Bounds
//
// A look reads a limited number of messages and bytes, and says whether there is more to do. Memory is bounded by the keyed.Table:
// of a key with many messages only some are listed, the others are looked for again in what the state has as passed over.
//
// An Ahead is volatile, and for one goroutine. It knows no clock.
package ahead
