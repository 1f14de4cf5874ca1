package vfs_test

import (
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"runnel/jetlog/vfs"
)

// TestMemoryRefuses goes through what a file system does not do, with the errors of a POSIX one.
func TestMemoryRefuses(t *testing.T) {
	m := vfs.NewMemory()
	ok(t, m.MkdirAll("d/e"))
	ok(t, write(t, m, "f", "x").Close())
	ok(t, write(t, m, "d/g", "y").Close())
	open := func(name string) error { _, err := m.Open(name); return err }
	create := func(name string) error { _, err := m.Create(name); return err }
	list := func(name string) error { _, err := m.List(name); return err }
	lock := func(name string) error { _, err := m.Lock(name); return err }
	free := func(name string) error { _, err := m.FreeBytes(name); return err }
	tests := []struct {
		name string
		err  error
		want error
	}{
		{"open a directory", open("d"), syscall.EISDIR},
		{"open below a file", open("f/x"), fs.ErrNotExist},
		{"create over a directory", create("d"), syscall.EISDIR},
		{"create below a file", create("f/x"), fs.ErrNotExist},
		{"create the root", create("/"), syscall.EINVAL},
		{"a directory in place of a file", m.MkdirAll("f"), syscall.ENOTDIR},
		{"a directory below a file", m.MkdirAll("f/x"), syscall.ENOTDIR},
		{"list a file", list("f"), syscall.ENOTDIR},
		{"sync a file as a directory", m.SyncDir("f"), syscall.ENOTDIR},
		{"lock a file", lock("f"), syscall.ENOTDIR},
		{"free space of a file", free("f"), syscall.ENOTDIR},
		{"rename a directory into itself", m.Rename("d", "d/e/x"), syscall.EINVAL},
		{"rename a directory over a file", m.Rename("d/e", "f"), fs.ErrExist},
		{"rename a file over a directory", m.Rename("f", "d"), fs.ErrExist},
		{"rename into a directory that is not there", m.Rename("f", "x/f"), fs.ErrNotExist},
		{"rename out of a directory that is not there", m.Rename("x/f", "f"), fs.ErrNotExist},
		{"remove a directory with something in it", m.Remove("d"), syscall.ENOTEMPTY},
		{"remove the root", m.Remove("/"), syscall.EINVAL},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { is(t, tt.err, tt.want) })
	}
	if got, want := show(t, m, ""), "d/ d/e/ d/g=y f=x"; got != want {
		t.Errorf("after all that: %q, want %q", got, want)
	}
	ok(t, m.Rename("f", "f")) // nothing to do
	ok(t, m.Rename("d", "h"))
	if got, want := show(t, m, ""), "f=x h/ h/e/ h/g=y"; got != want {
		t.Errorf("after renaming a directory: %q, want %q", got, want)
	}
}

// TestMemoryHandles: a file lives as long as somebody has it open, whatever becomes of its name.
func TestMemoryHandles(t *testing.T) {
	m := vfs.NewMemory()
	f := write(t, m, "f", "one")
	ok(t, m.Remove("f"))
	put(t, f, "two", 0)
	b := make([]byte, 3)
	if _, err := f.ReadAt(b, 0); err != nil || string(b) != "two" {
		t.Errorf("read %q, %v from a file without a name, want two", b, err)
	}
	ok(t, write(t, m, "f", "other").Close())
	put(t, f, "three", 0)
	if got := read(t, m, "f"); got != "other" {
		t.Errorf("the new file has %q, want other", got)
	}
	ok(t, f.Close())
	is(t, f.Close(), fs.ErrClosed)
	is(t, f.Sync(), fs.ErrClosed)
	is(t, f.SyncData(), fs.ErrClosed)
	is(t, f.Truncate(0), fs.ErrClosed)
	_, err := f.Size()
	is(t, err, fs.ErrClosed)
	_, err = f.ReadAt(b, 0)
	is(t, err, fs.ErrClosed)
}

func TestMemoryNegativeOffsets(t *testing.T) {
	f := write(t, vfs.NewMemory(), "f", "x")
	if _, err := f.WriteAt([]byte("y"), -1); err == nil {
		t.Error("wrote before the start")
	}
	if err := f.Truncate(-1); err == nil {
		t.Error("cut to less than nothing")
	}
	ok(t, f.Close())
}

// TestManyVersions: a page that is written again and again without a sync needs bounded memory, and what is
// safe and what is seen are still among what a power cut may leave.
func TestManyVersions(t *testing.T) {
	m := vfs.NewMemory()
	f := write(t, m, "f", "safe")
	ok(t, f.Sync())
	ok(t, m.SyncDir("/"))
	for i := range 1000 {
		put(t, f, fmt.Sprintf("%04d", i), 0)
		ok(t, f.Truncate(int64(4+i%3)))
	}
	most := 0
	count := func(n int) int {
		most = max(most, n)
		return n - 1
	}
	if got := read(t, m.PowerCut(count), "f"); !strings.HasPrefix(got, "0999") {
		t.Errorf("Keep leaves %q, want the last write", got)
	}
	if got := read(t, m.PowerCut(vfs.Lose), "f"); got != "safe" {
		t.Errorf("Lose leaves %q, want what was synced", got)
	}
	if most > 20 {
		t.Errorf("%d versions of one page are kept", most)
	}
}

// TestSparseFile: what was never written needs no memory and reads as zeros.
func TestSparseFile(t *testing.T) {
	m := vfs.NewMemory()
	f := write(t, m, "f", "start")
	ok(t, f.Truncate(1<<40))
	put(t, f, string(make([]byte, 4096)), 8192)
	b := []byte("not zero")
	if _, err := f.ReadAt(b, 1<<39); err != nil || string(b) != string(make([]byte, len(b))) {
		t.Errorf("read %q, %v from a hole, want zeros", b, err)
	}
	if size, err := f.Size(); size != 1<<40 || err != nil {
		t.Errorf("size %d, %v, want %d", size, err, int64(1)<<40)
	}
	ok(t, f.Sync())
	ok(t, m.SyncDir("/"))
	if info, err := m.PowerCut(vfs.Lose).Stat("f"); err != nil || info.Bytes != 1<<40 {
		t.Errorf("after a power cut: %v, %v", info, err)
	}
	ok(t, f.Close())
}
