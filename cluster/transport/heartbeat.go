package transport

import (
	"sync"

	"github.com/hashicorp/raft"
)

const (
	// beaters is how many heartbeats are handled at a time.
	beaters = 64
	// groupBeats is how many heartbeats may wait for one group.
	groupBeats = 8
)

// beats are the heartbeats that wait for their groups. Heartbeats of one group are handled one after the other, those of
// several by as many goroutines as it takes, up to a bound, so that a slow one holds up its own group alone. They go when
// nothing is waiting.
type beats struct {
	t *Transport

	mu      sync.Mutex // guards what follows, and the beats of all groups
	ready   []*Group   // that have heartbeats waiting, and nobody who handles them
	working int
}

// beat has a heartbeat handled: beside raft's main loop, if that has followed this leader before. Otherwise the heartbeat changes the term, and has
// to take its turn there. Raft would change the term from the side, and one that leads without having heard of its successor would go on to write what is
// proposed to it under the new term, which is the successor's: two entries of one index and term, which nobody can tell apart.
func (g *Group) beat(r inbound) {
	request, ok := r.command.(*raft.AppendEntriesRequest)
	if g.heartbeat.Load() == nil || !ok || request.Term != g.followed.Load() {
		if !g.in.push(r) {
			r.answer(raft.RPCResponse{Error: ErrBusy})
		}
		return
	}
	if !g.t.beats.push(g, r) {
		r.answer(raft.RPCResponse{Error: ErrBusy})
	}
}

func (s *beats) push(g *Group, r inbound) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(g.waitingBeats) >= groupBeats {
		return false
	}
	g.waitingBeats = append(g.waitingBeats, r)
	if g.beating {
		return true
	}
	g.beating = true
	s.ready = append(s.ready, g)
	if s.working < beaters && s.t.spawn(s.work) {
		s.working++
	}
	return true
}

// next is the next heartbeat: of the group that had the last one, unless it has no more.
func (s *beats) next(last *Group) (*Group, inbound) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last != nil && len(last.waitingBeats) > 0 {
		s.ready = append(s.ready, last) // others first
	} else if last != nil {
		last.beating = false
	}
	if len(s.ready) == 0 {
		s.ready = nil
		s.working--
		return nil, inbound{}
	}
	g := s.ready[0]
	s.ready[0] = nil
	s.ready = s.ready[1:]
	r := g.waitingBeats[0]
	n := copy(g.waitingBeats, g.waitingBeats[1:])
	g.waitingBeats = g.waitingBeats[:n]
	return g, r
}

// work handles heartbeats until none is waiting.
func (s *beats) work() {
	answers := make(chan raft.RPCResponse, 1)
	var g *Group
	for {
		var r inbound
		if g, r = s.next(g); g == nil {
			return
		}
		if r.lane.isOver() {
			continue
		}
		(*g.heartbeat.Load())(raft.RPC{Command: r.command, RespChan: answers})
		answer := raft.RPCResponse{Error: ErrNoGroup} // raft does not answer when it is shut down
		select {
		case answer = <-answers:
		default:
		}
		r.lane.answer(r.id, !g.opts.Prompt, answer.Response, answer.Error)
	}
}

// settle notes that raft's main loop has answered a request of a leader: in its term, if it follows.
func (g *Group) settle(request any, answer raft.RPCResponse) {
	q, ok := request.(*raft.AppendEntriesRequest)
	if !ok || answer.Error != nil {
		return
	}
	a, ok := answer.Response.(*raft.AppendEntriesResponse)
	if !ok || a.Term != q.Term {
		return
	}
	for {
		now := g.followed.Load()
		if now >= a.Term || g.followed.CompareAndSwap(now, a.Term) {
			return
		}
	}
}
