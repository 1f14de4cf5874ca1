package replicas

import (
	"context"
	"encoding/binary"
	"time"

	"runnel/cluster/group"
)

// serviceVacant is the call that asks a server which of some streams it does not lead although others think so: the request is the
// streams, 8 bytes each in little endian, the answer those of them that nobody leads, as far as it knows.
const serviceVacant = "replicas.vacant"

const (
	// quietTime is how long a leader may be silent in its group before its server is asked. It is heard of every two seconds,
	// and what it says may wait half a second on its way.
	quietTime = 3 * time.Second
	// doubtTime is how long a server may take to answer, and how often it is asked; doubtMost is how many streams go into a question.
	doubtTime = time.Second
	doubtMost = 8192
)

// doubts are the leaders that are silent although their servers are well: a group may be closed there, or not be open yet. They are
// used by lookAround alone.
type doubts struct {
	found map[string][]*replica // by server, of this look
	asked map[string]time.Time  // when a server was asked last
}

// quiet reports whether a server that can be reached has said that it does not lead this group any more, and has it asked if its
// leader has been silent for long.
func (r *replica) quiet(g *group.Group, leader string) bool {
	if r.watch.silent = g.Silence() >= quietTime; !r.watch.silent {
		r.vacant.Store(nil)
		return false
	}
	if v := r.vacant.Load(); v != nil && *v == leader {
		return true
	}
	d := &r.h.doubts
	if d.found == nil {
		d.found = map[string][]*replica{}
	}
	if len(d.found[leader]) < doubtMost {
		d.found[leader] = append(d.found[leader], r)
	}
	return false
}

// resolve asks the servers whose leaders were found to be silent.
func (d *doubts) resolve(now time.Time, h *Replicas) {
	for node, list := range d.found {
		if now.Sub(d.asked[node]) < doubtTime {
			continue
		}
		if d.asked == nil {
			d.asked = map[string]time.Time{}
		}
		d.asked[node] = now
		h.spawn(func() { h.ask(node, list) })
	}
	d.found = nil
}

// ask asks a server which of some streams nobody leads that it was known to lead. One that does not answer is left to itself: either
// it is found to be gone, or the groups find out by their own timeouts.
func (h *Replicas) ask(node string, list []*replica) {
	ctx, cancel := context.WithTimeout(h.ctx, doubtTime)
	defer cancel()
	var request []byte
	for _, r := range list {
		request = binary.LittleEndian.AppendUint64(request, r.id)
	}
	answer, err := h.cfg.Transport.Call(ctx, node, serviceVacant, request)
	if err != nil {
		h.logger.Debug("a server whose groups are silent does not say whether it leads them", "node", node, "groups", len(list), "error", err)
		return
	}
	for ; len(answer) >= 8; answer = answer[8:] {
		if r := h.replica(binary.LittleEndian.Uint64(answer)); r != nil {
			r.vacant.Store(&node)
		}
	}
}

// serveVacant answers which of some streams nobody leads: they have no group here, one that has failed, or one that knows no leader.
func (h *Replicas) serveVacant(_ context.Context, _ string, request []byte) ([]byte, error) {
	if len(request)%8 != 0 {
		return nil, errRequest
	}
	var answer []byte
	for ; len(request) > 0; request = request[8:] {
		if h.isVacant(binary.LittleEndian.Uint64(request)) {
			answer = append(answer, request[:8]...)
		}
	}
	return answer, nil
}

func (h *Replicas) isVacant(id uint64) bool {
	r := h.replica(id)
	if r == nil {
		return true
	}
	g := r.group.Load()
	return g == nil || g.Leader() == "" || g.Status().Failed != nil
}
