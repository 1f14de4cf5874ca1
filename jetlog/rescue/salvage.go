package rescue

import (
	"fmt"

	"runnel/jetlog"
	"runnel/jetlog/gone"
	"runnel/jetlog/layer"
	"runnel/jetlog/manifest"
	"runnel/jetlog/messages"
	"runnel/jetlog/segment"
	"runnel/jetlog/store"
)

// Range is sequences from First to Last, both included.
type Range struct {
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
}

// Message is a stored message.
type Message = jetlog.Message

// Salvaged says what could be read of a stream.
type Salvaged struct {
	Messages uint64 `json:"messages"`
	// Lost are sequences whose messages may have been in what is damaged.
	Lost []Range `json:"lost,omitempty"`
	// Damage is what was met, in words.
	Damage []string `json:"damage,omitempty"`
	// LostMessages and LostBytes are what Repair has found missing: what the stream's own counts had more.
	LostMessages uint64 `json:"lost_messages,omitempty"`
	LostBytes    uint64 `json:"lost_bytes,omitempty"`
}

// Salvage reads what can be read of a stream, in the order of sequences, and changes nothing. Messages
// in blocks that are damaged are left out and told in the result. It ends at the first error of yield.
//
// When files of the stream cannot be opened, what has gone since the last flush is given too, and what
// came since then is not.
func Salvage(cfg store.Config, account, name string, yield func(Message) error) (*Salvaged, error) {
	s, _, err := store.Inspect(cfg)
	if err != nil {
		return nil, err
	}
	defer s.Close() // nothing of it lasts
	t := s.Stream(account, name)
	if t == nil {
		return nil, fmt.Errorf("stream %q: %w", name, store.ErrNotFound)
	}
	v := &salvager{store: s, stream: t.ID(), inside: t.Inside(), gone: gone.New(), yield: func(m segment.Message) error { return yield(layer.MessageOf(&m)) }}
	if err := t.Err(); err != nil {
		v.result.Damage = append(v.result.Damage, err.Error())
	}
	if v.inside.Body != nil {
		return v.fromBody()
	}
	return v.fromFiles()
}

// salvager goes through a stream.
type salvager struct {
	store  *store.Store
	stream uint64
	inside store.Inside
	gone   *gone.Set
	yield  func(segment.Message) error
	result Salvaged
	next   uint64 // behind the last message
}

// give hands a message on.
func (v *salvager) give(m segment.Message) error {
	v.result.Messages++
	v.next = m.Sequence + 1
	return v.yield(m)
}

// fromBody reads a stream that has started, file by file, then what is only in the log.
func (v *salvager) fromBody() (*Salvaged, error) {
	b := v.inside.Body
	v.gone = b.Gone
	for _, p := range b.Parts {
		if err := v.part(p.File.Segment, Range{p.Spanned.First, p.Spanned.Last}); err != nil {
			return nil, err
		}
	}
	for seq, _ := b.Active.Next(0); seq != 0; seq, _ = b.Active.Next(seq + 1) {
		m, _ := b.Active.Load(seq) // a memory table cannot fail
		if err := v.give(messages.Segment(&m, &jetlog.Meta{})); err != nil {
			return nil, err
		}
	}
	return &v.result, nil
}

// fromFiles reads the files of a stream that has not started.
func (v *salvager) fromFiles() (*Salvaged, error) {
	e := v.inside.Row
	v.gone = gone.Of(e.Floor, e.Pages)
	state, err := jetlog.Restore(e.Snapshot)
	if err != nil {
		return nil, err
	}
	for i, p := range e.Parts {
		if err := v.file(v.store.File(p.File), e.Parts[i+1:], state.State().Last); err != nil {
			return nil, err
		}
	}
	return &v.result, nil
}

// file reads a file, behind which there are others, of a stream whose last sequence is given.
func (v *salvager) file(f *layer.File, behind []manifest.Part, last uint64) error {
	if f.Failure == nil {
		x, _ := f.Segment.Extent(v.stream)
		return v.part(f.Segment, Range{x.First, x.Last})
	}
	// Without its footer nobody knows what the file had: all up to where the next begins.
	return v.broken(f, Range{v.next, v.begin(behind, last)})
}

// begin is the last sequence before the first of some files that can be opened.
func (v *salvager) begin(parts []manifest.Part, last uint64) uint64 {
	for _, p := range parts {
		if f := v.store.File(p.File); f.Failure == nil {
			if x, ok := f.Segment.Extent(v.stream); ok {
				return x.First - 1
			}
		}
	}
	return last
}

// part reads a file that can be opened.
func (v *salvager) part(s *segment.Segment, all Range) error {
	damaged := false
	v.next = max(v.next, all.First)
	for m, err := range s.Messages(v.stream, 0) {
		if err != nil {
			v.result.Damage = append(v.result.Damage, err.Error())
			damaged = true
			continue
		}
		if damaged {
			v.lose(m.Sequence - 1)
			damaged = false
		}
		if err := v.message(m); err != nil {
			return err
		}
	}
	if damaged {
		v.lose(all.Last)
	}
	return nil
}

// broken reads what is whole of a file that cannot be opened.
func (v *salvager) broken(f *layer.File, all Range) error {
	for m, err := range v.store.SalvageFile(f.Number) {
		if err != nil {
			v.result.Damage = append(v.result.Damage, err.Error())
			break
		}
		if m.Stream != v.stream {
			continue
		}
		v.lose(m.Sequence - 1)
		if err := v.message(m.Message); err != nil {
			return err
		}
	}
	v.lose(all.Last)
	return nil
}

// message hands on what had not gone anyway.
func (v *salvager) message(m segment.Message) error {
	if v.gone.Has(m.Sequence) {
		v.next = m.Sequence + 1
		return nil
	}
	return v.give(m)
}

// lose notes that what was expected up to a sequence did not come, but for what has gone anyway.
func (v *salvager) lose(last uint64) {
	for seq := v.gone.Next(v.next); seq <= last; seq = v.gone.Next(seq) {
		r := Range{seq, seq}
		for r.Last < last && !v.gone.Has(r.Last+1) {
			r.Last++
		}
		v.result.Lost = append(v.result.Lost, r)
		seq = r.Last + 1
	}
	v.next = max(v.next, last+1)
}
