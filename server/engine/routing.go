package engine

import (
	"slices"
	"sync"
	"sync/atomic"

	"runnel/cluster/mesh"
	"runnel/server/accounts"
	"runnel/server/engine/demand"
	"runnel/server/engine/frames"
	"runnel/server/engine/reserved"
)

// routing is what an engine has to do with other servers.
type routing struct {
	engine           *Engine
	cfg              *RouteConfig
	imports, exports *accounts.Bounds
	demand           *demand.Table
	// routes is replaced with telling held.
	routes atomic.Pointer[[]*route]

	// telling is held while others are told what has changed, so that they hear it in the order in which it did. It is
	// taken with no other lock held; the table's, and those of outbound queues, are taken meanwhile, one at a time. It guards
	// what follows and what was told on each route.
	telling sync.Mutex
	fence   uint32          // the number of the last one
	changes []demand.Change // scratch
	buf     []byte          // likewise
	retired Counters        // of routes that are gone
}

// tellBytes is in pieces of which size others are told what they have missed.
const tellBytes = 16 << 10

func openRouting(e *Engine, cfg *RouteConfig, imports, exports *accounts.Bounds) *routing {
	x := &routing{engine: e, cfg: cfg, imports: imports, exports: exports, demand: demand.New(imports, e.requests.Prefix()+">")}
	x.routes.Store(new([]*route))
	return x
}

// of returns the route on a link.
func (x *routing) of(l *mesh.Link) *route {
	for _, r := range *x.routes.Load() {
		if r.link == l {
			return r
		}
	}
	return nil
}

// add makes r one of the routes.
func (x *routing) add(r *route) {
	x.telling.Lock()
	defer x.telling.Unlock()
	all := append(slices.Clone(*x.routes.Load()), r)
	x.routes.Store(&all)
	r.Send(frames.AppendNumber(nil, frames.Fence, x.fence))
}

// remove takes r out, if it is there.
func (x *routing) remove(r *route) {
	x.telling.Lock()
	defer x.telling.Unlock()
	old := *x.routes.Load()
	i := slices.Index(old, r)
	if i < 0 {
		return
	}
	all := slices.Delete(slices.Clone(old), i, i+1)
	x.routes.Store(&all)
	x.retired.Add(r.Counters())
}

func (x *routing) counters() Counters {
	x.telling.Lock()
	defer x.telling.Unlock()
	sum := x.retired
	for _, r := range *x.routes.Load() {
		sum.Add(r.Counters())
	}
	return sum
}

// carries tells whether the interest in an account is told on r: on the route that it has for itself, or on the one of
// the pool that its name leads to. It never moves from one to the other: what is told on two routes may be heard in any
// order. Messages come where the interest was told.
func (x *routing) carries(r *route, name string) bool {
	if own := r.link.Account; own != "" {
		return own == name
	}
	if r.link.PoolSize > 1 && int(hashName(name)%uint32(r.link.PoolSize)) != r.link.Pool {
		return false
	}
	return !slices.Contains(r.link.Accounts, name)
}

// hashName is FNV-1a, the same on all servers.
func hashName(name string) uint32 {
	h := uint32(2166136261)
	for i := range len(name) {
		h = (h ^ uint32(name[i])) * 16777619
	}
	return h
}

// count notes a subscription that has come (1) or gone (-1), for other servers. They are told by tell, which is to be called
// when no lock is held.
func (e *Engine) count(a *accounts.Account, sub *accounts.Subscription, by int) {
	if e.routing != nil {
		e.routing.demand.Add(a, sub.Subject, sub.Queue, by)
	}
}

// tell has other servers told what has changed, before it returns.
func (e *Engine) tell() {
	if e.routing != nil && e.routing.demand.Pending() {
		e.routing.announce()
	}
}

func (x *routing) announce() {
	x.telling.Lock()
	defer x.telling.Unlock()
	changes, marks := x.demand.Take(x.changes[:0])
	if len(changes) > 0 {
		for _, r := range *x.routes.Load() {
			if x.buf = x.appendChanges(x.buf[:0], r, changes); len(x.buf) > 0 {
				r.Send(x.buf)
			}
		}
	}
	x.demand.Said(marks)
	clear(changes)
	x.changes = changes
	if cap(x.buf) > tellBytes {
		x.buf = nil
	}
}

// appendChanges appends what is to be told on r. telling is held.
func (x *routing) appendChanges(b []byte, r *route, changes []demand.Change) []byte {
	for i := range changes {
		c := &changes[i]
		number := c.Account.Number()
		_, told := r.told[number]
		switch {
		case told && c.Subject == "":
			b = frames.AppendNumber(b, frames.Forget, number)
			delete(r.told, number)
		case told:
			b = frames.AppendInterest(b, number, c.Subject, c.Queue, c.Weight)
		case c.Subject != "" && x.carries(r, c.Account.Name()):
			b = x.appendWhole(b, r, c.Account)
		}
	}
	return b
}

// appendWhole appends all about an account that r was told nothing of. telling is held.
func (x *routing) appendWhole(b []byte, r *route, a *accounts.Account) []byte {
	r.told[a.Number()] = a.Name()
	b = frames.AppendAccount(b, a.Number(), a.Name())
	for _, c := range x.demand.Whole(a, nil) {
		b = frames.AppendInterest(b, a.Number(), c.Subject, c.Queue, c.Weight)
	}
	return b
}

// tellMissing tells on r what it carries and was not told, account by account.
func (e *Engine) tellMissing(r *route) {
	e.tell()
	for _, a := range e.routing.demand.Accounts() {
		e.routing.tellWhole(r, a, false)
	}
}

// tellWhole tells all about an account on r, if r carries it and was told nothing, or is to be told again. What is told
// is bounded by what there is, so it may wait in addition to all else.
func (x *routing) tellWhole(r *route, a *accounts.Account, again bool) {
	x.telling.Lock()
	defer x.telling.Unlock()
	if _, told := r.told[a.Number()]; told && !again || !x.carries(r, a.Name()) {
		return
	}
	b := x.appendWhole(nil, r, a)
	r.Extend(len(b))
	for piece := range slices.Chunk(b, tellBytes) {
		r.Send(piece)
	}
}

// settle has what other servers have told about an account count, of which somebody here is a client now.
func (e *Engine) settle(a *accounts.Account) {
	if e.routing == nil {
		return
	}
	for _, r := range *e.routing.routes.Load() {
		if number, again := r.set.Settle(a.Name()); again {
			r.askAgain(number)
		}
	}
}

// refreshDemand looks what has changed in where subscriptions count.
func (e *Engine) refreshDemand() {
	if e.routing == nil {
		return
	}
	d := e.routing.demand
	d.Refresh()
	d.Release(func(a *accounts.Account) bool { return e.routing.cfg.Account(a.Name()) == a })
	e.tell()
}

// expectAnswers has answers to requests in account a, to whoever asked by this server, sent here.
func (e *Engine) expectAnswers(a *accounts.Account) {
	if e.routing != nil {
		e.routing.demand.Expect(a)
	}
}

// mayLeave and mayEnter tell whether a message on subject may be sent to other servers, or come from them. The subjects
// for answers between accounts are the servers' own.
func (x *routing) mayLeave(subject []byte) bool {
	return x.exports == nil || reserved.Reply(subject) || x.exports.Allows(string(subject))
}

// mayBeTold tells whether others may want a pattern.
func (x *routing) mayBeTold(pattern string) bool {
	return x.exports.Covers(pattern) || reserved.Reply([]byte(pattern))
}

func (x *routing) mayEnter(subject []byte) bool {
	return x.imports == nil || reserved.Reply(subject) || x.imports.Allows(string(subject))
}
