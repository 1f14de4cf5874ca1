package ingest

// slab is memory for the content of small messages. Many share a piece, since one piece costs little more than a
// message. Pieces begin small, so that a stream with little to do takes little.
type slab struct{ free []byte }

const (
	slabLeast   = 512
	slabMost    = 8 << 10
	slabMessage = 1 << 10 // larger messages have memory of their own
)

// place returns memory for n bytes. It is a piece of its own if they are to be kept for longer than it takes to
// store them: pieces of others would stay with it.
func (b *slab) place(n int, keep bool) []byte {
	if keep || n > slabMessage {
		return make([]byte, n)
	}
	if n > len(b.free) {
		b.free = make([]byte, max(n, min(2*cap(b.free), slabMost), slabLeast))
	}
	place := b.free[:n:n]
	b.free = b.free[n:]
	return place
}
