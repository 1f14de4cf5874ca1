package vfs_test

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"runnel/jetlog/vfs"
)

// lockedDir tells a copy of the test program to claim a directory and to hold it until its input ends.
const lockedDir = "RUNNEL_TEST_LOCK_DIRECTORY"

func TestMain(m *testing.M) {
	if dir := os.Getenv(lockedDir); dir != "" {
		if _, err := (vfs.Disk{}).Lock(dir); err != nil {
			os.Exit(1)
		}
		_, _ = os.Stdout.WriteString("locked\n")
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0) // without giving the directory back
	}
	os.Exit(m.Run())
}

// TestLockOfAnotherProcess: it keeps this one out, and ends with the process.
func TestLockOfAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	other := exec.Command(os.Args[0])
	other.Env = append(os.Environ(), lockedDir+"="+dir)
	in, err := other.StdinPipe()
	ok(t, err)
	out, err := other.StdoutPipe()
	ok(t, err)
	ok(t, other.Start())
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || strings.TrimSpace(line) != "locked" {
		t.Fatalf("the other process says %q, %v", line, err)
	}
	_, err = vfs.Disk{}.Lock(dir)
	is(t, err, vfs.ErrLocked)
	if !strings.Contains(err.Error(), dir) {
		t.Errorf("error %q does not name the directory", err)
	}
	ok(t, in.Close())
	ok(t, other.Wait())
	lock, err := vfs.Disk{}.Lock(dir)
	ok(t, err)
	ok(t, lock.Close())
}

// TestDiskIsPrivate: what the server stores is nobody else's to read.
func TestDiskIsPrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("permissions are lists there, and inherited")
	}
	dir := filepath.Join(t.TempDir(), "a", "b")
	ok(t, vfs.Disk{}.MkdirAll(dir))
	name := filepath.Join(dir, "f")
	ok(t, write(t, vfs.Disk{}, name, "x").Close())
	for path, want := range map[string]os.FileMode{dir: 0o700, name: 0o600} {
		info, err := os.Stat(path)
		ok(t, err)
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %v, want %v", path, got, want)
		}
	}
}

// TestDiskSyncsWhatIsOpen: errors of a sync come through and name the file.
func TestDiskSyncsWhatIsOpen(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	f := write(t, vfs.Disk{}, name, "x")
	ok(t, f.SyncData())
	ok(t, f.Close())
	for _, sync := range []func() error{f.Sync, f.SyncData} {
		if err := sync(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("sync of a closed file: %v, want %v", err, os.ErrClosed)
		}
	}
}
