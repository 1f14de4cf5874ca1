// Package mesh keeps the servers of a cluster connected: each with each, authenticated, one set of connections for
// each pair. It knows members and links, and nothing of subjects, accounts or raft.
//
// # Sessions
//
// Two servers that know one another have a session. Its backbone is the control link, a connection that carries
// pings and what either of them has to tell: what has changed with itself, and who else is there. All other links
// of the pair (for routes, one for each member of the pool and for each account that is pinned; for raft, two)
// belong to the session: the server that dialled the control link dials them, shows the token of the session, and
// dials again what breaks. When the control link ends, all end.
//
// Both servers may dial at the same time, and only one session may come of it. So one of the two decides, always the
// same, whoever has dialled: the server with the smaller id. It numbers its decisions, and since there is one
// decider, there is nothing that the two could see differently:
//
//	dialler    magic, hello ─────▶  acceptor   credentials, name, cluster: refused here, with the reason
//	dialler  ◀───── magic, hello    acceptor   the other way round
//	follower         have ─────▶    decider    the last session that the follower had and has no more
//	follower   ◀───── decision      decider    number and token, or "duplicate"
//	follower         ready ─────▶   decider    from here on frames of the session
//
// If the decider still has a session, the new one is a duplicate: the follower has that session too, or its decision is
// on the way. Unless it is the one that the follower had and has no more; then the decider replaces it.
// Whenever a session stands in the way of a newcomer, it is asked by a ping whether it is still alive.
//
// A link of any other kind needs one question (link) and one answer (ready). After that its bytes are its user's.
//
// # Who is there
//
// Each server tells the others whom it has sessions with. A server that hears of one that it does not know dials it,
// and goes on for as long as anybody is connected to it. Seeds, the addresses of the configuration, are dialled
// for ever. So a mesh is complete whenever the seeds join it, and what falls apart comes together again.
//
// # Frames
//
// Each side begins with the eight bytes "RUNNEL1\n". A frame is the length of its body in four bytes, big endian,
// and the body in JSON. What is not known in it is skipped, so that servers of different versions get along;
// a change that is not compatible takes another number in the first eight bytes.
package mesh
