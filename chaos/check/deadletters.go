package check

import (
	"runnel/chaos/history"
)

// DeadLetters checks what a queue does with messages that it gives up (W11): the checks of Queue, and that
// such a message is among the dead letters once, or redriven to where it came from; none is lost at the
// hand-over, and none that is poison stays in the queue for good.
//
// A server that has no dead letters may have clients that move the messages: by a Publish to the dead letters and
// an Erase in the queue. What was published there and not surely erased may be at both places.
func DeadLetters(ops []history.Operation, cfg QueueConfig) []Finding {
	c := newCollector(cfg.Stream)
	q := queue(c, ops, cfg)
	for _, v := range q.dead {
		q.checkDead(c, v)
	}
	for _, v := range q.views {
		for _, o := range v.messages {
			if cfg.Poison != nil && cfg.Poison(o.Value) && q.redriven[o.Value] == nil {
				c.add(Stalled, o.Node, of(o), "%q is still in the queue, and was to be given up", o.Value)
			}
		}
	}
	return c.findings()
}

// checkDead looks at the dead letters as one view shows them.
func (q *handled) checkDead(c *collector, v *view) {
	first := map[string]*history.Operation{}
	copies := map[string]int32{}
	for _, o := range v.messages {
		if q.sent.foreign(c, o) {
			continue
		}
		copies[o.Value]++
		if before := first[o.Value]; before != nil && copies[o.Value] > q.allowed(o.Value) {
			c.add(Duplicate, v.node, of(before, o), "%q is among the dead letters twice, at %d and %d", o.Value, before.Sequence, o.Sequence)
		}
		first[o.Value] = o
	}
	for _, w := range q.views {
		if w.node != v.node || w.consumer != v.consumer {
			continue
		}
		for _, o := range w.messages {
			if copies[o.Value] == 0 || q.moved[o.Value] || q.sent.find(o.Value) == nil {
				continue
			}
			if copies[o.Value]++; copies[o.Value] > q.allowed(o.Value) {
				c.add(Duplicate, v.node, of(o, first[o.Value]), "%q is in the queue and among the dead letters", o.Value)
			}
		}
	}
}

// allowed is how often a value may be there: as often as it may have been sent, and once more if a redrive
// may have been done by half. Where clients move the messages, a redrive is two steps, so that each may be.
func (q *handled) allowed(value string) int32 {
	v := q.sent.find(value)
	n := v.tries - v.fails
	if r := q.redriven[value]; r != nil && (r.Result == history.Unknown || q.moved[value]) {
		n++
	}
	return n
}
