package transport

import (
	"context"
	"sync"
)

// creditBytes is after how much that was read the peer is given credit.
const creditBytes = windowBytes / 4

// leastBytes is how much each stream may have on its way whatever others have: with less, it might never be given credit.
const leastBytes = creditBytes + chunkBytes

// outstanding bounds what all streams from here together have on their way: bytes that were sent, or are about to be, and that nobody
// has read, as far as the peers have told.
type outstanding struct {
	most int64 // 0 for no bound

	mu      sync.Mutex // guards what follows, and all shares
	used    int64
	changed chan struct{} // closed when there is more room; nil when nobody waits
}

// share is what one stream has on its way.
type share struct{ bytes int64 }

// take waits until a stream may send n bytes more, or ctx ends.
func (o *outstanding) take(ctx context.Context, s *share, n int64) error {
	for {
		room := o.try(s, n)
		if room == nil {
			return ctx.Err()
		}
		select {
		case <-room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// try takes n bytes, or returns what tells that there is more room.
func (o *outstanding) try(s *share, n int64) <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.most == 0 || s.bytes+n <= leastBytes || o.used+n <= o.most {
		o.used += n
		s.bytes += n
		return nil
	}
	if o.changed == nil {
		o.changed = make(chan struct{})
	}
	return o.changed
}

// give gives n bytes back, or what the stream has if that is less.
func (o *outstanding) give(s *share, n int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n = min(n, s.bytes)
	o.used -= n
	s.bytes -= n
	if o.changed != nil {
		close(o.changed)
		o.changed = nil
	}
}
