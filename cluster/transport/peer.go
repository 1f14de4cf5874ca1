package transport

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"runnel/cluster/mesh"
)

// peer is another server, by its node id, whether it is linked or not.
type peer struct {
	node   string
	header raft.RPCHeader // what raft is told about who sends
	count  counters
	calls  atomic.Int32 // that are served
	opened atomic.Int32 // streams that are served

	mu       sync.Mutex // guards what follows; that of events may be taken while it is held
	lanes    [2]*lane   // by place; nil where there is no link
	attached chan struct{}
	linked   bool // there was a link at some time
	up       bool
	since    time.Time // when up has changed
	pong     time.Time // when a ping was answered last
	heard    time.Time
	rtt      time.Duration
	reaches  []string // whom it reaches, as it said at told
	told     time.Time
}

// counters are Counters as they are counted.
type counters struct {
	framesIn, framesOut, bytesIn, bytesOut, writes, refused atomic.Uint64
}

func newPeer(node string, now time.Time) *peer {
	return &peer{
		node: node, attached: make(chan struct{}), since: now,
		header: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(node), Addr: []byte(node)},
	}
}

// place is where the lane of a kind stands.
func place(k mesh.Kind) int {
	if k == mesh.RaftHeartbeat {
		return 1
	}
	return 0
}

// lane is the one of the kind, or a channel that is closed when another lane comes.
func (p *peer) lane(k mesh.Kind) (*lane, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lanes[place(k)], p.attached
}

// enter puts a lane into its place and returns the one that stood there.
func (p *peer) enter(l *lane) (old *lane) {
	p.mu.Lock()
	defer p.mu.Unlock()
	old, p.lanes[place(l.kind)] = p.lanes[place(l.kind)], l
	p.linked = true
	close(p.attached)
	p.attached = make(chan struct{})
	return old
}

// leave empties the place of a lane that has ended.
func (p *peer) leave(l *lane) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lanes[place(l.kind)] == l {
		p.lanes[place(l.kind)] = nil
	}
}

// current are the lanes that there are.
func (p *peer) current() []*lane {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []*lane
	for _, l := range p.lanes {
		if l != nil {
			list = append(list, l)
		}
	}
	return list
}
