package replicas

import (
	"context"
	"encoding/binary"
	"hash/fnv"
	"slices"
	"sync"
	"time"

	"runnel/cluster/group"
	"runnel/cluster/meta/state"
	"runnel/cluster/transport"
)

// watch is what lookAround remembers of a replica.
type watch struct {
	missing time.Time // since when no leader is known, or one that is dead; zero if there is one
	silent  bool      // the leader was not heard of for long
	next    time.Time // no campaign before
	place   int       // how many voters come before this one
	term    uint64    // the group's when that was found out, or when another one has tried since
	tries   int
	alone   time.Time // since when too few voters can be reached; zero if enough can
	told    bool      // that it is so
	mend    time.Time // files that are damaged are not looked after before
	mends   int       // how often that was tried
	managed time.Time
	compare time.Time // when replicas are compared next
	changes uint64    // as of the last comparison
}

const (
	// A group of which no leader is known here may have one of whom this server has not heard. So for canvassTime the others are
	// asked first whether they would vote for this replica. The voters do so one after the other by canvassTurn: who has the longest log
	// may be any of them, and candidates who divide the votes wait for their election timeouts.
	canvassTime = 3 * time.Second
	canvassTurn = 400 * time.Millisecond
	// turn is how long each voter leaves the campaign to the one before it, which may be slow: two that campaign at the same time
	// wait for their election timeouts. Once that one has tried, it is tryTime that it has to win.
	turn    = 1500 * time.Millisecond
	tryTime = 250 * time.Millisecond
	// patience bounds the pauses between campaigns, which double.
	patience = 10 * time.Second
	// aloneTime is how long too few voters can be reached before the host is told.
	aloneTime = 5 * time.Second
	// hotTime is how long members are looked at every second after something has changed, coldEvery how often otherwise.
	hotTime   = 30 * time.Second
	hotEvery  = time.Second
	coldEvery = 15 * time.Second
	// mendEvery is how long a replica with damaged files waits until it tries again to be mended. That doubles mendsMax times.
	mendEvery = 2 * time.Second
	mendsMax  = 8
)

// soon has the members be looked at more often for a while.
func (r *replica) soon() { r.hot.Store(time.Now().Add(hotTime).UnixNano()) }

// lookAround finds dead leaders, and has groups managed that are led here.
func (h *Replicas) lookAround() {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			h.look(time.Now())
		case <-h.ctx.Done():
			return
		}
	}
}

// laps is in how many looks all groups are looked at while all servers are well. Those without a leader are looked at each time.
const laps = 4

// lap is how far lookAround is with looking at all groups, and what it has counted so far.
type lap struct{ n, led, preferred int }

// end returns what was counted of all groups, if they have all been looked at.
func (l *lap) end(all bool) (led, preferred int, ok bool) {
	if ok = all || l.n == laps-1; ok {
		led, preferred = l.led, l.preferred
		l.led, l.preferred = 0, 0
	}
	l.n = (l.n + 1) % laps
	return led, preferred, ok
}

func (h *Replicas) look(now time.Time) {
	reach := h.cfg.Transport.Reach()
	all := !h.calm(&reach)
	if all {
		h.lap = lap{}
	}
	for _, r := range h.list() {
		if g, due := r.group.Load(), all || r.id%laps == uint64(h.lap.n); g != nil && (due || r.watch.alarmed() || g.Leader() == "") {
			led := r.look(now, g, &reach)
			if due {
				h.lap.count(led, r.preferred.Load())
			}
		}
	}
	if led, preferred, ok := h.lap.end(all); ok {
		h.moves.judge(led, preferred)
		h.lookAtDisk(now, led)
	}
	h.doubts.resolve(now, h)
}

// calm reports whether this server reaches all others of the cluster, so that no leader is dead.
func (h *Replicas) calm(reach *transport.Reach) bool {
	for m := range h.cfg.Meta.View().Members() {
		if !reach.Reaches(h.cfg.Self, m.Node) {
			return false
		}
	}
	return true
}

// count counts a group.
func (l *lap) count(led, preferred bool) {
	if led {
		l.led++
	}
	if preferred {
		l.preferred++
	}
}

// alarmed reports whether something is wrong with the leader.
func (w *watch) alarmed() bool { return !w.missing.IsZero() || w.silent }

// look looks after one group, and reports whether it is led here.
func (r *replica) look(now time.Time, g *group.Group, reach *transport.Reach) (led bool) {
	if r.agreed.Load().Err() != nil {
		r.again() // it has been damaged, perhaps while nothing was applied: it is given up, and led elsewhere
		return false
	}
	r.lookAtFiles(now)
	leader := g.Leader()
	if led = leader == r.h.cfg.Self; led {
		r.lookAsLeader(now, g)
	} else {
		r.lookForLeader(now, g, leader, reach)
	}
	return led
}

// lookAtFiles has a replica with damaged files be mended, again after longer and longer times: others may have no better one.
func (r *replica) lookAtFiles(now time.Time) {
	w := &r.watch
	switch {
	case r.agreed.Load().Harm() == nil:
		w.mend, w.mends = time.Time{}, 0
	case !now.Before(w.mend):
		w.mend = now.Add(mendEvery << min(w.mends, mendsMax))
		w.mends++
		r.again()
	}
}

// lookAsLeader has the group managed and compared from time to time.
func (r *replica) lookAsLeader(now time.Time, g *group.Group) {
	w := &r.watch
	*w = watch{managed: w.managed, compare: w.compare, changes: w.changes, mend: w.mend, mends: w.mends}
	every := coldEvery
	if now.UnixNano() < r.hot.Load() {
		every = hotEvery
	}
	if a := r.assignment(); a != nil && a.Desired != nil {
		every = hotEvery
	}
	if w.managed.IsZero() { // not all at the same time
		w.managed = now.Add(-time.Duration(mix(r.id, "") % uint64(every)))
	}
	if now.Sub(w.managed) >= every {
		w.managed = now
		r.manageSoon()
	}
	switch {
	case w.compare.IsZero():
		w.compare = now.Add(r.h.cfg.CompareEvery/2 + time.Duration(mix(r.id, "")%uint64(r.h.cfg.CompareEvery)))
	case now.After(w.compare):
		w.compare = now.Add(r.h.cfg.CompareEvery)
		if n := r.changes.Load(); n != w.changes {
			w.changes = n
			g.Compare()
		}
	}
}

// lookForLeader campaigns for a group whose leader is dead. Only a follower with a vote does so that reaches a majority itself, and
// one after the other, beginning with the one that a hash picks: so no two of them do it at the same time, and groups are spread over those
// that are left. One whose log is too short fails, which makes the term rise, and the next one tries.
// A server that can be reached is asked when its leader has been silent for long, see quiet.
func (r *replica) lookForLeader(now time.Time, g *group.Group, leader string, reach *transport.Reach) {
	w := &r.watch
	voters := *r.voters.Load()
	// Who reaches the leader leaves it to those who do not to find out whether they are the majority, unless the leader's own
	// server says that it leads no more.
	there := leader != "" && (reach.Reaches(r.h.cfg.Self, leader) || reach.Majority(voters, leader))
	if !r.votes(voters) || there && !r.quiet(g, leader) {
		w.missing, w.tries, w.alone, w.told = time.Time{}, 0, time.Time{}, false
		return
	}
	if r.lonely(now, voters, reach) {
		return
	}
	w.wait(now, g.Term(), leader == "", func() int { return r.rank(voters, leader, reach) })
	if now.Before(w.next) {
		return
	}
	if leader == "" && now.Sub(w.missing) < canvassTime {
		w.next = now.Add(time.Duration(len(voters)) * canvassTurn)
		term := g.Term()
		r.h.spawn(func() {
			if g.Canvass(r.h.ctx) && g.Term() == term && g.Leader() == "" {
				r.campaign(g, leader)
			}
		})
		return
	}
	w.tries++
	w.next = now.Add(min(time.Second<<min(w.tries, 8), patience))
	r.campaign(g, leader)
}

func (r *replica) campaign(g *group.Group, leader string) {
	if err := g.Campaign(); err != nil {
		r.h.logger.Debug("no campaign", "id", r.id, "error", err)
		return
	}
	r.h.logger.Debug("campaigns for a group without a leader", "id", r.id, "leader", leader)
}

// wait notes since when a leader is missing, and says when it is this voter's turn: after those before it, as each of them has tried
// and not won, which makes the term rise.
func (w *watch) wait(now time.Time, term uint64, leaderless bool, rank func() int) {
	switch {
	case w.missing.IsZero():
		w.missing, w.place, w.term = now, rank(), term
		each := turn
		if leaderless {
			each = canvassTurn
		}
		w.next = now.Add(time.Duration(w.place) * each)
	case w.tries == 0 && w.place > 0 && term > w.term:
		w.place, w.term = w.place-1, term
		w.next = now.Add(tryTime + time.Duration(w.place)*turn)
	}
}

// lonely reports whether too few voters can be reached for anybody to lead, and tells the host if that lasts.
func (r *replica) lonely(now time.Time, voters []string, reach *transport.Reach) bool {
	w := &r.watch
	if reach.Majority(voters, r.h.cfg.Self) {
		w.alone, w.told = time.Time{}, false
		return false
	}
	w.missing, w.tries = time.Time{}, 0
	if w.alone.IsZero() {
		w.alone = now
	}
	if !w.told && now.Sub(w.alone) >= aloneTime && r.h.cfg.QuorumLost != nil {
		w.told = true
		r.h.spawn(func() { r.h.cfg.QuorumLost(r.id) })
	}
	return true
}

// rank is how many of the voters that can be reached come before this server.
func (r *replica) rank(voters []string, leader string, reach *transport.Reach) (n int) {
	self := mix(r.id, r.h.cfg.Self)
	for _, v := range voters {
		if v != leader && v != r.h.cfg.Self && reach.Reaches(r.h.cfg.Self, v) && mix(r.id, v) < self {
			n++
		}
	}
	return n
}

// mix is a hash of a stream and a node.
func mix(id uint64, node string) uint64 {
	f := fnv.New64a()
	_, _ = f.Write(binary.LittleEndian.AppendUint64(nil, id)) // never fails
	_, _ = f.Write([]byte(node))
	return f.Sum64()
}

// peerChanged has what waits for a peer go out when it is back.
func (h *Replicas) peerChanged(e transport.PeerEvent) {
	if !e.Up {
		return
	}
	for _, r := range h.list() {
		if g := r.group.Load(); g != nil {
			g.Reached()
		}
	}
}

// pace says when leadership is given to the server that is to have it. A few are given in a second, and only by a server that leads
// clearly more than it is to: what somebody has moved by hand stays.
type pace struct {
	mu   sync.Mutex
	more bool
	next time.Time
}

const moveEvery = 400 * time.Millisecond

// judge notes how many groups are led here, and how many are meant to be.
func (p *pace) judge(led, preferred int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.more = led > preferred+max(2, preferred/20)
}

// take reports whether a leadership may be given away now.
func (p *pace) take(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.more || now.Before(p.next) {
		return false
	}
	p.next = now.Add(moveEvery)
	return true
}

// settleTime is how long a leader stays in any case.
const settleTime = 10 * time.Second

// balance gives a leadership to the server that is to have it.
func (r *replica) balance(a *state.Assignment, g *group.Group, s *group.Status) {
	if a.Preferred == r.h.cfg.Self || a.Desired != nil || time.Since(s.LeaderSince) < settleTime {
		return
	}
	i := slices.IndexFunc(s.Peers, func(p group.Peer) bool { return p.Node == a.Preferred })
	if i < 0 || !s.Peers[i].Voter || !s.Peers[i].Current || !r.h.moves.take(time.Now()) || !r.h.hasRoom(a.Preferred) {
		return
	}
	ctx, cancel := context.WithTimeout(r.h.ctx, deedTime)
	defer cancel()
	if err := g.StepDown(ctx, a.Preferred); err != nil {
		r.h.logger.Debug("a leadership stays where it is", "id", r.id, "error", err)
	}
}

// resignTime bounds what Close waits for others to take over.
const resignTime = 2 * time.Second

// Resign hands all leaderships over that others can take.
func (h *Replicas) Resign(ctx context.Context) {
	var running sync.WaitGroup
	limit := make(chan struct{}, slots)
	for _, r := range h.list() {
		g := r.group.Load()
		if g == nil || g.Leader() != h.cfg.Self || ctx.Err() != nil {
			continue
		}
		limit <- struct{}{}
		running.Go(func() {
			defer func() { <-limit }()
			if err := g.StepDown(ctx, ""); err != nil {
				h.logger.Debug("nobody takes a leadership over", "id", r.id, "error", err)
			}
		})
	}
	running.Wait()
}
