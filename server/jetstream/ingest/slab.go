package ingest

import "slices"

// slab is memory for the content of small messages. Many share a piece, since one piece costs little more than a
// message. Pieces begin small, so that a stream with little to do takes little.
type slab struct{ free []byte }

const (
	slabLeast   = 512
	slabMost    = 8 << 10
	slabMessage = 1 << 10 // larger messages have memory of their own
)

// put returns copies of a message's header and payload, nil for one that is empty: a part of a piece that has no bytes
// would keep all of it alive.
func (b *slab) put(header, payload []byte, keep bool) (h, p []byte) {
	if len(header)+len(payload) > slabMessage {
		return copyOf(header), copyOf(payload)
	}
	memory := b.place(len(header)+len(payload), keep)
	n := copy(memory, header)
	copy(memory[n:], payload)
	if n > 0 {
		h = memory[:n:n]
	}
	if len(payload) > 0 {
		p = memory[n:]
	}
	return h, p
}

// copyOf returns a copy of b, nil if it is empty, in memory that is not cleared before.
func copyOf(b []byte) []byte { return slices.Clip(append([]byte(nil), b...)) }

// place returns memory for n bytes. It is a piece of its own if they are to be kept for longer than it takes to
// store them: pieces of others would stay with it.
func (b *slab) place(n int, keep bool) []byte {
	if keep {
		return make([]byte, n)
	}
	if n > len(b.free) {
		b.free = make([]byte, max(n, min(2*cap(b.free), slabMost), slabLeast))
	}
	place := b.free[:n:n]
	b.free = b.free[n:]
	return place
}
