// Package chunks keeps bytes that a socket did not take in pooled chunks of two sizes. One growing slice instead would be
// reallocated and page-faulted under load; chunks cost nothing once the pools are warm.
package chunks

import "sync"

// The capacities of chunks.
const (
	Small = 4 << 10
	Large = 64 << 10
)

// Pools has chunks that nobody uses, for any number of queues. It is safe for concurrent use.
type Pools struct {
	small, large sync.Pool
}

// Get returns an empty chunk: a small one if n bytes fit, else a large one.
func (p *Pools) Get(n int) []byte {
	if n <= Small {
		if c, ok := p.small.Get().(*[Small]byte); ok {
			return c[:0]
		}
		return make([]byte, 0, Small)
	}
	if c, ok := p.large.Get().(*[Large]byte); ok {
		return c[:0]
	}
	return make([]byte, 0, Large)
}

// Put takes a chunk that is used no more; what is none is left alone.
func (p *Pools) Put(c []byte) {
	switch cap(c) {
	case Small:
		p.small.Put((*[Small]byte)(c[:Small]))
	case Large:
		p.large.Put((*[Large]byte)(c[:Large]))
	}
}

// Queue is a FIFO of bytes. It is not safe for concurrent use.
type Queue struct {
	chunks [][]byte
	offset int // bytes of chunks[0] that are consumed already; < len(chunks[0])
	bytes  int // sum of what is not consumed
}

// Bytes is how much is in the queue.
func (q *Queue) Bytes() int { return q.bytes }

// Append copies p to the end.
func (q *Queue) Append(pools *Pools, p []byte) {
	q.bytes += len(p)
	for len(p) > 0 {
		n := len(q.chunks)
		if n == 0 || len(q.chunks[n-1]) == cap(q.chunks[n-1]) {
			q.chunks = append(q.chunks, pools.Get(len(p)))
			n++
		}
		last := q.chunks[n-1]
		k := min(len(p), cap(last)-len(last))
		q.chunks[n-1] = append(last, p[:k]...)
		p = p[k:]
	}
}

// Prepend puts the content of front before q's and leaves front empty. Nothing of q may be consumed.
func (q *Queue) Prepend(front *Queue) {
	q.chunks = append(front.chunks, q.chunks...)
	q.offset = front.offset
	q.bytes += front.bytes
	*front = Queue{}
}

// Buffers appends the unconsumed bytes, in order, to out: at most limit slices.
func (q *Queue) Buffers(out [][]byte, limit int) [][]byte {
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

// Consume drops n bytes from the front.
func (q *Queue) Consume(pools *Pools, n int) {
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
		pools.Put(q.chunks[done])
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

// Release drops everything.
func (q *Queue) Release(pools *Pools) { q.Consume(pools, q.bytes) }
