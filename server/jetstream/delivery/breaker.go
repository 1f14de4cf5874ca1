package delivery

import "runnel/jetlog/breaker"

// Attempts are counted for consumers that are to be paused when most of them fail. What was counted is the leader's, and begins
// anew with the next one.

// measure counts by a policy, nil for not at all. What was counted by the same one stays.
func (c *consumer) measure(p *breaker.Policy) {
	switch {
	case p == nil:
		c.breaker = nil
	case c.breaker == nil || c.breaker.Policy() != *p:
		c.breaker = breaker.New(*p)
	}
}

// processed counts a message that was processed.
func (t *turn) processed() {
	if b := t.c.breaker; b != nil {
		b.Done(t.ns)
	}
}

// failed counts a message that a receiver could not process.
func (t *turn) failed(seq uint64) {
	if b := t.c.breaker; b != nil {
		b.Failed(seq, t.ns)
	}
}

// lapsed counts a message that comes again, or does so no more: if no receiver has said why, none has answered in time.
func (t *turn) lapsed(seq uint64) {
	if b := t.c.breaker; b != nil {
		b.Again(seq, t.ns)
	}
}

// unanswered has a message counted that was not answered in time, and does not come again. What waits for it, by its key, has to
// know as well.
func (c *consumer) unanswered(seq uint64) {
	if s := c.settings.Load(); s != nil && (s.breaker != nil || s.ahead.Keyed()) {
		c.post(func(b *mailbox) { b.spent = append(b.spent, seq) })
	}
}

// trip tells when the consumer is to be paused.
func (t *turn) trip() {
	b := t.c.breaker
	if b == nil || t.applied.pausedUntil > t.ns {
		return
	}
	if failed, attempts, is := b.Trip(t.ns); is {
		t.events().Tripped(t.c.stream, t.c.name, Trip{failed, attempts, b.Policy().Pause})
	}
}
