package transport

import (
	"fmt"
	"sync"

	"github.com/hashicorp/raft"

	"runnel/cluster/mesh"
)

const (
	// pipelineRequests and pipelineBytes are how much a group may have on the way to a peer, apart from one request that
	// may be larger. They are below groupBytes, so that a follower need not refuse what one leader sends.
	pipelineRequests = 4
	pipelineBytes    = 8 << 20
)

// pipeline is a raft.AppendPipeline. It belongs to no link: a request goes out over the one that is there. When a request
// fails raft gives the pipeline up and goes on without.
//
// Raft counts even the answer to a failed request as a contact of the follower, which may lengthen its lease by that one
// time; nothing here relies on the lease.
type pipeline struct {
	g     *Group
	node  string
	ready chan raft.AppendFuture // has room for all that are on the way

	mu       sync.Mutex // guards what follows
	changed  *sync.Cond
	requests int  // sent, and raft has not taken the answer yet
	bytes    int  // of them
	over     bool // closed, or a request was not successful, after which raft takes no more answers
}

func newPipeline(g *Group, node string) *pipeline {
	p := &pipeline{g: g, node: node, ready: make(chan raft.AppendFuture, pipelineRequests)}
	p.changed = sync.NewCond(&p.mu)
	return p
}

// AppendEntries implements raft.AppendPipeline. It waits while too much is on the way.
func (p *pipeline) AppendEntries(args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) (raft.AppendFuture, error) {
	a := newAppending(p.g, p.node, args, resp)
	a.pipe = p
	p.g.lead(args.Term)
	l := p.g.t.lane(p.node, mesh.RaftData)
	if l == nil || p.g.unpipes(p.node) {
		p.g.missed(p.node)
		return nil, about(p.node, ErrUnreachable)
	}
	if err := p.enter(a.bytes); err != nil {
		return nil, err
	}
	if err := a.send(l); err != nil {
		p.consumed(a)
		return nil, err
	}
	return a, nil
}

// enter waits for room.
func (p *pipeline) enter(bytes int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for !p.over && p.requests > 0 && (p.requests >= pipelineRequests || p.bytes+bytes > pipelineBytes) {
		p.changed.Wait()
	}
	if p.over {
		return about(p.node, fmt.Errorf("pipeline of raft group %d: %w", p.g.id, ErrClosed))
	}
	p.requests++
	p.bytes += bytes
	return nil
}

// answered hands an answer to raft.
func (p *pipeline) answered(a *appending) {
	if a.err != nil || !a.resp.Success {
		p.end()
	}
	p.ready <- a
}

// consumed makes room after raft has taken an answer.
func (p *pipeline) consumed(a *appending) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a.consumed {
		return
	}
	a.consumed = true
	p.requests--
	p.bytes -= a.bytes
	p.changed.Signal()
}

// Consumer implements raft.AppendPipeline.
func (p *pipeline) Consumer() <-chan raft.AppendFuture { return p.ready }

// Close implements raft.AppendPipeline. What is on the way is answered to nobody.
func (p *pipeline) Close() error {
	p.end()
	return nil
}

func (p *pipeline) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	p.changed.Broadcast()
}
