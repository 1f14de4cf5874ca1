package reserve_test

import (
	"errors"
	"testing"

	"runnel/jetlog/reserve"
	"runnel/jetlog/vfs"
)

const (
	dir  = "/data"
	path = "/data/reserve"
)

func open(t *testing.T, fs vfs.FS, bytes int64) *reserve.Reserve {
	t.Helper()
	if err := fs.MkdirAll(dir); err != nil {
		t.Fatal(err)
	}
	r, err := reserve.Open(fs, dir, path, bytes)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func size(t *testing.T, fs vfs.FS) int64 {
	t.Helper()
	info, err := fs.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Bytes
}

func TestReserve(t *testing.T) {
	const want = 5<<20 + 7
	fault := vfs.NewFault(vfs.NewMemory())
	r := open(t, fault, want)
	if r.Spend() {
		t.Error("something was given up before there was any")
	}
	if err := r.Fill(); err != nil || size(t, fault) != want {
		t.Fatalf("fill: %v, %d bytes", err, size(t, fault))
	}
	fault.SetRoom(0)
	n := 0
	for r.Spend() {
		n++
	}
	if n != 6 || size(t, fault) != 0 {
		t.Errorf("given up in %d steps, %d bytes are left", n, size(t, fault))
	}
	fault.SetRoom(want + 1)
	if err := r.Fill(); !errors.Is(err, reserve.ErrShort) || size(t, fault) != 0 {
		t.Errorf("fill of a device that it would fill: %v, %d bytes", err, size(t, fault))
	}
	fault.SetRoom(2 * want)
	if err := r.Fill(); err != nil || size(t, fault) != want {
		t.Errorf("fill: %v, %d bytes", err, size(t, fault))
	}
	if r = open(t, fault, want); !r.Spend() {
		t.Error("an opened reserve has nothing")
	}
}

func TestNone(t *testing.T) {
	fs := vfs.NewMemory()
	r := open(t, fs, -1)
	if err := r.Fill(); err != nil || r.Spend() {
		t.Errorf("fill of none: %v", err)
	}
	if _, err := fs.Stat(path); err == nil {
		t.Error("there is a file")
	}
}

// TestErrors lets the operations of Fill fail, one after the other. What is there by then stays, and the
// next one goes on with it.
func TestErrors(t *testing.T) {
	for n := 0; ; n++ {
		fault := vfs.NewFault(vfs.NewMemory())
		r := open(t, fault, 2<<20)
		fault.Fail(vfs.Rule{Kinds: vfs.OpCreate | vfs.OpWriteAt | vfs.OpSync, After: n, Times: 1})
		err := r.Fill()
		if fault.Failed() == 0 {
			return
		}
		if err == nil {
			t.Errorf("operation %d failed, and fill did not", n)
		}
		if err := r.Fill(); err != nil || size(t, fault) != 2<<20 {
			t.Errorf("fill after operation %d had failed: %v, %d bytes", n, err, size(t, fault))
		}
	}
}
