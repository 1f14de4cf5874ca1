package replicas

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"runnel/cluster/group"
	"runnel/cluster/meta/state"
	"runnel/cluster/transport"
	"runnel/jetlog/store"
)

// replica is a stream that is to be here, is here, or is to go. What is wanted is noted, and a goroutine that lives while there is something to do
// brings it about.
type replica struct {
	h  *Replicas
	id uint64

	group     atomic.Pointer[group.Group]  // nil while none is open
	agreed    atomic.Pointer[store.Stream] // that of the group which was opened last
	voters    atomic.Pointer[[]string]     // of the group, as applied here
	changes   atomic.Uint64                // counts entries
	preferred atomic.Bool                  // this server is to lead
	verifying atomic.Bool                  // the files are being verified
	hot       atomic.Int64                 // until when the members may not be as assigned, in nanoseconds since 1970
	vacant    atomic.Pointer[string]       // the server that was thought to lead and says that nobody does; nil for none
	watch     watch                        // used by lookAround alone

	mu       sync.Mutex // guards what follows; nobody is called while it is held
	want     *state.Assignment
	dirty    bool
	busy     bool
	pause    time.Duration // before the next attempt
	gone     bool          // it is not in the table any more, and does nothing
	lost     error         // why what is here must be given up; nil if it is good
	broken   error         // why its group is closed though it may be good; for ever
	wiped    time.Time     // when something was given up last
	managing bool
	compared comparison

	// Used by work alone.
	stream *store.Stream // that the service was told of
	solo   bool          // the service was told to lead it, without a group
}

// retry pauses between attempts to bring about what is wanted.
const (
	retryFirst = 100 * time.Millisecond
	retryLast  = 10 * time.Second
)

// errLater says that something has to wait for others; it is tried again and nobody needs to know.
var errLater = errors.New("not yet")

func newReplica(h *Replicas, id uint64) *replica {
	r := &replica{h: h, id: id}
	r.voters.Store(&[]string{})
	return r
}

// assign notes what is wanted of the replica.
func (r *replica) assign(a *state.Assignment) {
	r.soon()
	r.preferred.Store(a != nil && a.Preferred == r.h.cfg.Self)
	r.poke(func() { r.want, r.pause = a, 0 })
}

// poke changes something and has work look at it.
func (r *replica) poke(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gone {
		return
	}
	change()
	r.dirty = true
	if !r.busy {
		r.busy = r.h.spawn(r.work)
	}
}

// again has work look at the replica.
func (r *replica) again() { r.poke(func() {}) }

// vanish reports whether the replica is neither wanted nor there, and then is never worked at again.
func (r *replica) vanish() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gone = r.want == nil && !r.busy && !r.dirty && r.h.cfg.Store.StreamByID(r.id) == nil
	return r.gone
}

// next is what is wanted now; it is false when there is nothing to do.
func (r *replica) next() (a *state.Assignment, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.dirty || r.h.ctx.Err() != nil {
		r.busy = false
		return nil, false
	}
	r.dirty = false
	return r.want, true
}

// harm is why the stream must be given up, or why its group stays closed.
func (r *replica) harm(t *store.Stream) (lost, broken error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	lost, broken = r.lost, r.broken
	if err := t.Err(); errors.Is(err, store.ErrNewer) {
		broken = err // another server's copy would not be understood either
	} else if err != nil {
		lost = errors.Join(err, lost)
	}
	return lost, broken
}

// work brings about what is wanted until it is.
func (r *replica) work() {
	for {
		a, ok := r.next()
		if !ok {
			break
		}
		r.h.slots <- struct{}{}
		err := r.become(a)
		<-r.h.slots
		if err != nil {
			r.later(a, err)
		}
	}
	r.h.forget(r)
}

// later has work try again after a while.
func (r *replica) later(a *state.Assignment, err error) {
	if !errors.Is(err, errLater) && r.h.ctx.Err() == nil {
		r.h.logger.Warn("a stream is not yet as the cluster wants it here; trying again", "stream", nameOf(a), "id", r.id, "error", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pause = min(max(2*r.pause, retryFirst), retryLast)
	pause := r.pause
	r.h.spawn(func() {
		if r.h.sleep(pause) {
			r.again()
		}
	})
}

func nameOf(a *state.Assignment) string {
	if a == nil {
		return ""
	}
	return a.Config.Name
}

// become takes the replica to what is wanted of it.
func (r *replica) become(a *state.Assignment) error {
	t := r.h.cfg.Store.StreamByID(r.id)
	switch {
	case a == nil:
		return r.leave(t)
	case t == nil:
		return r.create(a)
	}
	switch lost, broken := r.harm(t); {
	case t.Replicated() && lost != nil && (broken == nil || t.Err() != nil):
		return r.rejoin(a, t, lost)
	case t.Replicated() && broken != nil:
		r.opened(t)
		r.shutGroup()
		return nil
	case !t.Replicated() && a.Solo():
		r.serve(t)
		return nil
	case t.Replicated() && a.Solo():
		return r.toSolo(a, t)
	case !t.Replicated():
		return r.toReplica(a, t)
	}
	if err := r.open(a, t); err != nil || t.Harm() == nil {
		return err
	}
	return r.mend(a, t)
}

// leave removes the stream.
func (r *replica) leave(t *store.Stream) error {
	if t == nil {
		r.close()
		return nil
	}
	if !r.h.caught.Load() {
		return nil // it is looked at again once what is decided is known
	}
	r.handOver()
	r.close()
	if err := r.h.cfg.Store.Delete(t); err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	return nil
}

// handOverTime bounds how long a replica that goes tries to find somebody who leads after it.
const handOverTime = 3 * time.Second

// handOver lets another server lead a stream that stays with others but not here, or whose replica here is damaged: to them this server
// is well, and they would wait for a leader who is silent until they ask.
func (r *replica) handOver() {
	g := r.group.Load()
	if g == nil || g.Leader() != r.h.cfg.Self || r.h.cfg.Meta.View().StreamByID(r.id) == nil {
		return
	}
	ctx, cancel := context.WithTimeout(r.h.ctx, handOverTime)
	defer cancel()
	if err := g.StepDown(ctx, ""); err != nil {
		r.h.logger.Warn("a stream cannot be led here any more, and nobody takes over", "id", r.id, "error", err)
	}
}

// create makes the stream as one that this server has from the beginning, or as one that waits for what others have.
func (r *replica) create(a *state.Assignment) error {
	if !r.h.caught.Load() {
		return nil
	}
	self, assigned := r.h.cfg.Self, store.Assigned{ID: r.id, Account: a.Account, Config: a.Config, Created: a.Created}
	if a.Birth.Config != nil {
		assigned.Config = *a.Birth.Config
	}
	switch native := a.Native(self); {
	case native && len(a.Birth.Peers) == 1: // without a group; it may become another thing next
	case native:
		place := r.h.births.of(a.Birth.Peers)
		assigned.Place = &place
	case a.Solo():
		return errors.New("the stream is assigned to this server alone, and it is not here")
	default:
		assigned.Config = a.Config
		assigned.Place = &group.Place{}
	}
	if _, err := r.h.cfg.Store.CreateAssigned(assigned); err != nil {
		return err
	}
	r.again()
	return nil
}

// opened tells the service that the stream is here.
func (r *replica) opened(t *store.Stream) {
	if r.stream == t {
		return
	}
	if r.stream != nil {
		r.h.cfg.Service.Closed(r.id)
	}
	r.stream = t
	r.h.cfg.Service.Opened(t)
}

// serve has a stream without a group served.
func (r *replica) serve(t *store.Stream) {
	r.opened(t)
	if !r.solo {
		r.solo = true
		r.h.cfg.Service.Lead(r.id, soloTerm)
	}
}

// unserve ends serve.
func (r *replica) unserve() {
	if r.solo {
		r.solo = false
		r.h.cfg.Service.Follow(r.id)
	}
}

// open opens the group of a replicated stream, if it is not open.
func (r *replica) open(a *state.Assignment, t *store.Stream) error {
	if r.group.Load() != nil {
		return nil
	}
	r.opened(t)
	born := t.Place()
	r.members(born.Configuration)
	log := t.Entries()
	tg := r.h.cfg.Transport.Group(r.id, transport.GroupOptions{
		Clamp: log.Durable, Commit: r.leaderCommit, Nudge: r.nudge, Has: r.has,
		Base: func() (index, term uint64) {
			p := t.Place()
			return p.Index, p.Term
		},
	})
	g, err := group.Open(group.Config{
		ID: r.id, Self: r.h.cfg.Self, Machine: &machine{r: r, t: t}, Log: log, Transport: tg, Timing: r.h.cfg.Timing,
		Lead: func(term uint64) {
			r.soon()
			r.h.cfg.Service.Lead(r.id, term)
		},
		Follow:   func() { r.h.cfg.Service.Follow(r.id) },
		Failed:   r.failed,
		Campaign: func() error { return r.h.cfg.Transport.TimeoutNow(r.id) },
		Progress: progressOf(tg),
		Compare:  func(index uint64) { r.compare(index, t) },
		Logger:   r.h.logger,
	})
	if err != nil {
		_ = tg.Close()
		return err
	}
	r.agreed.Store(t)
	r.group.Store(g)
	t.SetProposer(proposer{g})
	alone := slices.Equal(*r.voters.Load(), []string{r.h.cfg.Self})
	if alone || group.First(born) == r.h.cfg.Self && log.Last() == 0 {
		// Nobody else can lead this group, or nobody has yet, and this server is to.
		if err := g.Campaign(); err != nil {
			r.h.logger.Debug("a new group does not campaign", "id", r.id, "error", err)
		}
	}
	return nil
}

// progressOf asks the transport how far a peer is.
func progressOf(tg *transport.Group) func(string) (uint64, time.Time) {
	return func(node string) (uint64, time.Time) {
		for _, p := range tg.Progress() {
			if p.Node == node {
				return p.Index, p.Contact
			}
		}
		return 0, time.Time{}
	}
}

// leaderCommit, nudge and has are for the transport, which may ask before the group is there.
func (r *replica) leaderCommit() uint64 {
	if g := r.group.Load(); g != nil {
		return g.LeaderCommit()
	}
	return 0
}

func (r *replica) nudge(string) {
	if g := r.group.Load(); g != nil {
		g.Nudge()
	}
}

func (r *replica) has(node string, term, index uint64) {
	if g := r.group.Load(); g != nil { // it campaigns once it is
		g.Has(node, term, index)
	}
}

// members notes who has a vote.
func (r *replica) members(configuration []byte) {
	if len(configuration) == 0 {
		r.voters.Store(&[]string{})
		return
	}
	if voters, _, err := group.Members(configuration); err == nil {
		r.voters.Store(&voters)
	}
}

// votes reports whether this server is among the voters.
func (r *replica) votes(voters []string) bool { return slices.Contains(voters, r.h.cfg.Self) }

// failed is told that the group cannot go on. If it is the stream's fault, the stream knows.
func (r *replica) failed(err error) {
	r.poke(func() { r.broken = errors.Join(r.broken, err) })
}

// diverged is told that the state is wrong.
func (r *replica) diverged() {
	r.poke(func() { r.lost = ErrDiverged })
}

// shutGroup closes the group, if it is open.
func (r *replica) shutGroup() {
	g := r.group.Load()
	if g == nil {
		return
	}
	if r.stream != nil {
		r.stream.SetProposer(nil)
	}
	_ = g.Close() // it has no error
	r.group.Store(nil)
}

// shut ends the replica for good; the stream stays in the store and the service knows it.
func (r *replica) shut() {
	r.shutGroup()
	r.unserve()
}

// close ends the replica, and tells the service that it is gone.
func (r *replica) close() {
	r.shut()
	if r.stream != nil {
		r.stream = nil
		r.h.cfg.Service.Closed(r.id)
	}
}

// status is what there is to see of the replica.
func (r *replica) status() (group.Status, bool) {
	if g := r.group.Load(); g != nil {
		s := g.Status()
		for i := range s.Peers {
			s.Peers[i].Lag = lagOf(s.Commit, s.Peers[i].Lag)
		}
		return s, true
	}
	t := r.h.cfg.Store.StreamByID(r.id)
	if t == nil {
		return group.Status{}, false
	}
	if t.Replicated() {
		r.mu.Lock()
		defer r.mu.Unlock()
		return group.Status{Failed: errors.Join(t.Err(), r.lost, r.broken), Applied: t.Applied()}, true
	}
	return group.Status{Leader: r.h.cfg.Self, Leads: t.Err() == nil, Term: soloTerm, Voter: true, Failed: t.Err()}, true
}
