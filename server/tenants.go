package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"runnel/server/accounts"
	"runnel/server/deadlines"
	"runnel/server/errands"
	"runnel/server/operator"
	"runnel/server/operator/requests"
	"runnel/server/operator/resolver"
)

const (
	// exportersMost bounds how many accounts one login has looked for because of imports. The imports of others come
	// into force when these accounts are used.
	exportersMost = 256
	// exportersAtOnce is how many of them are looked for at the same time.
	exportersAtOnce = 8
)

// tenants are the accounts of operator mode that have been used since the start. Their number is that of the accounts
// which operators have signed and somebody has asked for.
//
// Invariant: the registry has Put what the claims of each tenant say, as of the last change.
type tenants struct {
	server *Server

	// source is where accounts are found; a reload replaces it.
	source      atomic.Pointer[resolver.Source]
	pinnedFails atomic.Int64
	// requests answers who asks about accounts; nil without a system account.
	requests *requests.Service

	// called are those that other servers have in use.
	called *errands.Errands

	// changing is held while claims are put into force, one after the other. While it is held, mu, the registry's locks,
	// the server's mu and those of connections may be taken.
	changing sync.Mutex
	// renewals is when plans are to be made again, by account.
	renewals *deadlines.Set[string, struct{}]
	// pushes counts what was pushed and removed, and pushed has the number of the last of that by account: claims that were
	// read before may be outdated. changing guards pushed and is held when pushes changes.
	pushes atomic.Int64
	pushed map[string]int64

	mu        sync.RWMutex // guards what follows; nobody is called while it is held
	byName    map[string]*tenant
	importers map[string]map[string]bool // by exporter
}

// tenant is an account that is in use.
type tenant struct {
	account *accounts.Account
	claims  atomic.Pointer[operator.Account] // in force
	changed atomic.Int64                     // when they came, unix nanoseconds
	callout atomic.Pointer[vouching]         // that they ask for; nil for none
}

func newTenants(s *Server) *tenants {
	t := &tenants{
		server:    s,
		pushed:    make(map[string]int64),
		byName:    make(map[string]*tenant),
		importers: make(map[string]map[string]bool),
	}
	t.called = &errands.Errands{Context: s.ending, Do: t.bring, Go: s.running.Go}
	t.renewals = deadlines.New(func(name string, _ struct{}) { t.renew(name) })
	return t
}

// known is the tenant of that name, nil when it has not been used.
func (t *tenants) known(name string) *tenant {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.byName[name]
}

// valid is the tenant of that name if its claims are good now.
func (t *tenants) valid(name string, now time.Time) *tenant {
	if one := t.known(name); one != nil && one.claims.Load().Check(now) == nil {
		return one
	}
	return nil
}

// all returns the names of all tenants, sorted.
func (t *tenants) all() []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.Sorted(maps.Keys(t.byName))
}

// find returns an account that may be used, and looks for it if it is not known. The accounts that it imports from come
// into use before it.
func (t *tenants) find(ctx context.Context, name string) (*tenant, error) {
	if one := t.valid(name, time.Now()); one != nil {
		return one, nil
	}
	for {
		pushes := t.pushes.Load()
		claims, err := t.fetch(ctx, name)
		if err != nil {
			return nil, err
		}
		s := &search{tenants: t, seen: map[string]bool{name: true}, slots: make(chan struct{}, exportersAtOnce)}
		s.follow(ctx, claims)
		s.running.Wait()
		slices.Reverse(s.found)
		if one := t.changeRead(append(s.found, claims), pushes, false); one != nil {
			return one, nil
		}
	}
}

// bring has an account come into use that another server has in use, if it may have streams: for those this server may have to
// answer, although no client of the account is here.
func (t *tenants) bring(ctx context.Context, name string) (done bool) {
	claims, err := t.fetch(ctx, name)
	if err == nil && claims.JetStream() != nil {
		_, err = t.find(ctx, name)
	}
	if err != nil {
		t.server.logger.Warn("another server serves an account that is not there", "account", name, "error", err)
	}
	return err == nil
}

// search looks for the accounts that one account imports from, these import from, and so on.
type search struct {
	tenants *tenants
	running sync.WaitGroup
	slots   chan struct{}

	mu    sync.Mutex // guards what follows
	seen  map[string]bool
	found []*operator.Account // in the order in which they were found: an importer before those whom it imports from
}

// follow looks for what an account imports from.
func (s *search) follow(ctx context.Context, claims *operator.Account) {
	for _, exporter := range claims.Exporters() {
		if s.first(exporter) {
			s.running.Go(func() { s.findExporter(ctx, exporter) })
		}
	}
}

// findExporter looks for an account that others import from. Without it their imports do not work, which the log says.
func (s *search) findExporter(ctx context.Context, name string) {
	s.slots <- struct{}{}
	claims, err := s.tenants.fetch(ctx, name)
	<-s.slots
	if err != nil {
		s.tenants.server.logger.Warn("an account that others import from is not there", "account", name, "error", err)
		return
	}
	s.mu.Lock()
	s.found = append(s.found, claims)
	s.mu.Unlock()
	s.follow(ctx, claims)
}

// first reports whether an account is to be looked for: it is not in use, and was not looked for.
func (s *search) first(name string) bool {
	if s.tenants.known(name) != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen[name] || len(s.seen) > exportersMost {
		return false
	}
	s.seen[name] = true
	return true
}

// fetch asks the resolver for the claims of an account, and checks that they are good now.
func (t *tenants) fetch(ctx context.Context, name string) (*operator.Account, error) {
	token, err := t.source.Load().Fetch(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("account %s: %w", name, err)
	}
	now := time.Now()
	claims, err := t.server.state.Load().trusting.trust.ReadAccount(token, name, now)
	if err != nil {
		return nil, fmt.Errorf("account %s: %w", name, err)
	}
	return claims, claims.Check(now)
}

// changeRead is change for claims that were read after so many pushes, one after the other. If one of the accounts was
// pushed since, it does nothing and returns nil, for that is newer; else it returns the last tenant.
func (t *tenants) changeRead(read []*operator.Account, pushes int64, pushed bool) (last *tenant) {
	t.changing.Lock()
	defer t.changing.Unlock()
	if slices.ContainsFunc(read, func(c *operator.Account) bool { return t.pushed[c.Name()] > pushes }) {
		return nil
	}
	for _, claims := range read {
		last = t.change(claims, pushed)
	}
	return last
}

// change puts claims into force: of an account that was not used before, or in place of the claims so far. Without
// pushed these stand as long as they are good, since what was fetched may be older. changing is held.
func (t *tenants) change(claims *operator.Account, pushed bool) *tenant {
	name := claims.Name()
	one := t.known(name)
	if one != nil && (!pushed && t.valid(name, time.Now()) != nil || one.claims.Load().Same(claims)) {
		return one
	}
	account := t.put(claims)
	fresh := one == nil
	if fresh {
		one = &tenant{account: account}
		t.server.enter(one.account) // before anybody can use it
	}
	t.adopt(one, claims)
	for _, importer := range t.importersOf(name) {
		if importer != name {
			t.put(t.known(importer).claims.Load())
		}
	}
	t.server.serveTenant(one)
	if !fresh {
		t.server.review(one)
	}
	return one
}

// adopt makes a tenant known, with its claims from now on. changing is held.
func (t *tenants) adopt(one *tenant, claims *operator.Account) {
	name, exporters := claims.Name(), claims.Exporters()
	t.setCallout(one, claims)
	var before []string
	if old := one.claims.Swap(claims); old != nil {
		before = old.Exporters()
	}
	one.changed.Store(time.Now().UnixNano())
	t.mu.Lock()
	defer t.mu.Unlock()
	t.byName[name] = one
	for _, exporter := range before {
		delete(t.importers[exporter], name)
	}
	for _, exporter := range exporters {
		if t.importers[exporter] == nil {
			t.importers[exporter] = make(map[string]bool)
		}
		t.importers[exporter][name] = true
	}
}

// importersOf returns the tenants that import from an account.
func (t *tenants) importersOf(name string) []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.Sorted(maps.Keys(t.importers[name]))
}

// put has the registry do what claims say. changing is held.
func (t *tenants) put(claims *operator.Account) *accounts.Account {
	plan := claims.Plan(t.claimsOf, "", time.Now())
	account, errs := t.server.registry.Put(plan.Account)
	if err := errors.Join(append(errs, plan.Refused...)...); err != nil {
		t.server.logger.Warn("a part of an account's claims is not in force", "account", claims.Name(), "name", claims.Label(), "error", err)
	}
	t.renewals.Put(claims.Name(), plan.Until, struct{}{})
	return account
}

// claimsOf are the claims of an account that is in use and good, else nil.
func (t *tenants) claimsOf(name string) *operator.Account {
	if one := t.valid(name, time.Now()); one != nil {
		return one.claims.Load()
	}
	return nil
}

// renew makes the plan of an account again, whose time has come.
func (t *tenants) renew(name string) {
	t.changing.Lock()
	defer t.changing.Unlock()
	if one := t.known(name); one != nil {
		t.put(one.claims.Load())
	}
}

// drop ends the use of an account that is no more: its users go.
func (t *tenants) drop(name string) {
	t.changing.Lock()
	defer t.changing.Unlock()
	t.pushed[name] = t.pushes.Add(1)
	one := t.known(name)
	if one == nil {
		return
	}
	t.mu.Lock()
	delete(t.byName, name)
	for _, exporter := range one.claims.Load().Exporters() {
		delete(t.importers[exporter], name)
	}
	t.mu.Unlock()
	t.renewals.Remove(name)
	t.dropCallout(one)
	t.server.registry.Drop(name)
	t.server.leave(one)
}

// Trust implements requests.Accounts.
func (t *tenants) Trust() *operator.Trust { return t.server.state.Load().trusting.trust }

// System implements requests.Accounts.
func (t *tenants) System() string { return t.server.state.Load().trusting.system }

// Source implements requests.Accounts.
func (t *tenants) Source() *resolver.Source { return t.source.Load() }

// Push implements requests.Accounts.
func (t *tenants) Push(claims *operator.Account) (kept bool, err error) {
	if kept, err = t.source.Load().Save(claims.Name(), claims.Token()); err != nil {
		return false, err
	}
	t.changing.Lock()
	defer t.changing.Unlock()
	t.pushed[claims.Name()] = t.pushes.Add(1)
	if t.known(claims.Name()) != nil {
		t.change(claims, true)
		kept = true
	}
	return kept, nil
}

// Remove implements requests.Accounts.
func (t *tenants) Remove(names []string) error {
	for _, name := range names {
		if err := t.source.Load().Delete(name); err != nil {
			return err
		}
		t.drop(name)
	}
	return nil
}

// replace has accounts found elsewhere from now on: those in use are looked for there, and go if they are not there.
func (t *tenants) replace(next *resolver.Source) {
	before := t.source.Swap(next)
	if t.requests != nil {
		t.requests.Subscribe()
	}
	before.Close()
	for _, name := range t.all() {
		err := t.readAgain(name, func(*operator.Account) (*operator.Account, error) { return t.fetch(t.server.ending, name) })
		switch {
		case err == nil:
		case errors.Is(err, resolver.ErrNotFound) && name != t.server.state.Load().trusting.system:
			t.drop(name)
		default:
			t.server.logger.Error("an account stays as it is, since it cannot be looked for again", "error", err)
		}
	}
}

// readAgain puts what read makes of the claims of an account into force in their place. It reads them once more if
// others were pushed meanwhile.
func (t *tenants) readAgain(name string, read func(now *operator.Account) (*operator.Account, error)) error {
	for {
		pushes, one := t.pushes.Load(), t.known(name)
		if one == nil {
			return nil
		}
		claims, err := read(one.claims.Load())
		if err != nil || t.changeRead([]*operator.Account{claims}, pushes, true) != nil {
			return err
		}
	}
}

// doubt drops accounts that the operators would not sign any more: a reload has read the operators again.
func (t *tenants) doubt() {
	if t == nil {
		return
	}
	trust, now := t.server.state.Load().trusting.trust, time.Now()
	for _, name := range t.all() {
		err := t.readAgain(name, func(c *operator.Account) (*operator.Account, error) {
			if c.Token() == "" {
				return c, nil
			}
			return trust.ReadAccount(c.Token(), name, now) // the operator may want its users to be signed in another way
		})
		if err != nil && !errors.Is(err, operator.ErrExpired) { // an operator whose time is over since then is no reason
			t.server.logger.Warn("an account is dropped", "error", err)
			t.drop(name)
		}
	}
}

// close ends what goes on by itself.
func (t *tenants) close() {
	if t == nil {
		return
	}
	t.renewals.Stop()
	for _, name := range t.all() {
		t.known(name).callout.Load().close()
	}
	if s := t.source.Load(); s != nil {
		s.Close()
	}
}
