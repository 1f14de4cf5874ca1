package layer

import (
	"sort"

	"runnel/jetlog"
	"runnel/jetlog/gone"
)

// Below is what lies below a memory table: layers, and what of them has gone.
//
// Invariant: the spans of layers do not overlap and ascend; every sequence that is removed is below
// the memory table.
type Below struct {
	Layers []Layer
	Gone   *gone.Set
	Purged uint64 // every sequence up to here went at once some time
	Asker  *Asker // of who looks, nil for memory alone
}

// At returns the position of the first layer that may have sequences >= seq.
func (b *Below) At(seq uint64) int {
	return sort.Search(len(b.Layers), func(i int) bool { return b.Layers[i].Span().Last >= seq })
}

// Find returns the layer that may have a sequence, nil for none.
func (b *Below) Find(seq uint64) Layer {
	if i := b.At(seq); i < len(b.Layers) && b.Layers[i].Span().First <= seq {
		return b.Layers[i]
	}
	return nil
}

// Meta returns what is known of a live message, the zero Meta if it is not live.
func (b *Below) Meta(seq uint64) (jetlog.Meta, error) {
	if l := b.Find(seq); l != nil && !b.Gone.Has(seq) {
		return l.Meta(b.Asker, seq)
	}
	return jetlog.Meta{}, nil
}

// Load returns a live message, one with sequence 0 if it is not live.
func (b *Below) Load(seq uint64) (jetlog.Message, error) {
	if l := b.Find(seq); l != nil && !b.Gone.Has(seq) {
		return l.Load(b.Asker, seq)
	}
	return jetlog.Message{}, nil
}

// NextOf returns the first live sequence >= from that the filter matches.
func (b *Below) NextOf(filter jetlog.Filter, from uint64) (uint64, error) {
	from = max(from, b.Gone.Floor()+1)
	for _, l := range b.Layers[b.At(from):] {
		seq, err := b.nextIn(l, filter, max(from, l.Span().First))
		if err != nil || seq != 0 {
			return seq, err
		}
	}
	return 0, nil
}

// nextIn looks in one layer. It asks the set of what has gone and the layer in turn, each for the first
// that it does not rule out: so a run of removed messages costs one step, however long it is, and so
// does a run that the filter does not match.
func (b *Below) nextIn(l Layer, filter jetlog.Filter, from uint64) (uint64, error) {
	last := l.Span().Last
	for seq := b.Gone.Next(from); seq <= last; seq = b.Gone.Next(seq) {
		candidate, err := l.NextOf(b.Asker, filter, seq)
		if err != nil || candidate == 0 {
			return 0, err
		}
		if !b.Gone.Has(candidate) {
			return candidate, nil
		}
		seq = candidate + 1
	}
	return 0, nil
}

// LastOf returns the last live sequence <= upTo that the filter matches.
func (b *Below) LastOf(filter jetlog.Filter, upTo uint64) (uint64, error) {
	for i := min(b.At(upTo), len(b.Layers)-1); i >= 0; i-- {
		l := b.Layers[i]
		if l.Span().Last <= b.Gone.Floor() {
			return 0, nil
		}
		if upTo < l.Span().First {
			continue
		}
		seq, err := b.lastIn(l, filter, min(upTo, l.Span().Last))
		if err != nil || seq != 0 {
			return seq, err
		}
	}
	return 0, nil
}

// lastIn is nextIn in the other direction.
func (b *Below) lastIn(l Layer, filter jetlog.Filter, upTo uint64) (uint64, error) {
	first := l.Span().First
	for seq := b.Gone.Prev(upTo); seq >= first && seq != 0; seq = b.Gone.Prev(seq) {
		candidate, err := l.LastOf(b.Asker, filter, seq)
		if err != nil || candidate == 0 {
			return 0, err
		}
		if !b.Gone.Has(candidate) {
			return candidate, nil
		}
		seq = candidate - 1
	}
	return 0, nil
}

// Count returns how many live messages >= from the filter matches.
func (b *Below) Count(filter jetlog.Filter, from uint64) (uint64, error) {
	from = max(from, b.Gone.Floor()+1)
	sum := uint64(0)
	for _, l := range b.Layers[b.At(from):] {
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
func (b *Below) countIn(l Layer, filter jetlog.Filter, from uint64) (uint64, error) {
	s := l.Span()
	if filter.All() && (from <= s.First || from <= b.Gone.Floor()+1) {
		if n, _, ok := s.Live(); ok {
			return n, nil
		}
	}
	n, err := l.CountOf(b.Asker, filter, from)
	if err != nil || n == 0 {
		return 0, err
	}
	b.Gone.Each(max(from, s.First), s.Last, func(seq uint64) bool {
		var m jetlog.Meta
		if m, err = l.Meta(b.Asker, seq); err == nil && m.Sequence != 0 && filter.Matches(m.Subject) {
			n--
		}
		return err == nil
	})
	return n, err
}

// SizeOf returns the number and bytes of the live messages from..to.
func (b *Below) SizeOf(from, to uint64) (messages, bytes uint64, err error) {
	from = max(from, b.Gone.Floor()+1)
	for _, l := range b.Layers[b.At(from):] {
		s := l.Span()
		if s.First > to {
			break
		}
		n, size, err := b.SizeIn(l, from, to)
		if err != nil {
			return 0, 0, err
		}
		messages, bytes = messages+n, bytes+size
	}
	return messages, bytes, nil
}

// SizeIn is SizeOf in one layer. Only a layer that is asked for in part is gone through.
func (b *Below) SizeIn(l Layer, from, to uint64) (messages, bytes uint64, err error) {
	s := l.Span()
	if (from <= s.First || from <= b.Gone.Floor()+1) && to >= s.Last {
		if n, size, ok := s.Live(); ok {
			return n, size, nil
		}
	}
	seq, err := b.nextIn(l, nil, max(from, s.First))
	for ; err == nil && seq != 0 && seq <= to; seq, err = b.nextIn(l, nil, seq+1) {
		m, err := l.Meta(b.Asker, seq)
		if err != nil {
			return 0, 0, err
		}
		messages, bytes = messages+1, bytes+m.Bytes
	}
	return messages, bytes, err
}

// FirstAfter returns the first live sequence with a time >= time.
func (b *Below) FirstAfter(time int64) (uint64, error) {
	for _, l := range b.Layers {
		if l.Span().LastTime < time {
			continue
		}
		seq, err := l.FirstAt(b.Asker, time)
		if err != nil || seq == 0 {
			return 0, err
		}
		// Times do not decrease with the sequence: whatever lives behind it will do.
		return b.NextOf(nil, seq)
	}
	return 0, nil
}

// SubjectOf counts the live messages of a subject: first and last exactly, whatever the facts say.
func (b *Below) SubjectOf(subject string) (jetlog.SubjectState, error) {
	literal := jetlog.Filter{subject}
	first, err := b.NextOf(literal, 0)
	if err != nil || first == 0 {
		return jetlog.SubjectState{}, err
	}
	last, err := b.LastOf(literal, ^uint64(0))
	if err != nil {
		return jetlog.SubjectState{}, err
	}
	n, err := b.Count(literal, first)
	return jetlog.SubjectState{First: first, Last: last, Count: n}, err
}

// Settle makes first and last of a state exact, whose count is.
func (b *Below) Settle(subject string, s jetlog.SubjectState) (jetlog.SubjectState, error) {
	if s.Count == 0 {
		return jetlog.SubjectState{}, nil
	}
	var err error
	if b.Gone.Has(s.First) {
		if s.First, err = b.NextOf(jetlog.Filter{subject}, s.First+1); err != nil {
			return jetlog.SubjectState{}, err
		}
	}
	if b.Gone.Has(s.Last) {
		if s.Last, err = b.LastOf(jetlog.Filter{subject}, s.Last-1); err != nil {
			return jetlog.SubjectState{}, err
		}
	}
	return s, nil
}
