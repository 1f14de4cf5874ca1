package jetstream

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"runnel/jetlog/config"
	"runnel/server/accounts"
	"runnel/server/engine"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/claims"
	"runnel/server/jetstream/quota"
	"runnel/server/jetstream/rebuild"
	"runnel/server/jetstream/transfer"
)

// account is an account as the service sees it: its streams and what it may use.
//
// Invariant: the subjects of no two streams overlap.
type account struct {
	service   *Service
	account   *accounts.Account
	limits    atomic.Pointer[quota.Limits] // nil: no JetStream for this account
	calls     atomic.Int64                 // requests,
	errors    atomic.Int64                 // and how many got an error
	transfers transfer.Transfers
	used      *quota.Used

	mu            sync.RWMutex // guards everything below
	streams       map[string]*stream
	making        map[string]*config.Stream // being created: name, subjects and bytes are reserved for them
	claims        claims.Tree               // of both
	subscriptions []*engine.Internal
	closed        bool
}

// newAccount serves what the store has of an account.
func newAccount(s *Service, a *accounts.Account) *account {
	return &account{
		service: s, account: a, used: s.quotas.Account(a.Name()),
		streams: make(map[string]*stream), making: make(map[string]*config.Stream),
	}
}

// setLimits begins to serve the account's streams, or ends it without limits. The API answers in either case.
func (a *account) setLimits(l *quota.Limits) {
	a.used.SetLimits(l)
	old := a.limits.Swap(l)
	a.subscribe()
	switch {
	case l != nil && old == nil:
		a.recover()
	case l == nil && old != nil:
		a.transfers.Close(false)
		a.closeStreams()
	}
}

// recover serves the streams that the store has of this account.
func (a *account) recover() {
	if c := a.service.cluster; c != nil {
		c.revive(a)
		return
	}
	for _, log := range a.service.cfg.Store.Streams() {
		if log.Account() != a.account.Name() {
			continue
		}
		if cfg := log.Config(); rebuild.Restoring(&cfg) {
			a.discard(log)
			continue
		}
		t := newStream(a, log)
		a.enter(t)
		t.open()
		t.forgetMemory()
	}
}

// enter makes a stream known.
func (a *account) enter(t *stream) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.streams[t.log.Name()] = t
	a.claimLocked(t)
}

// claim lets the stream's claims follow its configuration.
func (a *account) claim(t *stream) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.streams[t.log.Name()] == t {
		a.claimLocked(t)
	}
}

// claimLocked is claim for who holds mu already.
func (a *account) claimLocked(t *stream) {
	a.claims.Remove(t.log.Name(), t.claimed)
	t.claimed = t.config().Subjects
	a.claims.Add(t.log.Name(), t.claimed)
}

// subscribe lets the account's clients reach the service.
func (a *account) subscribe() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.subscriptions != nil || a.closed {
		return
	}
	for pattern, handler := range a.handlers() {
		i := a.service.cfg.Engine.SubscribeService(a.account, pattern, func(m *engine.Message) {
			if a.limits.Load() != nil || !a.elsewhere(m) {
				handler(m)
			}
		})
		a.subscriptions = append(a.subscriptions, i)
	}
	a.subscriptions = append(a.subscriptions, a.shares()...)
}

// elsewhere deals with what is asked in an account without JetStream that imports the API of an account that has it, or
// a part of it, and tells whether it is such an account. What it does not import nobody answers.
func (a *account) elsewhere(m *engine.Message) bool {
	x := a.account.Crossings()
	if x == nil || !x.HasServices("$JS.API.>") && !x.HasServices("$JS.ACK.>") && !x.HasServices(api.OwnPrefix+">") {
		return false
	}
	for range x.Services(string(m.Subject)) {
		return true // another account answers
	}
	a.unheard(m, "")
	return true
}

// close ends everything for this account; its streams stay in the store.
func (a *account) close() {
	a.mu.Lock()
	a.closed = true
	subscriptions := a.subscriptions
	a.subscriptions = nil
	a.mu.Unlock()
	for _, i := range subscriptions {
		i.Unsubscribe()
	}
	a.transfers.Close(true)
	a.closeStreams()
}

// closeStreams ends all streams of the account. They stay in the store, and their names are free to be served again.
// No stream is closed while mu is held: it waits for what is under way, which may ask the account for a stream.
func (a *account) closeStreams() {
	a.mu.Lock()
	streams := a.streams
	a.streams = make(map[string]*stream)
	for _, t := range streams {
		a.claims.Remove(t.log.Name(), t.claimed)
	}
	a.mu.Unlock()
	for _, t := range streams {
		t.close()
	}
}

// stream returns the stream of a name, nil for none.
func (a *account) stream(name string) *stream {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.streams[name]
}

// all returns all streams, in no order.
func (a *account) all() []*stream {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return slices.Collect(maps.Values(a.streams))
}

// sorted returns all streams by name, only those with a subject that overlaps the pattern if it is not empty.
func (a *account) sorted(pattern string) []*stream {
	var found []*stream
	if pattern == "" {
		found = a.all()
	} else {
		found = a.overlapping(pattern)
	}
	slices.SortFunc(found, func(x, y *stream) int { return cmp.Compare(x.log.Name(), y.log.Name()) })
	return found
}

// overlapping returns the streams with a subject that overlaps the pattern, in no order.
func (a *account) overlapping(pattern string) []*stream {
	a.mu.RLock()
	defer a.mu.RUnlock()
	found := make(map[*stream]bool)
	a.claims.Overlapping(pattern, func(owner string) bool {
		if t := a.streams[owner]; t != nil {
			found[t] = true
		}
		return true
	})
	return slices.Collect(maps.Keys(found))
}

// reserve keeps the name, the subjects and the bytes of a stream that is about to be created, or changed if old is
// not nil. release must be called when it was.
func (a *account) reserve(cfg *config.Stream, old *stream) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if old == nil && a.streams[cfg.Name] != nil || a.making[cfg.Name] != nil {
		return api.NewError(api.StreamNameExists)
	}
	for _, pattern := range cfg.Subjects {
		free := true
		a.claims.Overlapping(pattern, func(owner string) bool {
			free = owner == cfg.Name
			return free
		})
		if !free {
			return api.NewError(api.SubjectOverlap)
		}
	}
	if err := a.checkLimits(cfg, old); err != nil {
		return err
	}
	a.claims.Add(cfg.Name, cfg.Subjects)
	a.making[cfg.Name] = cfg
	return nil
}

// others yields the configurations of all streams but one, those included that are being created.
func (a *account) others(but *stream) iter.Seq[*config.Stream] {
	return func(yield func(*config.Stream) bool) {
		for _, t := range a.streams {
			if t != but && !yield(t.config()) {
				return
			}
		}
		for _, m := range a.making {
			if !yield(m) {
				return
			}
		}
	}
}

// release ends a reservation; t is the stream that was made of it, nil if none was. In an account that has been closed
// meanwhile the stream rests like those that were there before.
func (a *account) release(name string, t *stream) {
	if !a.releaseLocked(name, t) {
		t.close()
	}
}

// releaseLocked is false if there is a stream and the account is closed.
func (a *account) releaseLocked(name string, t *stream) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if cfg := a.making[name]; cfg != nil {
		a.claims.Remove(name, cfg.Subjects)
		delete(a.making, name)
	}
	switch {
	case t == nil:
		return true
	case a.closed:
		return false
	}
	a.streams[name] = t
	a.claimLocked(t)
	return true
}

// exchange makes a stream known in the place of what had its name; it is false if the account is not served any more.
func (a *account) exchange(t *stream) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed || a.limits.Load() == nil {
		return false
	}
	if old := a.streams[t.log.Name()]; old != nil {
		a.claims.Remove(t.log.Name(), old.claimed)
	}
	a.streams[t.log.Name()] = t
	a.claimLocked(t)
	return true
}

// remove forgets a stream; it is false if it is forgotten already.
func (a *account) remove(t *stream) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.streams[t.log.Name()] != t {
		return false
	}
	delete(a.streams, t.log.Name())
	a.claims.Remove(t.log.Name(), t.claimed)
	return true
}
