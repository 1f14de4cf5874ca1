package wal

import (
	"fmt"
	"time"

	"runnel/jetlog/vfs"
)

// writer is what the goroutine that writes owns.
type writer struct {
	l        *Log
	active   *segment // that was written to last
	previous uint32   // checksum of the last batch
	dirty    bool     // something in active is not synced
	turned   bool     // nothing in active was ever synced
}

// write is the goroutine that writes. previous is the checksum of the last batch that is there.
func (l *Log) write(previous uint32) {
	w := writer{l: l, previous: previous}
	for {
		b, sync, ok := w.take()
		if !ok {
			break
		}
		if err := w.put(b, sync); err != nil {
			l.fail(err)
			return
		}
		l.rounds.Add(1)
	}
	if err := w.end(); err != nil {
		l.fail(err)
	}
}

// take waits for a batch, or for a wish to sync what was written. It is false at the end.
func (w *writer) take() (b *batch, sync, ok bool) {
	l := w.l
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		if l.failure != nil {
			return nil, false, false
		}
		b := l.queue.pop()
		sync := l.tick || l.wanted > l.synced.Load() && (b == nil || b.sequence >= l.wanted)
		switch {
		case b != nil:
			l.wake() // there is room in the queue
			l.tick = false
			return b, sync || l.cfg.Policy == Always && b.relaxed < b.records, true
		case sync && w.dirty:
			l.tick = false
			return nil, true, true
		case l.closing:
			return nil, false, false
		}
		l.tick = false // nothing to sync
		l.idle.Store(true)
		l.work.Wait()
		l.idle.Store(false)
	}
}

// put writes a batch, if there is one, and syncs if that is asked for.
func (w *writer) put(b *batch, sync bool) error {
	if b != nil {
		if err := w.turnTo(b.segment); err != nil {
			return err
		}
		w.previous = b.seal(w.l.synced.Load(), w.previous, 0)
		w.dirty = true
		if _, err := b.segment.file.WriteAt(b.buf, b.offset); err != nil {
			return fmt.Errorf("write log segment %d: %w", b.segment.number, err)
		}
		w.l.written.Store(b.sequence)
		if b.relaxed > 0 && w.l.cfg.OnWritten != nil {
			w.l.cfg.OnWritten(Position(b.sequence))
		}
	}
	if sync {
		if err := w.sync(); err != nil {
			return err
		}
	}
	w.done(b)
	return nil
}

// turnTo makes a segment the active one. The one before is synced: so what is not proven to be synced is
// always within one segment.
func (w *writer) turnTo(s *segment) error {
	if w.active == s {
		return nil
	}
	if w.dirty {
		if err := w.sync(); err != nil {
			return err
		}
	}
	w.active, w.turned = s, true
	return nil
}

// retire gives up the segments before the active one. It has a batch that is synced: so there is always one
// that says how far the positions have come, even if all records are released.
func (w *writer) retire() error {
	w.turned = false
	for _, f := range w.before() {
		if err := f.Close(); err != nil {
			return fmt.Errorf("close a log segment before %d: %w", w.active.number, err)
		}
	}
	return nil
}

// before notes that nothing is written any more to the segments before the active one, and returns their
// files.
func (w *writer) before() (files []vfs.File) {
	l := w.l
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, used := range l.segments.used {
		if used == w.active {
			break
		}
		if used.file != nil {
			files = append(files, used.file)
		}
		used.file, used.retired = nil, true
	}
	l.segments.collect()
	return files
}

// sync makes safe what was written.
func (w *writer) sync() error {
	if err := w.active.file.SyncData(); err != nil {
		return fmt.Errorf("sync log segment %d: %w", w.active.number, err)
	}
	w.dirty = false
	w.l.synced.Store(w.l.written.Load())
	if w.turned {
		return w.retire()
	}
	return nil
}

// done tells everybody that a batch is through, nil for none, and that what was written before is synced.
func (w *writer) done(b *batch) {
	l := w.l
	acked := l.written.Load()
	if l.cfg.Policy == Always {
		acked = l.synced.Load()
	}
	more := acked > l.acked.Load()
	l.acked.Store(acked)
	w.finish(b)
	if more && l.cfg.OnDurable != nil {
		l.cfg.OnDurable(Position(acked))
	}
}

func (w *writer) finish(b *batch) {
	l := w.l
	l.mu.Lock()
	defer l.mu.Unlock()
	if !w.dirty {
		l.stats.Syncs++
		if l.cfg.Policy != Always || l.wanted > 0 {
			l.wake()
		}
	}
	if b != nil {
		l.stats.Batches++
		l.stats.WrittenBytes += uint64(len(b.buf))
		l.queue.finish(l.cfg.BatchBytes)
	}
}

// end syncs what is left and leaves the mark of a log that was closed, if there is room for it.
func (w *writer) end() error {
	s, at, sequence, ok := w.place()
	if !ok {
		return nil
	}
	if err := w.turnTo(s); err != nil {
		return err
	}
	if w.dirty {
		if err := w.sync(); err != nil {
			return err
		}
	}
	if at+batchHeader > s.bytes {
		return nil
	}
	var b batch
	b.begin(s, at, sequence)
	b.seal(sequence-1, w.previous, batchClosing)
	if _, err := s.file.WriteAt(b.buf, at); err != nil {
		return fmt.Errorf("write log segment %d: %w", s.number, err)
	}
	return w.sync()
}

// place is where the next batch would go; it is false if the log has failed or nothing was ever written.
func (w *writer) place() (s *segment, at int64, sequence uint64, ok bool) {
	l := w.l
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.queue.segment, l.queue.offset, l.queue.next, l.failure == nil && l.queue.segment != nil
}

// ticks is the goroutine that asks for a sync in each interval.
func (l *Log) ticks() {
	ticker := time.NewTicker(l.cfg.Interval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			l.interval()
		case <-l.stop:
			return
		}
	}
}

func (l *Log) interval() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tick = true
	l.work.Signal()
}
