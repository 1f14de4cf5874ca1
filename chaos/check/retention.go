package check

import (
	"time"

	"runnel/chaos/history"
)

// RetentionConfig says what may remove messages of a stream.
type RetentionConfig struct {
	Stream        string
	MaxMessages   int           // 0: no limit
	MaxPerSubject int           // 0: no limit
	MaxAge        time.Duration // 0: no limit
	// AgeSlack is how much earlier or later than MaxAge a message may go: the time an expiry takes, and by how
	// much clocks were set wrong during the run.
	AgeSlack time.Duration
	// Consumers are those of which each must acknowledge a message before it goes, if the stream removes what is
	// acknowledged: all of an interest stream, the one of a work queue. They must exist before the first message.
	Consumers []string
}

// Retention checks a stream that removes messages (W9): what is missing is what limits, acks and purges allow
// to be missing, and what they must have removed is gone. All nodes have the same.
func Retention(ops []history.Operation, cfg RetentionConfig) []Finding {
	c := newCollector(cfg.Stream)
	r := &retention{cfg: cfg, sent: gatherSent(ops, cfg.Stream), acks: map[uint64]map[string]history.Result{}}
	agree(c, ops, cfg.Stream)
	views := gatherViews(c, ops, cfg.Stream)
	r.gather(ops, views)
	for _, v := range views {
		if n := len(v.messages); cfg.MaxMessages > 0 && n > cfg.MaxMessages {
			c.add(Kept, v.node, of(v.messages[0], v.drained), "%d messages are here, and %d are allowed", n, cfg.MaxMessages)
		}
		perSubject := map[string]int{}
		for _, o := range v.messages {
			if !r.sent.foreign(c, o) {
				r.checkThere(c, o)
			}
			if perSubject[o.Key]++; cfg.MaxPerSubject > 0 && perSubject[o.Key] == cfg.MaxPerSubject+1 {
				c.add(Kept, v.node, of(o, v.drained), "more than the %d messages that are allowed of %q are here", cfg.MaxPerSubject, o.Key)
			}
		}
		for i := range r.sent.values {
			if a := r.sent.values[i].acked; a != nil && v.at(a.Sequence) == nil && !r.mayBeGone(a, v) {
				c.add(Lost, v.node, of(a, v.drained), "%q, acknowledged with sequence %d, is not here, and nothing allowed to remove it; read %s", a.Value, a.Sequence, v.way())
			}
		}
	}
	replicas(c, views, func(o *history.Operation, v *view) bool { return r.mayBeOld(r.sent.find(o.Value), v) })
	return c.findings()
}

// retention is what could remove messages of a stream.
type retention struct {
	cfg    RetentionConfig
	sent   *sent
	last   uint64                               // the highest sequence that is known
	later  map[string][]uint64                  // by subject: its known sequences, rising
	acks   map[uint64]map[string]history.Result // by sequence and consumer: OK, or Unknown
	purges []*history.Operation                 // Purge and Erase that may have happened
}

// gather finds what removed messages, and which sequences there are.
func (r *retention) gather(ops []history.Operation, views []*view) {
	known := map[uint64]string{} // the subject of each sequence
	for i := range ops {
		o := &ops[i]
		if o.Stream != r.cfg.Stream || o.Result == history.Failed {
			continue
		}
		switch o.Kind {
		case history.Purge, history.Erase:
			r.purges = append(r.purges, o)
		case history.Ack, history.Term:
			if r.acks[o.Sequence] == nil {
				r.acks[o.Sequence] = map[string]history.Result{}
			}
			if r.acks[o.Sequence][o.Consumer] != history.OK {
				r.acks[o.Sequence][o.Consumer] = o.Result
			}
		}
		if (sends(o.Kind) || o.Kind == history.Read || o.Kind == history.Fetch || o.Kind == history.Final) && o.Result == history.OK && o.Sequence > 0 {
			known[o.Sequence] = o.Key
		}
	}
	for _, v := range views {
		r.last = max(r.last, v.last())
	}
	r.later = bySubject(known)
	for _, sequences := range r.later {
		r.last = max(r.last, sequences[len(sequences)-1])
	}
}
