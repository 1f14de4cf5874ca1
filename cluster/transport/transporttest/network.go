// Package transporttest connects transports in memory, with links that can be cut, frozen, delayed and healed, in the
// virtual time of testing/synctest too. Links that break by themselves are made again after a moment, as a mesh does.
package transporttest

import (
	"sync"
	"time"

	"runnel/cluster/mesh"
	"runnel/cluster/transport"
)

// redial is how long it takes until a link that has ended is made again.
const redial = 100 * time.Millisecond

// Network connects transports, each with each. Its methods may be called by any goroutine.
type Network struct {
	mu     sync.Mutex // guards what follows; no transport is called while it is held
	nodes  map[string]*transport.Transport
	pairs  map[[2]string]*pair
	closed bool
	wg     sync.WaitGroup // of the goroutines that make links again
	done   chan struct{}
}

// pair is what is between two nodes, the smaller name first. The mutex of the network guards it.
type pair struct {
	names  [2]string
	cut    bool
	frozen [2]bool // what the first sends, what the second sends
	delay  time.Duration
	wires  map[mesh.Kind]*wire
}

// wire is a link: the end of the first node and that of the second.
type wire struct {
	pair *pair
	kind mesh.Kind
	ends [2]*end
	dead bool // one of them is closed
}

// New makes a network that nobody has joined yet.
func New() *Network {
	return &Network{nodes: map[string]*transport.Transport{}, pairs: map[[2]string]*pair{}, done: make(chan struct{})}
}

// between is the pair of two nodes. The mutex must be held.
func (n *Network) between(a, b string) *pair {
	names := [2]string{min(a, b), max(a, b)}
	p := n.pairs[names]
	if p == nil {
		p = &pair{names: names, wires: map[mesh.Kind]*wire{}}
		n.pairs[names] = p
	}
	return p
}

// Join links a transport with all others; when it returns the links are there. A node that has joined before must have
// left.
func (n *Network) Join(node string, t *transport.Transport) {
	n.mu.Lock()
	n.nodes[node] = t
	var made []func()
	for other := range n.nodes {
		if other != node {
			made = append(made, n.connect(n.between(node, other))...)
		}
	}
	n.mu.Unlock()
	for _, attach := range made {
		attach()
	}
}

// connect makes the links that a pair lacks. The mutex must be held; what is returned attaches them, without it.
func (n *Network) connect(p *pair) (attach []func()) {
	a, b := n.nodes[p.names[0]], n.nodes[p.names[1]]
	if n.closed || a == nil || b == nil || p.cut || p.frozen[0] || p.frozen[1] {
		return nil
	}
	for _, k := range []mesh.Kind{mesh.RaftHeartbeat, mesh.RaftData} {
		if w := p.wires[k]; w != nil && !w.dead {
			continue
		}
		w := n.newWire(p, k)
		p.wires[k] = w
		attach = append(attach, func() {
			a.Attach(member(p.names[1]), k, w.ends[0])
			b.Attach(member(p.names[0]), k, w.ends[1])
		})
	}
	return attach
}

func member(node string) mesh.Member {
	return mesh.Member{ID: "ID-" + node, Name: node, Node: node, Cluster: "C", JetStream: true}
}

func (n *Network) newWire(p *pair, k mesh.Kind) *wire {
	up, down := newPipe(), newPipe()
	up.delay, down.delay = p.delay, p.delay
	w := &wire{pair: p, kind: k}
	w.ends = [2]*end{{in: down, out: up}, {in: up, out: down}}
	for _, e := range w.ends {
		e.closed = func() { n.ended(w) }
	}
	return w
}

// ended notes that one end of a link was closed, and has another one made.
func (n *Network) ended(w *wire) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !w.dead {
		w.dead = true
		n.redial(w.pair)
	}
}

// redial has the links that a pair lacks made soon. The mutex must be held.
func (n *Network) redial(p *pair) {
	if n.closed {
		return
	}
	n.wg.Go(func() {
		select {
		case <-time.After(redial):
		case <-n.done:
			return
		}
		n.mu.Lock()
		made := n.connect(p)
		n.mu.Unlock()
		for _, attach := range made {
			attach()
		}
	})
}

// reset breaks the links of a pair at both ends. The mutex must be held.
func (p *pair) reset() {
	for _, w := range p.wires {
		w.dead = true
		for _, e := range w.ends {
			e.in.set(func(p *pipe) { p.broken = errReset })
			e.out.set(func(p *pipe) { p.broken = errReset })
		}
	}
}

// Leave ends all links of a node, as when its process ends.
func (n *Network) Leave(node string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.nodes, node)
	for _, p := range n.pairs {
		if p.names[0] == node || p.names[1] == node {
			p.reset()
		}
	}
}

// Cut breaks the links of two nodes; there are no new ones until Heal.
func (n *Network) Cut(a, b string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.between(a, b)
	p.cut = true
	p.reset()
}

// Break breaks the links of two nodes, which are made again after a moment.
func (n *Network) Break(a, b string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.between(a, b)
	p.reset()
	n.redial(p)
}

// Isolate cuts a node from all others that are there.
func (n *Network) Isolate(node string) {
	for _, other := range n.others(node) {
		n.Cut(node, other)
	}
}

func (n *Network) others(node string) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var list []string
	for other := range n.nodes {
		if other != node {
			list = append(list, other)
		}
	}
	return list
}

// Freeze holds back what from sends to another node, until Heal. The links stay, and neither side is told. Both directions
// frozen are a network that has gone silent. Links that are given up meanwhile are not made again.
func (n *Network) Freeze(from, to string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.between(from, to)
	side := 0
	if p.names[0] != from {
		side = 1
	}
	p.frozen[side] = true
	for _, w := range p.wires {
		w.ends[side].out.set(func(p *pipe) { p.frozen = true })
	}
}

// Delay makes every byte between two nodes take d, each way, from now on.
func (n *Network) Delay(a, b string, d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.between(a, b)
	p.delay = d
	for _, w := range p.wires {
		for _, e := range w.ends {
			e.out.set(func(p *pipe) { p.delay = d })
		}
	}
}

// Heal undoes Cut and Freeze between two nodes. Links that are not there are made after a moment.
func (n *Network) Heal(a, b string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.heal(n.between(a, b))
}

// HealAll undoes Cut, Isolate and Freeze everywhere.
func (n *Network) HealAll() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range n.pairs {
		n.heal(p)
	}
}

// heal heals a pair. The mutex must be held.
func (n *Network) heal(p *pair) {
	p.cut, p.frozen = false, [2]bool{}
	for _, w := range p.wires {
		for _, e := range w.ends {
			e.out.set(func(p *pipe) { p.frozen = false })
		}
	}
	n.redial(p)
}

// Close ends all links and returns when the network's goroutines have gone. It may be called before or after the transports
// are closed.
func (n *Network) Close() {
	n.mu.Lock()
	if !n.closed {
		n.closed = true
		close(n.done)
	}
	for _, p := range n.pairs {
		p.reset()
	}
	n.mu.Unlock()
	n.wg.Wait()
}
