package check

import (
	"time"

	"runnel/chaos/history"
)

// DelayedConfig describes a stream for which messages are published that are stored later.
type DelayedConfig struct {
	Queue  string // what the history has as the stream of what is published, and cancelled
	Stream string // where it is stored in the end
	// Slack is how much earlier than its time a message may be seen: the clocks of servers differ.
	Slack time.Duration
}

// Delayed checks values that are published to be stored later (W14): each that was acknowledged is in the stream once in the end, unless somebody
// has cancelled it, and none of which that was confirmed. No reader gets one before its time, which counts from the first try to publish it.
// All ways of reading show the same value at a sequence.
func Delayed(ops []history.Operation, cfg DelayedConfig) []Finding {
	c := newCollector(cfg.Stream)
	put := gatherSent(ops, cfg.Queue)
	cancelled := cancellations(ops, cfg.Queue)
	bySequence := map[uint64]*history.Operation{}
	for _, w := range gatherViews(c, ops, cfg.Stream) {
		at := map[string]*history.Operation{}
		for _, o := range w.messages {
			if put.foreign(c, o) {
				continue
			}
			if before := at[o.Value]; before != nil {
				c.add(Duplicate, w.node, of(before, o), "%q is stored at sequences %d and %d", o.Value, before.Sequence, o.Sequence)
			}
			at[o.Value] = o
			if by := cancelled[o.Value]; by != nil && by.Result == history.OK {
				c.add(Kept, w.node, of(by, o), "%q is stored at sequence %d, though it was cancelled", o.Value, o.Sequence)
			}
			if other := bySequence[o.Sequence]; other != nil && other.Value != o.Value {
				c.add(Conflict, w.node, of(other, o), "sequence %d is %q here and %q at %s", o.Sequence, o.Value, other.Value, other.Node)
			}
			bySequence[o.Sequence] = o
		}
		for i := range put.values {
			if a := put.values[i].acked; a != nil && at[a.Value] == nil && cancelled[a.Value] == nil {
				c.add(Lost, w.node, of(a), "%q never came, read %s", a.Value, w.way())
			}
		}
	}
	early(c, ops, put, cfg)
	return c.findings()
}

// cancellations finds, for each value, the attempt to cancel it that may have done so; the one that was confirmed, if there is one.
func cancellations(ops []history.Operation, queue string) map[string]*history.Operation {
	all := map[string]*history.Operation{}
	for i := range ops {
		o := &ops[i]
		if o.Kind != history.Erase || o.Stream != queue || o.Result == history.Failed {
			continue
		}
		if all[o.Value] == nil || o.Result == history.OK {
			all[o.Value] = o
		}
	}
	return all
}

// early finds messages that a reader has got before their time.
func early(c *collector, ops []history.Operation, put *sent, cfg DelayedConfig) {
	for i := range ops {
		o := &ops[i]
		if o.Kind != history.Fetch || o.Stream != cfg.Stream || o.Value == "" {
			continue
		}
		v := put.find(o.Value)
		if v == nil {
			continue // what nobody has sent is found where it is stored
		}
		if due := v.first.Start + time.Duration(v.first.Expected)*time.Millisecond; o.End < due-cfg.Slack {
			c.add(Early, o.Node, of(v.first, o), "%q came %v before its time", o.Value, (due - o.End).Round(time.Millisecond))
		}
	}
}
