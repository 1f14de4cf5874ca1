package replicas

import (
	"context"
	"slices"
	"sync"
	"time"

	"runnel/cluster/group"
)

// serviceRoom is the call that asks a server whether its disk has room for what it might lead: the answer is a byte, 1 if it has.
const serviceRoom = "replicas.room"

const (
	// relieveEvery is how often a server with a full disk looks for others that have room.
	relieveEvery = 2 * time.Second
	// roomAfter is how long a disk must have had room before its server is given something to lead: so leaderships do not go
	// to and fro between servers that are nearly full.
	roomAfter = 30 * time.Second
	// roomTime bounds how long a server may take to say whether it has room.
	roomTime = time.Second
)

// room is what is known of the space on the disk of this server, and what is done about it.
type room struct {
	mu       sync.Mutex // guards what follows
	full     time.Time  // when the disk was full last; zero if it never was
	told     bool       // that it is full and nobody has room
	relieved time.Time  // when others were asked last
	busy     bool       // relieve runs
}

// look notes whether the disk is full, and reports whether others should be asked for room.
func (r *room) look(now time.Time, full bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !full {
		r.told = false
		return false
	}
	r.full = now
	if r.busy || now.Sub(r.relieved) < relieveEvery {
		return false
	}
	r.busy, r.relieved = true, now
	return true
}

// has reports whether there is room, and was for a while.
func (r *room) has(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.full.IsZero() || now.Sub(r.full) >= roomAfter
}

// done ends what look has begun. It is true the first time that nobody has room.
func (r *room) done(nobody bool) (first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	first = nobody && !r.told
	r.busy, r.told = false, nobody
	return first
}

// lookAtDisk has what is led here be led elsewhere when the disk is full: publishes are refused here, and others may have room.
// Where no other server has any, all stays as it is.
func (h *Replicas) lookAtDisk(now time.Time, led int) {
	if h.room.look(now, h.cfg.Store.Full()) && (led == 0 || !h.spawn(h.relieve)) {
		h.room.done(false)
	}
}

// relieve hands over what is led here to members that have room.
func (h *Replicas) relieve() {
	var moving sync.WaitGroup
	limit := make(chan struct{}, slots)
	known := map[string]bool{} // who has room
	led, given := 0, 0
	for _, r := range h.list() {
		g := r.group.Load()
		if g == nil || g.Leader() != h.cfg.Self {
			continue
		}
		led++
		s := g.Status()
		to := r.roomy(&s, known)
		if to == "" {
			continue
		}
		given++
		limit <- struct{}{}
		moving.Go(func() {
			defer func() { <-limit }()
			ctx, cancel := context.WithTimeout(h.ctx, deedTime)
			defer cancel()
			if err := g.StepDown(ctx, to); err != nil {
				h.logger.Debug("a stream stays led here although the disk is full", "id", r.id, "node", to, "error", err)
			}
		})
	}
	moving.Wait()
	first := h.room.done(led > 0 && given == 0)
	switch {
	case given > 0:
		h.logger.Warn("the disk is full: streams are led by servers that have room", "streams", given, "stay", led-given)
	case first:
		h.logger.Error("the disk is full, and no other server has room for the streams that are led here: publishes to them are refused", "streams", led)
	}
}

// roomy is the member of a group that could lead and has room, empty for none. Several take turns by a hash, as when a leader dies.
func (r *replica) roomy(s *group.Status, known map[string]bool) (best string) {
	for i := range s.Peers {
		p := &s.Peers[i]
		if !p.Voter || !p.Current || best != "" && mix(r.id, best) < mix(r.id, p.Node) {
			continue
		}
		has, asked := known[p.Node]
		if !asked {
			has = r.h.hasRoom(p.Node)
			known[p.Node] = has
		}
		if has {
			best = p.Node
		}
	}
	return best
}

// hasRoom asks a server whether it has room. Who does not say so has none.
func (h *Replicas) hasRoom(node string) bool {
	ctx, cancel := context.WithTimeout(h.ctx, roomTime)
	defer cancel()
	answer, err := h.cfg.Transport.Call(ctx, node, serviceRoom, nil)
	return err == nil && slices.Equal(answer, []byte{1})
}

// serveRoom answers whether there is room here.
func (h *Replicas) serveRoom(context.Context, string, []byte) ([]byte, error) {
	if h.cfg.Store.Full() || !h.room.has(time.Now()) {
		return []byte{0}, nil
	}
	return []byte{1}, nil
}
