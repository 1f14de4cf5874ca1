// Package replicas runs what the meta group has assigned to this server: it makes, opens and removes the streams of the store, opens
// the raft group of each replicated one, brings members in and out as assignments change, and finds dead leaders.
//
//	r, err := replicas.Open(replicas.Config{Self: node, Meta: meta, Store: store, Transport: transport, Service: service})
//	status, ok := r.Status(id)
//
// # How a replica begins
//
// All that the meta group gave a new stream to begin with the same empty state at the same place, also when one of them hears of it late. Who comes later
// begins with nothing, is added by the leader as a member without a vote, gets a checkpoint, and is promoted. A stream that one server has
// alone has no group; when it gets others, what it has becomes the first replica of a new group, whose terms and
// indexes are beyond all that an earlier group of the stream has had: the version of the assignment is in them.
//
// # What the leader does
//
// The leader compares the members of its group with the assignment and takes one step at a time (see decide): add, promote, remove, hand over. Members are replaced one
// by one, so that the group never has fewer voters than it should. When all is done it tells the meta group.
//
// # What is done only when this server knows what is decided
//
// After a start the meta group's state may be an old one for a while. Until this server has heard from the meta group's leader, only streams are
// opened that are here and that fit what is known; nothing is made, removed or given up. Else a replica that has left might begin anew and
// forget how it has voted.
//
// # Damage
//
// A replica that has lost something, or whose state is not that of the majority, does not take part. It asks the leader to be
// removed, gives up what it has, and is added again like a new one.
//
// # A full disk
//
// A server whose disk is full refuses publishes to what it leads. It asks the others for room and has those that have it lead instead; a server
// that was full a moment ago says that it has none. Where all are full nothing changes.
//
// # Goroutines
//
// One looks around four times a second: for leaders that a majority cannot reach, and for groups whose members are not as assigned. Everything else is
// done by goroutines that live while there is something to do, one for each stream at a time.
package replicas
