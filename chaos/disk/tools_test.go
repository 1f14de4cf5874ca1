//go:build linux

package disk_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"runnel/chaos/disk"
)

// needs skips a test that cannot be run here.
func needs(t *testing.T, possible func() error) {
	t.Helper()
	if err := possible(); err != nil {
		t.Skipf("not runnable here: %v", err)
	}
}

// TestWithoutTools: where there are no tools, nothing goes and the error says so.
func TestWithoutTools(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if err := disk.Tracing(); err == nil {
		t.Error("processes are traced without a program to do it")
	}
	if err := disk.Mounting(); err == nil || !strings.Contains(err.Error(), "mount") {
		t.Errorf("got %v, want that there is no mount", err)
	}
	dir := lay(t, ours, page)
	before := contents(t, dir)
	if _, err := disk.NewRoom(dir, 1<<20); err == nil {
		t.Error("a small disk was made of nothing")
	}
	if _, err := disk.ReadOnly(dir); err == nil {
		t.Error("a folder has become read-only")
	}
	if !maps.Equal(contents(t, dir), before) {
		t.Error("the folder has changed")
	}
}

func TestFailSyncs(t *testing.T) {
	needs(t, disk.Tracing)
	for _, test := range []struct {
		name   string
		onward bool
		most   int // how many calls fail at most
	}{{"once", false, 100}, {"onward", true, 400}} {
		t.Run(test.name, func(t *testing.T) {
			s := start(t, "")
			pid, _ := s.PID()
			stop, err := disk.FailSyncs(soon(t), pid, 2, test.onward)
			if err != nil {
				t.Fatal(err)
			}
			defer stop()
			// Threads are counted one by one, and nobody knows which one makes a call.
			answers := tell(t, s, slices.Repeat([]string{"sync"}, 400)...)
			failed := strings.Count(answers, "input/output error")
			if failed == 0 || failed > test.most || !strings.HasPrefix(answers, "<nil>\n") {
				t.Errorf("%d of 400 calls failed, want 1 to %d and not the first", failed, test.most)
			}
			stop()
			if got := tell(t, s, "sync", "write x"); got != "<nil>\n<nil>\n" {
				t.Errorf("got %q afterwards, want no errors", got)
			}
		})
	}
}

func TestForget(t *testing.T) {
	needs(t, disk.Tracing)
	tests := []struct {
		name   string
		extra  string // of the configuration
		orders []string
		want   string // is in the file in the end
		synced bool   // it must not forget
	}{
		{"nothing was synced", "", []string{"write 2", "make b"}, "1", false},
		{"it has synced", "", []string{"write 2", "sync", "write 3"}, "123", true},
		{"a synced file", "# synced\n", []string{"write 2"}, "12", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := start(t, test.extra)
			tell(t, s, "write 1", "sync")
			kept := s.StoreDir() + ".kept"
			f, err := disk.BeginForgetting(soon(t), s, kept)
			if err == nil {
				defer f.Close()
			}
			tell(t, s, test.orders...)
			if err := errors.Join(s.Kill()); err != nil {
				t.Fatal(err)
			}
			if err == nil {
				err = f.Forget()
			}
			if errors.Is(err, disk.ErrSynced) != test.synced || !test.synced && err != nil {
				t.Errorf("got error %v, want one: %v", err, test.synced)
			}
			if got := contents(t, s.StoreDir()); len(got) != 1 || got["a"] != test.want {
				t.Errorf("got %q, want file a with %q", got, test.want)
			}
			if f != nil {
				if err := f.Close(); err != nil {
					t.Error(err)
				}
			}
			for _, name := range []string{kept, kept + ".trace"} {
				if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("%s is left: %v", filepath.Base(name), err)
				}
			}
		})
	}
}

func TestForgetNeedsAServer(t *testing.T) {
	s := start(t, "")
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := disk.BeginForgetting(soon(t), s, s.StoreDir()+".kept"); err == nil || !strings.Contains(err.Error(), "it is down") {
		t.Errorf("got %v, want that it is down", err)
	}
}

func TestFirstSync(t *testing.T) {
	tests := []struct{ name, trace, want string }{
		{"nothing", "", ""},
		{"harmless", "7 openat(AT_FDCWD, \"sync\", O_RDONLY|O_CLOEXEC) = 3\n7 +++ exited with 0 +++\n", ""},
		{"a call", "7 openat(AT_FDCWD, \"x\", O_RDWR) = 3\n8 fdatasync(3) = 0\n8 fsync(3) = 0\n", "8 fdatasync(3) = 0"},
		{"the end of a call", "8 <... fsync resumed>) = 0\n", "8 <... fsync resumed>) = 0"},
		{"a file with synced writes", "8 openat(AT_FDCWD, \"x\", O_RDWR|O_SYNC) = 3", "8 openat(AT_FDCWD, \"x\", O_RDWR|O_SYNC) = 3"},
		{"no end of line", "8 msync(0x7, 4096, MS_SYNC", "8 msync(0x7, 4096, MS_SYNC"},
	}
	for _, test := range tests {
		if got, err := disk.FirstSync(strings.NewReader(test.trace)); got != test.want || err != nil {
			t.Errorf("%s: got %q, %v, want %q", test.name, got, err, test.want)
		}
	}
}

func TestSyncFlag(t *testing.T) {
	for info, want := range map[string]bool{
		"pos:\t0\nflags:\t0100002\n": false, "pos:\t0\nflags:\t04110002\nmnt_id:\t9\n": true, "flags:\t0110001\n": true, "flags:\tx\n": true, "": true,
	} {
		if got := disk.SyncFlag(info); got != want {
			t.Errorf("%q: got %v, want %v", info, got, want)
		}
	}
}

func TestRoom(t *testing.T) {
	needs(t, disk.Mounting)
	dir := lay(t, ours, page)
	before := contents(t, dir)
	r, err := disk.NewRoom(dir, 8<<20)
	if err != nil {
		t.Fatal(err)
	}
	closed := false
	defer func() {
		if !closed {
			_ = r.Close() // so that nothing stays mounted
		}
	}()
	write := func(bytes int) error { return os.WriteFile(filepath.Join(dir, "new"), make([]byte, bytes), 0o600) }
	if err := errors.Join(write(4<<20), os.Remove(filepath.Join(dir, "new")), r.Fill()); err != nil {
		t.Fatal(err)
	}
	if err := write(4 << 20); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("got %v of a full disk, want that no space is left", err)
	}
	if err := errors.Join(r.Grow(), write(4<<20), r.Close()); err != nil {
		t.Fatal(err)
	}
	closed = true
	before["new"] = string(make([]byte, 4<<20))
	if !maps.Equal(contents(t, dir), before) {
		t.Error("the folder does not have what was written")
	}
	if rest, _ := filepath.Glob(dir + ".*"); len(rest) > 0 {
		t.Errorf("%v is left", rest)
	}
}

func TestReadOnly(t *testing.T) {
	needs(t, disk.Mounting)
	s := start(t, "")
	undo, err := disk.ReadOnly(s.StoreDir())
	if err != nil {
		t.Skipf("not runnable here: %v", err)
	}
	got := tell(t, s, "make b", "write x")
	if err := undo(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(got, "read-only file system\n<nil>\n") {
		t.Errorf("got %q, want that no file can be made, and that what is open can be written", got)
	}
	if got := tell(t, s, "make b"); got != "<nil>\n" {
		t.Errorf("got %q afterwards", got)
	}
}
