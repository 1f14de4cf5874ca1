package store

import (
	"sort"

	"runnel/jetlog"
	"runnel/jetlog/gone"
)

// below is what lies below a memory table: layers, and what of them has gone.
//
// Invariant: the spans of layers do not overlap and ascend; every sequence that is removed is below
// the memory table.
type below struct {
	layers []layer
	gone   *gone.Set
	purged uint64 // every sequence up to here went at once some time
	asker  *asker // of who looks, nil for memory alone
}

// at returns the position of the first layer that may have sequences >= seq.
func (b *below) at(seq uint64) int {
	return sort.Search(len(b.layers), func(i int) bool { return b.layers[i].span().last >= seq })
}

// find returns the layer that may have a sequence, nil for none.
func (b *below) find(seq uint64) layer {
	if i := b.at(seq); i < len(b.layers) && b.layers[i].span().first <= seq {
		return b.layers[i]
	}
	return nil
}

// meta returns what is known of a live message, the zero Meta if it is not live.
func (b *below) meta(seq uint64) (jetlog.Meta, error) {
	if l := b.find(seq); l != nil && !b.gone.Has(seq) {
		return l.meta(b.asker, seq)
	}
	return jetlog.Meta{}, nil
}

// load returns a live message, one with sequence 0 if it is not live.
func (b *below) load(seq uint64) (jetlog.Message, error) {
	if l := b.find(seq); l != nil && !b.gone.Has(seq) {
		return l.load(b.asker, seq)
	}
	return jetlog.Message{}, nil
}

// nextOf returns the first live sequence >= from that the filter matches.
func (b *below) nextOf(filter jetlog.Filter, from uint64) (uint64, error) {
	from = max(from, b.gone.Floor()+1)
	for _, l := range b.layers[b.at(from):] {
		seq, err := b.nextIn(l, filter, max(from, l.span().first))
		if err != nil || seq != 0 {
			return seq, err
		}
	}
	return 0, nil
}

// nextIn looks in one layer. It asks the set of what has gone and the layer in turn, each for the first
// that it does not rule out: so a run of removed messages costs one step, however long it is, and so
// does a run that the filter does not match.
func (b *below) nextIn(l layer, filter jetlog.Filter, from uint64) (uint64, error) {
	last := l.span().last
	for seq := b.gone.Next(from); seq <= last; seq = b.gone.Next(seq) {
		candidate, err := l.nextOf(b.asker, filter, seq)
		if err != nil || candidate == 0 {
			return 0, err
		}
		if !b.gone.Has(candidate) {
			return candidate, nil
		}
		seq = candidate + 1
	}
	return 0, nil
}

// lastOf returns the last live sequence <= upTo that the filter matches.
func (b *below) lastOf(filter jetlog.Filter, upTo uint64) (uint64, error) {
	for i := min(b.at(upTo), len(b.layers)-1); i >= 0; i-- {
		l := b.layers[i]
		if l.span().last <= b.gone.Floor() {
			return 0, nil
		}
		if upTo < l.span().first {
			continue
		}
		seq, err := b.lastIn(l, filter, min(upTo, l.span().last))
		if err != nil || seq != 0 {
			return seq, err
		}
	}
	return 0, nil
}

// lastIn is nextIn in the other direction.
func (b *below) lastIn(l layer, filter jetlog.Filter, upTo uint64) (uint64, error) {
	first := l.span().first
	for seq := b.gone.Prev(upTo); seq >= first && seq != 0; seq = b.gone.Prev(seq) {
		candidate, err := l.lastOf(b.asker, filter, seq)
		if err != nil || candidate == 0 {
			return 0, err
		}
		if !b.gone.Has(candidate) {
			return candidate, nil
		}
		seq = candidate - 1
	}
	return 0, nil
}

// count returns how many live messages >= from the filter matches.
func (b *below) count(filter jetlog.Filter, from uint64) (uint64, error) {
	from = max(from, b.gone.Floor()+1)
	sum := uint64(0)
	for _, l := range b.layers[b.at(from):] {
		n, err := b.countIn(l, filter, from)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// countIn counts in one layer: what the file says, less what has gone of it. For a filter that
// matches everything that was counted all along.
func (b *below) countIn(l layer, filter jetlog.Filter, from uint64) (uint64, error) {
	s := l.span()
	if filter.All() && (from <= s.first || from <= b.gone.Floor()+1) {
		if n, _, ok := s.live(); ok {
			return n, nil
		}
	}
	n, err := l.countOf(b.asker, filter, from)
	if err != nil || n == 0 {
		return 0, err
	}
	b.gone.Each(max(from, s.first), s.last, func(seq uint64) bool {
		var m jetlog.Meta
		if m, err = l.meta(b.asker, seq); err == nil && m.Sequence != 0 && filter.Matches(m.Subject) {
			n--
		}
		return err == nil
	})
	return n, err
}

// sizeOf returns the number and bytes of the live messages from..to.
func (b *below) sizeOf(from, to uint64) (messages, bytes uint64, err error) {
	from = max(from, b.gone.Floor()+1)
	for _, l := range b.layers[b.at(from):] {
		s := l.span()
		if s.first > to {
			break
		}
		n, size, err := b.sizeIn(l, from, to)
		if err != nil {
			return 0, 0, err
		}
		messages, bytes = messages+n, bytes+size
	}
	return messages, bytes, nil
}

// sizeIn is size in one layer. Only a layer that is asked for in part is gone through.
func (b *below) sizeIn(l layer, from, to uint64) (messages, bytes uint64, err error) {
	s := l.span()
	if (from <= s.first || from <= b.gone.Floor()+1) && to >= s.last {
		if n, size, ok := s.live(); ok {
			return n, size, nil
		}
	}
	seq, err := b.nextIn(l, nil, max(from, s.first))
	for ; err == nil && seq != 0 && seq <= to; seq, err = b.nextIn(l, nil, seq+1) {
		m, err := l.meta(b.asker, seq)
		if err != nil {
			return 0, 0, err
		}
		messages, bytes = messages+1, bytes+m.Bytes
	}
	return messages, bytes, err
}

// firstAfter returns the first live sequence with a time >= time.
func (b *below) firstAfter(time int64) (uint64, error) {
	for _, l := range b.layers {
		if l.span().lastTime < time {
			continue
		}
		seq, err := l.firstAt(b.asker, time)
		if err != nil || seq == 0 {
			return 0, err
		}
		// Times do not decrease with the sequence: whatever lives behind it will do.
		return b.nextOf(nil, seq)
	}
	return 0, nil
}

// subjectOf counts the live messages of a subject: first and last exactly, whatever the facts say.
func (b *below) subjectOf(subject string) (jetlog.SubjectState, error) {
	literal := jetlog.Filter{subject}
	first, err := b.nextOf(literal, 0)
	if err != nil || first == 0 {
		return jetlog.SubjectState{}, err
	}
	last, err := b.lastOf(literal, ^uint64(0))
	if err != nil {
		return jetlog.SubjectState{}, err
	}
	n, err := b.count(literal, first)
	return jetlog.SubjectState{First: first, Last: last, Count: n}, err
}

// settle makes first and last of a state exact, whose count is.
func (b *below) settle(subject string, s jetlog.SubjectState) (jetlog.SubjectState, error) {
	if s.Count == 0 {
		return jetlog.SubjectState{}, nil
	}
	var err error
	if b.gone.Has(s.First) {
		if s.First, err = b.nextOf(jetlog.Filter{subject}, s.First+1); err != nil {
			return jetlog.SubjectState{}, err
		}
	}
	if b.gone.Has(s.Last) {
		if s.Last, err = b.lastOf(jetlog.Filter{subject}, s.Last-1); err != nil {
			return jetlog.SubjectState{}, err
		}
	}
	return s, nil
}
