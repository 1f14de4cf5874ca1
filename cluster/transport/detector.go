package transport

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"runnel/cluster/mesh"
)

const (
	// pingEvery is the pause between pings.
	pingEvery = 250 * time.Millisecond
	// downAfter is how long a peer may leave pings unanswered: three of them, and the time until the next one is due. A link
	// that has ended is thus given the rest of a second to be made again.
	downAfter = time.Second
	// silentAfter is when the links of a peer that answers no pings are closed, so that the mesh makes others. The network
	// may come back long before a connection that has lost packets is tried again.
	silentAfter = 5 * time.Second
	// reachesNodes bounds how many nodes a peer may say it reaches.
	reachesNodes = 4096
)

// errSilent is why links are closed.
var errSilent = errors.New("the peer does not answer pings")

// detect pings, and looks after what has a time, until the transport is closed.
func (t *Transport) detect() {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			t.round(now)
		case <-t.done:
			return
		}
	}
}

// round is what is done at each ping.
func (t *Transport) round(now time.Time) {
	peers := t.allPeers()
	for _, p := range peers {
		t.judge(p, now)
		for _, l := range p.current() {
			l.expire(now)
		}
	}
	up := t.up()
	for _, p := range peers {
		t.ping(p, now, up)
	}
	t.tend(now, up)
	t.turnAway(now)
}

// judge finds out whether a peer has gone.
func (t *Transport) judge(p *peer, now time.Time) {
	p.mu.Lock()
	quiet := now.Sub(p.pong)
	if p.up && quiet >= downAfter {
		p.up, p.since = false, now
		t.events.post(PeerEvent{Node: p.node})
	}
	var silent []*lane
	if l := p.lanes[place(mesh.RaftHeartbeat)]; l != nil && quiet >= silentAfter && now.Sub(l.start) >= silentAfter {
		for _, l := range p.lanes {
			if l != nil {
				silent = append(silent, l)
			}
		}
	}
	p.mu.Unlock()
	for _, l := range silent {
		l.end(errSilent)
	}
}

// up are the nodes that this server reaches.
func (t *Transport) up() map[string]bool {
	up := map[string]bool{}
	for _, p := range t.allPeers() {
		p.mu.Lock()
		if p.up {
			up[p.node] = true
		}
		p.mu.Unlock()
	}
	return up
}

// ping sends a ping, if there is a link.
func (t *Transport) ping(p *peer, now time.Time, up map[string]bool) {
	l, _ := p.lane(mesh.RaftHeartbeat)
	if l == nil {
		return
	}
	l.control(kindPing, false, func(b []byte) []byte {
		b = putUint64s(b, uint64(now.Sub(t.start)))
		for node := range up {
			b = putName(b, node)
		}
		return b
	})
}

// handlePing answers a ping and notes whom the peer reaches.
func (l *lane) handlePing(body []byte) error {
	c := cursor{b: body}
	sent := c.uint64()
	var nodes []string
	for len(c.b) > 0 && len(nodes) < reachesNodes {
		nodes = append(nodes, c.name())
	}
	if err := c.end(); err != nil {
		return fmt.Errorf("read a ping: %w", err)
	}
	l.control(kindPong, false, func(b []byte) []byte { return putUint64s(b, sent) })
	slices.Sort(nodes)
	p := l.peer
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard = time.Now()
	p.reaches, p.told = nodes, p.heard
	return nil
}

// handlePong notes that the peer is reached. A pong says when its ping was sent, as this server has told it there.
func (l *lane) handlePong(body []byte) error {
	c := cursor{b: body}
	sent := time.Duration(c.uint64())
	if err := c.end(); err != nil {
		return fmt.Errorf("read a pong: %w", err)
	}
	now := time.Now()
	p := l.peer
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard = now
	rtt := now.Sub(l.t.start) - sent
	if p.lanes[place(l.kind)] != l || rtt < 0 || rtt >= downAfter {
		return nil
	}
	p.pong, p.rtt = now, rtt
	if !p.up {
		p.up, p.since = true, now
		l.t.events.post(PeerEvent{Node: p.node, Up: true})
	}
	return nil
}

// tend gives hints and nudges.
func (t *Transport) tend(now time.Time, up map[string]bool) {
	to := map[string][]hint{}
	for _, g := range t.allGroups() {
		g.hints(now, up, to)
		for _, node := range g.nudges(now, up) {
			g.opts.Nudge(node)
		}
	}
	t.sendHints(to)
}

// Reach is who reaches whom now.
func (t *Transport) Reach() Reach {
	now := time.Now()
	r := Reach{said: map[[2]string]bool{}}
	for node := range t.up() {
		r.said[[2]string{t.cfg.Node, node}] = true
	}
	for _, p := range t.allPeers() {
		for _, node := range p.freshReaches(now) {
			r.said[[2]string{p.node, node}] = true
		}
	}
	return r
}

// freshReaches are the nodes that a peer reaches, as it said not long ago.
func (p *peer) freshReaches(now time.Time) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Sub(p.told) >= downAfter {
		return nil
	}
	return p.reaches
}

// Peers are the servers that there are or were links to, by node.
func (t *Transport) Peers() []PeerView {
	now := time.Now()
	var list []PeerView
	for _, p := range t.allPeers() {
		if v, ok := p.view(now); ok {
			list = append(list, v)
		}
	}
	slices.SortFunc(list, func(a, b PeerView) int { return strings.Compare(a.Node, b.Node) })
	return list
}

// view is false for a peer that there was never a link to.
func (p *peer) view(now time.Time) (PeerView, bool) {
	fresh := slices.Clone(p.freshReaches(now))
	queued := 0
	for _, l := range p.current() {
		queued += l.out.waiting()
	}
	c := &p.count
	counters := Counters{
		FramesIn: c.framesIn.Load(), FramesOut: c.framesOut.Load(), BytesIn: c.bytesIn.Load(), BytesOut: c.bytesOut.Load(),
		Writes: c.writes.Load(), QueuedBytes: queued, Refused: c.refused.Load(),
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return PeerView{
		Node: p.node, Up: p.up, Since: p.since, RTT: p.rtt, Heard: p.heard, Reaches: fresh,
		Data: p.lanes[place(mesh.RaftData)] != nil, Heartbeat: p.lanes[place(mesh.RaftHeartbeat)] != nil, Counters: counters,
	}, p.linked
}
