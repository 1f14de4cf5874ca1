package check

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"runnel/chaos/history"
)

// RegistersConfig describes a stream whose subjects are registers that are changed by compare-and-set.
type RegistersConfig struct {
	Stream string
	// Refusals says that the server decides about a refusal when the change would be made, so that a refusal
	// tells that the register was at another revision at that time. A server whose leader refuses by what it
	// knows, while another leads already, gives no such word.
	Refusals bool
	// StaleLeaders says that a leader that was replaced, and does not know it yet, may still answer reads. Then a Get
	// counts as a StaleGet does.
	StaleLeaders bool
	// Timeout is how long the search for an order may take for one register; 0 means 10 s. A register for
	// which it is not enough is Unchecked.
	Timeout time.Duration
}

// timeoutDefault is how long the search for one register takes at most.
const timeoutDefault = 10 * time.Second

// Registers checks compare-and-set (W5), register by register. There is an order of the swaps and of the reads
// that must be current, within the times at which they were made, that explains every answer (they are
// linearizable). Reads from anywhere show old values at most, and never such as a later past does not have:
// no two changes stem from the same revision. In the end every node has the newest one.
func Registers(ops []history.Operation, cfg RegistersConfig) []Finding {
	c := newCollector(cfg.Stream)
	if cfg.Timeout == 0 {
		cfg.Timeout = timeoutDefault
	}
	s := gatherSent(ops, cfg.Stream)
	byKey := gatherRegisters(c, ops, cfg.Stream, s)
	views := gatherViews(c, ops, cfg.Stream)
	replicas(c, views, nil)
	a := agree(c, ops, cfg.Stream)
	latest := make([]map[string]*history.Operation, len(views))
	for i, v := range views {
		latest[i] = v.latest()
	}
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		r := byKey[key]
		chain := r.chain(c)
		r.checkPast(c, chain, a)
		for i, v := range views {
			r.checkFinal(c, chain, v, latest[i][key])
		}
		r.checkOrder(c, chain, cfg)
	}
	return c.findings()
}

// register is what was done with one register.
type register struct {
	key   string
	swaps []*history.Operation
	reads []*history.Operation          // OK ones of all kinds, Final among them
	at    map[string]*history.Operation // by value: the read of it that ended first
}

// gatherRegisters sorts the operations by register, and reports values that cannot be there.
func gatherRegisters(c *collector, ops []history.Operation, stream string, s *sent) map[string]*register {
	byKey := map[string]*register{}
	for i := range ops {
		o := &ops[i]
		if o.Stream != stream {
			continue
		}
		r := byKey[o.Key]
		if r == nil {
			r = &register{key: o.Key, at: map[string]*history.Operation{}}
		}
		switch o.Kind {
		case history.Swap:
			r.swaps = append(r.swaps, o)
		case history.Get, history.StaleGet, history.Final:
			if o.Result != history.OK || o.Sequence != 0 && s.foreign(c, o) {
				continue
			}
			r.reads = append(r.reads, o)
			if before := r.at[o.Value]; o.Sequence != 0 && (before == nil || o.End < before.End) {
				r.at[o.Value] = o
			}
		default:
			continue
		}
		byKey[o.Key] = r
	}
	return byKey
}

// link is a swap that surely happened: from one revision to the next.
type link struct {
	swap     *history.Operation
	read     *history.Operation // a read that shows it; nil if only its ack does
	from, to uint64
	by       time.Duration // when it had happened
}

// chain is the swaps that surely happened, by revision: those that were acknowledged, and those of unknown
// result whose value was read.
func (r *register) chain(c *collector) []link {
	var all []link
	for _, o := range r.swaps {
		read := r.at[o.Value]
		l := link{swap: o, read: read, from: o.Expected, to: o.Sequence, by: o.End}
		switch {
		case o.Result == history.Failed || o.Result == history.Unknown && read == nil:
			continue
		case o.Result == history.Unknown:
			l.to, l.by = read.Sequence, read.End
		case read != nil:
			l.by = min(l.by, read.End)
		}
		if l.to <= l.from {
			c.add(Order, o.Node, of(o, read), "%q replaced revision %d of %q and is revision %d", o.Value, l.from, r.key, l.to)
		}
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b link) int { return cmp.Compare(a.to, b.to) })
	for i := len(all) - 2; i >= 0; i-- {
		if next := all[i+1]; next.from == all[i].to {
			all[i].by = min(all[i].by, next.by) // it had happened when what stems from it had
		}
	}
	return all
}

// checkPast looks for two pasts: two values of one revision, or two changes of the same revision.
func (r *register) checkPast(c *collector, chain []link, a agreement) {
	byFrom := map[uint64]link{}
	for _, l := range chain {
		if other, ok := byFrom[l.from]; ok {
			c.add(Fork, l.swap.Node, of(other.swap, other.read, l.swap, l.read), "%q and %q both replaced revision %d of %q", other.swap.Value, l.swap.Value, l.from, r.key)
		}
		byFrom[l.from] = l
		if l.swap.Result == history.OK {
			a.see(c, l.swap)
		}
		if l.swap.Result == history.OK && l.read != nil && l.read.Sequence != l.swap.Sequence {
			c.add(Moved, l.read.Node, of(l.swap, l.read), "%q was acknowledged as revision %d of %q and is %d", l.swap.Value, l.swap.Sequence, r.key, l.read.Sequence)
		}
	}
}

// checkFinal wants the newest change at a node, of which this is the last one that it has.
func (r *register) checkFinal(c *collector, chain []link, v *view, last *history.Operation) {
	if len(chain) == 0 {
		return
	}
	if newest := chain[len(chain)-1]; last == nil || last.Sequence < newest.to {
		c.add(Lost, v.node, of(newest.swap, newest.read, last), "%q, revision %d of %q, is not here, read %s", newest.swap.Value, newest.to, r.key, v.way())
	}
}
