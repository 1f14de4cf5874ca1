package transport

import "github.com/hashicorp/raft"

// rebase lets an AppendEntries begin at the base of the group, if it begins before.
//
// A leader that has lost an answer sends again what a follower may not have in its log any more, as that is in its state. Raft
// would find the previous entry missing, and the leader would go back entry by entry, until it sent a checkpoint that is no
// newer. But all up to the base was committed, so every leader has the same there, and what is behind it follows. As the request
// has to say no more than it did, the commit index is bounded by what it vouches for.
func (g *Group) rebase(r *raft.AppendEntriesRequest) {
	if g.opts.Base == nil || r.PrevLogEntry == 0 {
		return // a heartbeat
	}
	index, term := g.opts.Base()
	if r.PrevLogEntry >= index {
		return
	}
	last := r.PrevLogEntry + uint64(len(r.Entries))
	r.Entries = r.Entries[min(index-r.PrevLogEntry, uint64(len(r.Entries))):]
	r.LeaderCommitIndex = min(r.LeaderCommitIndex, max(last, index))
	r.PrevLogEntry, r.PrevLogTerm = index, term
}
