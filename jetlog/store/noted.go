package store

import (
	"fmt"
	"path/filepath"
	"time"

	"runnel/jetlog/layout"
	"runnel/jetlog/manifest"
)

// A log that has lost its end, since its newest segments are missing or old ones stand in their place, is as whole as one
// that never was longer. So the manifest notes how many commands of each stream are safe: soon after something has
// happened, then every second as long as it goes on, and when the store is opened and closed. A stream that finds fewer
// at a start does not start. What was lost within the last second is not noticed.
const (
	noteAfter = 20 * time.Millisecond // for what is safe now to be applied
	noteEvery = time.Second
)

// noter is the goroutine that notes.
func (s *Store) noter() {
	for s.waits(noteAfter, s.kick.noter) {
		if s.noteSafe() != nil || !s.waits(noteEvery, nil) {
			return // the store has failed, or closes
		}
	}
}

// waits waits for a signal, if there is one, and then some time. It is false when the store closes.
func (s *Store) waits(pause time.Duration, signal <-chan struct{}) bool {
	if signal != nil {
		select {
		case <-s.stop:
			return false
		case <-signal:
		}
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-s.stop:
		return false
	case <-timer.C:
		return true
	}
}

// noteSafe notes for each stream how many of its commands are safe, if they have become more. On a full disk it does
// nothing; an error is one of the store.
func (s *Store) noteSafe() error {
	var notes [][2]uint64 // ids, and what is safe: small, as there are many streams and few changes
	for _, t := range s.Streams() {
		if safe := t.safe(); safe > 0 {
			notes = append(notes, [2]uint64{t.id, safe})
		}
	}
	s.edits.Lock()
	defer s.edits.Unlock()
	e := &manifest.Edit{}
	for _, n := range notes {
		if known := s.catalog.Streams[n[0]]; known != nil && n[1] > known.Noted && (known.Replica != nil || n[1] > known.Applied) {
			e.Streams = append(e.Streams, manifest.StreamEdit{})
			x := &e.Streams[len(e.Streams)-1]
			x.ID, x.Noted = n[0], n[1]
		}
	}
	if len(e.Streams) == 0 || s.manifest.Failed() != nil {
		return s.Err()
	}
	if err := s.manifest.Append(e); err != nil {
		if s.manifest.Failed() != nil {
			return s.fail(err)
		}
		return nil // the next time
	}
	if err := s.catalog.Apply(e); err != nil {
		return s.fail(err) // the program contradicts itself
	}
	return nil
}

// safe is how many commands of the stream are synced, 0 if that is not known now.
func (t *Stream) safe() uint64 {
	if r := t.replica.Load(); r != nil {
		return uint64(r.log.Safe(t.store.log.Synced()))
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.body == nil || t.position > t.store.log.Synced() {
		return 0
	}
	return t.state.Applied()
}

// judgeEnd stops a stream of which fewer commands are there than were safe some time.
func (t *Stream) judgeEnd() {
	if !t.file.Load() || t.Err() != nil {
		return
	}
	noted, applied := t.store.catalog.Streams[t.id].Noted, t.state.Applied()
	if applied >= noted {
		return
	}
	_ = t.halt(&StreamDamage{
		Stream: t.id, Name: t.name, File: filepath.Join(t.store.cfg.Dir, layout.Log), First: applied + 1, Last: noted, Log: true,
		Err: fmt.Errorf("the log has lost its end, or is an old one: %d commands were safe, %d are there", noted, applied),
	})
}
