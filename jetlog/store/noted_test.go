package store_test

import (
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"runnel/jetlog/command"
	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
	"runnel/jetlog/wal"
)

// noticed is when the manifest has noted what happened before.
const noticed = 2 * time.Second

// read returns a file.
func read(t *testing.T, m *vfs.Memory, path string) []byte {
	t.Helper()
	var content []byte
	if err := replace(m, path, func(b []byte) []byte { content = b; return b }); err != nil {
		t.Fatal(err)
	}
	return content
}

// logFiles returns the segments of the log, by their names.
func logFiles(t *testing.T, m *vfs.Memory) map[string][]byte {
	t.Helper()
	entries, err := m.List(dir + "/wal")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, e := range entries {
		if filepath.Ext(e.Name) == ".wal" {
			files[e.Name] = read(t, m, dir+"/wal/"+e.Name)
		}
	}
	return files
}

// TestEndOfLogIsLost puts the log back to what it was some time before, or removes its newest segments: streams that
// have lost something by that do not start, and say what; others go on. Some time later, and after another
// start, that is still so.
func TestEndOfLogIsLost(t *testing.T) {
	for _, tt := range []struct {
		name           string
		closed         bool // at the end; otherwise the process is killed
		flushed        bool // what is lost is in files
		removed        bool // the newest segments, rather than replaced by old ones
		first, last    uint64
		halted, silent bool // silent: it was not noted yet
	}{
		{name: "old segments, killed", first: 31, last: 230, halted: true},
		{name: "old segments, closed", closed: true, first: 31, last: 230, halted: true},
		{name: "old segments, flushed", flushed: true},
		{name: "without the newest", removed: true, last: 230, halted: true},
		{name: "without the newest, closed", removed: true, closed: true, last: 230, halted: true},
		{name: "nothing was noted yet", silent: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := vfs.NewMemory()
				s := open(t, small(m))
				stream, other := create(t, s, unlimited("S")), create(t, s, unlimited("T"))
				publish(t, stream, 30)
				publish(t, other, 10)
				time.Sleep(noticed)
				old := logFiles(t, m)
				for range 200 {
					propose(t, stream, &command.Publish{Time: 1, Subject: "S.x", Payload: make([]byte, 1000)})
				}
				if !tt.silent {
					time.Sleep(noticed)
				}
				if tt.flushed {
					if err := s.Flush(); err != nil {
						t.Fatal(err)
					}
				}
				crashed := m.Kill()
				closeStore(t, s)
				if tt.closed {
					crashed = m
				}
				lose(t, crashed, old, tt.removed)
				for range 2 {
					s, _, err := store.Open(small(crashed))
					if err != nil {
						t.Fatal(err)
					}
					var d *store.StreamDamage
					switch halted := errors.As(s.Stream("A", "S").Err(), &d); {
					case halted != tt.halted:
						t.Fatalf("halted: %v", s.Stream("A", "S").Err())
					case halted && (!d.Log || d.Last != tt.last || tt.first != 0 && d.First != tt.first || d.First <= 30):
						t.Errorf("got %v, want commands %d to %d", d, tt.first, tt.last)
					}
					publish(t, s.Stream("A", "T"), 1)
					time.Sleep(noticed)
					closeStore(t, s)
				}
			})
		})
	}
}

// lose removes all segments of the log but the first, or puts old ones in the place of all.
func lose(t *testing.T, m *vfs.Memory, old map[string][]byte, removed bool) {
	t.Helper()
	for name := range logFiles(t, m) {
		if removed && name == "00000000000000000001.wal" {
			continue
		}
		if err := m.Remove(dir + "/wal/" + name); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range old {
		if removed {
			break
		}
		f, err := m.Create(dir + "/wal/" + name)
		if err == nil {
			_, err = f.WriteAt(content, 0)
		}
		if err = errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOnlyWhatIsSyncedIsNoted cuts the power where results wait for less than a sync: what is lost then was not promised.
func TestOnlyWhatIsSyncedIsNoted(t *testing.T) {
	for name, policy := range map[string]wal.Policy{"of the store": wal.OS, "of the stream": wal.Always} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := vfs.NewMemory()
				cfg := small(m)
				cfg.Policy = policy
				s := open(t, cfg)
				stream := withSync(t, s, "S", "os")
				publish(t, stream, 10)
				time.Sleep(noticed)
				cut := m.PowerCut(vfs.Lose)
				closeStore(t, s)
				again, report, err := store.Open(small(cut))
				if err != nil || len(report.Halted) > 0 {
					t.Fatal(report, err)
				}
				closeStore(t, again)
			})
		})
	}
}
