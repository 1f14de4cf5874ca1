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
	// tight: what is in memory might not fit onto the device. If publishes went on then, no flush would succeed any more,
	// and without one nothing that has gone makes room.
	tight    atomic.Bool
	measured atomic.Int64  // bytes of memory tables when that was found out
	changed  chan struct{} // wakes measurer
}

// spareBytes is what has to be free besides what is in memory: the log prepares segments ahead meanwhile, and files have
// more in them than messages.
func (s *Store) spareBytes() int64 {
	return preparedSegments*s.cfg.LogSegmentBytes + min(s.cfg.FlushBytes/4, spareBytesMax)
}

const (
	// preparedSegments is how many segments the log prepares ahead.
	preparedSegments = 3
	spareBytesMax    = 32 << 20
)

// measureBytes is by how much memory tables may change before free space is looked up again.
func (s *Store) measureBytes() int64 { return s.cfg.FlushBytes / 16 }

// full reports whether publishes are refused.
func (p *space) full() bool { return p.starved.Load() || p.spent.Load() || p.tight.Load() }

// measureIfDue has free space looked up if much has changed since it was done last. Who publishes does not wait for it, unless
// as much again has come before it was done: more than there is to spare must not come unseen.
func (s *Store) measureIfDue() {
	switch more := s.memory.Load() - s.space.measured.Load(); {
	case more >= 2*s.measureBytes():
		s.measure()
	case more >= s.measureBytes() || more <= -s.measureBytes():
		select {
		case s.space.changed <- struct{}{}:
		default:
		}
	}
}

// measurer looks up free space when it is due.
func (s *Store) measurer() {
	for {
		select {
		case <-s.stop:
			return
		case <-s.space.changed:
			s.measure()
		}
	}
}

// measure looks whether what is in memory fits onto the device.
func (s *Store) measure() {
	memory := s.memory.Load()
	s.space.measured.Store(memory)
	free, err := s.cfg.FS.FreeBytes(s.cfg.Dir)
	if err != nil {
		return // whoever writes will see
	}
	tight := free < memory+s.spareBytes()
	if s.space.tight.Swap(tight) == tight {
		return
	}
	if tight {
		s.logger.Error("the disk is nearly full: publishes are refused until there is room", "free", free, "wanted", memory+s.spareBytes())
		s.nudge()
	} else {
		s.logger.Info("the disk has room again", "free", free)
		s.move()
	}
}

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
