// Package keyed is what keeps messages of one key in order while many workers share a consumer: what the key of
// a message is (Expression), and which message may be delivered next so that of each key at most one is in
// flight (Table). It knows no stream, no network and no clock.
//
// # Keys
//
// An expression says where the key of a message is:
//
//	token:2            the second token of the subject
//	tokens:1-3         the first three, with the dots between them
//	header:Order-Id    the first header field of this name, compared with its case
//	json:order.id      a field of a JSON body: a string, number, true or false; a number in the path is a place in an
//	                   array, counted from 0; a dot within a name is written \. and a backslash \\
//
// A message that does not have it has no key, and nothing to wait for. An empty text is a key like others. Keys
// are compared byte by byte; a number is taken as it is written, so 1 and 1.0 are two keys. Of a body only what is
// before the field is read; of fields with the same name the first one counts.
//
// # Turns
//
// A Table has one turn for each key of which it knows an undone message. The turn is at one message, and the
// later ones wait behind it in a list. A message takes this way:
//
//	        Offer                        Take               Done
//	stream ───────▶ waiting ──▶ ready ─────────▶ in flight ────────▶ out of the table
//	                (its key      ▲                │    ▲              (the next one that waits is ready)
//	                 has another) │           Back │    │ Take
//	                              │                ▼    │
//	                              │              returned            Fail: done, or with Block: blocked,
//	                              │                                  until Done or Back
//	                           Rescan
//
// Ready keys are served in the order in which they became so. A key with many messages comes once a round, like
// others.
//
// Memory is bounded. A key lists at most PerKeyMax messages. Of those that come later the Table only knows the
// first and the last: when the list has been worked off, it asks with Rescan for what lies between. When
// WaitingMax messages wait in all, Full says that no more is to be offered. The number of keys in the stream
// costs nothing: a key is known while a message of it waits or is in flight.
//
// A Table is volatile. Who becomes leader of a consumer makes a new one: Offer and Take of what is in flight, in
// stream order, Back or Fail for what is not with a worker, and then Offer of what follows. If one of the first
// waits, since its key has the same hash as another one in this Table, it just comes to its turn later; who takes
// it then sees that it was delivered or done.
package keyed
