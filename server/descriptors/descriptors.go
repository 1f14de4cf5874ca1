// Package descriptors keeps clients from taking the last file descriptors of a process: the store needs some for new files, and a
// server whose log cannot have another file has to stop.
package descriptors

import (
	"context"
	"os"
	"sync/atomic"
	"time"
)

// Of the limit a part is not for clients, within bounds: files that come until it is looked again, and connections that are told
// why they are refused.
const (
	reserveShare = 16
	reserveLeast = 16
	reserveMost  = 512
)

// How often it is looked how many files are open: seldom while there are enough.
const (
	lookOften  = time.Second
	lookSeldom = 10 * time.Second
)

// Guard knows how many descriptors there may be and how many are in use. Its methods are safe for concurrent use.
type Guard struct {
	limit   int // 0: not known
	reserve int
	conns   func() int
	count   func() (int, bool)
	others  atomic.Int64 // descriptors that were none of clients when it was looked last
	telling atomic.Int64
}

// New returns a guard for the limit of this process. conns is how many clients there are.
func New(conns func() int) *Guard { return newGuard(limit(), conns, open) }

func newGuard(limit int, conns func() int, count func() (int, bool)) *Guard {
	g := &Guard{limit: limit, reserve: min(max(limit/reserveShare, reserveLeast), reserveMost), conns: conns, count: count}
	g.look()
	return g
}

// open counts the descriptors of this process; false where the system does not tell.
func open() (int, bool) {
	for _, dir := range []string{"/proc/self/fd", "/dev/fd"} {
		if entries, err := os.ReadDir(dir); err == nil {
			return len(entries), true
		}
	}
	return 0, false
}

// look notes how many descriptors are none of clients. Where that is not known it is as many as are kept in reserve.
func (g *Guard) look() {
	n, ok := g.count()
	if !ok {
		g.others.Store(int64(g.reserve))
		return
	}
	g.others.Store(int64(max(n-g.conns(), 0)))
}

// Run looks again and again until ctx ends.
func (g *Guard) Run(ctx context.Context) {
	if g.limit == 0 {
		return
	}
	g.look() // much was opened since New
	for {
		pause := lookSeldom
		if g.left() < g.limit/2 {
			pause = lookOften
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
			g.look()
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// left is how many more clients there may be.
func (g *Guard) left() int { return g.limit - g.reserve - int(g.others.Load()) - g.conns() }

// Full tells whether another client would take a descriptor that something else may need.
func (g *Guard) Full() bool { return g.limit > 0 && g.left() <= 0 }

// Tell tells whether a connection that is refused may be kept for a moment, to be told why. Told is to be called then at its end.
func (g *Guard) Tell() bool {
	if g.limit > 0 && g.telling.Add(1) > int64(g.reserve/2) {
		g.telling.Add(-1)
		return false
	}
	return true
}

// Told ends what Tell has allowed.
func (g *Guard) Told() {
	if g.limit > 0 {
		g.telling.Add(-1)
	}
}
