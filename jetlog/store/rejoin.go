package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"runnel/jetlog"
	"runnel/jetlog/entries"
	"runnel/jetlog/findings"
	"runnel/jetlog/layout"
	"runnel/jetlog/manifest"
	"runnel/jetlog/wal"
)

// judgeReplica stops a replica that the log has lost something of: it may have voted for, or confirmed, what it does not
// know any more. first and last are the positions of the first and the last record that the log has.
func (t *Stream) judgeReplica(r *replica, damage damages, first, last wal.Position) {
	if t.body != nil {
		t.body.Asker = nil
	}
	// Everything before begin was safe when that was chosen.
	noted := max(wal.Position(t.store.catalog.Streams[t.id].Noted), r.begin-min(r.begin, 1))
	for _, d := range damage {
		of := d.Known && t.store.StreamByID(d.Group) != nil
		switch {
		case d.Harmless, of && (d.Group != t.id || d.Index <= r.place.Index):
		case d.Last >= d.First && r.log.Covers(d.Last):
		default:
			r.log.Halt(findings.OfLog(t.id, t.name, d, r.place.Index+1, 0))
		}
	}
	if noted > last || noted >= max(r.begin, first) && first > 0 && r.log.Newest() < noted {
		r.log.Halt(&StreamDamage{
			Stream: t.id, Name: t.name, File: filepath.Join(t.store.cfg.Dir, layout.Log), First: r.place.Index + 1, Log: true,
			Err: fmt.Errorf("the log has lost its end, or is an old one: batch %d was safe, the last with something of the group is %d", noted, r.log.Newest()),
		})
	}
	if err := r.log.Recovered(); err != nil {
		_ = t.halt(err)
	}
}

// lostForEver is what is noted of a replica that has to be wiped: no log has as much.
const lostForEver = ^uint64(0)

// giveUp notes of a replica that it has to be wiped, so that the log need not keep what is left of it.
func (s *Store) giveUp(t *Stream, r *replica) error {
	r.log.Halt(errors.New("the member was given up"))
	e := manifest.StreamEdit{}
	e.ID, e.Noted = t.id, lostForEver
	if err := s.commit(&manifest.Edit{Streams: []manifest.StreamEdit{e}}); err != nil {
		return err
	}
	s.log.Release(t.id, wal.End)
	return nil
}

// Wipe makes a replica that is halted, or has damaged files, one that waits for a state from elsewhere, in one record of the manifest: what it had
// is gone, its votes included, so it must join its group as a new member. It returns the stream that is there
// instead.
func (s *Store) Wipe(t *Stream) (*Stream, error) {
	if err := s.usable(); err != nil {
		return nil, err
	}
	s.flushing.Lock()
	defer s.flushing.Unlock()
	s.edits.Lock()
	defer s.edits.Unlock()
	old := s.catalog.Streams[t.id]
	r := t.replica.Load()
	if s.StreamByID(t.id) != t || r == nil {
		return nil, fmt.Errorf("wipe stream %q: no replica of that id: %w", t.name, ErrNotFound)
	}
	was, err := jetlog.Restore(old.Snapshot)
	if err != nil {
		return nil, fmt.Errorf("wipe stream %q: %w", t.name, err)
	}
	r.log.Close() // what is appended later is not of the old life
	begin, err := s.nextPosition()
	if err != nil {
		return nil, err
	}
	state := jetlog.New(t.id, *was.Config(), was.Created())
	e := manifest.StreamEdit{Created: true, Advanced: true}
	e.ID, e.Account, e.Snapshot = t.id, t.account, state.AppendSnapshot(nil)
	e.Replica = &manifest.Replica{Begin: uint64(begin)}
	if err := s.commitLocked(&manifest.Edit{Streams: []manifest.StreamEdit{e}}); err != nil {
		return nil, fmt.Errorf("wipe stream %q: %w", t.name, err)
	}
	t.end()
	s.leave(t)
	s.log.Release(t.id, wal.End)
	fresh := s.newStream(t.account, state, e.Replica)
	s.enter(fresh)
	s.sweep()
	return fresh, nil
}

// relieve lets the log use the segments again that only idle groups keep, and those that have halted, when it is short of
// space.
func (s *Store) relieve() error {
	for done := wal.Position(0); ; {
		stats := s.log.Stats()
		pinned, ok := s.log.Pinned()
		if !ok || stats.UsedBytes < stats.MaxBytes/4 || pinned.Last <= done {
			return nil
		}
		done = pinned.Last
		var logs []*entries.Log
		for _, id := range pinned.Groups {
			t := s.StreamByID(id)
			if t == nil || t.replica.Load() == nil {
				continue
			}
			r := t.replica.Load()
			if t.Err() == nil {
				logs = append(logs, r.log)
			} else if err := s.giveUp(t, r); err != nil {
				return err
			}
		}
		if err := s.entries.Relieve(context.Background(), logs, pinned.Last); err != nil {
			return s.refusal(err)
		}
	}
}
