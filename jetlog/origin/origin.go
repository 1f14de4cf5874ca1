// Package origin remembers how far a stream is with the streams that it copies from, by the headers of the messages
// that came from there. It is part of the state of a stream: equal tables give equal bytes.
package origin

import (
	"bytes"
	"maps"
	"slices"
	"strconv"

	"runnel/jetlog/codec"
)

// most bounds the sources that are remembered. It is far more than a stream has, and of those that it has had the
// one that brought nothing for the longest time is forgotten.
const most = 4096

// Position is how far a stream is with one of its sources: what the header of the last message from there says.
type Position struct {
	// Sequence is that of the message in the stream it comes from, 0 for none.
	Sequence uint64
	// Identity tells that stream from others that have had its name, empty if it is not known.
	Identity string
	// at is the last sequence of the stream itself at that time.
	at uint64
}

// Table has all sources that a stream has or had, by Key. The zero value is empty.
type Table struct {
	positions map[string]*Position
	key       []byte // of the header that was read last
}

// Key returns what tells a source from others: the stream, the filters, and what becomes of the subjects, as a
// Nats-Stream-Source header has them.
func Key(stream, filters, destinations string) string {
	return stream + " " + filters + " " + destinations
}

// Of returns how far the stream is with a source, by its Key.
func (t *Table) Of(key string) Position {
	if p := t.positions[key]; p != nil {
		return *p
	}
	return Position{}
}

// Header is what a Nats-Stream-Source header says. It is valid until the table reads the next one.
type Header struct {
	key      []byte
	sequence uint64
	identity []byte
}

// The fields of the header: stream, sequence, filters, destinations, subject, identity. Older servers wrote only
// the first two.
const (
	filtersField  = 2
	subjectField  = 4
	identityField = 5
)

// Read reads the value of a header. It is false for one that tells nothing.
func (t *Table) Read(value []byte) (Header, bool) {
	var fields [identityField + 1][]byte
	n := 0
	for field := range bytes.SplitSeq(value, []byte(" ")) {
		if n < len(fields) {
			fields[n] = field
		}
		n++
	}
	seq, err := strconv.ParseUint(string(fields[1]), 10, 64)
	if err != nil || len(fields[0]) == 0 {
		return Header{}, false
	}
	t.key = append(t.key[:0], fields[0]...)
	for i := filtersField; i < subjectField; i++ {
		t.key = append(t.key, ' ')
		if n > subjectField {
			t.key = append(t.key, fields[i]...)
		} else {
			t.key = append(t.key, '>')
		}
	}
	return Header{key: t.key, sequence: seq, identity: fields[identityField]}, true
}

// Arrive notes that a message has come, whether or not it was stored. Last is the last sequence of the stream
// itself.
func (t *Table) Arrive(h Header, last uint64) {
	p := t.positions[string(h.key)]
	if p == nil {
		if t.positions == nil {
			t.positions = make(map[string]*Position)
		}
		if len(t.positions) >= most {
			t.forgetOldest()
		}
		p = &Position{}
		t.positions[string(h.key)] = p
	}
	p.Sequence, p.at = h.sequence, last
	if string(h.identity) != p.Identity {
		p.Identity = string(h.identity)
	}
}

// Follows reports whether a message, before which came the one with the sequence previous there, is the one behind
// what has come.
func (t *Table) Follows(h Header, previous uint64) bool {
	p := t.positions[string(h.key)]
	switch {
	case p == nil:
		return previous == 0
	case p.Identity != "" && len(h.identity) > 0 && p.Identity != string(h.identity):
		return previous == 0 // the stream there is a new one
	}
	return previous == p.Sequence
}

// forgetOldest forgets the source that brought nothing for the longest time.
func (t *Table) forgetOldest() {
	oldest := ""
	for _, key := range slices.Sorted(maps.Keys(t.positions)) {
		if oldest == "" || t.positions[key].at < t.positions[oldest].at {
			oldest = key
		}
	}
	delete(t.positions, oldest)
}

// AppendSnapshot appends all, by key.
func (t *Table) AppendSnapshot(out []byte) []byte {
	out = codec.AppendUint(out, uint64(len(t.positions)))
	for _, key := range slices.Sorted(maps.Keys(t.positions)) {
		p := t.positions[key]
		out = codec.AppendBytes(out, key)
		out = codec.AppendUint(out, p.Sequence)
		out = codec.AppendBytes(out, p.Identity)
		out = codec.AppendUint(out, p.at)
	}
	return out
}

// minBytes is the least that one takes in a snapshot.
const minBytes = 4

// Restore fills an empty table from a snapshot, and is false if it is not in order.
func (t *Table) Restore(r *codec.Reader) bool {
	last, sound := "", true
	for range r.Count(minBytes) {
		if t.positions == nil {
			t.positions = make(map[string]*Position)
		}
		key := r.String()
		t.positions[key] = &Position{Sequence: r.Uint(), Identity: r.String(), at: r.Uint()}
		sound = sound && key > last
		last = key
	}
	return sound
}
