package messages

import (
	"bytes"
	"slices"

	"runnel/jetlog"
	"runnel/jetlog/layer"
	"runnel/jetlog/manifest"
	"runnel/jetlog/segment"
)

// WriteMessages adds what was live when the stream was frozen.
func (f *Frozen) WriteMessages(w *segment.Writer, stream uint64) error {
	m := f.Table.Memory
	seq, err := m.Next(0)
	for ; err == nil && seq != 0; seq, err = m.Next(seq + 1) {
		message, _ := m.Load(seq) // a memory table cannot fail
		meta, _ := m.Meta(seq)
		if err := w.Add(stream, Segment(&message, &meta)); err != nil {
			return err
		}
	}
	return err
}

// Segment is a message as files have it.
func Segment(m *jetlog.Message, meta *jetlog.Meta) segment.Message {
	return segment.Message{
		Sequence: m.Sequence, Time: m.Time, Expires: meta.Expires, Bytes: meta.Bytes,
		Subject: m.Subject, Header: m.Header, Payload: m.Payload,
	}
}

// row is a fact to be written.
type row struct {
	hash  segment.Hash
	value segment.Value
}

func compareRows(a, b row) int { return bytes.Compare(a.hash[:], b.hash[:]) }

// Gather finds out what has changed about subjects, and which message ids are still remembered. It reads files.
func (f *Frozen) Gather() error {
	f.rows, f.idTime = nil, 0
	changes, err := layer.Changes(&f.Below, f.parts, f.facts, f.Table.Memory, f.key.Sum)
	if err != nil {
		return err
	}
	if len(f.parts) == 0 { // nobody says otherwise of subjects that have nothing
		changes = slices.DeleteFunc(changes, func(c layer.Change) bool { return c.State.Count == 0 })
	}
	f.changes = changes
	for h, n := range f.ids {
		if n.time >= f.forgot {
			f.rows = append(f.rows, row{h, segment.Value{n.seq, uint64(n.time)}})
			f.idTime = max(f.idTime, n.time)
		}
	}
	slices.SortFunc(f.rows, compareRows)
	return nil
}

// Empty reports whether there is nothing for a file, once Gather was called.
func (f *Frozen) Empty() bool {
	return f.Table.Spanned.Count == 0 && len(f.changes) == 0 && len(f.rows) == 0
}

// WriteFacts adds what Gather found.
func (f *Frozen) WriteFacts(w *segment.Writer, stream uint64) error {
	for i := range f.changes {
		c := &f.changes[i]
		v := segment.Value{c.State.First, c.State.Last, c.State.Count}
		if err := w.AddFact(stream, layer.SubjectFact, c.Hash, v); err != nil {
			return err
		}
	}
	return writeRows(w, stream, layer.IDFact, f.rows)
}

func writeRows(w *segment.Writer, stream uint64, kind segment.FactKind, rows []row) error {
	for _, r := range rows {
		if err := w.AddFact(stream, kind, r.hash, r.value); err != nil {
			return err
		}
	}
	return nil
}

// WriteFacts adds facts of one kind in their order.
func WriteFacts(w *segment.Writer, stream uint64, kind segment.FactKind, facts map[segment.Hash]segment.Value) error {
	rows := make([]row, 0, len(facts))
	for h, v := range facts {
		rows = append(rows, row{h, v})
	}
	slices.SortFunc(rows, compareRows)
	return writeRows(w, stream, kind, rows)
}

// Edit is what is new about the messages, for the manifest, once they are in a file: nil if there was nothing for one.
// kept are the files that the stream has still. The oldest ones are left out as long as nothing is left of their messages:
// their facts say nothing that matters then, since no older file says otherwise.
func (f *Frozen) Edit(file *layer.File) (e manifest.StreamEdit, kept []*layer.Part) {
	e = manifest.StreamEdit{Advanced: true, Cleared: f.cleared, Changed: f.pages}
	e.Purged, e.Forgot, e.Floor = f.Purged, f.forgot, f.Gone.Floor()
	n := 0
	for n < len(f.parts) && f.entries[n].Removed == f.parts[n].Spanned.Count && f.entries[n].IDTime < max(f.forgot, 1) {
		n++
	}
	e.Parts = slices.Clone(f.entries[n:])
	if file != nil {
		e.Parts = append(e.Parts, f.part(file))
	}
	return e, f.parts[n:]
}

// part describes the file that has the frozen table.
func (f *Frozen) part(file *layer.File) manifest.Part {
	return manifest.Part{File: file.Number, Purged: f.Purged, IDTime: f.idTime}
}
