package transport

import (
	"sync"
	"time"

	"runnel/cluster/mesh"
)

// hintPause is how long a group has to be quiet before its followers are given hints: as long as entries follow one another, those
// bring the commit index with them.
const hintPause = 2 * time.Millisecond

// hinter gives hints to followers that have just got all there is, so that what they serve to readers is not older than that. What it
// misses, since a commit takes longer, comes with the next ping.
type hinter struct {
	t    *Transport
	wake chan struct{}

	mu     sync.Mutex // guards groups
	groups map[*Group]bool
}

// want notes that a follower of a group has answered all that it was sent.
func (h *hinter) want(g *Group) {
	h.mu.Lock()
	if h.groups == nil {
		h.groups = map[*Group]bool{}
	}
	h.groups[g] = true
	first := len(h.groups) == 1
	h.mu.Unlock()
	if first {
		select {
		case h.wake <- struct{}{}:
		default:
		}
	}
}

// run gives hints until the transport is closed.
func (h *hinter) run() {
	pause := time.NewTimer(hintPause)
	defer pause.Stop()
	for {
		select {
		case <-h.t.done:
			return
		case <-h.wake:
		}
		pause.Reset(hintPause)
		select {
		case <-h.t.done:
			return
		case <-pause.C:
		}
		h.give(time.Now())
	}
}

// give gives the hints that are wanted.
func (h *hinter) give(now time.Time) {
	h.mu.Lock()
	groups := h.groups
	h.groups = nil
	h.mu.Unlock()
	up, to := h.t.up(), map[string][]hint{}
	for g := range groups {
		g.hints(now, up, to)
	}
	h.t.sendHints(to)
}

// sendHints sends hints to their nodes.
func (t *Transport) sendHints(to map[string][]hint) {
	for node, list := range to {
		if l := t.lane(node, mesh.RaftHeartbeat); l != nil {
			l.sendHints(list)
		}
	}
}
