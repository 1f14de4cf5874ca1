package transport

import "time"

// PeerView is what there is to see of a peer.
type PeerView struct {
	Node string
	// Up says that this server reaches the peer: there and back.
	Up bool
	// Since is when Up has changed last.
	Since time.Time
	// RTT is the last round trip time of a ping; 0 if there was none.
	RTT time.Duration
	// Heard is when the peer has sent a ping or an answer last.
	Heard time.Time
	// Reaches are the nodes that the peer says it reaches; nil if that is not fresh.
	Reaches []string
	// Data and Heartbeat say whether there are links.
	Data, Heartbeat bool
	// Counters since the peer was seen first.
	Counters Counters
}

// Counters count what went over the links to a peer, and tell what waits.
type Counters struct {
	FramesIn, FramesOut uint64
	BytesIn, BytesOut   uint64
	// Writes are the calls of the network that FramesOut needed.
	Writes uint64
	// QueuedBytes wait to be written now; Refused requests were not taken since too much was waiting here.
	QueuedBytes int
	Refused     uint64
}

// Up reports whether this server reaches a peer: there and back.
func (t *Transport) Up(node string) bool {
	t.mu.RLock()
	p := t.peers[node]
	t.mu.RUnlock()
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.up
}

// PeerEvent says that this server reaches a peer, or does not any more.
type PeerEvent struct {
	Node string
	Up   bool
}

// Reach is who reaches whom, as far as this server has heard within the last second.
type Reach struct {
	said map[[2]string]bool // who, and whom
}

// Reaches reports whether a reaches b: there and back, and a server reaches itself. Either of them may have said so.
func (r Reach) Reaches(a, b string) bool {
	return a == b || r.said[[2]string{a, b}] || r.said[[2]string{b, a}]
}

// Majority reports whether more than half of members reach node. A node among the members counts for itself.
func (r Reach) Majority(members []string, node string) bool {
	n := 0
	for _, m := range members {
		if r.Reaches(m, node) {
			n++
		}
	}
	return n > len(members)/2
}
