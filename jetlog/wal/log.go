package wal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"sync/atomic"
)

// Log is an open log. Its methods may be called concurrently; records of one group keep their order if one
// goroutine appends them.
//
// Three goroutines belong to it. The writer takes batches, writes and syncs them. The supplier prepares
// segments and takes back those that are not needed any more. The ticker, with the policy Interval, wakes
// the writer. What they share is under one mutex, which nobody holds while using the disk.
type Log struct {
	cfg    Config
	maker  maker
	lock   io.Closer
	pool   sync.Pool     // *sealing
	failed chan struct{} // closed when the log fails
	stop   chan struct{} // closed when Close begins
	ended  chan struct{} // closed when Close is done

	acked   atomic.Uint64 // last batch for which Wait returns
	synced  atomic.Uint64 // last batch that was synced
	written atomic.Uint64 // last batch that was written; synced <= acked <= written < next

	idle   atomic.Bool   // the writer waits
	rounds atomic.Uint64 // that the writer has done: a write, a sync, or both

	goroutines sync.WaitGroup

	mu       sync.Mutex    // guards everything below
	work     sync.Cond     // the writer waits for batches, wishes to sync and the end
	changed  chan struct{} // closed, and forgotten, when somebody who waits for more than a batch should look again
	queue    queue
	segments segments
	wanted   uint64 // somebody waits until this batch is synced
	tick     bool   // an interval is over
	closing  bool
	failure  error // what every call returns from now on
	stats    Stats
}

// Stats are counts since Open, and how full the log is.
type Stats struct {
	Batches, Records, Syncs uint64
	WrittenBytes            uint64 // headers and padding included
	UsedBytes               int64  // of segments with records, or begun
	MaxBytes                int64  // that UsedBytes and what is ready can reach
	Segments                int    // with records, or begun
	Ready                   int    // segments prepared ahead
	NoSpace                 bool   // the last attempt to prepare a segment met a full disk
}

// Open opens the log in a directory, or begins one. The directory is claimed until Close.
func Open(cfg Config) (*Log, *Recovered, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, nil, err
	}
	if err := cfg.FS.MkdirAll(cfg.Dir); err != nil {
		return nil, nil, fmt.Errorf("open log: %w", err)
	}
	if err := cfg.FS.SyncDir(filepath.Dir(cfg.Dir)); err != nil {
		return nil, nil, fmt.Errorf("open log: %w", err)
	}
	lock, err := cfg.FS.Lock(cfg.Dir)
	if err != nil {
		return nil, nil, fmt.Errorf("open log: %w", err)
	}
	l := &Log{
		cfg: cfg, lock: lock, failed: make(chan struct{}), stop: make(chan struct{}), ended: make(chan struct{}),
		maker: maker{fs: cfg.FS, dir: cfg.Dir, id: cfg.ID, bytes: cfg.SegmentBytes},
	}
	l.work.L = &l.mu
	l.segments.supply.L = &l.mu
	recovered, previous, err := l.recover()
	if err != nil {
		_ = errors.Join(l.segments.close(), lock.Close()) // the first error says what happened
		return nil, nil, fmt.Errorf("open log %s: %w", cfg.Dir, noSpace(err))
	}
	l.goroutines.Go(func() { l.write(previous) })
	l.goroutines.Go(l.supply)
	if cfg.Policy == Interval {
		l.goroutines.Go(l.ticks)
	}
	return l, recovered, nil
}

// Append puts records into the next batch, all of them or, with an error, none, and returns its position.
// It copies the payloads. It waits while too much is queued, and while the log is full: until records are
// released or ctx ends. Without records it returns the position of what was appended last.
//
// The errors are those of ctx, ErrNoSpace, ErrTooLarge, ErrPoisoned and ErrClosed.
func (l *Log) Append(ctx context.Context, records ...Record) (Position, error) {
	return l.append(ctx, l.cfg.Reserve, records)
}

// AppendReserved is Append for what must go in when the disk or the log is full: it may also begin the
// segments of Config.Reserve.
func (l *Log) AppendReserved(ctx context.Context, records ...Record) (Position, error) {
	return l.append(ctx, 0, records)
}

func (l *Log) append(ctx context.Context, reserve int, records []Record) (Position, error) {
	size := 0
	for i := range records {
		size += recordHeader + len(records[i].Payload)
	}
	var sealed *sealing
	if l.cfg.Cipher != nil {
		sealed = l.seal(records)
		defer l.pool.Put(sealed)
		size = recordHeader*len(records) + len(sealed.buf)
	}
	if most := l.cfg.SegmentBytes - segmentHeader - batchHeader; int64(size) > most {
		return 0, fmt.Errorf("append %d bytes: %w (%d)", size, ErrTooLarge, most)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(records) == 0 {
		return Position(l.queue.next - 1), l.usable()
	}
	b, err := l.place(ctx, size, reserve)
	if err != nil {
		return 0, err
	}
	for i := range records {
		payload, flags := records[i].Payload, uint8(0)
		if sealed != nil {
			payload, flags = sealed.payload(i), recordSealed
		}
		b.add(&records[i], payload, flags)
		l.segments.note(b.segment, records[i].Group, Position(b.sequence))
	}
	l.queue.bytes += size
	l.stats.Records += uint64(len(records))
	l.work.Signal()
	return Position(b.sequence), nil
}

// place returns the batch that takes so many bytes, and waits until there is one.
func (l *Log) place(ctx context.Context, size, reserve int) (*batch, error) {
	for {
		if err := l.usable(); err != nil {
			return nil, err
		}
		switch b := l.queue.place(size, l.cfg.BatchBytes); {
		case b != nil:
			return b, nil
		case l.queue.full(size, l.cfg.BatchBytes):
		case l.segments.begin(&l.queue, reserve):
			continue
		case l.segments.noSpace != nil:
			l.segments.retry()
			return nil, fmt.Errorf("append: %w", l.segments.noSpace)
		}
		if err := l.pause(ctx); err != nil {
			return nil, err
		}
	}
}

// Room says whether Append would find room for so many bytes of payload in one record: nil, ErrNoSpace or
// ErrFull. It is for those who must know before they begin what ends in AppendReserved.
func (l *Log) Room(payloadBytes int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &l.segments
	switch err := l.usable(); {
	case err != nil:
		return err
	case len(s.ready) > l.cfg.Reserve || l.queue.fits(recordHeader+payloadBytes):
		return nil
	case s.noSpace != nil:
		s.retry()
		return s.noSpace
	case len(s.spares) == 0 && len(s.released) == 0 && s.files() >= l.most():
		return ErrFull
	}
	return nil // a segment is being prepared
}

// usable says why the log takes nothing more.
func (l *Log) usable() error {
	switch {
	case l.failure != nil:
		return l.failure
	case l.closing:
		return ErrClosed
	}
	return nil
}

// pause gives the mutex up until something has changed or ctx has ended.
func (l *Log) pause(ctx context.Context) error {
	changed := l.change()
	l.mu.Unlock()
	defer l.mu.Lock()
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("append: %w", ctx.Err())
	}
}

// change is the channel that is closed at the next change.
func (l *Log) change() <-chan struct{} {
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return l.changed
}

// wake lets everybody look again who waits in pause or WaitSynced.
func (l *Log) wake() {
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// Wait returns when everything up to a position is as safe as the policy says. All who wait for a batch
// share its sync.
func (l *Log) Wait(ctx context.Context, p Position) error {
	if l.acked.Load() >= uint64(p) {
		return nil
	}
	done, err := l.done(p)
	if err != nil {
		return err
	}
	if done != nil {
		select {
		case <-done:
		case <-ctx.Done():
			return fmt.Errorf("wait for the log: %w", ctx.Err())
		}
	}
	if l.acked.Load() >= uint64(p) {
		return nil
	}
	return l.waitSynced(ctx, p) // it is written, but nobody has asked for a sync yet; or the log has failed
}

// done is the channel that is closed when a batch is through; nil if it is written.
func (l *Log) done(p Position) (<-chan struct{}, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.written.Load() >= uint64(p):
		return nil, nil
	case uint64(p) >= l.queue.next:
		return nil, fmt.Errorf("wait for position %d of the log: the last is %d", p, l.queue.next-1)
	case l.failure != nil:
		return nil, l.failure
	}
	return l.queue.find(uint64(p)).wait(), nil
}

// WaitSynced returns when everything up to a position is synced, whatever the policy.
func (l *Log) WaitSynced(ctx context.Context, p Position) error {
	if l.cfg.Policy == Always {
		return l.Wait(ctx, p)
	}
	return l.waitSynced(ctx, p)
}

func (l *Log) waitSynced(ctx context.Context, p Position) error {
	for l.synced.Load() < uint64(p) {
		changed, err := l.want(p)
		if err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("wait for a sync of the log: %w", ctx.Err())
		}
	}
	return nil
}

// want asks for a sync up to a position.
func (l *Log) want(p Position) (<-chan struct{}, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.synced.Load() >= uint64(p):
		done := make(chan struct{})
		close(done)
		return done, nil
	case uint64(p) >= l.queue.next:
		return nil, fmt.Errorf("wait for position %d of the log: the last is %d", p, l.queue.next-1)
	case l.failure != nil:
		return nil, l.failure
	}
	l.wanted = max(l.wanted, uint64(p))
	l.work.Signal()
	return l.change(), nil
}

// Hasten asks for a sync up to a position and does not wait for it.
func (l *Log) Hasten(p Position) {
	_, _ = l.want(p) // who waits for the position will be told
}

// Idle tells whether the goroutine that writes waits for something to do, so that the next Append wakes it.
func (l *Log) Idle() bool { return l.idle.Load() }

// Work tells how many writes and syncs were done since Open, and whether one is under way: so who looks now and then sees that
// the disk does not answer any more.
func (l *Log) Work() (done uint64, busy bool) { return l.rounds.Load(), !l.idle.Load() }

// Durable is the last position for which Wait returns.
func (l *Log) Durable() Position { return Position(l.acked.Load()) }

// Written is the last position that is written, and would outlive this process.
func (l *Log) Written() Position { return Position(l.written.Load()) }

// Synced is the last position that is synced. With the policy Always it is the same as Durable.
func (l *Log) Synced() Position { return Position(l.synced.Load()) }

// Failed is closed when the log has failed, as Err then says.
func (l *Log) Failed() <-chan struct{} { return l.failed }

// Err is nil, or an ErrPoisoned with its cause.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failure
}

// fail ends the log.
func (l *Log) fail(cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failure != nil {
		return
	}
	l.failure = fmt.Errorf("%w: %w", ErrPoisoned, cause)
	close(l.failed)
	l.queue.abandon()
	l.wakeAll()
}

// wakeAll wakes whoever waits for anything.
func (l *Log) wakeAll() {
	l.wake()
	l.work.Broadcast()
	l.segments.supply.Broadcast()
}

// Stats returns counts.
func (l *Log) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.stats
	s.MaxBytes = l.cfg.MaxBytes
	s.Segments, s.Ready, s.NoSpace = len(l.segments.used), len(l.segments.ready), l.segments.noSpace != nil
	for _, used := range l.segments.used {
		s.UsedBytes += used.bytes
	}
	return s
}

// Close writes and syncs what was appended, marks the log as complete and gives the directory back. Append
// returns ErrClosed from now on, also where it waits. The error is why something could not be written, if
// so. Calling it again waits for the first call.
func (l *Log) Close() error {
	if l.beginClose() {
		l.goroutines.Wait()
		if err := errors.Join(l.segments.close(), l.lock.Close()); err != nil {
			l.fail(fmt.Errorf("close log: %w", err))
		}
		close(l.ended)
	}
	<-l.ended
	return l.Err()
}

func (l *Log) beginClose() (first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return false
	}
	l.closing = true
	close(l.stop)
	l.wakeAll()
	return true
}
