package segment

import (
	"encoding/binary"
	"math/bits"
)

// The postings of a subject are the sequences of its messages, after the first. One or two need nothing: the
// dictionary has first and last. More take the shorter of two forms, and if that is longer than
// inlineBytes, a chunk of their own.
const (
	postingsAll    = 0 // every message of the extent: nothing is stored
	postingsDeltas = 1 // uvarint each: distance from the one before, less 1
	postingsBitmap = 2 // bit n%8 of byte n/8: sequence first+n; the bit of first is set
	postingsChunk  = 0x80

	inlineBytes = 128
)

// appendPostings codes the sequences under a subject and returns the form. Both lengths are known only when the
// distances are coded, and most subjects have few messages: so it codes these first and starts
// over if a bitmap is shorter.
func appendPostings(dst []byte, r *roster, w *row) (data []byte, form byte) {
	first, last := r.sequences[w.first], r.sequences[w.last]
	start, prev := len(dst), first-1
	bitmap := (last-first)/8 + 1
	r.each(w, func(sequence uint64) {
		if sequence != first {
			dst = binary.AppendUvarint(dst, sequence-prev-1)
		}
		prev = sequence
	})
	if uint64(len(dst)-start) <= bitmap {
		return dst, postingsDeltas
	}
	dst = append(dst[:start], make([]byte, bitmap)...)
	r.each(w, func(sequence uint64) { dst[start+int((sequence-first)/8)] |= 1 << ((sequence - first) % 8) })
	return dst, postingsBitmap
}

// term is an entry of a dictionary: a subject and where its sequences are. The slices are valid until the
// next entry is read.
type term struct {
	subject            []byte
	first, last, count uint64

	form   byte     // where count > 2
	inline []byte   // the postings, without postingsChunk
	chunk  location // with it
}

// postings calls visit with the sequences of the term, ascending. Data are its postings.
func (t *term) postings(data []byte, visit func(sequence uint64)) error {
	switch {
	case t.count <= 2:
		visit(t.first)
		if t.count == 2 {
			visit(t.last)
		}
		return nil
	case t.form&^postingsChunk == postingsDeltas:
		return t.deltas(data, visit)
	case t.form&^postingsChunk == postingsBitmap:
		return t.bitmap(data, visit)
	default:
		return errFormat
	}
}

// deltas reads the first form. It stops at the first sequence that cannot be.
func (t *term) deltas(data []byte, visit func(sequence uint64)) error {
	c, sequence, count := cursor{b: data}, t.first, uint64(1)
	visit(sequence)
	for len(c.b) > 0 {
		sequence = c.add(c.add(sequence, c.uvarint()), 1)
		if c.bad || sequence > t.last {
			return errFormat
		}
		visit(sequence)
		count++
	}
	if count != t.count || sequence != t.last {
		return errFormat
	}
	return nil
}

// bitmap reads the second form. Its length, its first and its last bit and their number must be those
// that the term says.
func (t *term) bitmap(data []byte, visit func(sequence uint64)) error {
	if uint64(len(data)) != (t.last-t.first)/8+1 {
		return errFormat
	}
	count, last := uint64(0), uint64(0)
	for i, b := range data {
		for ; b != 0; b &= b - 1 {
			last = t.first + uint64(8*i+bits.TrailingZeros8(b))
			visit(last)
			count++
		}
	}
	if count != t.count || last != t.last || data[0]&1 == 0 {
		return errFormat
	}
	return nil
}
