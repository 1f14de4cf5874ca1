package transport

import (
	"slices"
	"sync"
)

// budget is a number of bytes that many share. Who wants some waits until it is there, first come, first served. More than
// there is in all is given to one that is alone.
type budget struct {
	limit int

	mu      sync.Mutex // guards what follows
	used    int
	waiting []*claim
}

// claim is somebody who waits; ready is closed when it was given what it wants.
type claim struct {
	bytes int
	ready chan struct{}
}

// take waits for bytes. It is false if one of the channels was closed before; nothing was taken then.
func (b *budget) take(bytes int, stop, stop2 <-chan struct{}) bool {
	c := b.ask(bytes)
	if c == nil {
		return true
	}
	select {
	case <-c.ready:
		return true
	case <-stop:
	case <-stop2:
	}
	b.withdraw(c)
	return false
}

// ask takes bytes if they are there and nobody waits, else it queues up.
func (b *budget) ask(bytes int) *claim {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting) == 0 && b.fits(bytes) {
		b.used += bytes
		return nil
	}
	c := &claim{bytes: bytes, ready: make(chan struct{})}
	b.waiting = append(b.waiting, c)
	return c
}

func (b *budget) fits(bytes int) bool { return b.used == 0 || b.used+bytes <= b.limit }

// withdraw gives up a claim, and what it was given meanwhile.
func (b *budget) withdraw(c *claim) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(b.waiting, c); i >= 0 {
		b.waiting = slices.Delete(b.waiting, i, i+1)
	} else {
		b.used -= c.bytes
	}
	b.serve()
}

// put gives bytes back.
func (b *budget) put(bytes int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= bytes
	b.serve()
}

// serve gives to those who wait what is there. The mutex must be held.
func (b *budget) serve() {
	for len(b.waiting) > 0 && b.fits(b.waiting[0].bytes) {
		b.used += b.waiting[0].bytes
		close(b.waiting[0].ready)
		b.waiting[0] = nil
		b.waiting = b.waiting[1:]
	}
}
