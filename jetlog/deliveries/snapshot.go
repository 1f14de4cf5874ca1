package deliveries

import (
	"runnel/jetlog/codec"
	"runnel/jetlog/deadlines"
)

// AppendSnapshot appends the deliveries, sequences as differences (those of consumer sequences modulo 2^64), and behind them
// the redelivery queue.
func (t *Table) AppendSnapshot(out []byte) []byte {
	out = codec.AppendUint(out, uint64(t.live))
	stream, consumer := uint64(0), uint64(0)
	for d := range t.All() {
		out = codec.AppendUint(out, d.Sequence-stream)
		out = codec.AppendUint(out, d.Consumer-consumer)
		out = codec.AppendUint(out, d.Count)
		out = codec.AppendInt(out, d.Deadline)
		stream, consumer = d.Sequence, d.Consumer
	}
	var queued []uint64
	t.Queued(func(seq, _ uint64) bool {
		queued = append(queued, seq)
		return true
	})
	return codec.AppendUints(out, queued)
}

// Restore fills an empty table with what AppendSnapshot has written, and reports whether it is in order. What is noted is
// not in it.
func (t *Table) Restore(r *codec.Reader) bool {
	stream, consumer := uint64(0), uint64(0)
	for range r.Count(4) {
		d := Delivery{Sequence: stream + r.Uint(), Consumer: consumer + r.Uint(), Count: r.Uint(), Deadline: r.Int()}
		if r.Err() != nil {
			return true
		}
		if d.Sequence <= stream || d.Consumer == 0 || d.Count == 0 {
			return false
		}
		stream, consumer = d.Sequence, d.Consumer
		t.Add(d, 0)
	}
	for _, seq := range r.Uints() {
		d := t.Find(seq)
		if d == nil || d.ticket != 0 {
			return false
		}
		t.Queue(d)
	}
	for d := range t.All() {
		if d.ticket == 0 && d.Deadline != 0 {
			t.awaits().timers.Push(deadlines.Deadline{At: d.Deadline, Sequence: d.Sequence})
		}
	}
	return true
}

// AppendNotes appends what is noted, in the order of the sequences.
func (t *Table) AppendNotes(out []byte) []byte {
	out = codec.AppendUint(out, uint64(t.live))
	for d := range t.All() {
		n := t.Noted(d.Sequence)
		out = codec.AppendBool(codec.AppendInt(out, n.First), n.Resting)
	}
	return out
}

// RestoreNotes reads what AppendNotes has written, and reports whether it fits the deliveries.
func (t *Table) RestoreNotes(r *codec.Reader) bool {
	n := r.Count(2)
	if t.notes == nil || n != t.live {
		return false
	}
	for d := range t.All() {
		t.notes.Begin(d.Sequence, r.Int())
		t.notes.Rest(d.Sequence, r.Bool())
	}
	return true
}
