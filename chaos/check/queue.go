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

// done is what workers did with a message.
type done struct {
	confirmed *history.Operation // the first ack that happened; nil if it is only known that one may have
}

// handled is a queue as it was found, and what was done with its messages. A value that was sent more than
// once may be several messages; a sequence is one.
type handled struct {
	sent     *sent
	done     map[uint64]*done              // by sequence
	byValue  map[string]bool               // values of which a message may be done
	redriven map[string]*history.Operation // by value: the last redrive that may have happened
	moved    map[string]bool               // values that clients have put among the dead letters themselves
	erased   map[uint64]*history.Operation // by sequence: confirmed deletions
	views    []*view
	dead     []*view
}

// queue makes the checks that both queues have.
func queue(c *collector, ops []history.Operation, cfg QueueConfig) *handled {
	q := &handled{
		sent: gatherSent(ops, cfg.Stream), done: map[uint64]*done{}, byValue: map[string]bool{},
		redriven: map[string]*history.Operation{}, moved: map[string]bool{}, erased: map[uint64]*history.Operation{},
	}
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
	q.checkLost(c, ops, cfg)
	replicas(c, q.views, func(o *history.Operation, _ *view) bool {
		return q.done[o.Sequence] != nil // an ack may be confirmed between two readings
	})
	return q
}

// note keeps what a worker did with a message.
func (q *handled) note(o *history.Operation, cfg QueueConfig) {
	if o.Result == history.Failed {
		return
	}
	switch {
	case o.Stream == cfg.Stream && o.Kind == history.Erase && o.Result == history.OK:
		q.erased[o.Sequence] = o
	case o.Value == "":
	case o.Stream == cfg.Stream && (o.Kind == history.Ack || o.Kind == history.Term):
		d := q.done[o.Sequence]
		if d == nil {
			d = &done{}
			q.done[o.Sequence] = d
		}
		q.byValue[o.Value] = true
		if o.Result == history.OK && (d.confirmed == nil || o.End < d.confirmed.End) {
			d.confirmed = o
		}
	case cfg.DeadLetters != "" && o.Stream == cfg.DeadLetters && o.Kind == history.Redrive:
		q.redriven[o.Value] = o
	case cfg.DeadLetters != "" && o.Stream == cfg.DeadLetters && sends(o.Kind):
		q.moved[o.Value] = true
	}
}

// checkFetches looks at what workers got.
func (q *handled) checkFetches(c *collector, ops []history.Operation, cfg QueueConfig) {
	seen := map[uint64]bool{}
	copies := map[string]int32{}
	for i := range ops {
		o := &ops[i]
		if o.Stream != cfg.Stream || o.Kind != history.Fetch || o.Result != history.OK || o.Value == "" {
			continue
		}
		if q.sent.foreign(c, o) {
			continue
		}
		if d := q.done[o.Sequence]; d != nil && d.confirmed != nil && o.End > d.confirmed.End+cfg.Grace {
			c.add(Redelivered, o.Node, of(d.confirmed, o), "%q came %v after its acknowledgement was confirmed", o.Value, o.End-d.confirmed.End)
		}
		if seen[o.Sequence] {
			continue
		}
		seen[o.Sequence] = true
		copies[o.Value]++
		if v := q.sent.find(o.Value); copies[o.Value] > v.tries-v.fails && q.redriven[o.Value] == nil {
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
		if d := q.done[o.Sequence]; d != nil && d.confirmed != nil {
			c.add(Kept, v.node, of(d.confirmed, o), "%q at sequence %d is still stored, though its acknowledgement was confirmed", o.Value, o.Sequence)
		}
		if e := q.erased[o.Sequence]; e != nil {
			c.add(Kept, v.node, of(e, o), "%q at sequence %d is still stored, though its deletion was confirmed", o.Value, o.Sequence)
		}
	}
}

// checkLost looks for acknowledged messages that nobody has done with and that are gone, at each node that
// was read.
func (q *handled) checkLost(c *collector, ops []history.Operation, cfg QueueConfig) {
	type place struct {
		sequence uint64 // of a message in the queue; 0 where only the value counts
		value    string
	}
	stored := map[string]map[place]bool{} // by node
	for i, views := range [][]*view{q.views, q.dead} {
		for _, v := range views {
			if stored[v.node] == nil {
				stored[v.node] = map[place]bool{}
			}
			for _, o := range v.messages {
				// What was redriven has got another sequence.
				if i == 0 && q.redriven[o.Value] == nil {
					stored[v.node][place{o.Sequence, o.Value}] = true
				} else {
					stored[v.node][place{0, o.Value}] = true
				}
			}
		}
	}
	nodes := slices.Sorted(maps.Keys(stored))
	for i := range ops {
		o := &ops[i]
		if o.Stream != cfg.Stream || o.Kind != history.Publish || o.Result != history.OK || q.finished(o) {
			continue
		}
		for _, node := range nodes {
			if !stored[node][place{o.Sequence, o.Value}] && !stored[node][place{0, o.Value}] {
				c.add(Lost, node, of(o), "%q, acknowledged with sequence %d, is neither done nor stored", o.Value, o.Sequence)
			}
		}
	}
}

// finished says whether a worker may have acknowledged a message. After a redrive that has another sequence,
// which the fetches tell.
func (q *handled) finished(published *history.Operation) bool {
	return q.done[published.Sequence] != nil || q.redriven[published.Value] != nil && q.byValue[published.Value]
}
