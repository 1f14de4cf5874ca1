// Package transport carries what the servers of a cluster have to tell one another about their streams: the messages of
// all raft groups, calls to services, and streams of files. It uses the two links for that which cluster/mesh makes between any
// two servers, and finds out who reaches whom.
//
// # Links
//
// The heartbeat link carries what is small and must be in time: heartbeats, votes, pings, hints. The data link
// carries entries, snapshots, calls and streams. An answer goes over the link of its request. Each link has a goroutine that reads
// it, which never waits for anything else, and one that writes it, which takes all that is waiting: so the frames of many groups
// share a write whenever one is under way. Control frames come first, then entries and calls, then streams.
//
// Everything that waits has a bound. A group that sends entries waits for room in what may be queued for the peer; what is too
// much for the main loop of a group at the other end is refused there, unread, and raft tries again. So a group, a peer or a
// handler that is slow holds up itself.
//
// # Frames
//
// Each side begins with the eight bytes "RNRAFT", the version and the kind of the link. A frame follows after another:
//
//	+--------+------+------------------+
//	| length | kind | body             |   length: 4 bytes, of kind and body; kind: 1 byte
//	+--------+------+------------------+
//
// All integers are little endian. What is not as it should be ends the link; a group or a request that is not known is
// answered with an error. Bodies (8 bytes where nothing else is said):
//
//	 1 append       id, group, term, previous index and term, commit index, count (4); for each entry
//	                index, term, type (1), time, length of data (4), of extensions (4), data, extensions
//	 2 heartbeat    id, group, term
//	 3 vote         id, group, term, last index, last term, leadership transfer (1)
//	 4 pre-vote     id, group, term, last index, last term
//	 5 timeout now  id, group
//	 6 install      id, group, version (1), term, last index, last term, index of the configuration, size, count (4); for each
//	                server suffrage (1), id and address (each with its length, 1); then the snapshot
//	 7 answer       id, code (1); if that is 0 what raft or the service has answered, else a text
//	 8 progress     id
//	 9 hints        for each group, term, index
//	10 hint answer  group, term, index, verdict (1)
//	11 ping         time, the nodes that the sender reaches (each with its length, 1)
//	12 pong         time of the ping
//	13 call         id, time left, name of the service (with its length, 1), request
//	14 cancel       id
//	15 fetch        id, offset, credit in bytes, request
//	16 credit       id, bytes
//	17 chunk        id, bytes of the stream
//	18 end          id, code (1), text
//
// # Heartbeats
//
// An idle group costs its heartbeats, so these wait for company: until the next ping, unless the group is prompt. They are handled beside raft's main
// loop, which may be waiting for a disk, but for those that change the term: see Group.beat.
//
// # Commit hints
//
// Raft tells followers of a commit with the next entries, or after its CommitTimeout, which is long here since thousands of idle
// groups are to cost nothing. So with each ping a leader hints at the commit indexes that followers do not know yet. A hint is what
// raft could have sent: an AppendEntries without entries, whose previous entry is the last committed one, of the leader's
// own term. It goes through raft's main loop at the other end.
//
// # Who is reached
//
// Servers ping one another four times a second, and say in it whom they reach: whose answer to a ping has come within the last
// second. A link that breaks and is made again within that time is nothing. When a peer has been silent for five seconds its
// links are closed, so that the mesh makes new ones, which work as soon as the network does.
package transport
