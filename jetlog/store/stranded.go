package store

import (
	"context"
	"fmt"

	"runnel/jetlog/command"
	"runnel/jetlog/wal"
)

// strand keeps a command that a halted stream cannot apply. The caller holds mu.
func (t *Stream) strand(s *step) {
	if t.state == nil || t.replica.Load() != nil {
		return // deleted, or the log of the group has it
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
	first, last, n, err := t.appendStranded(pinned)
	if err != nil || n == 0 {
		return err
	}
	// Without mu: the goroutine that writes the log may want it.
	if err := t.store.log.WaitSynced(context.Background(), last); err != nil {
		return t.store.refusal(err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.underWay() || len(t.stranded) != n {
		return nil // the next time
	}
	t.strandedAt = first
	t.store.log.Release(t.id, first)
	return nil
}

// appendStranded appends the commands, and returns how many and where: none unless there is a reason, and while some are
// in the log that are not among them yet.
func (t *Stream) appendStranded(pinned wal.Position) (first, last wal.Position, n int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.Err() == nil || len(t.stranded) == 0 || t.strandedAt > pinned || t.underWay() || t.body != nil && t.state.Applied() != t.flushed {
		return 0, 0, 0, nil
	}
	for _, r := range t.stranded {
		p, err := t.store.log.AppendReserved(t.store.never, r)
		if err != nil {
			return 0, 0, 0, fmt.Errorf("append commands of halted stream %q again: %w", t.name, t.store.refusal(err))
		}
		if last = p; first == 0 {
			first = p
		}
	}
	return first, last, len(t.stranded), nil
}

// underWay tells whether commands are in the log that are neither applied nor stranded yet. The caller holds mu.
func (t *Stream) underWay() bool {
	return t.state != nil && t.appended.Load() > t.state.Applied()+uint64(len(t.stranded))
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
