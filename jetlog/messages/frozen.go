package messages

import (
	"runnel/jetlog"
	"runnel/jetlog/layer"
	"runnel/jetlog/manifest"
	"runnel/jetlog/segment"
	"runnel/jetlog/siphash"
)

// Frozen is the messages of a stream as of a moment between two commands: what a flush writes. It never changes,
// but for the span of its table, which counts what goes meanwhile, and by Gather.
type Frozen struct {
	layer.Below // of that moment, without the table; what has gone is a copy
	Table       *layer.Table

	key     siphash.Key
	parts   []*layer.Part
	facts   *layer.Facts // of that moment
	ids     map[segment.Hash]note
	forgot  int64
	pages   map[uint64]*manifest.Page // of gone, that the manifest does not have
	cleared []uint64                  // pages that are no more
	bytes   int64                     // of memory, given back when it is in files
	entries []manifest.Part           // of parts, as of that moment

	changes []layer.Change // what Gather found
	rows    []row
	idTime  int64
}

// state returns what was known of a subject at that moment, the table included; exact is false if that
// must be counted. First and last may be of messages that have gone before.
func (f *Frozen) state(a *layer.Asker, h segment.Hash, subject string) (s jetlog.SubjectState, exact bool, err error) {
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
	young, err := f.Table.Memory.Subject(subject)
	return layer.Combine(s, young), true, err
}

// Freeze makes what the stream is now, with these first and last sequences, a layer that no longer
// changes, and goes on with an empty memory table.
func (b *Body) Freeze(first, last uint64) *Frozen {
	b.Gone.Raise(min(first-1, last, b.Start-1))
	b.recount()
	t := &layer.Table{Memory: b.Active, Spanned: layer.Span{Count: b.messages, Bytes: b.size}}
	if b.messages > 0 {
		// A memory table cannot fail.
		t.Spanned.First, _ = b.Active.Next(0)
		t.Spanned.Last, _ = b.Active.LastOf(nil, last)
		meta, _ := b.Active.Meta(t.Spanned.Last)
		t.Spanned.LastTime = meta.Time
	}
	f := &Frozen{
		Below: layer.Below{Layers: b.Layers, Purged: b.Purged, Asker: layer.Direct},
		Table: t, key: b.Key, parts: b.Parts, facts: b.facts, ids: b.ids, forgot: b.Forgot, bytes: b.bytes,
	}
	f.Gone, f.pages, f.cleared = b.Gone.Freeze()
	for _, p := range b.Parts {
		f.entries = append(f.entries, p.Entry())
	}
	b.Active, b.slab, b.messages, b.size, b.subjects, b.bytes = jetlog.NewMemory(), nil, 0, 0, 0, 0
	b.facts, b.ids = b.facts.Fresh(), map[segment.Hash]note{}
	b.Start = last + 1
	b.Frozen = f
	b.SetParts(b.Parts)
	return f
}

// recount counts what is left of layers for which that is not known, from memory: see Uncounted. What
// is not there stays unknown until the next time.
func (b *Body) recount() {
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

// Thaw replaces the frozen table by the file that has it now, nil if there was nothing for one, and
// the other files by those that Edit has kept.
func (b *Body) Thaw(stream uint64, kept []*layer.Part, file *layer.File) {
	f, parts := b.Frozen, kept
	b.Frozen = nil
	if file != nil {
		e := f.part(file)
		fresh := layer.NewPart(file, stream, &e)
		fresh.Spanned.Removed, fresh.Spanned.RemovedBytes = f.Table.Spanned.Removed, f.Table.Spanned.RemovedBytes
		parts = append(parts[:len(parts):len(parts)], fresh)
	}
	b.SetParts(parts)
	b.memory.Add(-f.bytes)
}
