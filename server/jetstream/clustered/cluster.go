package clustered

import (
	"context"
	"time"

	"runnel/jetlog/config"
)

// Node is a server of the cluster: its id, which no other ever has, and the name that its operator gave it.
type Node struct {
	ID   string
	Name string
}

// Member is a server that belongs to the cluster, reached or not.
type Member struct {
	Node
	Tags   []string
	Online bool // it can be reached; true for this server
}

// Replica is a server that has a stream, or a part in the meta group.
type Replica struct {
	Node
	Current bool          // it has all, or nearly all, that the leader has
	Offline bool          // it cannot be reached
	Active  time.Duration // since it was last heard of, 0 for this server
	Lag     uint64        // entries that it lacks
}

// Status is how a group of servers is doing, as far as this server knows.
type Status struct {
	Leader   Node      // zero when nobody is known to lead
	Since    time.Time // when it began to lead, zero if that is not known
	Replicas []Replica // all of them, the leader among them
	// Step is what is waited for while the stream goes to other servers, in words, and Kind how the API calls that: meta, membership,
	// snapshot, catchup, quorum, blocked or unavailable. Only the leader knows; empty elsewhere.
	Step, Kind string
}

// Assignment is a stream that the meta group has given to servers. It does not change; there are new ones.
type Assignment struct {
	ID      uint64 // no other stream ever has it
	Account string
	Config  config.Stream // must not be changed
	Created time.Time
	// Group is the name of its raft group as it is shown, if several servers have it.
	Group string
	Peers []string // ids of the servers that have it
	// Moving is set while the stream is on its way to other servers, or to more or fewer of them.
	Moving *Moving
}

// Moving says what a stream is on its way to, and from what.
type Moving struct {
	Since     time.Time
	Replicas  int               // that it is to have
	From      int               // replicas that it had
	Placement *config.Placement // that it had, nil for none
}

// Limits are what an account may have in the whole cluster; -1 is no limit.
type Limits struct {
	MaxStreams                    int
	MaxMemoryBytes, MaxStoreBytes int64
	// Tiered says that they are for streams with as many replicas as the one in question, and that each of these counts once.
	// Otherwise each replica does.
	Tiered bool
}

// Move says where a stream is to go.
type Move struct {
	// From is the id of a server that it leaves, empty for none in particular.
	From string
	// Drop says that From is not waited for: it need not help.
	Drop bool
	// To are wishes for this move alone, nil for those of the configuration.
	To *config.Placement
}

// View is what is asked for every request, so its methods must be quick and never wait.
type View interface {
	// Self returns this server.
	Self() Node
	// Leads reports whether this server leads the meta group, and knows all that was decided before.
	Leads() bool
	// MetaLeader returns the id of the server that is known to lead the meta group and can be reached, empty for none.
	MetaLeader() string
	// Level is the level of commands that all servers know, see package command: others must not be given to a stream.
	Level() int
	// Speaks reports whether this server is the one that speaks when nobody leads: of those that reach each other the one
	// with the smallest id.
	Speaks() bool
	// Stream returns the assignment of a stream.
	Stream(account, name string) (*Assignment, bool)
	// StreamLeader returns the id of the server that is known to lead a stream, empty for none.
	StreamLeader(a *Assignment) string
	// Majority reports whether this server reaches, itself counted, more than half of those that have a vote on a stream that it
	// leads: if not, nothing can be decided about it.
	Majority(a *Assignment) bool
	// Online reports whether a server can be reached, by its id.
	Online(node string) bool
}

// Cluster is a cluster as the service sees it from one server. Its methods are safe for concurrent use. Changes wait
// until they are committed, or the context ends; their errors are *api.Error where the cluster refuses, anything else
// means that it is not known what became of the change.
type Cluster interface {
	View
	// Name returns the name of the cluster.
	Name() string
	// Meta returns the state of the meta group.
	Meta() Status
	// Members returns all servers that belong to the cluster, this one included, in no order.
	Members() []Member
	// Streams returns the streams that an account has, in the order of their names. The list must not be changed.
	Streams(account string) []*Assignment
	// Mirrors are those of them that mirror a stream of this name, not one of another cluster, likewise.
	Mirrors(account, origin string) []*Assignment
	// Status returns the state of a stream's group, false when this server does not have the stream. What it says of this server
	// itself is exact; what of others, only the leader knows well.
	Status(id uint64) (Status, bool)

	// AwaitLeader waits until somebody is known to lead a stream, or the context ends.
	AwaitLeader(ctx context.Context, a *Assignment)

	// Position tells how far this server knows what was decided. Once a change here has returned, its own decision is known.
	Position() uint64
	// Await waits until this server knows what was decided up to a position that some server has told, or the context ends.
	Await(ctx context.Context, position uint64) error

	// Create assigns a new stream, or finds that there is one just like it. The configuration is valid by itself; the meta group
	// decides whether it fits beside other streams and what the account may have, and which servers get it.
	Create(ctx context.Context, account string, cfg config.Stream, limits Limits) (*Assignment, error)
	// Update gives a stream another configuration, and with other replicas or another placement other servers.
	Update(ctx context.Context, account string, cfg config.Stream, limits Limits) (*Assignment, error)
	// Delete takes a stream from all servers that have it.
	Delete(ctx context.Context, a *Assignment) error
	// Move has a stream leave some of its servers for others.
	Move(ctx context.Context, a *Assignment, m Move) (*Assignment, error)
	// CancelMove lets a stream that is Moving be where it was.
	CancelMove(ctx context.Context, a *Assignment) (*Assignment, error)

	// StepDown lets another server lead a stream that this server leads: the one that is named, or any if that is empty.
	StepDown(ctx context.Context, id uint64, to string) error
	// StepDownMeta is StepDown for the meta group.
	StepDownMeta(ctx context.Context, to string) error
	// RemoveServer takes a server out of the cluster. What it has is given to others; with graceful it helps with that.
	RemoveServer(ctx context.Context, node string, graceful bool) error
	// Rescue lets so many servers decide for the meta group when it has lost its majority for good. It returns the numbers
	// before and after.
	Rescue(ctx context.Context, quorum int) (before, after int, err error)

	// Call hands a question to the service on another server, and returns the answer.
	Call(ctx context.Context, node string, question []byte) ([]byte, error)
}
