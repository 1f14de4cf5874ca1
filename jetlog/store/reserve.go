package store

import (
	"errors"
	"sync/atomic"

	"runnel/jetlog/reserve"
)

// space is what is known of that on the device. The reserve is for what makes space, or has to be possible
// without: the manifest, and flushes, after which the log can go on. Publishes are refused as soon as
// some of it is given up, so that they do not use it.
type space struct {
	*reserve.Reserve
	starved atomic.Bool // the last flush met a full disk
	spent   atomic.Bool // some of the reserve is given up, or cannot be had
}

// full reports whether publishes are refused.
func (p *space) full() bool { return p.starved.Load() || p.spent.Load() }

// fillReserve takes what is missing. Publishes are let in when all of it is there.
func (s *Store) fillReserve() {
	err := s.space.Fill()
	short := errors.Is(err, reserve.ErrShort)
	if before := s.space.spent.Swap(short); before != short || err != nil && !short {
		s.logger.Warn("reserve for a full disk", "short", short, "error", err)
	}
	if err == nil {
		s.move()
	}
}

// spend gives up some of the reserve, since the disk is full; it is false if there is none.
func (s *Store) spend() bool {
	if !s.space.Spend() {
		return false
	}
	if !s.space.spent.Swap(true) {
		s.logger.Error("the disk is full: publishes are refused, and the reserve is used")
	}
	return true
}
