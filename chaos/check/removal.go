package check

import (
	"slices"

	"runnel/chaos/history"
)

// bySubject lists the sequences of each subject, rising.
func bySubject(known map[uint64]string) map[string][]uint64 {
	all := map[string][]uint64{}
	for sequence, subject := range known {
		all[subject] = append(all[subject], sequence)
	}
	for _, sequences := range all {
		slices.Sort(sequences)
	}
	return all
}

// mayBeGone says whether anything allowed an acknowledged message to be removed before a view was read.
func (r *retention) mayBeGone(a *history.Operation, v *view) bool {
	if r.cfg.MaxMessages > 0 && r.last >= a.Sequence+uint64(r.cfg.MaxMessages) {
		return true
	}
	if r.cfg.MaxPerSubject > 0 {
		sequences := r.later[a.Key]
		at, _ := slices.BinarySearch(sequences, a.Sequence+1)
		if len(sequences)-at >= r.cfg.MaxPerSubject {
			return true
		}
	}
	if r.mayBeOld(r.sent.find(a.Value), v) {
		return true
	}
	if acked, _ := r.acked(a.Sequence); acked {
		return true
	}
	return slices.ContainsFunc(r.purges, func(p *history.Operation) bool {
		// What may still happen may also remove what came after it was asked for.
		return covers(p, a) && (p.Kind == history.Erase || p.Sequence != 0 || p.Result == history.Unknown || a.Start <= p.End)
	})
}

// mayBeOld says whether a value may have been too old when a view was read.
func (r *retention) mayBeOld(sender *value, v *view) bool {
	return r.cfg.MaxAge > 0 && sender != nil && v.drained.End-sender.first.Start >= r.cfg.MaxAge-r.cfg.AgeSlack
}

// acked says whether all consumers may have acknowledged a sequence, and whether they surely have.
func (r *retention) acked(sequence uint64) (maybe, surely bool) {
	if len(r.cfg.Consumers) == 0 {
		return false, false
	}
	maybe, surely = true, true
	for _, name := range r.cfg.Consumers {
		result, ok := r.acks[sequence][name]
		maybe = maybe && ok
		surely = surely && ok && result == history.OK
	}
	return maybe, surely
}

// covers says whether a purge is about a message, going by its subject and sequence.
func covers(p, m *history.Operation) bool {
	switch {
	case p.Kind == history.Erase:
		return p.Sequence == m.Sequence
	case p.Key != "" && p.Key != m.Key:
		return false
	}
	return p.Sequence == 0 || m.Sequence < p.Sequence
}

// checkThere reports a message that is there and must have been removed.
func (r *retention) checkThere(c *collector, o *history.Operation) {
	sender := r.sent.find(o.Value)
	// A message is as old as its ack, or, if that is unknown, may be as young as now.
	if a := sender.acked; a != nil && r.cfg.MaxAge > 0 && o.Start-a.End > r.cfg.MaxAge+r.cfg.AgeSlack {
		c.add(Kept, o.Node, of(a, o), "%q at sequence %d is %v old", o.Value, o.Sequence, o.Start-a.End)
	}
	if _, surely := r.acked(o.Sequence); surely {
		c.add(Kept, o.Node, of(sender.first, o), "%q at sequence %d is here, though every consumer has acknowledged it", o.Value, o.Sequence)
	}
	for _, p := range r.purges {
		if p.Result == history.OK && covers(p, o) && sender.acked != nil && sender.acked.End < p.Start {
			c.add(Kept, o.Node, of(sender.acked, p, o), "%q at sequence %d is here, though it was purged", o.Value, o.Sequence)
		}
	}
}
