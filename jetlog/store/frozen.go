package store

import (
	"runnel/jetlog"
	"runnel/jetlog/layer"
	"runnel/jetlog/manifest"
	"runnel/jetlog/segment"
	"runnel/jetlog/siphash"
	"runnel/jetlog/wal"
)

// frozen is a stream as of a moment between two commands: what the flusher writes. It never changes,
// but for the span of its table, which counts what goes meanwhile.
type frozen struct {
	layer.Below // of that moment, without the table; what has gone is a copy
	table       *layer.Table
	key         siphash.Key
	parts       []*layer.Part
	facts       *layer.Facts // of that moment
	ids         map[segment.Hash]note

	snapshot []byte // of the logical state
	applied  uint64
	position wal.Position // of the last command that is in the state
	settled  bool         // no command was behind it in the log at that moment
	forgot   int64
	pages    map[uint64]*manifest.Page // of gone, that the manifest does not have
	cleared  []uint64                  // pages that are no more
	bytes    int64                     // of memory, given back when it is in files
	entries  []manifest.Part           // of parts, as of that moment
}

// state returns what was known of a subject at that moment, the table included; exact is false if that
// must be counted. First and last may be of messages that have gone before.
func (f *frozen) state(a *layer.Asker, h segment.Hash, subject string) (s jetlog.SubjectState, exact bool, err error) {
	e, _ := f.facts.Get(h)
	switch {
	case e.Known:
		s = e.State
	case e.Scan:
		return s, false, nil
	default:
		if s, exact, err = layer.Stored(a, f.parts, f.Purged, h); !exact || err != nil {
			return s, false, err
		}
		s.Count -= min(e.Gone, s.Count)
	}
	young, err := f.table.Memory.Subject(subject)
	return layer.Combine(s, young), true, err
}

// freeze makes what the stream is now, with these first and last sequences, a layer that no longer
// changes, and goes on with an empty memory table.
func (b *body) freeze(first, last uint64) *frozen {
	b.Gone.Raise(min(first-1, last, b.start-1))
	b.recount()
	t := &layer.Table{Memory: b.active, Spanned: layer.Span{Count: b.messages, Bytes: b.size}}
	if b.messages > 0 {
		// A memory table cannot fail.
		t.Spanned.First, _ = b.active.Next(0)
		t.Spanned.Last, _ = b.active.LastOf(nil, last)
		meta, _ := b.active.Meta(t.Spanned.Last)
		t.Spanned.LastTime = meta.Time
	}
	f := &frozen{
		Below: layer.Below{Layers: b.Layers, Purged: b.Purged, Asker: layer.Direct},
		table: t, key: b.key, parts: b.parts, facts: b.facts, ids: b.ids, forgot: b.forgot, bytes: b.bytes,
	}
	f.Gone, f.pages, f.cleared = b.Gone.Freeze()
	for _, p := range b.parts {
		f.entries = append(f.entries, p.Entry())
	}
	b.active, b.slab, b.messages, b.size, b.subjects, b.bytes = jetlog.NewMemory(), nil, 0, 0, 0, 0
	b.facts, b.ids = b.facts.Fresh(), map[segment.Hash]note{}
	b.start = last + 1
	b.frozen = f
	b.setParts(b.parts)
	return f
}

// uncounted reads what recount will need, while nothing is locked. What cannot be read stays as it is.
func (t *Stream) uncounted() {
	_ = t.View(func(_ *jetlog.Stream, m jetlog.Messages) error {
		b, ok := m.(*body)
		if !ok {
			return nil
		}
		for _, l := range b.Layers {
			if s := l.Span(); s.Removed == manifest.Unknown {
				if _, _, err := b.Below.SizeIn(l, s.First, s.Last); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// recount counts what is left of layers for which that is not known, from memory: see uncounted. What
// is not there stays unknown until the next time.
func (b *body) recount() {
	for _, l := range b.Layers {
		s := l.Span()
		if s.Removed != manifest.Unknown {
			continue
		}
		if n, size, err := b.Below.SizeIn(l, s.First, s.Last); err == nil {
			s.Removed, s.RemovedBytes = s.Count-n, s.Bytes-size
		}
	}
}

// thaw replaces the frozen table by the file that has it now, nil if there was nothing for one, and
// the other files by those that have the same.
func (b *body) thaw(parts []*layer.Part, fresh *layer.Part) {
	f := b.frozen
	b.frozen = nil
	if fresh != nil {
		fresh.Spanned.Removed, fresh.Spanned.RemovedBytes = f.table.Spanned.Removed, f.table.Spanned.RemovedBytes
		parts = append(parts[:len(parts):len(parts)], fresh)
	}
	b.setParts(parts)
	b.memory.Add(-f.bytes)
}
