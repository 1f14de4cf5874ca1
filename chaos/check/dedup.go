package check

import (
	"time"

	"runnel/chaos/history"
)

// DedupConfig describes a stream with a duplicate window.
type DedupConfig struct {
	Stream string
	// Window is how far apart the tries of a value may be for it to be stored once: the duplicate window of
	// the stream, less the time that a request may be on its way. Values with tries further apart are not
	// checked for it.
	Window time.Duration
}

// Dedup checks values that are sent several times with the same message id (W4): each is stored at most
// once, and if it was acknowledged, exactly once; every ack names the sequence where it is. Log checks the
// rest.
func Dedup(ops []history.Operation, cfg DedupConfig) []Finding {
	c := newCollector(cfg.Stream)
	s := gatherSent(ops, cfg.Stream)
	inside := func(v *value) bool { return v.last.End-v.first.Start <= cfg.Window }
	for i := range ops {
		o := &ops[i]
		if o.Stream != cfg.Stream || !sends(o.Kind) || o.Result != history.OK {
			continue
		}
		if v := s.find(o.Value); v != nil && inside(v) && v.acked.Sequence != o.Sequence {
			c.add(Moved, o.Node, of(v.acked, o), "%q was acknowledged with sequence %d and with %d", o.Value, v.acked.Sequence, o.Sequence)
		}
	}
	for _, w := range gatherViews(c, ops, cfg.Stream) {
		at := make([]*history.Operation, len(s.values))
		for _, o := range w.messages {
			if s.foreign(c, o) {
				continue
			}
			i := s.index[o.Value]
			v := &s.values[i]
			switch {
			case at[i] != nil && inside(v):
				c.add(Duplicate, w.node, of(v.first, at[i], o), "%q is stored at sequences %d and %d", o.Value, at[i].Sequence, o.Sequence)
			case v.acked != nil && inside(v) && v.acked.Sequence != o.Sequence:
				c.add(Moved, w.node, of(v.acked, o), "%q was acknowledged with sequence %d and is at %d", o.Value, v.acked.Sequence, o.Sequence)
			}
			at[i] = o
		}
		for i := range s.values {
			if a := s.values[i].acked; a != nil && at[i] == nil {
				c.add(Lost, w.node, of(a), "%q, acknowledged with sequence %d, is not here, read %s", a.Value, a.Sequence, w.way())
			}
		}
	}
	return c.findings()
}
