package engine

import (
	"slices"
	"sync"

	"runnel/server/accounts"
	"runnel/server/engine/reserved"
)

// Publisher publishes messages of the server itself in batches: what it is given is staged, and written by Flush, or
// earlier when there is much of it. Headers and payloads must stay unchanged until Flush. Nothing restricts what it
// publishes, and nothing that it does waits for a client. One goroutine uses it at a time, and not a handler of
// Subscribe.
//
// It has a worker of its own: a match cache, stages, counters. A batch holds mu, so that housekeeping can sweep the
// worker while the Publisher is idle: what it remembers would keep closed connections alive.
type Publisher struct {
	engine *Engine
	mu     sync.Mutex
	w      *worker
	begun  bool // a batch is under way, and mu is held
}

// NewPublisher makes a Publisher. It takes its worker from those that are idle, so making one for a while is cheap.
func (e *Engine) NewPublisher() *Publisher {
	p := &Publisher{engine: e, w: e.borrow()}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.publishers = append(e.publishers, p)
	return p
}

// Publish sends a message to the subscribers of its subject in account a, and returns how many get it.
func (p *Publisher) Publish(a *accounts.Account, subject, reply string, header, payload []byte) int {
	return p.Deliver(a, subject, "", subject, reply, header, payload)
}

// Deliver sends a message to whoever subscribed to `to` in account a, who sees it as published on subject: how
// consumers deliver. Without a queue all get it that a message on `to` would get to, with one only one member of that
// queue group does, rather one that keeps up. It returns how many get it.
func (p *Publisher) Deliver(a *accounts.Account, to, queue, subject, reply string, header, payload []byte) int {
	p.begin()
	return p.w.post(a, to, queue, subject, reply, header, payload)
}

// NoResponders tells c what it is told when nobody subscribed to the subject of its request, if it asked to be told:
// for requests that did get to the server, which has nobody there. It tells whether c gets it.
func (p *Publisher) NoResponders(c *Conn, subject, reply string) bool {
	profile := c.profile.Load()
	if profile == nil || reply == "" || !c.has(flagNoResponders) {
		return false
	}
	for reserved.Reply([]byte(reply)) { // the request has come from another account
		r, ok := p.engine.requests.Close([]byte(reply))
		if !ok {
			return false
		}
		subject, reply = r.Value.service.subject, r.Value.reply
	}
	p.begin()
	return p.w.noResponders(c, profile, []byte(subject), []byte(reply))
}

// Blocked tells whether somebody to whom Deliver would send has so much waiting already that a sender who can wait
// should; a queue group has when all its members have. If so, w is woken when that is over, perhaps more than once,
// but once for any number of questions while it lasts. Wake must be quick, may come from anywhere and not use this
// Publisher; w is a pointer, since it is compared. What is staged does not count, so ask between batches; the
// largest batch should stay far below max_pending.
func (p *Publisher) Blocked(a *accounts.Account, to, queue string, w interface{ Wake() }) bool {
	if !p.begun {
		defer p.Flush() // a question alone is no batch
	}
	p.begin()
	for range chainMost {
		p.w.letter.address(to, to, "", nil, nil)
		if p.w.match.lookup(a.Profile(), p.w.letter.to, fromElsewhere).await(queue, w) {
			return true
		}
		r, asked := p.engine.requests.Look(a, p.w.letter.to, p.engine.now())
		if !asked {
			break
		}
		a, to, queue = r.From, r.Value.reply, "" // the answer goes on there
	}
	return false
}

// Flush writes what was staged. Afterwards nothing points to what the Publisher was given.
func (p *Publisher) Flush() {
	if !p.begun {
		return
	}
	p.w.flush()
	p.engine.tell()
	p.w.rest()
	p.w.maybeSweep()
	p.begun = false
	p.mu.Unlock()
}

// Close flushes and gives back what the Publisher has. It must not be used any more.
func (p *Publisher) Close() {
	p.Flush()
	p.engine.dismiss(p)
	p.mu.Lock() // housekeeping may still have found p
	w := p.w
	p.w = nil
	p.mu.Unlock()
	p.engine.giveBack(w)
}

// begin opens a batch, if none is open.
func (p *Publisher) begin() {
	if p.begun {
		return
	}
	p.mu.Lock()
	p.begun = true
	p.w.begin()
}

// sweep is maybeSweep of the worker, unless a batch is under way, which does it itself.
func (p *Publisher) sweep() {
	if p.mu.TryLock() {
		defer p.mu.Unlock()
		if p.w != nil {
			p.w.maybeSweep()
		}
	}
}

// dismiss takes p out of those that housekeeping sweeps.
func (e *Engine) dismiss(p *Publisher) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if i := slices.Index(e.publishers, p); i >= 0 {
		e.publishers = slices.Delete(e.publishers, i, i+1)
	}
}

// Publish sends one message of the server itself to the subscribers in account a, and returns how many got it. It
// may be called from anywhere but a handler of Subscribe. For many messages a [Publisher] is cheaper.
func (e *Engine) Publish(a *accounts.Account, subject, reply string, header, payload []byte) int {
	w := e.borrow()
	defer e.giveBack(w)
	w.begin()
	n := w.post(a, subject, "", subject, reply, header, payload)
	w.flush()
	return n
}

// begin prepares a worker for messages of the server itself.
func (w *worker) begin() {
	w.flags = 0
	if w.engine.settings.Load().Trace {
		w.flags = flagTrace
	}
}

// post sends one message of the server itself.
func (w *worker) post(a *accounts.Account, to, queue, subject, reply string, header, payload []byte) int {
	w.letter.address(to, subject, reply, header, payload)
	n := w.send(w.match.lookup(a.Profile(), w.letter.to, fromElsewhere), queue)
	if len(w.answers) > 0 {
		w.respond()
	}
	return n
}
