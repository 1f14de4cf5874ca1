package store

import (
	"context"
	"fmt"

	"runnel/jetlog/command"
	"runnel/jetlog/wal"
)

// strand keeps a command that a halted stream cannot apply. The caller holds mu.
func (t *Stream) strand(s *step) {
	if t.state == nil {
		return // deleted
	}
	index := t.state.Applied() + uint64(len(t.stranded)) + 1
	t.keep(wal.Record{Group: t.id, Kind: commandRecord, Index: index, Payload: command.Append(nil, s.command)}, s.position)
}

// keep adds a record to those that are stranded.
func (t *Stream) keep(r wal.Record, at wal.Position) {
	if len(t.stranded) == 0 {
		t.strandedAt = at
	}
	t.stranded = append(t.stranded, r)
}

// refloat appends the commands of a halted stream to the log once more, so that the segments where they
// stand do not stay for its sake. At a restart the first of two with the same index counts; they are the
// same.
func (t *Stream) refloat(pinned wal.Position) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.Err() == nil || len(t.stranded) == 0 || t.strandedAt > pinned || t.body != nil && t.state.Applied() != t.flushed {
		return nil
	}
	var first, last wal.Position
	for _, r := range t.stranded {
		p, err := t.store.log.AppendReserved(t.store.never, r)
		if err != nil {
			return fmt.Errorf("append commands of halted stream %q again: %w", t.name, t.store.refusal(err))
		}
		if last = p; first == 0 {
			first = p
		}
	}
	if err := t.store.log.WaitSynced(context.Background(), last); err != nil {
		return t.store.refusal(err)
	}
	t.strandedAt = first
	t.store.log.Release(t.id, first)
	return nil
}

// refloat does so for the streams that keep the oldest segment of the log, when that is short of space.
func (s *Store) refloat() error {
	stats := s.log.Stats()
	pinned, ok := s.log.Pinned()
	if !ok || stats.UsedBytes < stats.MaxBytes/2 {
		return nil
	}
	for _, id := range pinned.Groups {
		if t := s.StreamByID(id); t != nil {
			if err := t.refloat(pinned.Last); err != nil {
				return err
			}
		}
	}
	return nil
}
