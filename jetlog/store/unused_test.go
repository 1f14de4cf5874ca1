package store_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"runnel/jetlog"
	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
)

// TestUnusedLogSegments spoils each prepared segment of the log, as a process that was killed and one that ended
// leave it: streams have all they had, and go on.
func TestUnusedLogSegments(t *testing.T) {
	spoils := map[string]func(b []byte) []byte{
		"removed":      func([]byte) []byte { return nil },
		"empty":        func([]byte) []byte { return []byte{} },
		"a byte":       func(b []byte) []byte { return b[:1] },
		"half":         func(b []byte) []byte { return b[:len(b)/2] },
		"header cut":   func(b []byte) []byte { return b[:4095] },
		"only header":  func(b []byte) []byte { return b[:4096] },
		"bit of magic": func(b []byte) []byte { b[3] ^= 1; return b },
		"bit of id":    func(b []byte) []byte { b[25] ^= 4; return b },
		"bit of sum":   func(b []byte) []byte { b[43] ^= 128; return b },
	}
	for name, spoil := range spoils {
		for _, closed := range []bool{true, false} {
			for number := 2; number <= 4; number++ {
				t.Run(fmt.Sprintf("%s/closed=%v/%d", name, closed, number), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						m := logged(t, closed)
						path := filepath.Join(dir, "wal", fmt.Sprintf("%020d.wal", number))
						if err := replace(m, path, spoil); err != nil {
							t.Fatal(err)
						}
						goOn(t, m, name != "removed" || number < 4)
					})
				})
			}
		}
	}
}

// logged is a store with a stream of 20 messages, all of which are in the first segment of the log.
func logged(t *testing.T, closed bool) *vfs.Memory {
	t.Helper()
	m := vfs.NewMemory()
	s := open(t, small(m))
	stream := create(t, s, unlimited("S"))
	publish(t, stream, 20)
	synctest.Wait() // for segments to be prepared
	killed := m.Kill()
	closeStore(t, s)
	if closed {
		return m
	}
	return killed
}

// replace writes a file anew, or removes it if change returns nil.
func replace(m *vfs.Memory, path string, change func(b []byte) []byte) error {
	f, err := m.OpenReadWrite(path)
	if err != nil {
		return err
	}
	size, err := f.Size()
	b := make([]byte, size)
	if err == nil {
		_, err = f.ReadAt(b, 0)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if b = change(b); b == nil {
		return m.Remove(path)
	}
	if f, err = m.Create(path); err != nil {
		return err
	}
	_, err = f.WriteAt(b, 0)
	return errors.Join(err, f.Close())
}

// goOn opens the store twice and publishes in between.
func goOn(t *testing.T, m *vfs.Memory, noted bool) {
	t.Helper()
	for start := range 2 {
		s, report, err := store.Open(small(m))
		if err != nil {
			t.Fatal(err)
		}
		noted = noted && start == 0
		if len(report.Halted) > 0 || len(report.Damage) > 0 || noted != (len(report.Notes) == 1) {
			t.Errorf("start %d: halted %v, damage %v, notes %q", start, report.Halted, report.Damage, report.Notes)
		}
		if noted && !strings.Contains(report.Notes[0], ".wal") {
			t.Errorf("note %q names no file", report.Notes[0])
		}
		stream := s.Stream("A", "S")
		_ = stream.View(func(state *jetlog.Stream, _ jetlog.Messages) error {
			if n := state.State().Messages; n != uint64(20+start) {
				t.Errorf("start %d: %d messages, want %d", start, n, 20+start)
			}
			return nil
		})
		publish(t, stream, 1)
		synctest.Wait()
		closeStore(t, s)
	}
}

// TestLogIsMissing removes all of the log, or what has records: that is told.
func TestLogIsMissing(t *testing.T) {
	for _, all := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m := logged(t, false)
			for number := 1; number <= 4; number++ {
				if all || number == 1 {
					if err := m.Remove(filepath.Join(dir, "wal", fmt.Sprintf("%020d.wal", number))); err != nil {
						t.Fatal(err)
					}
				}
			}
			for start := range 2 {
				s, report, err := store.Open(small(m))
				if err != nil {
					t.Fatal(err)
				}
				if told := len(report.Notes) == 1 && strings.Contains(report.Notes[0], "lost"); told != (start == 0) {
					t.Errorf("all %v, start %d: notes %q", all, start, report.Notes)
				}
				publish(t, s.Stream("A", "S"), 1)
				synctest.Wait()
				closeStore(t, s)
			}
		})
	}
}
