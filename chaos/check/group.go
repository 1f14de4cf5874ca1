package check

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"runnel/chaos/history"
)

// GroupConfig describes a group of workers that share a consumer, by key.
type GroupConfig struct {
	Stream   string
	Consumer string
	AckWait  time.Duration // after which a message that is not acknowledged may come again
	// Idle is how long a message whose turn it is may wait for a worker while nothing is broken: an election,
	// and what workers take to ask. At all times some worker must be asking.
	Idle time.Duration
	// Grace is how long a message may be on its way to a worker.
	Grace time.Duration
}

// Group checks workers that share messages by key (W7): messages of a key are processed in the order in which
// they were published, one at a time; no message is in the hands of two workers before the first one's time
// is over; none comes again after its ack was confirmed; no key waits longer than it must. Messages that are
// not done come again until they are; a consumer that gives up is not for this check.
func Group(ops []history.Operation, cfg GroupConfig) []Finding {
	c := newCollector(cfg.Stream)
	g := gatherGroup(c, ops, cfg)
	for _, key := range slices.Sorted(maps.Keys(g.keys)) {
		k := g.keys[key]
		k.finish()
		g.checkOrder(c, k)
		for _, m := range k.messages {
			g.checkHands(c, m)
		}
		g.checkIdle(c, k)
	}
	return c.findings()
}

// group is what the workers did, by key.
type group struct {
	cfg    GroupConfig
	keys   map[string]*keyed
	given  map[int][]*history.Operation // by process: its naks and leaves
	quiet  quiet
	asking time.Duration // until when a worker asked
}

// keyed are the messages of a key.
type keyed struct {
	name       string
	bySequence map[uint64]*turn
	messages   []*turn              // by sequence
	deliveries []*history.Operation // by their ends
	doneAt     []time.Duration      // for each message: when it and all before it can have been done first
}

// turn is one message and what was done with it.
type turn struct {
	sequence   uint64
	published  *history.Operation   // its ack; nil if that is unknown
	deliveries []*history.Operation // by their ends
	tries      []*history.Operation // acks that may have happened, by their starts
}

// gatherGroup sorts the operations by key and message.
func gatherGroup(c *collector, ops []history.Operation, cfg GroupConfig) *group {
	g := &group{cfg: cfg, keys: map[string]*keyed{}, given: map[int][]*history.Operation{}}
	s := gatherSent(ops, cfg.Stream)
	agree(c, ops, cfg.Stream)
	for i := range ops {
		o := &ops[i]
		if o.Stream != cfg.Stream || o.Consumer != "" && o.Consumer != cfg.Consumer || o.Result == history.Failed {
			continue
		}
		switch o.Kind {
		case history.Publish:
			if o.Result != history.OK {
				continue
			}
			if m := g.turn(o); m.published == nil {
				m.published = o
			}
		case history.Fetch:
			g.asking = max(g.asking, o.End)
			if o.Value == "" || o.Result != history.OK || s.foreign(c, o) {
				continue
			}
			m := g.turn(o)
			m.deliveries = append(m.deliveries, o)
			k := g.keys[o.Key]
			k.deliveries = append(k.deliveries, o)
		case history.Ack, history.Term:
			m := g.turn(o)
			m.tries = append(m.tries, o)
		case history.Nak, history.Leave:
			g.given[o.Process] = append(g.given[o.Process], o)
		}
	}
	g.quiet = gatherQuiet(ops, g.asking, nil)
	return g
}

// turn is the message that an operation is about.
func (g *group) turn(o *history.Operation) *turn {
	k := g.keys[o.Key]
	if k == nil {
		k = &keyed{name: o.Key, bySequence: map[uint64]*turn{}}
		g.keys[o.Key] = k
	}
	m := k.bySequence[o.Sequence]
	if m == nil {
		m = &turn{sequence: o.Sequence}
		k.bySequence[o.Sequence] = m
		k.messages = append(k.messages, m)
	}
	return m
}

// finish brings everything in order.
func (k *keyed) finish() {
	byEnd := func(a, b *history.Operation) int { return cmp.Compare(a.End, b.End) }
	slices.SortFunc(k.messages, func(a, b *turn) int { return cmp.Compare(a.sequence, b.sequence) })
	slices.SortStableFunc(k.deliveries, byEnd)
	var all time.Duration
	for _, m := range k.messages {
		slices.SortStableFunc(m.deliveries, byEnd)
		slices.SortStableFunc(m.tries, func(a, b *history.Operation) int { return cmp.Compare(a.Start, b.Start) })
		done := time.Duration(never)
		if len(m.tries) > 0 {
			done = m.tries[0].Start
		}
		all = max(all, done)
		k.doneAt = append(k.doneAt, all)
	}
}

// checkOrder reports messages that came before an earlier one of their key was done, or after a later one.
func (g *group) checkOrder(c *collector, k *keyed) {
	var highest *history.Operation // of the deliveries so far
	for _, d := range k.deliveries {
		at, _ := slices.BinarySearchFunc(k.messages, d.Sequence, func(m *turn, s uint64) int { return cmp.Compare(m.sequence, s) })
		if at > 0 && k.doneAt[at-1] >= d.End {
			early := slices.IndexFunc(k.doneAt, func(t time.Duration) bool { return t >= d.End })
			m := k.messages[early]
			c.add(Order, d.Node, append(of(m.published, d), m.deliveries...), "%q of key %q came before sequence %d was done", d.Value, k.name, m.sequence)
		}
		switch {
		case highest == nil || d.Sequence >= highest.Sequence:
			highest = d
		case d.Start > highest.End || d.End > highest.End+g.cfg.Grace:
			c.add(Order, d.Node, of(highest, d), "%q of key %q, sequence %d, came after sequence %d", d.Value, k.name, d.Sequence, highest.Sequence)
		}
	}
}

// checkHands reports a message that came again too early, or after it was surely done.
func (g *group) checkHands(c *collector, m *turn) {
	for i, d := range m.deliveries {
		for _, a := range m.tries {
			if a.Result == history.OK && d.End > a.End+g.cfg.Grace {
				c.add(Redelivered, d.Node, of(a, d), "%q came %v after its acknowledgement was confirmed", d.Value, d.End-a.End)
				break
			}
		}
		if i == 0 {
			continue
		}
		// The one before was sent after its worker had asked, so its time is not over before that.
		before := m.deliveries[i-1]
		if d.End < before.Start+g.cfg.AckWait && !g.gaveBack(m, before, d) {
			c.add(Overlap, d.Node, of(before, d), "%q came to worker %d %v after it had come to worker %d", d.Value, d.Process, d.End-before.End, before.Process)
		}
	}
}

// gaveBack says whether the worker may have been rid of a message before it was delivered again.
func (g *group) gaveBack(m *turn, before, again *history.Operation) bool {
	inTime := func(o *history.Operation) bool { return o.Start >= before.Start && o.Start < again.End }
	return slices.ContainsFunc(m.tries, inTime) || slices.ContainsFunc(g.given[before.Process], func(o *history.Operation) bool {
		return inTime(o) && (o.Kind == history.Leave || o.Sequence == m.sequence)
	})
}

// checkIdle reports messages whose turn it was and that did not come, though nothing was broken.
func (g *group) checkIdle(c *collector, k *keyed) {
	free := time.Duration(0) // when all before was done
	for _, m := range k.messages {
		if m.published != nil {
			from := max(free, m.published.End)
			limit := g.cfg.Idle
			for _, d := range m.deliveries {
				g.waited(c, k, m, from, d.End, limit)
				from, limit = d.End, g.cfg.AckWait+g.cfg.Idle
			}
			if len(m.tries) == 0 {
				g.waited(c, k, m, from, g.asking, limit)
				return // what comes after waits for this one
			}
		}
		free = max(free, g.over(m))
	}
}

// over is when a message is done, or its turn is over for another reason: where no ack was confirmed, it may
// be in the hands of a worker for as long as that may have it.
func (g *group) over(m *turn) time.Duration {
	first, last := time.Duration(never), time.Duration(0)
	for _, a := range m.tries {
		if last = max(last, a.End); a.Result == history.OK {
			first = min(first, a.End)
		}
	}
	if first != never {
		return first
	}
	for _, d := range m.deliveries {
		last = max(last, d.End+g.cfg.AckWait)
	}
	return last
}

// waited reports a wait that is too long.
func (g *group) waited(c *collector, k *keyed, m *turn, from, to, limit time.Duration) {
	if from < to && g.quiet.longest(from, to) > limit {
		c.add(Stalled, "", append(of(m.published), m.deliveries...), "sequence %d of key %q waited from %v to %v", m.sequence, k.name,
			from.Round(time.Millisecond), to.Round(time.Millisecond))
	}
}
