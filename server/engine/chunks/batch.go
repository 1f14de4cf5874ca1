package chunks

const (
	// BatchBytes is the size up to which a batch collects bytes of its own.
	BatchBytes = 64 << 10
	// BorrowBytes: a piece at least so long is borrowed rather than copied into a batch.
	BorrowBytes = 512
	// borrowedMax bounds the borrowed bytes of one batch.
	borrowedMax = 1 << 20
	// borrowsMax bounds the borrowed pieces of one batch, of which a message may add two; with the pieces
	// between them they stay below the 1,024 buffers that one writev takes.
	borrowsMax = 500
)

// borrow is a piece of somebody else's memory that belongs after the first at bytes of the batch's own.
type borrow struct {
	at    int
	bytes []byte
}

// Batch collects bytes that are to be written together: its own, and between them pieces that are borrowed from whoever
// keeps them until the batch is reset. Its zero value is empty. One goroutine uses it at a time.
type Batch struct {
	// Own has the bytes that were copied. It is to be appended to, and nothing else.
	Own      []byte
	borrows  []borrow
	borrowed int // sum of the borrowed bytes
}

// Bytes is how much the batch holds.
func (b *Batch) Bytes() int { return len(b.Own) + b.borrowed }

// Full tells whether the batch must be written before need more bytes of its own are added.
func (b *Batch) Full(need int) bool {
	return len(b.Own) > 0 && len(b.Own)+need > BatchBytes || b.borrowed > borrowedMax || len(b.borrows) >= borrowsMax
}

// Add adds bytes that stay until the batch is reset: it copies them unless they are many.
func (b *Batch) Add(p []byte) {
	if len(p) < BorrowBytes {
		b.Own = append(b.Own, p...)
		return
	}
	b.Borrow(p)
}

// OwnBytes is how many bytes Add(p) copies.
func OwnBytes(p []byte) int {
	if len(p) < BorrowBytes {
		return len(p)
	}
	return 0
}

// Borrow adds a piece without copying it.
func (b *Batch) Borrow(p []byte) {
	b.borrows = append(b.borrows, borrow{len(b.Own), p})
	b.borrowed += len(p)
}

// Buffers appends the pieces in order to out.
func (b *Batch) Buffers(out [][]byte) [][]byte {
	from := 0
	for _, piece := range b.borrows {
		if piece.at > from {
			out = append(out, b.Own[from:piece.at])
		}
		out = append(out, piece.bytes)
		from = piece.at
	}
	if len(b.Own) > from {
		out = append(out, b.Own[from:])
	}
	return out
}

// CopyTo appends all but the first skip bytes to q.
func (b *Batch) CopyTo(q *Queue, pools *Pools, skip int) {
	put := func(p []byte) {
		n := min(skip, len(p))
		skip -= n
		q.Append(pools, p[n:])
	}
	from := 0
	for _, piece := range b.borrows {
		put(b.Own[from:piece.at])
		put(piece.bytes)
		from = piece.at
	}
	put(b.Own[from:])
}

// Reset forgets the content and keeps the memory.
func (b *Batch) Reset() {
	b.Own = b.Own[:0]
	clear(b.borrows)
	b.borrows = b.borrows[:0]
	b.borrowed = 0
}
