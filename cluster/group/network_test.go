package group_test

import (
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

var (
	errCut    = errors.New("no answer in time")
	errAbsent = errors.New("no such group there")
)

// network carries messages of one group between nodes. Each way between two nodes can be cut by itself.
type network struct {
	timeout time.Duration

	mu    sync.Mutex
	nodes map[string]*endpoint
	cuts  map[[2]string]bool
	rand  *rand.Rand
	spy   func(from, to string, request any) // sees what is sent; nil for none
	lose  func(request any) bool             // whether a request gets lost on its way; nil for none
	mute  func(request any) bool             // whether the answer to it does
}

func newNetwork(seed uint64) *network {
	return &network{
		timeout: time.Second, nodes: map[string]*endpoint{}, cuts: map[[2]string]bool{},
		rand: rand.New(rand.NewPCG(seed, 2)),
	}
}

// cut cuts the way from one node to another.
func (n *network) cut(from, to string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cuts[[2]string{from, to}] = true
}

// isolate cuts all ways to and from a node.
func (n *network) isolate(node string, others ...string) {
	for _, o := range others {
		if o != node {
			n.cut(node, o)
			n.cut(o, node)
		}
	}
}

func (n *network) heal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.cuts)
}

func (n *network) open(from, to string) (*endpoint, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.nodes[to], !n.cuts[[2]string{from, to}]
}

func (n *network) delay() {
	n.mu.Lock()
	d := time.Duration(n.rand.Int64N(int64(time.Millisecond)))
	n.mu.Unlock()
	<-time.After(d)
}

// join puts a node into the network, in place of its earlier life.
func (n *network) join(node string) *endpoint {
	n.mu.Lock()
	defer n.mu.Unlock()
	e := &endpoint{n: n, node: node, rpcs: make(chan raft.RPC), gone: make(chan struct{})}
	n.nodes[node] = e
	return e
}

// endpoint is the transport of one replica.
type endpoint struct {
	n    *network
	node string
	rpcs chan raft.RPC
	once sync.Once
	gone chan struct{}

	mu        sync.Mutex
	heartbeat func(raft.RPC)
}

func (e *endpoint) Consumer() <-chan raft.RPC     { return e.rpcs }
func (e *endpoint) LocalAddr() raft.ServerAddress { return raft.ServerAddress(e.node) }

func (e *endpoint) EncodePeer(_ raft.ServerID, a raft.ServerAddress) []byte { return []byte(a) }
func (e *endpoint) DecodePeer(b []byte) raft.ServerAddress                  { return raft.ServerAddress(b) }

func (e *endpoint) SetHeartbeatHandler(f func(raft.RPC)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.heartbeat = f
}

func (e *endpoint) Close() error {
	e.once.Do(func() {
		close(e.gone)
		e.n.mu.Lock()
		defer e.n.mu.Unlock()
		if e.n.nodes[e.node] == e {
			delete(e.n.nodes, e.node)
		}
	})
	return nil
}

// call brings a request to a node and its answer back.
func call[T any](e *endpoint, to raft.ServerAddress, request any, r io.Reader, heartbeat bool, resp *T) error {
	e.n.mu.Lock()
	spy, lose, mute := e.n.spy, e.n.lose, e.n.mute
	e.n.mu.Unlock()
	if spy != nil {
		spy(e.node, string(to), request)
	}
	e.n.delay()
	peer, open := e.n.open(e.node, string(to))
	open = open && (lose == nil || !lose(request))
	lost := func() error {
		select {
		case <-time.After(e.n.timeout):
		case <-e.gone:
		}
		return errCut
	}
	if !open {
		return lost()
	}
	if peer == nil {
		return errAbsent
	}
	answers := make(chan raft.RPCResponse, 1)
	rpc := raft.RPC{Command: request, Reader: r, RespChan: answers}
	peer.mu.Lock()
	handle := peer.heartbeat
	peer.mu.Unlock()
	limit := time.NewTimer(5 * e.n.timeout)
	defer limit.Stop()
	if heartbeat && handle != nil {
		handle(rpc)
	} else {
		select {
		case peer.rpcs <- rpc:
		case <-peer.gone:
			return errAbsent
		case <-e.gone:
			return errCut
		case <-limit.C:
			return errCut
		}
	}
	select {
	case a := <-answers:
		e.n.delay()
		if _, open := e.n.open(string(to), e.node); !open || mute != nil && mute(request) {
			return lost()
		}
		if a.Error != nil {
			return a.Error
		}
		*resp = *a.Response.(*T)
		return nil
	case <-peer.gone:
	case <-e.gone:
	case <-limit.C:
	}
	return errCut
}

func (e *endpoint) AppendEntries(_ raft.ServerID, to raft.ServerAddress, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	sent := *args
	sent.Entries = nil
	for _, l := range args.Entries {
		c := *l
		sent.Entries = append(sent.Entries, &c)
	}
	heartbeat := args.PrevLogEntry == 0 && len(args.Entries) == 0 && args.LeaderCommitIndex == 0
	return call(e, to, &sent, nil, heartbeat, resp)
}

func (e *endpoint) RequestVote(_ raft.ServerID, to raft.ServerAddress, args *raft.RequestVoteRequest, resp *raft.RequestVoteResponse) error {
	return call(e, to, args, nil, false, resp)
}

func (e *endpoint) RequestPreVote(_ raft.ServerID, to raft.ServerAddress, args *raft.RequestPreVoteRequest, resp *raft.RequestPreVoteResponse) error {
	return call(e, to, args, nil, false, resp)
}

func (e *endpoint) TimeoutNow(_ raft.ServerID, to raft.ServerAddress, args *raft.TimeoutNowRequest, resp *raft.TimeoutNowResponse) error {
	return call(e, to, args, nil, false, resp)
}

func (e *endpoint) InstallSnapshot(_ raft.ServerID, to raft.ServerAddress, args *raft.InstallSnapshotRequest, resp *raft.InstallSnapshotResponse, r io.Reader) error {
	return call(e, to, args, r, false, resp)
}

func (e *endpoint) AppendEntriesPipeline(raft.ServerID, raft.ServerAddress) (raft.AppendPipeline, error) {
	return nil, raft.ErrPipelineReplicationNotSupported
}
