package wal_test

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"runnel/jetlog/vfs"
	"runnel/jetlog/wal"
)

// prepared makes a log whose last used segment is filled up to about so many bytes, and which has all that it
// prepares ahead. It returns its file system, its records and the number of that segment.
func prepared(t *testing.T, closed bool, fill int) (m *vfs.Memory, want []wal.Entry, last uint64) {
	t.Helper()
	m = vfs.NewMemory()
	synctest.Test(t, func(t *testing.T) {
		log, _ := open(t, config(m))
		index, size := uint64(0), 0
		add := func(n int) {
			index++
			size += wal.BatchHeader + wal.RecordHeader + n
			p, err := log.Append(background, wal.Record{Group: 1, Index: index, Payload: make([]byte, n)})
			ok(t, err)
			ok(t, log.Wait(background, p))
		}
		for range 4 { // into the second segment
			add(1000)
		}
		for size < 3000+fill {
			add(100)
		}
		synctest.Wait() // for the supplier
		last = uint64(log.Stats().Segments)
		if n := log.Stats().Ready; n != 3 {
			t.Errorf("%d segments are prepared, want 3", n)
		}
		if !closed {
			m = m.Kill()
		}
		ok(t, log.Close())
	})
	return m, readAll(t, m.Kill()), last
}

// spoil is a way to spoil a segment. It is false if it does nothing to what matters.
type spoil struct {
	name  string
	do    func(t *testing.T, m *vfs.Memory, name string)
	short bool // what is left does not show that the segment was not used
}

func spoils() []spoil {
	list := []spoil{{"removed", func(t *testing.T, m *vfs.Memory, name string) { ok(t, m.Remove(filepath.Join(dir, name))) }, true}}
	for _, n := range []int{0, 1, 44, wal.SegmentHeader - 1, wal.SegmentHeader, 6 << 10} {
		list = append(list, spoil{fmt.Sprintf("cut to %d", n), func(t *testing.T, m *vfs.Memory, name string) {
			writeFile(t, m, name, readFile(t, m, name)[:n])
		}, n <= wal.SegmentHeader})
	}
	for at := range 44 {
		list = append(list, spoil{fmt.Sprintf("bit of byte %d", at), func(t *testing.T, m *vfs.Memory, name string) {
			b := readFile(t, m, name)
			b[at] ^= 1 << (at % 8)
			writeFile(t, m, name, b)
		}, false})
	}
	return append(list, spoil{"zeros", func(t *testing.T, m *vfs.Memory, name string) {
		writeFile(t, m, name, make([]byte, len(readFile(t, m, name))))
	}, false})
}

// TestUnusedSegments spoils each prepared segment in each way: that is noted, no damage, and made good.
func TestUnusedSegments(t *testing.T) {
	for _, closed := range []bool{true, false} {
		m, want, last := prepared(t, closed, 1000)
		for ahead := range uint64(3) {
			for _, s := range spoils() {
				t.Run(fmt.Sprintf("closed=%v/%d ahead/%s", closed, ahead+1, s.name), func(t *testing.T) {
					m, number := m.Kill(), last+1+ahead
					s.do(t, m, wal.SegmentName(number))
					// The last one that was prepared is not missed.
					mendUnused(t, m, want, number, ahead < 2 || s.name != "removed")
				})
			}
		}
	}
}

// mendUnused opens a log with a prepared segment that is spoiled, goes on with it into that segment, and opens
// it again.
func mendUnused(t *testing.T, m *vfs.Memory, want []wal.Entry, number uint64, noted bool) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		log, r := open(t, config(m))
		got, err := entries(r)
		ok(t, err)
		if len(r.Damage) > 0 || r.Torn != nil || len(got) != len(want) {
			t.Fatalf("%d records of %d, damage %v, torn %v", len(got), len(want), r.Damage, r.Torn)
		}
		if noted != (len(r.Notes) == 1) || noted && !strings.Contains(r.Notes[0], wal.SegmentName(number)) {
			t.Errorf("notes %q, want one: %v", r.Notes, noted)
		}
		for i := range uint64(30) { // more than the prepared segments hold
			p, err := log.Append(background, wal.Record{Group: 2, Index: i + 1, Payload: make([]byte, 1500)})
			ok(t, err)
			ok(t, log.Wait(background, p))
		}
		synctest.Wait()
		killed := m.Kill()
		ok(t, log.Close())
		for _, m := range []*vfs.Memory{killed, m} {
			log, r := open(t, config(m))
			got, err := entries(r)
			ok(t, err)
			ok(t, log.Close())
			if len(got) != len(want)+30 || len(r.Damage) > 0 || r.Torn != nil || len(r.Notes) > 0 {
				t.Errorf("after going on: %d records of %d, damage %v, torn %v, notes %q", len(got), len(want)+30, r.Damage, r.Torn, r.Notes)
			}
		}
	})
}

// TestCrashWhileMending cuts the power at each operation of a start that puts spoiled segments aside.
func TestCrashWhileMending(t *testing.T) {
	m, want, last := prepared(t, false, 1000)
	for _, s := range spoils() {
		for ahead := range uint64(3) {
			m := m.Kill()
			s.do(t, m, wal.SegmentName(last+1+ahead))
			start := func(cfg wal.Config, _ *history) error {
				log, _, err := wal.Open(cfg)
				return errors.Join(err, log.Close())
			}
			for i, crashed := range recordOn(t, m, config(nil), start) {
				log, r := open(t, config(crashed))
				got, err := entries(r)
				ok(t, err)
				ok(t, log.Close())
				if len(got) != len(want) || len(r.Damage) > 0 {
					t.Errorf("%s, %d ahead, crash %d: %d records of %d, damage %v", s.name, ahead+1, i, len(got), len(want), r.Damage)
				}
			}
		}
	}
}

// TestMayHaveBeenUsed: what may have held records stays damage.
func TestMayHaveBeenUsed(t *testing.T) {
	flip := func(t *testing.T, m *vfs.Memory, name string, change func(b []byte)) {
		b := readFile(t, m, name)
		b[3] ^= 4
		change(b)
		writeFile(t, m, name, b)
	}
	for _, at := range []int{wal.SegmentHeader, wal.SegmentHeader + 1, 6000, 8<<10 - 1} {
		for ahead := range uint64(3) {
			t.Run(fmt.Sprintf("a byte at %d, %d ahead", at, ahead+1), func(t *testing.T) {
				m, _, last := prepared(t, true, 1000)
				flip(t, m, wal.SegmentName(last+1+ahead), func(b []byte) { b[at] = 1 })
				stayDamaged(t, m)
			})
		}
	}
	t.Run("zeros, and records behind", func(t *testing.T) {
		m, _, last := prepared(t, true, 1000)
		flip(t, m, wal.SegmentName(last-1), func(b []byte) { clear(b[wal.SegmentHeader:]) })
		stayDamaged(t, m)
	})
	t.Run("zeros, and a damaged segment behind", func(t *testing.T) {
		m, _, last := prepared(t, true, 1000)
		flip(t, m, wal.SegmentName(last+1), func([]byte) {})
		flip(t, m, wal.SegmentName(last+2), func(b []byte) { b[5000] = 1 })
		stayDamaged(t, m)
	})
	t.Run("the segment of another number", func(t *testing.T) {
		m, _, last := prepared(t, true, 1000)
		writeFile(t, m, wal.SegmentName(last+1), readFile(t, m, wal.SegmentName(last+2)))
		stayDamaged(t, m)
	})
	for _, s := range spoils() {
		if !s.short {
			continue
		}
		t.Run("no room before it, "+s.name, func(t *testing.T) {
			m, _, last := prepared(t, false, 3500)
			s.do(t, m, wal.SegmentName(last+1))
			stayDamaged(t, m)
		})
		t.Run("much room before it, and more prepared than there would be, "+s.name, func(t *testing.T) {
			stayDamaged(t, largeSecond(t, s))
		})
		t.Run("nothing with records before it, "+s.name, func(t *testing.T) {
			m, _, last := prepared(t, true, 1000)
			ok(t, m.Remove(filepath.Join(dir, wal.SegmentName(last-1))))
			s.do(t, m, wal.SegmentName(last))
			log, r := open(t, config(m))
			ok(t, log.Close())
			if len(r.Damage) == 0 && (s.name != "removed" || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "is lost")) {
				t.Errorf("damage %v, notes %q", r.Damage, r.Notes)
			}
		})
	}
}

// largeSecond is a log that went on in its second segment early, with a large record, and lost that.
func largeSecond(t *testing.T, s spoil) (m *vfs.Memory) {
	t.Helper()
	m = vfs.NewMemory()
	synctest.Test(t, func(t *testing.T) {
		log, _ := open(t, config(m))
		for i, n := range []int{500, 3600} {
			p, err := log.Append(background, wal.Record{Group: 1, Index: uint64(i + 1), Payload: make([]byte, n)})
			ok(t, err)
			ok(t, log.Wait(background, p))
		}
		synctest.Wait()
		killed := m.Kill()
		ok(t, log.Close())
		m = killed
	})
	s.do(t, m, wal.SegmentName(2))
	return m
}

// stayDamaged opens a log some times, and goes on with it: each time there must be damage that is not harmless.
func stayDamaged(t *testing.T, m *vfs.Memory) {
	t.Helper()
	for start := range 3 {
		log, r := open(t, config(m))
		if !slices.ContainsFunc(r.Damage, func(d wal.Damage) bool { return !d.Harmless }) {
			t.Errorf("start %d: damage %v, notes %q, want some damage", start, r.Damage, r.Notes)
		}
		ok(t, log.Wait(background, appendOne(t, log, 9, uint64(start+1))))
		ok(t, log.Close())
	}
}

// TestAllPreparedAreMissing: that is noted.
func TestAllPreparedAreMissing(t *testing.T) {
	m, want, last := prepared(t, false, 1000)
	for ahead := range uint64(3) {
		ok(t, m.Remove(filepath.Join(dir, wal.SegmentName(last+1+ahead))))
	}
	if _, err := m.Stat(filepath.Join(dir, wal.SegmentName(last+1))); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	log, r := open(t, config(m))
	got, err := entries(r)
	ok(t, err)
	ok(t, log.Close())
	if len(got) != len(want) || len(r.Damage) > 0 || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "no prepared segment") {
		t.Errorf("%d records of %d, damage %v, notes %q", len(got), len(want), r.Damage, r.Notes)
	}
}

// TestShortenedEnd cuts off the end of the segment in which the log ends, at each place: what is missing then is damage, since no crash
// makes a file shorter. What nothing was written in may be missing.
func TestShortenedEnd(t *testing.T) {
	for _, closed := range []bool{true, false} {
		m, want := written(t, closed)
		names := segmentNames(t, m)
		name := names[len(names)-1]
		whole := readFile(t, m, name)
		used := int(usedBytes(t, m, name)+7) &^ 7
		for n := wal.SegmentHeader; n <= len(whole); n += 8 {
			m := m.Kill()
			writeFile(t, m, name, whole[:n])
			log, r := open(t, config(m))
			got, err := entries(r)
			ok(t, err)
			ok(t, log.Close())
			switch {
			case len(got) < len(want) && len(r.Damage) == 0:
				t.Errorf("closed=%v, cut to %d of %d: %d records of %d, and no damage", closed, n, used, len(got), len(want))
			case n >= used+wal.BatchHeader && (len(r.Damage) > 0 || len(got) < len(want)):
				t.Errorf("closed=%v, cut to %d of %d: %d records of %d, damage %v", closed, n, used, len(got), len(want), r.Damage)
			}
			if len(r.Damage) == 0 {
				continue
			}
			again, r := open(t, config(m))
			ok(t, again.Close())
			if len(r.Damage) == 0 {
				t.Errorf("closed=%v, cut to %d of %d: the damage is forgotten", closed, n, used)
			}
		}
	}
}
