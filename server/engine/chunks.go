package engine

import "sync"

// Bytes that a socket did not take wait in pooled chunks of two sizes. One growing slice instead would be
// reallocated and page-faulted under load; chunks cost nothing once the pools are warm.
const (
	smallChunk = 4 << 10
	largeChunk = 64 << 10
)

// chunkPools is shared by all connections of an engine.
type chunkPools struct {
	small, large sync.Pool
}

func (p *chunkPools) get(n int) []byte {
	if n <= smallChunk {
		if c, ok := p.small.Get().(*[smallChunk]byte); ok {
			return c[:0]
		}
		return make([]byte, 0, smallChunk)
	}
	if c, ok := p.large.Get().(*[largeChunk]byte); ok {
		return c[:0]
	}
	return make([]byte, 0, largeChunk)
}

func (p *chunkPools) put(c []byte) {
	switch cap(c) {
	case smallChunk:
		p.small.Put((*[smallChunk]byte)(c[:smallChunk]))
	case largeChunk:
		p.large.Put((*[largeChunk]byte)(c[:largeChunk]))
	}
}

// chunkQueue is a FIFO of bytes. It is not safe for concurrent use.
type chunkQueue struct {
	chunks [][]byte
	offset int // bytes of chunks[0] that are consumed already; < len(chunks[0])
	bytes  int // sum of what is not consumed
}

// append copies p to the end.
func (q *chunkQueue) append(pools *chunkPools, p []byte) {
	q.bytes += len(p)
	for len(p) > 0 {
		n := len(q.chunks)
		if n == 0 || len(q.chunks[n-1]) == cap(q.chunks[n-1]) {
			q.chunks = append(q.chunks, pools.get(len(p)))
			n++
		}
		last := q.chunks[n-1]
		k := min(len(p), cap(last)-len(last))
		q.chunks[n-1] = append(last, p[:k]...)
		p = p[k:]
	}
}

// prepend puts the content of front before q's and leaves front empty. Nothing of q may be consumed.
func (q *chunkQueue) prepend(front *chunkQueue) {
	q.chunks = append(front.chunks, q.chunks...)
	q.offset = front.offset
	q.bytes += front.bytes
	*front = chunkQueue{}
}

// buffers appends the unconsumed bytes, in order, to out: at most limit slices.
func (q *chunkQueue) buffers(out [][]byte, limit int) [][]byte {
	for i, c := range q.chunks {
		if i == limit {
			break
		}
		if i == 0 {
			c = c[q.offset:]
		}
		out = append(out, c)
	}
	return out
}

// consume drops n bytes from the front.
func (q *chunkQueue) consume(pools *chunkPools, n int) {
	q.bytes -= n
	done := 0
	for done < len(q.chunks) {
		rest := len(q.chunks[done]) - q.offset
		if n < rest {
			q.offset += n
			break
		}
		n -= rest
		q.offset = 0
		pools.put(q.chunks[done])
		done++
	}
	if done == len(q.chunks) {
		q.chunks = nil
		return
	}
	if done > 0 {
		kept := copy(q.chunks, q.chunks[done:])
		clear(q.chunks[kept:])
		q.chunks = q.chunks[:kept]
	}
}

// release drops everything.
func (q *chunkQueue) release(pools *chunkPools) { q.consume(pools, q.bytes) }
