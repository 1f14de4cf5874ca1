package vfs_test

import (
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"

	"runnel/jetlog/vfs"
)

// scenario uses every operation once and stops at the first error.
func scenario(fsys vfs.FS) error {
	if err := fsys.MkdirAll("d"); err != nil {
		return err
	}
	lock, err := fsys.Lock("d")
	if err != nil {
		return err
	}
	f, err := fsys.Create("d/a")
	if err != nil {
		return errors.Join(err, lock.Close())
	}
	steps := []func() error{
		func() error { _, err := f.WriteAt([]byte("12345678"), 0); return err },
		f.Sync,
		f.SyncData,
		func() error { _, err := f.ReadAt(make([]byte, 4), 2); return err },
		func() error { _, err := f.Size(); return err },
		func() error { return f.Truncate(4) },
		func() error { return fsys.Rename("d/a", "d/b") },
		func() error { return fsys.SyncDir("d") },
		func() error { _, err := fsys.List("d"); return err },
		func() error { _, err := fsys.Stat("d/b"); return err },
		func() error { _, err := fsys.FreeBytes("d"); return err },
		func() error { g, err := fsys.Open("d/b"); return errors.Join(err, closed(g)) },
		func() error { g, err := fsys.OpenReadWrite("d/b"); return errors.Join(err, closed(g)) },
		func() error { return fsys.Remove("d/b") },
		lock.Close,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return errors.Join(err, closed(f))
		}
	}
	return f.Close()
}

func closed(f vfs.File) error {
	if f == nil {
		return nil
	}
	return f.Close()
}

func TestEveryOperationIsNotedAndFails(t *testing.T) {
	var stepped []vfs.Op
	recorder := vfs.NewRecorder(vfs.NewMemory(), func(op vfs.Op) { stepped = append(stepped, op) })
	ok(t, scenario(recorder))
	ops := recorder.Ops()
	if !slices.Equal(ops, stepped) {
		t.Errorf("steps %v, want those noted: %v", stepped, ops)
	}
	var kinds vfs.Kind
	var text []string
	for _, op := range ops {
		kinds |= op.Kind
		text = append(text, op.String())
	}
	if kinds != vfs.OpsAll {
		t.Errorf("operations %#x were noted, want all: %#x", kinds, vfs.OpsAll)
	}
	for _, want := range []string{"write d/a 0+8", "truncate d/a 4", "rename d/a d/b", "sync dir d", "read d/a 2+4"} {
		if !slices.Contains(text, want) {
			t.Errorf("%q is not among %q", want, text)
		}
	}
	for n, op := range ops {
		fault := vfs.NewFault(vfs.NewMemory())
		fault.Fail(vfs.Rule{After: n})
		if err := scenario(fault); !errors.Is(err, syscall.EIO) || fault.Failed() != 1 {
			t.Errorf("operation %d (%v): got %v, %d failed; want EIO, 1 failed", n, op, err, fault.Failed())
		}
	}
	fault := vfs.NewFault(vfs.NewMemory())
	fault.Fail(vfs.Rule{After: len(ops)})
	if err := scenario(fault); err != nil || fault.Failed() != 0 {
		t.Errorf("a rule behind the end: %v, %d failed, want none", err, fault.Failed())
	}
}

func TestRules(t *testing.T) {
	boom := errors.New("boom")
	tests := []struct {
		name string
		rule vfs.Rule
		want string // for syncs of a, b, a, b, a, b: x fails
	}{
		{"once", vfs.Rule{Kinds: vfs.OpSync}, "x....."},
		{"of a name", vfs.Rule{Kinds: vfs.OpSync, Name: "b*"}, ".x...."},
		{"after some", vfs.Rule{Kinds: vfs.OpSync, After: 2, Err: boom}, "..x..."},
		{"so many", vfs.Rule{Kinds: vfs.OpsSync, After: 1, Times: 3}, ".xxx.."},
		{"all", vfs.Rule{Name: "a", Times: -1}, "x.x.x."},
		{"another kind", vfs.Rule{Kinds: vfs.OpSyncData, Times: -1}, "......"},
		{"a bad pattern", vfs.Rule{Name: "[", Times: -1}, "......"},
	}
	for _, tt := range tests {
		fault := vfs.NewFault(vfs.NewMemory())
		files := []vfs.File{write(t, fault, "a", ""), write(t, fault, "bb", "")}
		fault.Fail(tt.rule)
		var got strings.Builder
		for i := range 6 {
			switch err := files[i%2].Sync(); {
			case err == nil:
				got.WriteString(".")
			case tt.rule.Err == nil || errors.Is(err, tt.rule.Err):
				got.WriteString("x")
			default:
				got.WriteString("?")
			}
		}
		if got.String() != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got.String(), tt.want)
		}
		fault.Heal()
		for _, f := range files {
			ok(t, f.Sync())
		}
	}
}

func TestFailedWriteIsHalfDone(t *testing.T) {
	m := vfs.NewMemory()
	fault := vfs.NewFault(m)
	f := write(t, fault, "a", "........")
	fault.Fail(vfs.Rule{Kinds: vfs.OpWriteAt})
	n, err := f.WriteAt([]byte("12345678"), 0)
	if n != 4 || err == nil {
		t.Errorf("WriteAt = %d, %v, want 4 and an error", n, err)
	}
	if got, want := read(t, m, "a"), "1234...."; got != want {
		t.Errorf("content %q, want %q", got, want)
	}
}

func TestRoom(t *testing.T) {
	m := vfs.NewMemory()
	fault := vfs.NewFault(m)
	fault.SetRoom(10)
	free := func(want int64) {
		t.Helper()
		if n, err := fault.FreeBytes("/"); n != want || err != nil {
			t.Errorf("FreeBytes = %d, %v, want %d", n, err, want)
		}
	}
	full := func(err error) {
		t.Helper()
		if !vfs.NoSpace(err) {
			t.Errorf("got %v, want an error that means: no space", err)
		}
	}
	f := write(t, fault, "a", "123456")
	free(4)
	put(t, f, "abcdef", 0) // in place
	free(4)
	put(t, f, "gh", 5) // grows by one
	free(3)
	n, err := f.WriteAt([]byte("ijklm"), 7)
	full(err)
	if got, want := read(t, m, "a"), "abcdeghijk"; n != 3 || got != want {
		t.Errorf("a write into a full disk wrote %d, the file is %q; want 3, %q", n, got, want)
	}
	free(0)
	n, err = f.WriteAt([]byte("x"), 20) // behind a hole
	full(err)
	if n != 0 {
		t.Errorf("wrote %d bytes behind a hole that has no room", n)
	}
	full(f.Truncate(11))
	free(0)
	ok(t, f.Truncate(4))
	free(6)
	ok(t, write(t, fault, "b", "123456").Close())
	free(0)
	ok(t, fault.Remove("b"))
	free(6)
	ok(t, write(t, fault, "a", "").Close()) // empties it
	free(10)
	if vfs.NoSpace(syscall.EIO) || vfs.NoSpace(nil) {
		t.Error("NoSpace of another error")
	}
}

func TestReadOnly(t *testing.T) {
	fault := vfs.NewFault(vfs.NewMemory())
	ok(t, write(t, fault, "a", "x").Close())
	fault.SetReadOnly(true)
	_, err := fault.Create("b")
	is(t, err, syscall.EROFS)
	_, err = fault.OpenReadWrite("a")
	is(t, err, syscall.EROFS)
	is(t, fault.Rename("a", "b"), syscall.EROFS)
	is(t, fault.Remove("a"), syscall.EROFS)
	is(t, fault.MkdirAll("d"), syscall.EROFS)
	if got := read(t, fault, "a"); got != "x" {
		t.Errorf("read %q, want x", got)
	}
	fault.SetReadOnly(false)
	ok(t, fault.Remove("a"))
}

func TestFlip(t *testing.T) {
	fault := vfs.NewFault(vfs.NewMemory())
	f := write(t, fault, "a", "AAAA")
	write(t, fault, "b", "AAAA")
	fault.Flip("a", 2, 0x20)
	if a, b := read(t, fault, "a"), read(t, fault, "b"); a != "AAaA" || b != "AAAA" {
		t.Errorf("read %q and %q, want AAaA and AAAA", a, b)
	}
	part := make([]byte, 2)
	if _, err := f.ReadAt(part, 2); err != nil || string(part) != "aA" {
		t.Errorf("read %q, %v from offset 2, want aA", part, err)
	}
	fault.Heal()
	if got := read(t, fault, "a"); got != "AAAA" {
		t.Errorf("read %q after healing", got)
	}
}

// TestSyncThroughWrappers: a sync that fails reaches through another wrapper to the file in memory.
func TestSyncThroughWrappers(t *testing.T) {
	m := vfs.NewMemory()
	fault := vfs.NewFault(vfs.NewRecorder(m, nil))
	f := write(t, fault, "a", strings.Repeat("x", 10))
	ok(t, m.SyncDir("/"))
	fault.Fail(vfs.Rule{Kinds: vfs.OpsSync})
	is(t, f.Sync(), syscall.EIO)
	ok(t, f.Sync())
	if got := read(t, m.PowerCut(vfs.Lose), "a"); got != "" {
		t.Errorf("%q is safe after a failed sync and a good one, want nothing", got)
	}
}
