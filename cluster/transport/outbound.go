package transport

import (
	"net"
	"sync"
	"time"
)

const (
	// writeBytes is how much of entries and calls goes into one write, if more is waiting.
	writeBytes = 1 << 20
	// chunksBytes is how much of streams goes into one write when nothing else waits.
	chunksBytes = 256 << 10
	// waitingControlBytes is how much of control frames may wait; a peer that leaves more unread loses its link.
	waitingControlBytes = 16 << 20
	// gather is how long heartbeats and their answers wait for others to share a write with: no longer than until the next ping.
	gather = pingEvery
	// keepBytes is the largest buffer that is kept for the next write.
	keepBytes = 256 << 10
	// copyBytes is the largest data of an entry that is copied next to its head instead of being written from where it is.
	copyBytes = 2 << 10
)

// frame is one that goes out by itself: entries, a call, a chunk.
type frame struct {
	bufs  net.Buffers // all of it; what is not in mem belongs to others, who must not change it
	mem   []byte
	bytes int // that were reserved for it, perhaps a few more than it has
}

// outbound is what waits to be written to one link, in three classes. All control frames go first, since they are small
// and others wait for what they say. Entries and calls come next, and what is left of the link is for streams, which
// get one chunk a write at least. Frames of one class keep their order.
type outbound struct {
	wake chan struct{} // there is something to write

	mu      sync.Mutex // guards what follows
	control []byte
	spare   []byte // what control was before the last write
	frames  uint64 // in control
	bulk    []*frame
	chunks  []*frame
	queued  int         // bytes of bulk and chunks
	gather  *time.Timer // pokes the writer for frames that can wait a moment; nil before the first
	waits   bool        // it runs
	closed  bool
	full    bool // a control frame was dropped
}

// batch is what the writer has taken.
type batch struct {
	bufs         net.Buffers
	control      []byte
	bulk, chunks []*frame
	frames       uint64
}

func newOutbound() *outbound { return &outbound{wake: make(chan struct{}, 1)} }

func (o *outbound) poke() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// put adds a control frame, whose body fill appends. One that is lazy waits a moment for others. When the peer leaves too
// much unread it is dropped, and the link is about to end.
func (o *outbound) put(k kind, lazy bool, fill func([]byte) []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.full = o.full || len(o.control) > waitingControlBytes; o.closed || o.full {
		return
	}
	start := len(o.control)
	o.control = fill(openFrame(o.control, k))
	sealFrame(o.control, start, 0)
	o.frames++
	switch {
	case !lazy:
		o.poke()
	case !o.waits:
		o.waits = true
		if o.gather == nil {
			o.gather = time.AfterFunc(gather, o.poke)
		} else {
			o.gather.Reset(gather)
		}
	}
}

// overflown reports whether a control frame was dropped.
func (o *outbound) overflown() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.full
}

// add adds a frame of the class.
func (o *outbound) add(f *frame, chunk bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	if chunk {
		o.chunks = append(o.chunks, f)
	} else {
		o.bulk = append(o.bulk, f)
	}
	o.queued += f.bytes
	o.poke()
}

// take moves what goes into the next write to b. It is false if there is nothing.
func (o *outbound) take(b *batch) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waits = false
	if len(o.control) == 0 && len(o.bulk) == 0 && len(o.chunks) == 0 {
		return false
	}
	b.control, b.frames = o.control, o.frames
	o.control, o.spare, o.frames = o.spare[:0], nil, 0
	b.bulk = takeFrames(&o.bulk, b.bulk[:0], writeBytes)
	bytes := 1 // of chunks, when others wait
	if len(b.bulk) == 0 {
		bytes = chunksBytes
	}
	b.chunks = takeFrames(&o.chunks, b.chunks[:0], bytes)
	for _, f := range b.bulk {
		o.queued -= f.bytes
	}
	for _, f := range b.chunks {
		o.queued -= f.bytes
	}
	if len(o.bulk) > 0 || len(o.chunks) > 0 {
		o.poke()
	}
	b.frames += uint64(len(b.bulk) + len(b.chunks))
	return true
}

// takeFrames moves frames until they have at least as many bytes.
func takeFrames(from *[]*frame, to []*frame, bytes int) []*frame {
	n := 0
	for n < len(*from) && bytes > 0 {
		bytes -= (*from)[n].bytes
		n++
	}
	to = append(to, (*from)[:n]...)
	clear((*from)[:n])
	*from = (*from)[n:]
	if len(*from) == 0 {
		*from = nil
	}
	return to
}

// written gives back the memory of a batch that was written.
func (o *outbound) written(b *batch) {
	clear(b.bufs)
	if cap(b.control) > keepBytes {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.spare = b.control
}

// waiting is how many bytes wait.
func (o *outbound) waiting() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.queued + len(o.control)
}

// close drops everything, also what is still added.
func (o *outbound) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.control, o.bulk, o.chunks, o.queued = nil, nil, nil, 0
	if o.gather != nil {
		o.gather.Stop()
	}
	o.poke()
}

// gatherBufs lists the memory of a batch in the order of writing.
func (b *batch) gatherBufs() (bytes int) {
	b.bufs = b.bufs[:0]
	if len(b.control) > 0 {
		b.bufs = append(b.bufs, b.control)
		bytes += len(b.control)
	}
	for _, list := range [][]*frame{b.bulk, b.chunks} {
		for _, f := range list {
			b.bufs = append(b.bufs, f.bufs...)
			bytes += f.bytes
		}
	}
	return bytes
}
