package store

import (
	"errors"
	"fmt"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/entries"
	"runnel/jetlog/manifest"
	"runnel/jetlog/messages"
	"runnel/jetlog/wal"
)

// ToReplica makes a stream the first replica of a group, which begins at a place with what the stream has now. Commands that
// are on their way are carried out, later ones are refused with ErrNotLeader until there is a proposer. It is safe
// when ToReplica returns; after an error the same call may succeed later.
func (s *Store) ToReplica(t *Stream, place entries.Place) error {
	s.flushing.Lock()
	defer s.flushing.Unlock()
	if err := s.toReplica(t, place); err != nil {
		return fmt.Errorf("make stream %q a replica: %w", t.name, err)
	}
	return nil
}

func (s *Store) toReplica(t *Stream, place entries.Place) error {
	if row := t.Inside().Row; t.Replicated() && row != nil && row.Replica != nil {
		return errGrouped
	}
	t.turn(true)
	defer t.turn(false)
	if err := t.drain(); err != nil {
		return err
	}
	if err := s.flushStream(t); err != nil { // one that did not succeed may be in the way
		return err
	}
	begin, err := s.nextPosition()
	if err != nil {
		return err
	}
	r := s.newReplica(t.id, &manifest.Replica{Index: place.Index, Term: place.Term, Configuration: place.Configuration, Begin: uint64(begin)})
	r.flushed = entries.Place{} // so that there is something to flush
	inMemory := t.join(r)
	if err := s.flushStream(t); err != nil {
		if !inMemory {
			t.replica.Store(nil)
		}
		return err
	}
	s.log.Release(t.id, begin)
	return nil
}

var errGrouped = errors.New("it is one already")

// turn lets commands be refused, or not any more.
func (t *Stream) turn(on bool) {
	t.gate.Lock()
	defer t.gate.Unlock()
	t.turning = on
}

// drainEvery is how often drain looks.
const drainEvery = time.Millisecond

// drain waits until the commands that are in the log are carried out.
func (t *Stream) drain() error {
	ticker := time.NewTicker(drainEvery)
	defer ticker.Stop()
	for {
		if err := t.usable(); err != nil || !t.waits() {
			return err
		}
		<-ticker.C
	}
}

// waits reports whether there are commands in the log that are not carried out yet.
func (t *Stream) waits() bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.file.Load() && t.underWay()
}

// join lets the stream be one of a group. Messages that were in memory alone are what the first flush has.
func (t *Stream) join(r *replica) (inMemory bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if memory, ok := t.messages.(*jetlog.Memory); ok {
		t.body = messages.Adopt(memory, t.key, &t.store.memory, t.store.cfg.FactEntries)
		t.messages, inMemory = t.body, true
		t.appended.Store(t.state.Applied())
	}
	t.replica.Store(r)
	t.file.Store(true)
	return inMemory
}

// flushStream flushes one stream. The caller holds flushing.
func (s *Store) flushStream(t *Stream) error {
	if err := s.usable(); err != nil {
		return err
	}
	t.uncounted()
	f := t.freeze()
	if f == nil {
		return nil
	}
	if err := s.flush([]*task{{stream: t, frozen: f}}); err != nil {
		return err
	}
	return t.Err()
}

// ToSolo makes a replica a stream without a group, with what was applied so far. The group must be closed. It is safe when
// ToSolo returns; after an error the same call may succeed later.
func (s *Store) ToSolo(t *Stream) error {
	s.flushing.Lock()
	defer s.flushing.Unlock()
	r := t.replica.Load()
	if r == nil {
		return fmt.Errorf("stream %q: %w", t.name, errSolo)
	}
	if err := s.toSolo(t, r); err != nil {
		return fmt.Errorf("stream %q leaves its group: %w", t.name, err)
	}
	return nil
}

func (s *Store) toSolo(t *Stream, r *replica) error {
	if err := t.usable(); err != nil {
		return err
	}
	if t.Applied() == 0 {
		return ErrNoCheckpoint
	}
	t.SetProposer(nil)
	if err := s.flushStream(t); err != nil { // one that did not succeed may be in the way
		return err
	}
	r.leave(t, true)
	if err := s.flushStream(t); err != nil {
		r.leave(t, false)
		return err
	}
	r.log.Close()
	t.replica.Store(nil)
	s.log.Release(t.id, wal.End)
	return nil
}

// leave lets the next flush say that the stream has no group any more.
func (r *replica) leave(t *Stream, on bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r.solo = on
	r.flushed = entries.Place{} // so that there is something to flush
}
