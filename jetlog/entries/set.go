package entries

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"runnel/jetlog/wal"
)

// Config says what a Set works with. Zero values mean the defaults.
type Config struct {
	Log        func() *wal.Log // the log that all share, once it is open; required
	GroupBytes int64           // of entries before its place that a group keeps; default 8 MiB
	Bytes      int64           // of entries of all groups; default 64 MiB
	Flush      func()          // asks for a flush and does not wait for it; default nothing
}

// Set is the logs of all groups of a store. Its methods may be called concurrently.
type Set struct {
	cfg   Config
	never context.Context // that has ended
	bytes atomic.Int64    // of entries in memory
	bound atomic.Int64    // of those that are behind the place of their group

	mu      sync.Mutex        // guards windows; no log is called while it is held
	windows map[*Log]struct{} // logs that may have entries before their place
}

// NewSet returns a Set without logs.
func NewSet(cfg Config) *Set {
	cfg.GroupBytes, cfg.Bytes = cmp.Or(cfg.GroupBytes, 8<<20), cmp.Or(cfg.Bytes, 64<<20)
	if cfg.Flush == nil {
		cfg.Flush = func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return &Set{cfg: cfg, never: ctx, windows: map[*Log]struct{}{}}
}

// New returns the empty log of a group whose state is at a place. Records before begin are those of an earlier log of
// the group.
func (s *Set) New(group uint64, place Place, begin wal.Position) *Log {
	return &Log{set: s, group: group, place: place, begin: begin}
}

// Due reports whether entries behind places take so much that a flush should follow.
func (s *Set) Due() bool { return s.bound.Load() >= s.cfg.Bytes }

// Bytes is about what entries take in memory.
func (s *Set) Bytes() int64 { return s.bytes.Load() }

// retryEvery is how often an append is tried again while the disk is full: nobody tells when it is not any more.
const retryEvery = time.Second

// pause waits until the log may take something that it has refused.
func (s *Set) pause(ctx context.Context, changed <-chan struct{}) error {
	s.cfg.Flush()
	timer := time.NewTimer(retryEvery)
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	case <-ctx.Done():
		return fmt.Errorf("append to the log: %w", ctx.Err())
	}
	return nil
}

// refused reports whether an error of the log means that the same may succeed later.
func refused(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, wal.ErrNoSpace)
}

// window notes that a log may have a window.
func (s *Set) window(l *Log) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.windows[l] = struct{}{}
}

// forget says that a log has no window.
func (s *Set) forget(l *Log) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.windows, l)
}

// takeWindow returns a log that may have a window, nil for none.
func (s *Set) takeWindow() *Log {
	s.mu.Lock()
	defer s.mu.Unlock()
	for l := range s.windows {
		delete(s.windows, l)
		return l
	}
	return nil
}

// trim gives windows up while there is too much: that of this log, which grows, first.
func (s *Set) trim(l *Log) {
	for l != nil && s.bytes.Load() > s.cfg.Bytes {
		l.giveUp()
		l = s.takeWindow()
	}
	if s.Due() {
		s.cfg.Flush()
	}
}

// Relieve sees to it that groups do not need what the shared log has up to a position: entries behind their place, and
// values, that stand there are appended again, and windows are not kept on disk. It returns when that is safe. What a
// group has in flight may stay.
func (s *Set) Relieve(ctx context.Context, groups []*Log, upTo wal.Position) error {
	last := wal.Position(0)
	for _, l := range groups {
		p, err := l.again(upTo)
		if err != nil && !refused(err) {
			return err
		}
		last = max(last, p)
	}
	if err := s.cfg.Log().WaitSynced(ctx, last); err != nil {
		return err
	}
	for _, l := range groups {
		l.release(true)
	}
	return nil
}
