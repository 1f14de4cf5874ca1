package jetstream

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"runnel/jetlog/config"
	"runnel/server/accounts"
	"runnel/server/engine"
	"runnel/server/jetstream/api"
	"runnel/subjects"
)

// account is an account as the service sees it: its streams and what it may use.
//
// Invariant: the subjects of no two streams overlap.
type account struct {
	service   *Service
	account   *accounts.Account
	limits    atomic.Pointer[AccountLimits] // nil: no JetStream for this account
	calls     atomic.Int64                  // requests,
	errors    atomic.Int64                  // and how many got an error
	transfers transfers
	stored    stored

	mu            sync.RWMutex // guards everything below
	streams       map[string]*stream
	making        map[string]*config.Stream // being created: name, subjects and bytes are reserved for them
	subscriptions []*engine.Internal
	closed        bool
}

// newAccount serves what the store has of an account.
func newAccount(s *Service, a *accounts.Account) *account {
	ac := &account{service: s, account: a, streams: make(map[string]*stream), making: make(map[string]*config.Stream)}
	return ac
}

// setLimits begins to serve the account's streams, or ends it without limits. The API answers in either case.
func (a *account) setLimits(l *AccountLimits) {
	old := a.limits.Swap(l)
	a.subscribe()
	switch {
	case l != nil && old == nil:
		a.recover()
	case l == nil && old != nil:
		a.transfers.close(false)
		a.closeStreams()
	}
}

// recover serves the streams that the store has of this account.
func (a *account) recover() {
	for _, log := range a.service.cfg.Store.Streams() {
		if log.Account() != a.account.Name() {
			continue
		}
		if cfg := log.Config(); cfg.Metadata[restoringKey] != "" {
			a.discard(log)
			continue
		}
		t := newStream(a, log)
		a.mu.Lock()
		a.streams[log.Name()] = t
		a.mu.Unlock()
		t.open()
	}
}

// subscribe lets the account's clients reach the service.
func (a *account) subscribe() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.subscriptions != nil || a.closed {
		return
	}
	for pattern, handler := range a.handlers() {
		i := a.service.cfg.Engine.Subscribe(a.account, pattern, "", handler)
		a.subscriptions = append(a.subscriptions, i)
	}
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
	a.transfers.close(true)
	a.closeStreams()
}

func (a *account) closeStreams() {
	a.mu.Lock()
	streams := a.streams
	a.streams = make(map[string]*stream)
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
	found := a.all()
	if pattern != "" {
		found = slices.DeleteFunc(found, func(t *stream) bool { return !overlaps(t.config().Subjects, pattern) })
	}
	slices.SortFunc(found, func(x, y *stream) int { return cmp.Compare(x.log.Name(), y.log.Name()) })
	return found
}

func overlaps(patterns []string, pattern string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return subjects.Overlap(p, pattern) })
}

// reserve keeps the name, the subjects and the bytes of a stream that is about to be created, or changed if old is
// not nil. release must be called when it was.
func (a *account) reserve(cfg *config.Stream, old *stream) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if old == nil && a.streams[cfg.Name] != nil || a.making[cfg.Name] != nil {
		return api.NewError(api.StreamNameExists)
	}
	others := make([]*config.Stream, 0, len(a.streams)+len(a.making))
	for _, t := range a.streams {
		if t != old {
			others = append(others, t.config())
		}
	}
	for _, m := range a.making {
		others = append(others, m)
	}
	for _, o := range others {
		if slices.ContainsFunc(cfg.Subjects, func(p string) bool { return overlaps(o.Subjects, p) }) {
			return api.NewError(api.SubjectOverlap)
		}
	}
	if err := a.checkLimits(cfg, others, old); err != nil {
		return err
	}
	a.making[cfg.Name] = cfg
	return nil
}

// release ends a reservation; t is the stream that was made of it, nil if none was.
func (a *account) release(name string, t *stream) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.making, name)
	if t != nil {
		a.streams[name] = t
	}
}

// remove forgets a stream; it is false if it is forgotten already.
func (a *account) remove(t *stream) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.streams[t.log.Name()] != t {
		return false
	}
	delete(a.streams, t.log.Name())
	return true
}
