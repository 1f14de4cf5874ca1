package jetlog

import (
	"cmp"
	"slices"

	"runnel/jetlog/deadlines"
	"runnel/jetlog/letters"
	"runnel/jetlog/terms"
)

// removal is a message that a plan removes.
type removal struct {
	Meta
	reason Reason
	// but is a consumer whose letter does not keep the message, nil for none.
	but *Consumer
}

// scratch is what a plan is made in. It is reused, so that planning costs no memory.
type scratch struct {
	removals []removal
	terms    terms.Terms
	message  Message
	meta     Meta
	one      [1]string
	due      []deadlines.Deadline
	// first and firstTime are the oldest message after the plan, if moved is set.
	first     uint64
	firstTime int64
	moved     bool
	counts    []uint64
	// chores are what is too much for the plan.
	chores []chore
	// withdrawn are the deliveries without an answer of what was removed; see Result.
	withdrawn []Withdrawn
	// held is what stays for letters although a limit removes it, and dying what becomes a letter.
	held  []removal
	dying []dying
	// failed are those that a filter could not decide about.
	failed []uint64
	// answered is what the message acknowledges that is about to be stored.
	answered dying
	// staged is what a batch does to what is kept.
	staged letters.Staged
}

func (p *scratch) reset() {
	clear(p.removals) // what it refers to may go
	p.removals = p.removals[:0]
	p.failed = p.failed[:0]
	p.held, p.dying, p.answered = p.held[:0], p.dying[:0], dying{}
	p.staged = letters.Staged{}
	p.moved = false
	p.due = p.due[:0]
	p.counts = p.counts[:0]
	p.chores = nil
	clear(p.withdrawn)
	p.withdrawn = p.withdrawn[:0]
}

// later notes that messages go by and by.
func (p *scratch) later(c chore) { p.chores = append(p.chores, c) }

// plan notes that a message goes.
func (p *scratch) plan(meta Meta, reason Reason) {
	p.removals = append(p.removals, removal{Meta: meta, reason: reason})
}

// literal returns the filter for exactly one subject, valid until the next call.
func (p *scratch) literal(subject string) Filter {
	p.one[0] = subject
	return p.one[:]
}

// planned reports whether the sequence is among the removals, which must be sorted.
func (p *scratch) planned(seq uint64) bool {
	_, found := slices.BinarySearchFunc(p.removals, seq, func(r removal, seq uint64) int {
		return cmp.Compare(r.Sequence, seq)
	})
	return found
}

// sort puts the removals in order and leaves each sequence once.
func (p *scratch) sort() {
	if len(p.removals) < 2 {
		return
	}
	slices.SortStableFunc(p.removals, func(a, b removal) int { return cmp.Compare(a.Sequence, b.Sequence) })
	p.removals = slices.CompactFunc(p.removals, func(a, b removal) bool { return a.Sequence == b.Sequence })
}

// takeWithdrawn returns what was withdrawn, nil for nothing, in an order that does not depend on how consumers are found.
func (p *scratch) takeWithdrawn() []Withdrawn {
	if len(p.withdrawn) == 0 {
		return nil
	}
	list := slices.Clone(p.withdrawn)
	slices.SortFunc(list, func(a, b Withdrawn) int {
		return cmp.Or(cmp.Compare(a.Sequence, b.Sequence), cmp.Compare(a.Consumer, b.Consumer))
	})
	return list
}

// settle is the end of a plan that removes messages: it finds out which will be the oldest then.
// Appended is the message that the plan stores, nil for none.
func (s *Stream) settle(m Messages, appended *Meta) error {
	p := &s.scratch
	p.sort()
	if s.lettering > 0 {
		s.hold()
	}
	oldest, moved := s.state.First, false
	if s.state.Messages == 0 {
		oldest = 0
	}
	var err error
	for i := 0; i < len(p.removals) && p.removals[i].Sequence == oldest; i++ {
		moved = true
		if oldest, err = m.Next(oldest + 1); err != nil {
			return err
		}
	}
	switch {
	case oldest == 0 && appended != nil && !p.planned(appended.Sequence):
		p.first, p.firstTime = appended.Sequence, appended.Time
	case oldest == 0 && appended != nil:
		p.first, p.firstTime = appended.Sequence+1, 0
	case oldest == 0:
		p.first, p.firstTime = s.state.Last+1, 0
	case moved:
		meta, err := live(m, oldest)
		if err != nil {
			return err
		}
		p.first, p.firstTime = oldest, meta.Time
	default:
		return nil
	}
	p.moved = true
	return nil
}

// remove commits the removals, and what settle found. It returns how many there were.
func (s *Stream) remove(m Messages) uint64 {
	p := &s.scratch
	if len(p.held) > 0 {
		s.keep()
	}
	for i := range p.removals {
		r := &p.removals[i]
		m.Remove(&r.Meta, r.reason)
		s.state.Messages--
		s.state.Bytes -= r.Bytes
		s.removed[r.reason]++
		reserve, kept := s.kept.Get(r.Sequence)
		if kept {
			s.kept.Remove(r.Sequence)
		}
		if r.Expires > 0 && !reserve.Ended {
			s.ttl.Cancel(r.Expires, r.Sequence)
		}
		if s.schedules.Len() > 0 {
			s.schedules.Gone(r.Subject, r.Sequence)
		}
		s.withdraw(r)
	}
	if p.moved {
		s.state.First, s.state.FirstTime = p.first, p.firstTime
	}
	return uint64(len(p.removals))
}
