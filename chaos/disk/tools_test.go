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
	"runnel/chaos/process"
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
		want   map[string]string // the files in the end
		lost   disk.Forgotten
	}{
		{"nothing was synced", "", []string{"write 2", "make b"}, map[string]string{"a": "1"}, disk.Forgotten{Back: 1, Gone: 1}},
		{"it has synced one", "", []string{"write 2", "make b", "sync", "write 3"}, map[string]string{"a": "123"}, disk.Forgotten{Gone: 1, Staying: 1}},
		{"a synced file", "# synced\n", []string{"write 2"}, map[string]string{"a": "12"}, disk.Forgotten{Staying: 1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := start(t, test.extra)
			t.Chdir(filepath.Dir(s.StoreDir())) // whether paths begin at the root or not is all the same
			here := filepath.Base(s.StoreDir())
			s.Configure(func(c *process.Config) { c.StoreDir = here })
			tell(t, s, "write 1", "sync")
			kept := s.StoreDir() + ".kept"
			f, err := disk.BeginForgetting(soon(t), s, kept)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			tell(t, s, test.orders...)
			if err := s.Kill(); err != nil {
				t.Fatal(err)
			}
			if lost, err := f.Forget(); err != nil || lost != test.lost {
				t.Errorf("got %v and error %v, want %v", lost, err, test.lost)
			}
			if got := contents(t, s.StoreDir()); !maps.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if err := f.Close(); err != nil {
				t.Error(err)
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

// TestSynced has what is on a disk follow from a trace. Without a file that was there before it is about /d/a, which was.
func TestSynced(t *testing.T) {
	const cwd = "AT_FDCWD</d>"
	lines := func(calls ...string) string { return "7 " + strings.Join(calls, "\n7 ") + "\n" }
	tests := []struct {
		name, trace    string
		path           string
		isNew          bool
		stays, returns bool
	}{
		{"nothing", "", "/d/a", false, false, true},
		{"harmless", lines(`openat(AT_FDCWD</d>, "a", O_RDONLY|O_CLOEXEC) = 3</d/a>`, `+++ exited with 0 +++`), "/d/a", false, false, true},
		{"a call", lines(`fdatasync(3</d/a>) = 0`), "/d/a", false, true, false},
		{"a call without an end", "7 fsync(3</d/a> <unfinished ...>", "/d/a", false, true, false},
		{"the end of a call", lines(`<... fsync resumed>) = 0`), "/d/a", false, false, true},
		{"another file", lines(`fsync(3</d/b>) = 0`), "/d/a", false, false, true},
		{"a file that is removed", lines(`fsync(3</d/a>(deleted)) = 0`), "/d/a", false, true, false},
		{"a file with synced writes", lines(`openat(` + cwd + `, "a", O_RDWR|O_CREAT|O_SYNC|O_CLOEXEC, 0600) = 3</d/a>`), "/d/a", false, true, false},
		{"its folder", lines(`fsync(3</d>) = 0`), "/d/a", false, false, false},
		{"its folder, of a new file", lines(`fsync(3</d>) = 0`), "/d/a", true, true, false},
		{"a new name", lines(`fsync(3</d/t>) = 0`, `renameat(`+cwd+`, "t", `+cwd+`, "a") = 0`), "/d/a", false, false, true},
		{"a new name that is synced", lines(`renameat(`+cwd+`, "/d/t", `+cwd+`, "/d/a") = 0`, `fsync(3</d>) = 0`), "/d/a", false, true, false},
		{"a new name, the folder synced before", lines(`fsync(3</d>) = 0`, `renameat(`+cwd+`, "t", `+cwd+`, "a") = 0`), "/d/a", false, false, false},
		{"a new name of what was synced", lines(`fsync(3</d/a>) = 0`, `rename("/d/t", "/d/a") = 0`), "/d/a", false, true, false},
		{"the old name", lines(`rename("/d/a", "/d/b") = 0`), "/d/a", false, false, false},
		{"a folder with a new name", lines(`rename("/d", "/e") = 0`), "/e/a", true, true, true},
		{"a folder's old name", lines(`rename("/d", "/e") = 0`), "/d/a", false, false, false},
	}
	for _, test := range tests {
		s, err := disk.ReadSynced(strings.NewReader(test.trace))
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if got := s.Stays(test.path, !test.isNew); got != test.stays {
			t.Errorf("%s: it stays as it is: %v, want %v", test.name, got, test.stays)
		}
		if got := s.Returns(test.path); !test.stays && got != test.returns {
			t.Errorf("%s: it comes back: %v, want %v", test.name, got, test.returns)
		}
	}
}

// TestSyncedAll: when nobody can tell what was synced, nothing may be forgotten.
func TestSyncedAll(t *testing.T) {
	for _, call := range []string{"sync()", "syncfs(3</d>) = 0", "msync(0x7, 4096, MS_SYNC) = 0", "fsync(3) = -1 EBADF"} {
		if _, err := disk.ReadSynced(strings.NewReader("7 " + call)); !errors.Is(err, disk.ErrSynced) {
			t.Errorf("%s: got %v", call, err)
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
