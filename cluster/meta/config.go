package meta

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/hashicorp/raft"

	"runnel/cluster/meta/state"
	"runnel/jetlog/vfs"
)

// Config is what a server's part of the meta group needs.
type Config struct {
	// Self describes this server. Node, Name and Level have to be there.
	Self state.Member
	// FS and Dir are where it keeps its files. Dir is made if it is not there, its parent has to be there.
	FS  vfs.FS
	Dir string
	// Store opens the log in Dir. Nil opens the file of package ledger, for which FS has to be the real disk.
	Store func(dir string) (Store, error)
	// Raft makes the transport of group 0. It is called whenever raft is started; raft closes it.
	Raft func() raft.Transport
	// Calls are calls between servers.
	Calls Calls
	// Connected returns the nodes that can be reached now, without this one.
	Connected func() []string
	// Campaign lets this server stand for election at once, as if its leader had asked it to. Nil: only timeouts do.
	Campaign func() error
	// Reached tells whether most of some voters reach a node, as far as that is known. Nil: that is not known.
	Reached func(voters []string, node string) bool
	// Expected is how many servers a new cluster has: what was configured, or what the routes imply; 0 if that is
	// not known, then this server only joins others.
	Expected func() int
	// UniqueTag is the beginning of a tag that no two servers of a stream may have in common; empty for none.
	UniqueTag string
	// Usage tells what this server has; nil for nothing.
	Usage func() Usage
	// Halted is called, at most once and by a goroutine of its own, when this server cannot take part any more until something was
	// done about it: it was removed, its log failed, or it has met a command of a newer version. Nil for nobody.
	Halted func(error)
	// Logger gets what people should know; nil for slog.Default.
	Logger *slog.Logger
}

// Store is where raft keeps its log, term and vote. What it has stored is durable when a call returns.
type Store interface {
	raft.LogStore
	raft.StableStore
	io.Closer
}

// Calls are calls between servers: one request, one answer. What handlers return as an error arrives as an error.
type Calls interface {
	// Call asks a node and waits for the answer until ctx ends.
	Call(ctx context.Context, node, service string, payload []byte) ([]byte, error)
	// Handle lets others call a service here.
	Handle(service string, handler func(ctx context.Context, from string, payload []byte) ([]byte, error))
}

// Usage is what a server has, for placement and for people.
type Usage struct {
	// StoreBytes and MemoryBytes are what its streams have.
	StoreBytes  int64 `json:"store"`
	MemoryBytes int64 `json:"memory"`
	// FreeBytes is what its disk has left; 0 if it is not known.
	FreeBytes int64 `json:"free,omitempty"`
	// Full says that its disk has too little left to take messages.
	Full bool `json:"full,omitempty"`
	// Streams counts the streams it has, Led those that it leads.
	Streams int `json:"streams"`
	Led     int `json:"led"`
}

// Times of the meta group. It is alone, so it need not be economical.
const (
	heartbeatTimeout = 1500 * time.Millisecond
	electionTimeout  = 1500 * time.Millisecond
	leaseTimeout     = 1000 * time.Millisecond
	commitTimeout    = 50 * time.Millisecond

	// proposeTimeout bounds a proposal, leaderTimeout how long it waits for somebody to lead, and lostTimeout for somebody else
	// if the one who leads cannot be reached.
	proposeTimeout = 4500 * time.Millisecond
	leaderTimeout  = time.Second
	lostTimeout    = 2500 * time.Millisecond
	// callTimeout bounds a call that is not a proposal.
	callTimeout = time.Second

	formEvery  = 250 * time.Millisecond
	lookEvery  = 5 * time.Second
	choreEvery = 500 * time.Millisecond
	// lookForLeaderEvery is how soon it is noticed at the latest that the leader has gone.
	lookForLeaderEvery = 100 * time.Millisecond
	reportEvery        = 2 * time.Second
	// reportFresh is how old a report may be that something is decided on.
	reportFresh = 3 * reportEvery
)

// Errors of a proposal.
var (
	// ErrNoLeader says that nobody leads the group, as far as this server knows. Nothing was done.
	ErrNoLeader = errors.New("the meta group has no leader")
	// ErrUncertain says that a proposal may or may not have been carried out.
	ErrUncertain = errors.New("the meta group has not answered; the change may have been made")
	// ErrClosed says that this server's part is closed or halted.
	ErrClosed = errors.New("the meta group is closed here")
)
