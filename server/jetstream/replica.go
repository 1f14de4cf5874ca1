package jetstream

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/store"
	"runnel/server/accounts"
	"runnel/server/engine"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/clustered"
	"runnel/server/jetstream/delivery"
	"runnel/server/jetstream/rebuild"
)

// replica is a stream of the cluster that this server has. What the cluster tells of it is noted, and a goroutine, which lives
// while there is something to be done, lets a stream of its account become that: one that leads or one that follows.
//
// Invariant: a stream that leads is through with all it had begun before another one of the same replica leads.
type replica struct {
	cluster *cluster
	log     *store.Stream
	gone    chan struct{} // closed when the server does not have it any more
	rested  atomic.Int64  // when the stream ceased to be led here, 0 for never; nanoseconds since 1970
	up      atomic.Int64  // when the state here was last known to be the leader's, or nearly; nanoseconds since 1970

	mu     sync.Mutex // guards everything below
	term   uint64     // in which it is to be led here, 0 for not
	closed bool
	stream *stream // what it is now, nil while its account is not served
	busy   bool    // the goroutine exists
	dirty  bool    // and has something to look at
	done   chan struct{}
}

// want notes what the replica is to be, and sees to it that it becomes that.
func (r *replica) want(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
	r.dirty = true
	if !r.busy {
		r.busy, r.done = true, make(chan struct{})
		go r.work()
	}
}

// settle waits until the replica is what it is to be.
func (r *replica) settle() {
	r.mu.Lock()
	busy, done := r.busy, r.done
	r.mu.Unlock()
	if busy {
		<-done
	}
}

// rest lets the stream that leads, if there is one, take nothing more. It is quick.
func (r *replica) rest() {
	r.mu.Lock()
	t := r.stream
	r.mu.Unlock()
	if t != nil && t.ingest != nil {
		r.rested.Store(time.Now().UnixNano())
		t.resting.Store(true)
		t.silence()
	}
}

// strayTime is for how long after its leadership a server gets messages of those who have not heard of its end.
const strayTime = 10 * time.Second

// Stray is told of a message that another server has sent here as if somebody wanted it. If that was a stream which was led here
// until a moment ago, or its consumer, whoever has published it learns that nobody has it. It is quick.
func (s *Service) Stray(account *accounts.Account, subject, reply []byte) {
	a := s.named(account.Name())
	if a == nil || s.cluster == nil {
		return
	}
	for _, t := range append(a.overlapping(string(subject)), a.stream(api.Led(string(subject)))) {
		if t == nil || t.leads() {
			continue
		}
		if r := s.cluster.replica(t.log.ID()); r != nil && time.Since(time.Unix(0, r.rested.Load())) < strayTime {
			t.refuse(account, reply)
		}
	}
}

// refuse has a publisher, if it waits for an answer, learn that the stream has not taken its message.
func (t *stream) refuse(account *accounts.Account, reply []byte) {
	if len(reply) > 0 && !t.config().NoAck {
		t.account.service.ingest.Refuse(account, reply)
	}
}

// work lets the replica become what it is to be, until it is.
func (r *replica) work() {
	for {
		a := r.cluster.service.named(r.log.Account())
		is, term, closed, ok := r.next()
		if !ok {
			return
		}
		r.become(a, is, term, closed)
	}
}

// next returns what is and what is to be; it is false when that is the same, and the goroutine ends.
func (r *replica) next() (is *stream, term uint64, closed, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.dirty {
		r.busy = false
		close(r.done)
		return nil, 0, false, false
	}
	r.dirty = false
	return r.stream, r.term, r.closed, true
}

// become ends what the replica is, and begins what it is to be in an account, nil for nothing. A leader becomes a follower
// first, which readers find while the leader is coming to its end.
func (r *replica) become(a *account, is *stream, term uint64, closed bool) {
	finished := is != nil && is.unfinished && !r.unfinished()
	if is != nil && !closed && is.account == a && is.term == term && !is.isClosed() && !finished {
		return
	}
	if closed {
		a = nil
	}
	if a == nil || is == nil || is.account != a || is.term != 0 || is.isClosed() {
		is = r.replace(is, r.follower(a), closed)
	}
	if is != nil && term != 0 {
		leader := newStream(is.account, r.log)
		leader.term, leader.unfinished = term, rebuild.Restoring(leader.config())
		if !leader.unfinished {
			leader.begin()
		}
		if r.replace(is, leader, false) != nil && leader.ingest != nil {
			leader.attend()
			leader.elected()
		}
	}
}

// unfinished tells whether the stream is being restored.
func (r *replica) unfinished() bool {
	cfg := r.log.Config()
	return rebuild.Restoring(&cfg)
}

// follower returns a stream of an account that only answers direct gets; nil without an account.
func (r *replica) follower(a *account) *stream {
	if a == nil {
		return nil
	}
	t := newStream(a, r.log)
	if err := r.log.Err(); err != nil {
		t.failed.Store(true)
	} else {
		t.count()
	}
	return t
}

// replace has one stream known in the place of another; either may be nil. It returns the new one, nil if the account is not
// served any more.
func (r *replica) replace(old, t *stream, closed bool) *stream {
	if t != nil && !t.account.exchange(t) {
		t.close()
		t = nil
	}
	r.mu.Lock()
	r.stream = t
	r.mu.Unlock()
	if t != nil {
		t.share(r.reads(t))
	}
	if old == nil {
		return t
	}
	if t == nil {
		old.account.remove(old)
	}
	switch {
	case old.ingest == nil:
		old.close()
	case closed && r.deleted():
		old.sources.Remove()
		old.close()
	default:
		old.resting.Store(true)
		old.end((*delivery.Stream).Resign)
	}
	return t
}

// deleted tells whether the stream is closed since the cluster does not have it any more.
func (r *replica) deleted() bool {
	a, ok := r.cluster.Stream(r.log.Account(), r.log.Name())
	return !ok || a.ID != r.log.ID()
}

// reads returns the streams for which direct gets may be answered: this one if the state here is the leader's, or nearly, and the
// one that it mirrors, if it has nearly all of that.
func (r *replica) reads(t *stream) (names []string) {
	if t.offline() || !t.direct() {
		return nil
	}
	if r.current(t) {
		names = append(names, t.log.Name())
	}
	if cfg := t.config(); t.leads() && cfg.MirrorDirect && cfg.Mirror != nil && cfg.Mirror.External == nil {
		if m := t.sources.Mirror(); m != nil && m.Active != api.Never && m.Lag == 0 {
			names = append(names, cfg.Mirror.Name)
		}
	}
	return names
}

// current tells whether the state here is the leader's, or nearly.
func (r *replica) current(t *stream) bool {
	if t.leads() {
		return true
	}
	status, ok := r.cluster.Status(r.log.ID())
	if !ok || status.Leader.ID == "" {
		return ok && time.Since(time.Unix(0, r.up.Load())) < leaderlessMost
	}
	self := r.cluster.Self().ID
	for i := range status.Replicas {
		if status.Replicas[i].ID == self && status.Replicas[i].Current {
			r.up.Store(time.Now().UnixNano())
			return true
		}
	}
	return false
}

// leaderlessMost is how long a replica answers direct gets while nobody leads: an election does not interrupt them, and who has been
// cut off does not show what is old for long.
const leaderlessMost = 10 * time.Second

// tend lets the replica follow what has changed without a word: the configuration that the cluster has assigned, how far the
// replica is, what it has.
func (r *replica) tend() {
	r.mu.Lock()
	t, busy := r.stream, r.busy
	r.mu.Unlock()
	if t == nil || busy || t.offline() || t.isClosed() {
		return
	}
	if t.unfinished {
		if !t.taking.Load() && time.Since(t.since) > abandonedAfter {
			r.abandon()
		}
		return
	}
	if a, ok := r.cluster.Stream(r.log.Account(), r.log.Name()); ok && a.ID == r.log.ID() {
		switch {
		case !rebuild.Restoring(&a.Config):
			t.assigned(a)
		case t.leads():
			r.adopt(t)
		}
	}
	if !t.leads() {
		t.countIfKnown()
	}
	t.share(r.reads(t))
}

// assigned lets the stream take the configuration that the cluster has assigned, if it has another one.
func (t *stream) assigned(a *clustered.Assignment) {
	switch {
	case t.seen.Load() == a:
	case t.leads():
		t.seen.Store(a)
		t.account.service.running.Go(func() {
			refusal, err := t.configure(&a.Config)
			if err != nil || refusal != nil {
				t.account.service.logger.Warn("stream does not take the configuration that the cluster has assigned; trying again",
					"account", t.log.Account(), "stream", t.log.Name(), "refused", refusal, "error", err)
				t.seen.Store(nil)
			}
		})
	default:
		t.seen.Store(a)
		t.cfg.Store(&a.Config)
		t.account.claim(t)
	}
}

// configure has the stream take a configuration unless it has it already, and returns why not.
func (t *stream) configure(cfg *config.Stream) (*api.Error, error) {
	if now := t.log.Config(); config.Same(&now, cfg) {
		return nil, nil
	}
	result, err := t.propose(&command.Configure{Time: t.account.service.now(), Config: *cfg})
	if err != nil || result.Code != 0 {
		return api.NewError(result.Code, result.Detail), err
	}
	t.configured()
	return nil, nil
}

// serve subscribes a stream that leads to what only its leader is to get: requests for messages, acknowledgements,
// answers to flow control, in both forms of their subjects.
func (t *stream) serve() []*engine.Internal {
	s, a, name := t.account.service, t.account, t.log.Name()
	var list []*engine.Internal
	subscribe := func(subject string, handler func(*engine.Message)) {
		list = append(list, s.cfg.Engine.SubscribeService(a.account, subject, handler))
	}
	for _, prefix := range api.Prefixes(s.cfg.Domain) {
		subscribe(prefix+api.CallConsumerNext.String()+"."+name+".*", a.takeRequest)
	}
	for _, second := range []bool{false, true} {
		more := ""
		if second {
			more = "*.*."
		}
		subscribe(api.AckPrefix+more+name+".>", func(m *engine.Message) {
			if ack, ok := api.ParseAck(string(m.Subject)); ok && ack.Stream == name && (ack.Account != "") == second {
				a.takeAck(m)
			}
		})
		subscribe(api.FlowControlPrefix+more+name+".>", func(m *engine.Message) {
			if flow, ok := api.ParseFlow(string(m.Subject)); ok && flow.Stream == name && (flow.Account != "") == second {
				a.takeFlowControl(m)
			}
		})
	}
	return list
}

// share lets the stream answer direct gets for streams of these names, together with the other servers that do.
func (t *stream) share(names []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || slices.Equal(names, t.readers) {
		return
	}
	before := t.reads
	t.reads, t.readers = nil, names
	s := t.account.service
	for _, prefix := range api.Prefixes(s.cfg.Domain) {
		for _, name := range names {
			for _, subject := range []string{name, name + ".>"} {
				subject = prefix + api.CallDirectGet.String() + "." + subject
				t.reads = append(t.reads, s.cfg.Engine.SubscribeMember(t.account.account, subject, memberQueue, t.takeRead))
			}
		}
	}
	for _, i := range before { // last, so that somebody answers meanwhile
		i.Unsubscribe()
	}
}

// takeRead answers a direct get, or files it.
func (t *stream) takeRead(m *engine.Message) {
	subject := string(m.Subject)
	call, ok := api.ParseSubject(subject)
	if !ok || len(m.Reply) == 0 {
		return
	}
	if meant, ok := api.FromDomain(t.account.service.cfg.Domain, subject); ok && !m.Permitted(meant) {
		return
	}
	if !t.directNow(&call, m) {
		t.account.service.file(&request{account: t.account, call: call, subject: subject, stream: t, here: true}, m)
	}
}

// isClosed tells whether the stream was closed.
func (t *stream) isClosed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closed
}
