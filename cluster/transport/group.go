package transport

import "time"

// GroupOptions are what a raft group tells its transport. All functions must be quick, must not call the transport and
// may be called by any goroutine.
type GroupOptions struct {
	// Clamp is the last index that is durable here. No follower is told of a higher commit index. Nil for no clamp.
	Clamp func() uint64
	// Commit is the commit index while this server leads the group, else 0. With it, followers that are idle learn of
	// it by the next ping; nil leaves that to raft's CommitTimeout.
	Commit func() uint64
	// Nudge says that node lacks entries and that raft has nothing on the way to it and will do nothing about it before
	// its CommitTimeout: the group should propose something (a barrier will do). It is called only while this server has led
	// the group last, and not more often than once a second for each peer. Nil for none.
	Nudge func(node string)
}

// Progress is how far a follower is known to be, as its answers told.
type Progress struct {
	Node string
	// Index is the last index that the follower is known to have in its log, of the term that this server led last.
	Index uint64
	// Contact is when the follower has answered last.
	Contact time.Time
	// Pending is how many requests with entries wait for its answer.
	Pending int
}
