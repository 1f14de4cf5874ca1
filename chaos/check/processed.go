package check

import "runnel/chaos/history"

// ProcessedConfig describes a queue whose messages are processed into another stream.
type ProcessedConfig struct {
	Queue, Stream string
}

// Processed checks values that workers take from a queue and publish to a stream together with the acknowledgement (W13): of each that
// was acknowledged to whoever put it into the queue there is one outcome in the end, and nothing is left in the queue. An outcome may
// be published several times, of which only one may be stored. Log checks the rest.
func Processed(ops []history.Operation, cfg ProcessedConfig) []Finding {
	c := newCollector(cfg.Stream)
	put := gatherSent(ops, cfg.Queue)
	for _, w := range gatherViews(c, ops, cfg.Stream) {
		at := map[string]*history.Operation{}
		for _, o := range w.messages {
			if before := at[o.Value]; before != nil {
				c.add(Duplicate, w.node, of(before, o), "the outcome of %q is stored at sequences %d and %d", o.Value, before.Sequence, o.Sequence)
			}
			at[o.Value] = o
			if put.find(o.Value) == nil {
				c.add(Unexpected, w.node, of(o), "%q at sequence %d was never in the queue", o.Value, o.Sequence)
			}
		}
		for i := range put.values {
			if a := put.values[i].acked; a != nil && at[a.Value] == nil {
				c.add(Lost, w.node, of(a), "there is no outcome of %q, read %s", a.Value, w.way())
			}
		}
	}
	for _, w := range gatherViews(c, ops, cfg.Queue) {
		for _, o := range w.messages {
			c.add(Kept, w.node, of(o), "%q is still in the queue at sequence %d", o.Value, o.Sequence)
		}
	}
	return c.findings()
}
