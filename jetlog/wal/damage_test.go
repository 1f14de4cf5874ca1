package wal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"runnel/jetlog/vfs"
	"runnel/jetlog/wal"
)

// written makes a log with some segments and returns its file system and its records. If it was not closed,
// the last batch is not proven to be synced.
func written(t *testing.T, closed bool) (*vfs.Memory, []wal.Entry) {
	t.Helper()
	m := vfs.NewMemory()
	log, _ := open(t, config(m))
	h := newHistory()
	for step := range 30 {
		p, err := h.append(log, uint64(step%3+1), 1+step%4)
		ok(t, err)
		ok(t, log.Wait(context.Background(), p))
	}
	killed := m.Kill()
	ok(t, log.Close())
	all := readAll(t, m.Kill())
	if closed {
		return m, all
	}
	return killed, all
}

func readAll(t *testing.T, m *vfs.Memory) []wal.Entry {
	t.Helper()
	log, recovered := open(t, config(m))
	all, err := entries(recovered)
	ok(t, err)
	ok(t, log.Close())
	return all
}

// usedBytes is where what is written in a segment ends.
func usedBytes(t *testing.T, m *vfs.Memory, name string) int64 {
	t.Helper()
	b := readFile(t, m, name)
	return int64(len(bytes.TrimRight(b, "\x00")))
}

func readFile(t *testing.T, m *vfs.Memory, name string) []byte {
	t.Helper()
	f, err := m.Open(filepath.Join(dir, name))
	ok(t, err)
	size, err := f.Size()
	ok(t, err)
	b := make([]byte, size)
	_, err = f.ReadAt(b, 0)
	ok(t, err)
	return b
}

func writeFile(t *testing.T, m *vfs.Memory, name string, b []byte) {
	t.Helper()
	f, err := m.Create(filepath.Join(dir, name))
	ok(t, err)
	_, err = f.WriteAt(b, 0)
	ok(t, err)
	ok(t, f.Close())
}

// segmentNames lists the segments with records.
func segmentNames(t *testing.T, m *vfs.Memory) (names []string) {
	t.Helper()
	list, err := m.List(dir)
	ok(t, err)
	for _, e := range list {
		if strings.HasSuffix(e.Name, ".wal") && !strings.HasPrefix(e.Name, "spare") && usedBytes(t, m, e.Name) > wal.SegmentHeader {
			names = append(names, e.Name)
		}
	}
	return names
}

// account compares what was recovered with what was written: each record is there, or is named, or may be
// in a part that is named. It returns how many are not there.
func account(want, got []wal.Entry, r *wal.Recovered) (missing int, err error) {
	same := func(a, b wal.Entry) bool {
		return a.Group == b.Group && a.Index == b.Index && a.Term == b.Term && a.Kind == b.Kind && bytes.Equal(a.Payload, b.Payload)
	}
	for _, w := range want {
		if len(got) > 0 && same(w, got[0]) {
			if p := got[0].Position; p != w.Position && !slices.ContainsFunc(r.Damage, func(d wal.Damage) bool {
				return d.First < d.Last && d.First <= w.Position && w.Position <= p && p <= d.Last
			}) {
				return 0, fmt.Errorf("group %d index %d is at %d, want %d", w.Group, w.Index, p, w.Position)
			}
			got = got[1:]
			continue
		}
		missing++
		named := slices.ContainsFunc(r.Damage, func(d wal.Damage) bool {
			if d.Harmless || w.Position < d.First || d.Last >= d.First && w.Position > d.Last {
				return false
			}
			return !d.Known || d.Group == w.Group && d.Index == w.Index
		})
		cut := r.Torn != nil && w.Position >= r.Torn.First
		if !named && !cut {
			return 0, fmt.Errorf("group %d index %d at %d is missing in silence; damage %v, torn %v", w.Group, w.Index, w.Position, r.Damage, r.Torn)
		}
	}
	if len(got) > 0 {
		return 0, fmt.Errorf("%d records too many, the first is %v", len(got), got[0])
	}
	return missing, nil
}

// TestEachFlippedBit flips single bits all over the log: at most one record is lost by each, and never
// in silence; in what is not proven to be synced, the last batch.
func TestEachFlippedBit(t *testing.T) {
	for _, closed := range []bool{true, false} {
		t.Run(fmt.Sprintf("closed=%v", closed), func(t *testing.T) {
			t.Parallel()
			m, want := written(t, closed)
			names := segmentNames(t, m)
			last := want[len(want)-1].Position
			lastBatch := len(want) - slices.IndexFunc(want, func(e wal.Entry) bool { return e.Position == last })
			lost := 0
			for _, name := range names {
				end := usedBytes(t, m, name)
				for at := int64(0); at < end; at += int64(seeds(15, 1)) {
					if at == 44 {
						at = wal.SegmentHeader // the rest of the page means nothing
					}
					fault := vfs.NewFault(m.Kill())
					fault.Flip(name, at, 1<<(at%8))
					log, r := open(t, config(fault))
					got, err := entries(r)
					ok(t, err)
					ok(t, log.Close())
					missing, err := account(want, got, r)
					if err != nil {
						t.Fatalf("%s, bit flipped at %d: %v", name, at, err)
					}
					if missing > 1 && (closed || missing > lastBatch || r.Torn == nil) {
						t.Fatalf("%s, bit flipped at %d: %d records lost, want at most one; %v, %v", name, at, missing, r.Damage, r.Torn)
					}
					lost += missing
				}
			}
			if len(names) < 3 || lost == 0 {
				t.Errorf("%d segments, %d records lost in all: the test looks at too little", len(names), lost)
			}
		})
	}
}

// TestLargerDamage breaks the files of a log in ways that need more than one bit, and then goes on with it.
func TestLargerDamage(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(t *testing.T, m *vfs.Memory, names []string)
		want  []string // in the reports
	}{
		{"a segment is missing", func(t *testing.T, m *vfs.Memory, names []string) {
			ok(t, m.Remove(filepath.Join(dir, names[1])))
		}, []string{"1 segments are missing, 0 bytes"}},
		{"a segment is empty", func(t *testing.T, m *vfs.Memory, names []string) {
			writeFile(t, m, names[1], nil)
		}, []string{"segment header", "the end of the segment is missing"}},
		{"a segment is cut in the middle", func(t *testing.T, m *vfs.Memory, names []string) {
			writeFile(t, m, names[1], readFile(t, m, names[1])[:6000])
		}, []string{"the end of the segment is missing"}},
		{"zeros over several batches", func(t *testing.T, m *vfs.Memory, names []string) {
			b := readFile(t, m, names[0])
			clear(b[4500:7000])
			writeFile(t, m, names[0], b)
		}, []string{"record"}},
		{"a page of another file", func(t *testing.T, m *vfs.Memory, names []string) {
			b := readFile(t, m, names[1])
			copy(b[4096:], readFile(t, m, names[0])[4096:6000])
			writeFile(t, m, names[1], b)
		}, []string{"batch header"}},
		{"two segments have changed places", func(t *testing.T, m *vfs.Memory, names []string) {
			a, b := readFile(t, m, names[0]), readFile(t, m, names[1])
			writeFile(t, m, names[0], b)
			writeFile(t, m, names[1], a)
		}, []string{"segment header: it is of segment 2", "segment header: it is of segment 1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, want := written(t, true)
			tt.spoil(t, m, segmentNames(t, m))
			log, r := open(t, config(m))
			got, err := entries(r)
			ok(t, err)
			missing, err := account(want, got, r)
			ok(t, err)
			if missing == 0 || missing == len(want) {
				t.Errorf("%d of %d records are lost, want some", missing, len(want))
			}
			report := fmt.Sprint(r.Damage)
			for _, text := range tt.want {
				if !strings.Contains(report, text) {
					t.Errorf("report %q lacks %q", report, text)
				}
			}
			p, err := log.Append(context.Background(), wal.Record{Group: 9, Index: 1, Payload: payload(9, 1)})
			ok(t, err)
			ok(t, log.Wait(context.Background(), p))
			ok(t, log.Close())
			log, again := open(t, config(m))
			all, err := entries(again)
			ok(t, err)
			ok(t, log.Close())
			if len(all) != len(got)+1 || all[len(got)].Group != 9 || all[len(got)].Position != p {
				t.Errorf("after going on: %d records, want the %d from before and one more at %d", len(all), len(got), p)
			}
			if len(again.Damage) != len(r.Damage) {
				t.Errorf("after going on: damage %v, want as before: %v", again.Damage, r.Damage)
			}
		})
	}
}

func records(group, from, to uint64) (list []wal.Record) {
	for i := from; i <= to; i++ {
		list = append(list, wal.Record{Group: group, Index: i, Kind: 1, Payload: payload(group, i)})
	}
	return list
}

// TestMadeByHand opens segments that the log itself would not leave like that.
func TestMadeByHand(t *testing.T) {
	const size = 16 << 10
	var id [16]byte
	one, oneSum := wal.BuildSegment(1, id, size, 0,
		wal.BuildBatch{Sequence: 1, Records: records(1, 1, 3)},
		wal.BuildBatch{Sequence: 2, Synced: 1, Records: records(1, 4, 4)},
		wal.BuildBatch{Sequence: 3, Synced: 2, Records: records(1, 5, 6)})
	follow := func(number, sequence, synced uint64, sum uint32, list []wal.Record) []byte {
		b, _ := wal.BuildSegment(number, id, size, sum, wal.BuildBatch{Sequence: sequence, Synced: synced, Records: list})
		return b
	}
	torn := func(b []byte, from, to int) []byte { b = bytes.Clone(b); clear(b[from:to]); return b }
	second := wal.SegmentHeader + int(batchBytes(records(1, 1, 3)))
	third := second + int(batchBytes(records(1, 4, 4)))
	relaxed, _ := wal.BuildSegment(1, id, size, 0,
		wal.BuildBatch{Sequence: 1, Records: records(1, 1, 3)},
		wal.BuildBatch{Sequence: 2, Records: records(1, 4, 4)},
		wal.BuildBatch{Sequence: 3, Records: records(1, 5, 6)})
	stale, _ := wal.BuildSegment(1, id, size, 0,
		wal.BuildBatch{Sequence: 1, Records: records(1, 1, 3)},
		wal.BuildBatch{Sequence: 2, Synced: 1, Records: records(1, 4, 4)},
		wal.BuildBatch{Sequence: 3, Synced: 2, Previous: 12345, Records: records(1, 5, 6)})
	tests := []struct {
		name   string
		files  map[uint64][]byte
		last   uint64 // index of group 1
		torn   string
		damage string
	}{
		{"one segment", map[uint64][]byte{1: one}, 6, "", ""},
		{"two", map[uint64][]byte{1: one, 2: follow(2, 4, 3, oneSum, records(1, 7, 8))}, 8, "", ""},
		{
			"the second starts over from a batch of the first",
			map[uint64][]byte{1: one, 2: follow(2, 3, 2, 0, records(1, 5, 7))},
			7, "", "does not continue",
		},
		{
			"an unproven last batch that is torn",
			map[uint64][]byte{1: torn(one, third+60, third+90)},
			4, "from batch 3 on, 1 records of 1 groups", "",
		},
		{
			"a hole before something that claims no sync",
			map[uint64][]byte{1: torn(relaxed, second+50, second+60)},
			3, "from batch 2 on, 2 records of 1 groups", "",
		},
		{
			"a hole before something that claims a sync",
			map[uint64][]byte{1: torn(one, second+90, second+100)},
			6, "", "record, " + fmt.Sprint(wal.RecordHeader+len(payload(1, 4))) + " bytes, batches 2 to 2, group 1 index 4",
		},
		{
			"a batch header that is lost, with its records there",
			map[uint64][]byte{1: torn(one, second, second+wal.BatchHeader)},
			6, "", "no record is lost",
		},
		{
			"the first batch header of a later segment is lost, and more follows",
			map[uint64][]byte{1: one, 2: torn(twoBatches(id, size, oneSum), wal.SegmentHeader, wal.SegmentHeader+wal.BatchHeader)},
			8, "", "no record is lost",
		},
		{
			"only one batch before the mark of Close, and its header is lost",
			map[uint64][]byte{1: torn(closedBatch(id, size), wal.SegmentHeader, wal.SegmentHeader+wal.BatchHeader)},
			3, "", "no record is lost",
		},
		{
			"a batch that was written again is lost there, and still in the segment before",
			map[uint64][]byte{1: one, 2: torn(again(id, size), wal.SegmentHeader, wal.SegmentHeader+300)},
			7, "", "record, 392 bytes, batches 3 to 3, no record is lost",
		},
		{"a last batch of another past", map[uint64][]byte{1: stale}, 4, "from batch 3 on", ""},
		{
			"a segment of another past",
			map[uint64][]byte{1: one, 2: follow(2, 4, 3, 777, records(1, 7, 8))},
			8, "", "does not continue",
		},
		{
			"a batch torn at the start of the next segment",
			map[uint64][]byte{1: one, 2: torn(follow(2, 4, 3, oneSum, records(1, 7, 8)), 4096+60, 4096+90)},
			6, "from batch 4 on, 1 records", "",
		},
		{
			"a segment without a header, not used",
			map[uint64][]byte{1: one, 2: make([]byte, size)},
			6, "", "", // TestUnusedSegments
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := vfs.NewMemory()
			ok(t, m.MkdirAll(dir))
			for number, b := range tt.files {
				writeFile(t, m, wal.SegmentName(number), b)
			}
			cfg := config(m)
			cfg.SegmentBytes = size
			log, r := open(t, cfg)
			all, err := entries(r)
			ok(t, err)
			ok(t, log.Close())
			last := uint64(0)
			for _, e := range all {
				last = e.Index
			}
			if last != tt.last {
				t.Errorf("last index %d, want %d", last, tt.last)
			}
			if got := fmt.Sprint(r.Torn); !strings.Contains(got, tt.torn) || (tt.torn == "") != (r.Torn == nil) {
				t.Errorf("torn: %s, want %q", got, tt.torn)
			}
			if got := fmt.Sprint(r.Damage); !strings.Contains(got, tt.damage) || (tt.damage == "") != (len(r.Damage) == 0) {
				t.Errorf("damage: %s, want %q", got, tt.damage)
			}
		})
	}
}

func batchBytes(list []wal.Record) int64 {
	n := int64(wal.BatchHeader)
	for _, r := range list {
		n += wal.RecordHeader + int64(len(r.Payload))
	}
	return (n + 7) / 8 * 8
}

func twoBatches(id [16]byte, size int, sum uint32) []byte {
	b, _ := wal.BuildSegment(2, id, size, sum,
		wal.BuildBatch{Sequence: 4, Synced: 3, Records: records(1, 7, 7)},
		wal.BuildBatch{Sequence: 5, Synced: 4, Records: records(1, 8, 8)})
	return b
}

func closedBatch(id [16]byte, size int) []byte {
	b, _ := wal.BuildSegment(1, id, size, 0,
		wal.BuildBatch{Sequence: 1, Records: records(1, 1, 3)},
		wal.BuildBatch{Sequence: 2, Synced: 1, Closing: true})
	return b
}

func again(id [16]byte, size int) []byte {
	b, _ := wal.BuildSegment(2, id, size, 0,
		wal.BuildBatch{Sequence: 3, Synced: 2, Records: records(1, 5, 6)},
		wal.BuildBatch{Sequence: 4, Synced: 3, Records: records(1, 7, 7)})
	return b
}

func TestRefused(t *testing.T) {
	newer, _ := wal.BuildSegment(1, [16]byte{}, 8<<10, 0)
	wal.SetVersion(newer, 9)
	foreign, _ := wal.BuildSegment(1, [16]byte{1, 2, 3}, 8<<10, 0)
	for want, b := range map[error][]byte{wal.ErrVersion: newer, wal.ErrForeign: foreign} {
		m := vfs.NewMemory()
		ok(t, m.MkdirAll(dir))
		writeFile(t, m, wal.SegmentName(1), b)
		for range 2 { // the directory is given back after an error
			_, _, err := wal.Open(config(m))
			is(t, err, want)
		}
	}
}

// TestReadErrorIsNoVerdict: a file that cannot be read is no damage.
func TestReadErrorIsNoVerdict(t *testing.T) {
	m, want := written(t, true)
	for n := range 20 {
		fault := vfs.NewFault(m.Kill())
		fault.Fail(vfs.Rule{Kinds: vfs.OpReadAt, After: n})
		log, r, err := wal.Open(config(fault))
		if err != nil {
			if fault.Failed() == 0 {
				t.Fatal(err)
			}
			continue
		}
		all, err := entries(r)
		if len(r.Damage) > 0 || r.Torn != nil || (err == nil) != (fault.Failed() == 0) || err == nil && len(all) != len(want) {
			t.Errorf("read %d fails: %d records, %v, damage %v, torn %v", n, len(all), err, r.Damage, r.Torn)
		}
		if err := log.Close(); err != nil && !errors.Is(err, wal.ErrPoisoned) {
			t.Error(err)
		}
	}
}
