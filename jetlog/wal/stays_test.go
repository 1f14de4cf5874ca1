package wal_test

import (
	"fmt"
	"slices"
	"testing"

	"runnel/jetlog/vfs"
	"runnel/jetlog/wal"
)

// TestRecoveredStays loses every choice of batch headers and records of a log, with every state of what is
// proven to be synced. The log opens, and what was recovered once, records, positions and damage, is
// recovered again, also when the log went on in between. Damage is only what is proven to be synced.
func TestRecoveredStays(t *testing.T) {
	for _, l := range []lossy{{}, {split: 2}, {given: 7}, {given: 7, split: 1}, {given: 7, split: 3}} {
		for l.synced = range lossyBatches {
			if l.synced < l.split || l.given > 0 && l.synced == 0 {
				continue // a segment is synced before the next one is begun, and that before one is given up
			}
			for choice := range 3 * 3 * 3 * 3 {
				l.lost = [...]int{choice % 3, choice / 3 % 3, choice / 9 % 3, choice / 27}
				for _, idle := range []bool{true, false} {
					m := vfs.NewMemory()
					ok(t, m.MkdirAll(dir))
					for i, file := range l.files() {
						writeFile(t, m, wal.SegmentName(uint64(l.given+i+1)), file)
					}
					if err := stays(m, idle, l.proven()); err != nil {
						t.Errorf("%+v, idle %v: %v", l, idle, err)
					}
				}
			}
		}
	}
}

// lossyBatches is how many batches a lossy log has, each with one record.
const lossyBatches = 4

// What can be lost of a batch.
const (
	lostHeader = 1
	lostRecord = 2
)

// lossy describes a log.
type lossy struct {
	given  int               // so many segments, with one batch each, were given up
	split  int               // so many batches are in a segment of their own
	synced int               // of the batches, those that the later ones know to be synced
	lost   [lossyBatches]int // of each batch: nothing, lostHeader or lostRecord
}

// files builds the segments.
func (l lossy) files() (files [][]byte) {
	var list []wal.BuildBatch
	for i := range lossyBatches {
		n := uint64(l.given + i + 1)
		list = append(list, wal.BuildBatch{
			Sequence: n, Synced: uint64(l.given + min(l.synced, i)),
			Records: []wal.Record{{Group: n % 2, Index: n, Payload: make([]byte, 4)}},
		})
	}
	var sum uint32
	lost := l.lost[:]
	for _, part := range [][]wal.BuildBatch{list[:l.split], list[l.split:]} {
		if len(part) == 0 {
			continue
		}
		var file []byte
		file, sum = wal.BuildSegment(uint64(l.given+len(files)+1), [16]byte{}, 8<<10, sum, part...)
		for i := range part {
			at := wal.SegmentHeader + i*(wal.BatchHeader+wal.RecordHeader+4)
			switch lost[i] {
			case lostHeader:
				file[at]++
			case lostRecord:
				file[at+wal.BatchHeader]++
			}
		}
		lost = lost[len(part):]
		files = append(files, file)
	}
	return files
}

// proven reports whether something is lost that a batch header that is left says is synced. Nobody knows whether
// the oldest segment was used if no header in it is left, the next one is whole at its start, and it is not the
// first of all.
func (l lossy) proven() bool {
	synced, first := 0, lossyBatches // the first that is lost
	unused := l.given > 0 && l.split > 0 && l.lost[l.split] != lostHeader &&
		!slices.ContainsFunc(l.lost[:l.split], func(lost int) bool { return lost != lostHeader })
	for i, lost := range l.lost {
		if lost != lostHeader {
			synced = min(l.synced, i)
		}
		if lost > 0 && (i >= l.split || !unused) {
			first = min(first, i)
		}
	}
	return first < synced
}

// stays opens a log some times and says what is different from the first time, besides what was appended,
// which idle does without. There must be damage, or none.
func stays(m *vfs.Memory, idle, damaged bool) error {
	var want, damage []string
	for start := range 4 {
		log, r, err := wal.Open(config(m))
		if err != nil {
			return err
		}
		all, err := entries(r)
		if err != nil {
			return err
		}
		var got []string
		for _, e := range all {
			got = append(got, fmt.Sprintf("%d: %d/%d", e.Position, e.Group, e.Index))
		}
		if start > 0 && !slices.Equal(got, want) {
			return fmt.Errorf("start %d has the records %v, want %v", start, got, want)
		}
		if (len(r.Damage) > 0) != damaged {
			return fmt.Errorf("start %d has the damage %v, want some: %v", start, r.Damage, damaged)
		}
		want, got = got, nil
		for _, d := range r.Damage {
			got = append(got, fmt.Sprintf("%s at %d: %s", d.File, d.Offset, d.Reason))
		}
		if start > 0 && !slices.Equal(got, damage) {
			return fmt.Errorf("start %d has the damage %v, want %v", start, got, damage)
		}
		damage = got
		if !idle {
			p, err := log.Append(background, wal.Record{Group: 9, Index: uint64(start)})
			if err != nil {
				return err
			}
			if p != r.Last+1 {
				return fmt.Errorf("position %d after %d", p, r.Last)
			}
			want = append(want, fmt.Sprintf("%d: 9/%d", p, start))
		}
		if err := log.Close(); err != nil {
			return err
		}
	}
	return nil
}
