// Package engine moves messages between connections: it parses what clients send, finds who gets it, and
// writes it out. It listens on nothing and decides about nobody: package server hands it connections and,
// as its [Handler], says who may in.
//
// # A message's way
//
// A worker has a read buffer, a match cache, one stage for each target that the current batch produced
// bytes for, and counters; nothing in it is shared, so a delivery takes no lock. The transport of a
// connection borrows a worker while it has data: the worker parses the frames, looks each subject up in its
// cache, and appends "prefix + verbatim tail of the input" to the stage of every target. At the end of the
// batch the worker writes the stages itself. Only what a socket does not take goes to that connection's
// outbound queue, which its transport drains when the socket is writable again.
//
// A match entry is valid for one (profile, subject); everything that could make a delivery special
// (permissions, auto-unsubscribe, clients without headers, internal subscribers) is evaluated when the entry
// is filled and leaves one flag. No flag: the fast loop.
//
// The server's own messages go the same way: a [Publisher] has a worker too, and instead of a frame a letter, which
// is put together for each target. What it is given is borrowed like the read buffer. It never waits for a
// target; who can wait asks [Publisher.Blocked] before a batch. The other way round, an internal subscription
// ([Engine.Subscribe]) is handed messages in the worker's memory, and can have their publisher parked.
//
// # Other servers
//
// A route is a line, too. What the other server wants are subscriptions in the trees, whose owners are routes: a match entry
// has them apart ([far]), and a message is staged for each of those servers once, with the queue groups that it is to serve.
// What comes from a route is delivered to subscribers here and goes no further. In return others are told what is
// subscribed to here, before a message that asks for an answer is sent.
//
// # Invariants
//
//   - Order per publisher and subscriber: one worker parses a publisher; a stage is written or queued whole
//     before the next one for that target; while somebody writes a socket, others only append to its queue;
//     the rest of an interrupted write goes before what was queued meanwhile.
//   - No lost writable edge: an edge that comes while somebody writes sets a flag that the writer looks at
//     before it leaves.
//   - No stale wake-up of a parked publisher: waking one that is no longer parked does nothing.
//   - Borrowed bytes never outlive the batch: they are written or copied before the read buffer is reused, or
//     before Flush returns.
//   - SUB before PONG: the generation of the interest tree changes before the next operation of that
//     connection; a match takes its stamp before it asks the tree.
//   - One hop: interest that a route has told is told to nobody, and a message of a route is sent on no route.
//   - Closing: "closing" and "descriptor closed" are different states; a descriptor is closed under the
//     outbound lock with no writer active, because descriptor numbers are reused.
//   - Bounded memory: a worker holds its read buffer and at most stageTargets stages; a connection holds at
//     most max_pending bytes outbound and one incomplete frame inbound.
package engine
