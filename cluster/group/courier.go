package group

import (
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// courier is the transport as raft sees it. It clamps the commit index that followers are told of, knows how far they
// are, and tries again by itself what could not be delivered: raft would wait longer after each failure and find a peer that is
// back only then.
type courier struct {
	raft.Transport
	g       *Group
	prevote raft.WithPreVote

	mu    sync.Mutex
	peers map[raft.ServerID]progress
	back  chan struct{} // closed and replaced when a peer is reached again
}

// progress is what a peer has answered.
type progress struct {
	match   uint64
	contact time.Time
}

// How long to wait before something is sent again.
const (
	voteRetry   = 50 * time.Millisecond
	voteRetries = 500 * time.Millisecond
	sendRetry   = 250 * time.Millisecond
	sendRetries = 2 * time.Second
)

// errPlaceholder says that raft was about to send an entry that only stands for a place. It is too late to lead then.
var errPlaceholder = errors.New("an entry that is not there cannot be sent")

func newCourier(g *Group) *courier {
	c := &courier{Transport: g.cfg.Transport, g: g, peers: map[raft.ServerID]progress{}, back: make(chan struct{})}
	c.prevote, _ = g.cfg.Transport.(raft.WithPreVote)
	return c
}

// raft is there from the first election on, which may come before Open has returned.
func (c *courier) raft() *raft.Raft {
	<-c.g.started
	return c.g.raft
}

// Close takes the group out of the transport. Raft closes it again.
func (c *courier) Close() error {
	if t, ok := c.Transport.(raft.WithClose); ok {
		return t.Close()
	}
	return nil
}

// AppendEntries delivers entries or a heartbeat. Entries are tried for as long as the term lasts; for heartbeats raft's own pace is
// right.
func (c *courier) AppendEntries(id raft.ServerID, target raft.ServerAddress, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	heartbeat := args.PrevLogEntry == 0 && len(args.Entries) == 0
	if err := sendable(args); err != nil {
		return err
	}
	for pause := sendRetry; ; pause = min(2*pause, sendRetries) {
		back := c.reached()
		err := c.Transport.AppendEntries(id, target, c.clamp(args), resp)
		if err == nil {
			c.answered(id, args, resp)
			if heartbeat && !resp.Success && resp.Term > args.Term {
				// A later term has begun: others may lead. Raft does not look at what heartbeats are answered, and would find out with the next entry.
				c.raft().VerifyLeader()
			}
			return nil
		}
		if heartbeat || !c.wait(pause, back) || !c.leads(id, args.Term) {
			return err
		}
	}
}

// sendable refuses what is no entry.
func sendable(args *raft.AppendEntriesRequest) error {
	for _, e := range args.Entries {
		if len(e.Extensions) > 0 && string(e.Extensions) == placeMark {
			return errPlaceholder
		}
	}
	return nil
}

// clamp gives args with a commit index that is durable here.
func (c *courier) clamp(args *raft.AppendEntriesRequest) *raft.AppendEntriesRequest {
	durable := c.g.cfg.Log.Durable()
	if args.LeaderCommitIndex <= durable {
		return args
	}
	clamped := *args
	clamped.LeaderCommitIndex = durable
	return &clamped
}

// leads reports whether this replica leads in term, and id is a member still.
func (c *courier) leads(id raft.ServerID, term uint64) bool {
	r := c.raft()
	if r.State() != raft.Leader || r.CurrentTerm() != term {
		return false
	}
	for _, s := range r.GetConfiguration().Configuration().Servers {
		if s.ID == id {
			return true
		}
	}
	return false
}

// AppendEntriesPipeline sends requests without waiting for answers, if the transport keeps track of them.
func (c *courier) AppendEntriesPipeline(id raft.ServerID, target raft.ServerAddress) (raft.AppendPipeline, error) {
	if c.g.cfg.Progress == nil {
		return nil, raft.ErrPipelineReplicationNotSupported
	}
	p, err := c.Transport.AppendEntriesPipeline(id, target)
	if err != nil {
		return nil, err
	}
	return &pipeline{AppendPipeline: p, c: c}, nil
}

// pipeline clamps what goes into one.
type pipeline struct {
	raft.AppendPipeline
	c *courier
}

// AppendEntries sends a request.
func (p *pipeline) AppendEntries(args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) (raft.AppendFuture, error) {
	if err := sendable(args); err != nil {
		return nil, err
	}
	return p.AppendPipeline.AppendEntries(p.c.clamp(args), resp)
}

// RequestVote asks for a vote, again if it could not be delivered: at birth the peer may not have the group yet.
//
// Those of birth are given already.
func (c *courier) RequestVote(id raft.ServerID, target raft.ServerAddress, args *raft.RequestVoteRequest, resp *raft.RequestVoteResponse) error {
	if args.Term == birthTerm && c.g.votes.born.leads(c.g.cfg.Self) {
		resp.Term, resp.Granted = args.Term, true
		return nil
	}
	return c.vote(args.Term, func() error { return c.Transport.RequestVote(id, target, args, resp) })
}

// RequestPreVote asks whether there would be a vote.
func (c *courier) RequestPreVote(id raft.ServerID, target raft.ServerAddress, args *raft.RequestPreVoteRequest, resp *raft.RequestPreVoteResponse) error {
	return c.vote(args.Term-1, func() error { return c.prevote.RequestPreVote(id, target, args, resp) })
}

// vote asks until there is an answer or nobody needs it any more.
func (c *courier) vote(term uint64, ask func() error) error {
	for pause := voteRetry; ; pause = min(2*pause, voteRetries) {
		back := c.reached()
		err := ask()
		if err == nil || !c.wait(pause, back) {
			return err
		}
		if c.raft().State() != raft.Candidate || c.raft().CurrentTerm() != term {
			return err
		}
	}
}

// InstallSnapshot sends the description of a checkpoint and returns once the peer has all of it. One that is past it has it
// too: perhaps the answer to the first attempt got lost. Raft would send the same one again, for ever.
func (c *courier) InstallSnapshot(id raft.ServerID, target raft.ServerAddress, args *raft.InstallSnapshotRequest, resp *raft.InstallSnapshotResponse, data io.Reader) error {
	err := c.Transport.InstallSnapshot(id, target, args, resp, data)
	switch {
	case err == nil:
	case strings.Contains(err.Error(), errPast.Error()):
		resp.Term, resp.Success = args.Term, true
	default:
		return err
	}
	match := uint64(0)
	if resp.Success {
		match = args.LastLogIndex
	}
	c.heard(id, args.Term, match)
	return nil
}

// answered notes what a peer has.
func (c *courier) answered(id raft.ServerID, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) {
	match := uint64(0)
	if resp.Success {
		match = args.PrevLogEntry + uint64(len(args.Entries))
	}
	c.heard(id, args.Term, match)
}

// heard notes that a peer has answered in term, and up to where it is the same as this log.
func (c *courier) heard(id raft.ServerID, term, match uint64) {
	if c.raft().CurrentTerm() != term {
		return
	}
	c.mu.Lock()
	p := c.peers[id]
	p.match, p.contact = max(p.match, match), time.Now()
	c.peers[id] = p
	c.mu.Unlock()
	c.g.Has(string(id), term, match)
}

// forget begins a term: nothing is known of the peers.
func (c *courier) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.peers)
}

// progress is how far a peer is known to be.
func (c *courier) progress(node string) progress {
	if c.g.cfg.Progress != nil {
		match, contact := c.g.cfg.Progress(node)
		return progress{match, contact}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.peers[raft.ServerID(node)]
}

// wait waits to try again: for a while, or until some peer is reached again. It is false once the group is closed.
func (c *courier) wait(pause time.Duration, back <-chan struct{}) bool {
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-back:
	case <-c.g.ctx.Done():
	}
	return c.g.ctx.Err() == nil
}

// reached is closed when the next peer is reached again.
func (c *courier) reached() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.back
}

// Reached says that some peer can be reached again, so that what waits to be sent to it is not kept longer.
func (g *Group) Reached() {
	c := g.courier
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.back)
	c.back = make(chan struct{})
}
