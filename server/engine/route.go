package engine

import (
	"cmp"
	"errors"
	"sync/atomic"
	"time"

	"runnel/cluster/mesh"
	"runnel/server/accounts"
	"runnel/server/engine/frames"
	"runnel/server/engine/lines"
	"runnel/server/engine/peers"
	"runnel/server/msgtrace"
)

// route is a line to another server.
type route struct {
	lines.Line
	engine *Engine
	link   *mesh.Link
	set    *peers.Set // what the other server wants
	// silent: the other server does not answer; see PeerSilent.
	silent atomic.Bool
	// told are the accounts that the other server was told about here, by number; guarded by routing.telling.
	told map[uint32]string
	// fenced: the other server knows of fences. It has heard of that with the number heard. Both belong to who reads the route.
	fenced bool
	heard  uint32

	// The account of the last message, of the worker that reads the route.
	lastNumber uint32
	last       *accounts.Account
}

func newRoute(e *Engine, l *mesh.Link) *route {
	x := e.routing
	r := &route{engine: e, link: l, told: make(map[uint32]string)}
	// A limit of its own, since scarcity is not to cut it off: what waits for another server cannot be had again.
	most := cmp.Or(x.cfg.MaxPendingBytes, e.settings.Load().MaxPendingBytes)
	r.Open(host{e}, &e.env, e.nextID.Add(1), r, l.Start, most)
	r.Deadline = x.cfg.WriteDeadline
	r.set = peers.New(r, x.mayBeTold, x.cfg.Account)
	return r
}

func (r *route) Suspended() bool { return false }

func (r *route) Halted() bool { return false }

func (r *route) Resume(lines.Worker) error { return nil }

// Patience implements lines.User. A pause of 2 ms at most for each read is felt by all who publish on the route, but without
// it, a subscriber that is slower than the other server would be cut off.
func (r *route) Patience() time.Duration {
	if r.engine.settings.Load().NoStall {
		return 0
	}
	return lines.ParkTime
}

// Account implements user.
func (r *route) Account() *accounts.Account { return nil }

func (r *route) Withdraw() { r.set.Close() }

func (r *route) describe() []any {
	return []any{"rid", r.ID(), "peer", r.link.Peer.Name, "pool", r.link.Pool, "account", r.link.Account}
}

// Gone implements lines.User: the mesh dials another link, unless it is the mesh that has ended this one.
func (r *route) Gone() {
	r.engine.routing.remove(r)
	r.link.CloseWith(errors.New(r.Reason().String()))
}

// peer is how reports name r.
func (r *route) peer() msgtrace.Peer {
	return msgtrace.Peer{Kind: msgtrace.Router, CID: r.ID(), Name: r.link.Peer.Name}
}

// askAgain has the other server tell everything about an account once more.
func (r *route) askAgain(number uint32) { r.Send(frames.AppendNumber(nil, frames.Ask, number)) }

// Input implements lines.User.
func (r *route) Input(by lines.Worker, b []byte) (used int, err error) {
	w := by.(*worker)
	w.from, w.profile, w.flags, w.pressed, w.held, w.need = &r.Line, nil, 0, false, 0, 0
	w.far.from = r
	if w.engine.settings.Load().Trace {
		w.flags = flagTrace
	}
	f := &w.far.frame
	for used < len(b) {
		n, need, err := frames.Next(b[used:], f)
		if n == 0 && err == nil {
			w.need = need
			break
		}
		used += n
		if err == nil {
			err = w.hear(r, f)
		}
		if err != nil {
			w.finishRoute(r)
			w.engine.logger.Error("what another server says is not understood, the route is closed", append(r.describe(), "error", err)...)
			w.flush()
			r.End(ReasonParseError, nil, true)
			return used, err
		}
	}
	w.finishRoute(r)
	return used, nil
}

// hear takes one frame.
func (w *worker) hear(r *route, f *frames.Frame) error {
	switch f.Kind {
	case frames.Message:
		w.arrive(r, f)
	case frames.Account:
		return r.define(f.Number, string(f.Name))
	case frames.Interest:
		r.set.Tell(f.Number, string(f.Subject), string(f.Queue), int(f.Weight))
	case frames.Forget:
		r.set.Forget(f.Number)
	case frames.Fence:
		r.fenced = true
		r.Send(frames.AppendNumber(nil, frames.Heard, f.Number))
	case frames.Heard:
		r.heard = f.Number
	case frames.Ask:
		if a := w.engine.routing.demand.Account(f.Number); a != nil {
			w.engine.routing.tellWhole(r, a, true)
		}
	}
	return nil
}

// define takes over what the other server calls an account. From now on it tells about it here, and not where it did.
func (r *route) define(number uint32, name string) error {
	for _, other := range *r.engine.routing.routes.Load() {
		if other != r && other.link.Peer.ID == r.link.Peer.ID {
			other.set.Leave(name)
		}
	}
	return r.set.Define(number, name)
}

// finishRoute adds what was counted to the route and the server.
func (w *worker) finishRoute(r *route) {
	w.far.from = nil
	r.Touch()
	if w.inMessages > 0 {
		r.InMessages.Add(w.inMessages)
		r.InBytes.Add(w.inBytes)
		w.totals.inMessages.Add(w.inMessages)
		w.totals.inBytes.Add(w.inBytes)
		w.inMessages, w.inBytes = 0, 0
	}
	w.engine.tell()
}

// account finds the account of a message by its number here; nil when there is no interest in it any more.
func (r *route) account(number uint32) *accounts.Account {
	if r.last == nil || r.lastNumber != number {
		r.lastNumber, r.last = number, r.engine.routing.demand.Account(number)
	}
	return r.last
}
