package wal

import (
	"errors"
	"fmt"
	"strings"

	"runnel/jetlog/vfs"
)

// supply is the goroutine that prepares segments and takes back those that nobody needs.
func (l *Log) supply() {
	for {
		job := l.job()
		if job == nil {
			return
		}
		if err := job(); err != nil {
			l.fail(err)
			return
		}
	}
}

// job waits for something to do; nil at the end.
func (l *Log) job() func() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &l.segments
	for {
		switch {
		case l.failure != nil || l.closing:
			return nil
		case len(s.released) > 0 && !s.waits:
			back := s.released[0]
			return func() error { return l.takeBack(back) }
		case len(s.ready) < l.cfg.Ready && (s.noSpace == nil || s.again) && (len(s.spares) > 0 || s.files() < l.most()):
			s.again = false
			number, spare := s.next, ""
			if n := len(s.spares); n > 0 {
				spare = s.spares[n-1]
			}
			return func() error { return l.prepare(number, spare) }
		}
		s.supply.Wait()
	}
}

// most is how many segments there may be.
func (l *Log) most() int { return int(l.cfg.MaxBytes / l.cfg.SegmentBytes) }

// spareShare is which part of all segments may lie idle as spares; what is more is removed.
const spareShare = 4

// takeBack takes the number from a segment. One at a time, the oldest first, each one safe before the
// next: whatever a power cut undoes, no segment is missing between others.
func (l *Log) takeBack(s *segment) error {
	var spare string
	var err error
	switch {
	case s.damaged:
		err = l.maker.rename(s.path, strings.TrimSuffix(s.path, segmentExtension)+damagedExtension)
	case s.bytes == l.maker.bytes && l.spares() < l.most()/spareShare:
		spare, err = l.maker.putAside(s.path, s.number)
	default:
		err = l.maker.remove(s.path)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if errors.Is(err, ErrNoSpace) {
		l.segments.waits = true
		return nil
	}
	if err != nil {
		return fmt.Errorf("release log segment %d: %w", s.number, err)
	}
	if spare != "" {
		l.segments.spares = append(l.segments.spares, spare)
	}
	l.segments.released = l.segments.released[1:]
	l.segments.again = true // a spare file, or the space of a removed one
	return nil
}

func (l *Log) spares() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.segments.spares)
}

// prepare makes a segment ready.
func (l *Log) prepare(number uint64, spare string) error {
	made, err := l.maker.make(number, spare, l.maker.bytes, nil)
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.wake()
	s := &l.segments
	if err = noSpace(err); errors.Is(err, ErrNoSpace) {
		s.noSpace = err
		return nil
	}
	if err != nil {
		return err
	}
	if spare != "" {
		s.spares = s.spares[:len(s.spares)-1]
	}
	s.ready = append(s.ready, made)
	s.next++
	s.noSpace = nil
	return nil
}

// noSpace makes the error of a full disk an ErrNoSpace.
func noSpace(err error) error {
	if err != nil && vfs.NoSpace(err) && !errors.Is(err, ErrNoSpace) {
		return fmt.Errorf("%w: %w", ErrNoSpace, err)
	}
	return err
}
