package check

import (
	"maps"
	"slices"
	"time"

	"runnel/chaos/history"
)

// QueueConfig describes a work queue.
type QueueConfig struct {
	Stream      string
	DeadLetters string // the stream of what was given up; "" if there is none
	// Grace is how long after its confirmed acknowledgement a message may still come: the time in which an
	// old leader may not know of it yet (one leader change), and of what is on its way to a slow worker.
	Grace time.Duration
	// Poison tells which values no worker processes until they are redriven. DeadLetters wants them to be given
	// up in the end. May be nil.
	Poison func(value string) bool
}

// Queue checks a work queue (W3): each acknowledged publish was acknowledged by a worker, or is among the
// dead letters, or is stored still, at every node. What a worker's confirmed ack removed is gone and is not
// delivered again. All that comes was sent, and no more often than it was.
func Queue(ops []history.Operation, cfg QueueConfig) []Finding {
	c := newCollector(cfg.Stream)
	queue(c, ops, cfg)
	return c.findings()
}

// DeadLetters checks what a queue does with messages that it gives up (W11): the checks of Queue, and that
// such a message is among the dead letters once, or redriven to where it came from; none is lost at the
// hand-over, and none that is poison stays in the queue for good.
func DeadLetters(ops []history.Operation, cfg QueueConfig) []Finding {
	c := newCollector(cfg.Stream)
	q := queue(c, ops, cfg)
	for _, v := range q.dead {
		q.checkDead(c, v)
	}
	for _, v := range q.views {
		for _, o := range v.messages {
			d := q.done[o.Value]
			if cfg.Poison != nil && cfg.Poison(o.Value) && (d == nil || d.redriven == nil) {
				c.add(Stalled, o.Node, of(o), "%q is still in the queue, and was to be given up", o.Value)
			}
		}
	}
	return c.findings()
}

// done is what workers did with a value.
type done struct {
	tried     *history.Operation // an ack that may have happened
	confirmed *history.Operation // the first ack that did
	redriven  *history.Operation // the last redrive that may have happened
}

// handled is a queue as it was found, and what was done with its messages.
type handled struct {
	sent  *sent
	done  map[string]*done
	views []*view
	dead  []*view
}

// queue makes the checks that both queues have.
func queue(c *collector, ops []history.Operation, cfg QueueConfig) *handled {
	q := &handled{sent: gatherSent(ops, cfg.Stream), done: map[string]*done{}}
	q.views = gatherViews(c, ops, cfg.Stream)
	agree(c, ops, cfg.Stream)
	if cfg.DeadLetters != "" {
		q.dead = gatherViews(c, ops, cfg.DeadLetters)
		agree(c, ops, cfg.DeadLetters)
		replicas(c, q.dead, nil)
	}
	for i := range ops {
		q.note(&ops[i], cfg)
	}
	q.checkFetches(c, ops, cfg)
	for _, v := range q.views {
		q.checkStored(c, v)
	}
	q.checkLost(c)
	replicas(c, q.views, func(o *history.Operation, _ *view) bool {
		d := q.done[o.Value]
		return d != nil && d.tried != nil // an ack may be confirmed between two readings
	})
	return q
}

// note keeps what a worker did with a message.
func (q *handled) note(o *history.Operation, cfg QueueConfig) {
	if o.Value == "" || o.Result == history.Failed {
		return
	}
	d := q.done[o.Value]
	if d == nil {
		d = &done{}
	}
	switch {
	case o.Stream == cfg.Stream && (o.Kind == history.Ack || o.Kind == history.Term):
		d.tried = o
		if o.Result == history.OK && (d.confirmed == nil || o.End < d.confirmed.End) {
			d.confirmed = o
		}
	case cfg.DeadLetters != "" && o.Stream == cfg.DeadLetters && o.Kind == history.Redrive:
		d.redriven = o
	default:
		return
	}
	q.done[o.Value] = d
}

// checkFetches looks at what workers got.
func (q *handled) checkFetches(c *collector, ops []history.Operation, cfg QueueConfig) {
	type sight struct {
		sequence uint64
		copies   int32
	}
	seen := map[string]sight{}
	for i := range ops {
		o := &ops[i]
		if o.Stream != cfg.Stream || o.Kind != history.Fetch || o.Result != history.OK || o.Value == "" {
			continue
		}
		if q.sent.foreign(c, o) {
			continue
		}
		d := q.done[o.Value]
		if d != nil && d.confirmed != nil && d.redriven == nil && d.confirmed.Sequence == o.Sequence && o.End > d.confirmed.End+cfg.Grace {
			c.add(Redelivered, o.Node, of(d.confirmed, o), "%q came %v after its acknowledgement was confirmed", o.Value, o.End-d.confirmed.End)
		}
		s := seen[o.Value]
		if s.sequence != o.Sequence {
			s = sight{o.Sequence, s.copies + 1}
			seen[o.Value] = s
		}
		if v := q.sent.find(o.Value); s.copies > v.tries-v.fails && (d == nil || d.redriven == nil) {
			c.add(Duplicate, o.Node, of(v.first, o), "%q came with another sequence, %d, and was sent %d times", o.Value, o.Sequence, v.tries)
		}
	}
}

// checkStored looks at what is left in the queue.
func (q *handled) checkStored(c *collector, v *view) {
	for _, o := range v.messages {
		if q.sent.foreign(c, o) {
			continue
		}
		if d := q.done[o.Value]; d != nil && d.confirmed != nil && d.confirmed.Sequence == o.Sequence {
			c.add(Kept, v.node, of(d.confirmed, o), "%q at sequence %d is still stored, though its acknowledgement was confirmed", o.Value, o.Sequence)
		}
	}
}

// checkLost looks for acknowledged messages that nobody has done with and that are gone, at each node that
// was read.
func (q *handled) checkLost(c *collector) {
	stored := map[string]map[string]bool{} // by node: the values that it has somewhere
	for _, views := range [][]*view{q.views, q.dead} {
		for _, v := range views {
			if stored[v.node] == nil {
				stored[v.node] = map[string]bool{}
			}
			for _, o := range v.messages {
				stored[v.node][o.Value] = true
			}
		}
	}
	nodes := slices.Sorted(maps.Keys(stored))
	for i := range q.sent.values {
		v := &q.sent.values[i]
		if v.acked == nil {
			continue
		}
		if d := q.done[v.acked.Value]; d != nil && d.tried != nil {
			continue
		}
		for _, node := range nodes {
			if !stored[node][v.acked.Value] {
				c.add(Lost, node, of(v.acked), "%q, acknowledged with sequence %d, is neither done nor stored", v.acked.Value, v.acked.Sequence)
			}
		}
	}
}

// checkDead looks at the dead letters as one view shows them.
func (q *handled) checkDead(c *collector, v *view) {
	first := map[string]*history.Operation{}
	for _, o := range v.messages {
		if q.sent.foreign(c, o) {
			continue
		}
		d := q.done[o.Value]
		unsure := d != nil && d.redriven != nil && d.redriven.Result == history.Unknown
		if before := first[o.Value]; before != nil && !unsure {
			c.add(Duplicate, v.node, of(before, o), "%q is among the dead letters twice, at %d and %d", o.Value, before.Sequence, o.Sequence)
		}
		first[o.Value] = o
	}
	for _, w := range q.views {
		if w.node != v.node {
			continue
		}
		for _, o := range w.messages {
			d := q.done[o.Value]
			if first[o.Value] != nil && (d == nil || d.redriven == nil || d.redriven.Result == history.OK) {
				c.add(Duplicate, v.node, of(o, first[o.Value]), "%q is in the queue and among the dead letters", o.Value)
			}
		}
	}
}
