package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"runnel/jetlog/command"
	"runnel/jetlog/entries"
	"runnel/jetlog/findings"
	"runnel/jetlog/layer"
	"runnel/jetlog/manifest"
	"runnel/jetlog/reserve"
	"runnel/jetlog/seal"
	"runnel/jetlog/segment"
	"runnel/jetlog/vfs"
	"runnel/jetlog/wal"
)

// Config says where a store is and how it works. Zero values mean the defaults.
type Config struct {
	FS  vfs.FS // default vfs.Disk
	Dir string // required; made if it is missing

	// Policy is what results wait for, unless the metadata of a stream say otherwise: a sync by default, and for replicas always.
	Policy   wal.Policy
	Interval time.Duration // between syncs with the policy wal.Interval; default 100 ms

	LogBytes        int64 // of the log; default 512 MiB
	LogSegmentBytes int64 // of one file of the log; default 16 MiB

	FlushBytes   int64         // of memory tables together, from which on they are flushed; default 64 MiB
	FlushAge     time.Duration // after which what is in memory only is flushed; default 5 minutes
	MemoryBytes  int64         // of memory tables together, from which on publishes wait; default 2 FlushBytes
	CacheBytes   int64         // of what was read from files; default 64 MiB
	FactEntries  int           // known subjects that each stream keeps besides; default 4096
	SegmentBytes int64         // that files grow to by compaction; default 64 MiB
	ReserveBytes int64         // taken ahead for when the disk is full; default 8 MiB; -1: none
	ScrubBytes   int64         // that are verified in a second, in the background; default 4 MiB; -1: none

	Encryption seal.Encryption
	Level      int              // feature level: commands above it are refused; default that of this program
	Shards     int              // goroutines that apply; default one per processor, at most 8
	Clock      func() time.Time // default time.Now
	Logger     *slog.Logger     // default: nothing is logged
	// OnFailed is called once, on a goroutine of its own, when the store has failed: ErrFailed. Nothing is answered any
	// more; the process should end.
	OnFailed func(error)
}

func (c Config) withDefaults() (Config, error) {
	if c.Dir == "" {
		return c, errors.New("a store needs a directory")
	}
	if c.FS == nil {
		c.FS = vfs.Disk{}
	}
	if c.Level > command.Level {
		return c, fmt.Errorf("feature level %d, this program knows up to %d: %w", c.Level, command.Level, ErrNewer)
	}
	c.Interval = cmp.Or(c.Interval, 100*time.Millisecond)
	c.LogBytes = cmp.Or(c.LogBytes, 512<<20)
	c.LogSegmentBytes = cmp.Or(c.LogSegmentBytes, 16<<20)
	c.FlushBytes = cmp.Or(c.FlushBytes, 64<<20)
	c.FlushAge = cmp.Or(c.FlushAge, 5*time.Minute)
	c.MemoryBytes = cmp.Or(c.MemoryBytes, 2*c.FlushBytes)
	c.CacheBytes = cmp.Or(c.CacheBytes, 64<<20)
	c.FactEntries = cmp.Or(c.FactEntries, 4096)
	c.SegmentBytes = cmp.Or(c.SegmentBytes, 64<<20)
	c.ReserveBytes = cmp.Or(c.ReserveBytes, 8<<20)
	c.ScrubBytes = cmp.Or(c.ScrubBytes, 4<<20)
	c.Level = cmp.Or(c.Level, command.Level)
	c.Shards = cmp.Or(c.Shards, min(8, runtime.GOMAXPROCS(0)))
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

// Store is an open store. Its methods may be called concurrently.
type Store struct {
	cfg      Config
	lock     io.Closer
	log      *wal.Log
	cache    *segment.Cache
	seal     *seal.Sealer
	shards   []*shard
	relaxed  []*shard     // of streams whose results wait for less than those of others
	entries  *entries.Set // logs of groups
	pools    pools
	never    context.Context // that has ended
	memory   atomic.Int64    // about what memory tables take
	space    *reserve.Space
	damage   findings.List // that was met while the store was open
	allowed  [256]bool     // kinds of commands that the feature level has
	kick     signals
	flushing flushing              // one flush or compaction at a time
	stop     chan struct{}         // closed when Close begins
	ended    chan struct{}         // closed when Close is done
	failure  atomic.Pointer[error] // what every command gets from now on
	closing  atomic.Bool
	appliers sync.WaitGroup
	others   sync.WaitGroup

	edits    edits // guards the next three; the disk is used under it, but no other lock is taken
	catalog  *manifest.Catalog
	manifest *manifest.Manifest
	files    map[uint64]*layer.File

	mu      sync.RWMutex // guards everything below
	streams map[uint64]*Stream
	names   map[streamName]*Stream
	moved   chan struct{} // closed, and forgotten, when the log or memory may have room again
}

// signals wake goroutines that have something to do.
type signals struct{ flusher, noter chan struct{} }

// streamName is unique among the streams that there are at one time.
type streamName struct{ account, name string }

// Stream returns the stream of an account, nil if there is none of that name.
func (s *Store) Stream(account, name string) *Stream {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.names[streamName{account, name}]
}

// StreamByID returns a stream, nil if there is none with the id.
func (s *Store) StreamByID(id uint64) *Stream {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.streams[id]
}

// Streams returns all streams by id, those that did not start included: see Stream.Err.
func (s *Store) Streams() []*Stream {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.SortedFunc(maps.Values(s.streams), func(a, b *Stream) int { return cmp.Compare(a.id, b.id) })
}

// Count is how many streams there are.
func (s *Store) Count() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.streams)
}

// Work tells how many writes and syncs of the log were done, and whether one is under way, as [wal.Log.Work] does.
func (s *Store) Work() (done uint64, busy bool) { return s.log.Work() }

// ID returns the id of the store, which its files carry.
func (s *Store) ID() [16]byte { return s.manifest.ID() }

// Full reports whether publishes are refused now, since the disk has no room.
func (s *Store) Full() bool { return s.space.Full() }

// DropCache forgets what was read from files.
func (s *Store) DropCache() { s.cache.Clear() }

// usable says why the store takes nothing more.
func (s *Store) usable() error {
	if err := s.Err(); err != nil {
		return err
	}
	if s.closing.Load() {
		return ErrClosed
	}
	return nil
}

// fail ends the store: nobody knows what the disk holds.
func (s *Store) fail(cause error) error {
	err := fmt.Errorf("%w: %w", ErrFailed, cause)
	if !s.failure.CompareAndSwap(nil, &err) {
		return s.Err()
	}
	s.cfg.Logger.Error("store has failed", "error", cause)
	if s.cfg.OnFailed != nil {
		go s.cfg.OnFailed(err)
	}
	for sh := range s.allShards() {
		sh.fail(err)
	}
	s.move()
	return err
}

// Err is nil, or says why the store has failed.
func (s *Store) Err() error {
	if f := s.failure.Load(); f != nil {
		return *f
	}
	return nil
}

// damaged notes damage that was met on the disk, and tells it once.
func (s *Store) damaged(err error) {
	if s.damage.Add(err) {
		s.cfg.Logger.Error("damage on disk", "error", err)
	}
}

// Damage returns what was found damaged since the store was opened, by reading or by scrubbing, up to
// a hundred. Streams that did not start tell by Stream.Err.
func (s *Store) Damage() []error { return s.damage.All() }

// movement returns a channel that is closed when the log or memory may have room again.
func (s *Store) movement() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.moved == nil {
		s.moved = make(chan struct{})
	}
	return s.moved
}

// move lets everybody look again who waits for room.
func (s *Store) move() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.moved != nil {
		close(s.moved)
		s.moved = nil
	}
}

// admit waits until a publish may enter: there is memory for it, and what is in memory can be flushed.
func (s *Store) admit(ctx context.Context) error {
	for {
		s.space.MeasureIfDue()
		if s.space.Full() {
			return fmt.Errorf("publish: the disk is full: %w", ErrFull)
		}
		if s.memory.Load() < s.cfg.MemoryBytes {
			return nil
		}
		moved := s.movement()
		s.nudge()
		if s.memory.Load() < s.cfg.MemoryBytes || s.usable() != nil {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return fmt.Errorf("wait for memory: %w", ctx.Err())
		}
	}
}

// allShards are those of relaxed streams, too.
func (s *Store) allShards() iter.Seq[*shard] {
	return func(yield func(*shard) bool) {
		for _, shards := range [...][]*shard{s.shards, s.relaxed} {
			for _, sh := range shards {
				if !yield(sh) {
					return
				}
			}
		}
	}
}

// nudge wakes the flusher.
func (s *Store) nudge() {
	select {
	case s.kick.flusher <- struct{}{}:
	default:
	}
}

// through is called by the log when a batch is safe, or is written and has commands of relaxed streams. It runs on the
// goroutine that writes.
func (s *Store) through(wal.Position) {
	s.serve()
	s.move()
	select {
	case s.kick.noter <- struct{}{}:
	default:
	}
	if s.memory.Load() >= s.cfg.FlushBytes {
		s.nudge()
	}
}

// Close ends the store: what was proposed is carried out, files are closed. It does not flush: the log
// has it. Calling it again waits for the first call.
func (s *Store) Close() error {
	if s.closing.CompareAndSwap(false, true) {
		close(s.stop)
		s.move()
		s.others.Wait()
		err := s.log.Close()
		if err != nil {
			err = s.fail(s.refusal(err)) // nobody watches the log any more, and what it has not kept will never be safe
		}
		for sh := range s.allShards() {
			sh.close()
		}
		s.appliers.Wait()
		if err == nil {
			_ = s.noteSafe() // a failure of the manifest is one of the store, and Err tells
		}
		for _, t := range s.Streams() {
			t.syncing.stop()
		}
		s.closeFiles()
		if err = errors.Join(err, s.lock.Close()); err != nil {
			_ = s.fail(fmt.Errorf("close store: %w", err)) // Err tells
		}
		close(s.ended)
	}
	<-s.ended
	return s.Err()
}

// closeFiles closes what only reads; errors have no consequence.
func (s *Store) closeFiles() {
	s.edits.Lock()
	defer s.edits.Unlock()
	for _, f := range s.files {
		f.Leave()
	}
	_ = s.manifest.Close()
}
