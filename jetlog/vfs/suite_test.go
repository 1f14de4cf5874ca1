package vfs_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"reflect"
	"sync"
	"testing"

	"runnel/jetlog/vfs"
)

// each runs a test on every file system, in a directory of its own.
func each(t *testing.T, test func(t *testing.T, fsys vfs.FS, dir string)) {
	t.Helper()
	t.Run("Disk", func(t *testing.T) { test(t, vfs.Disk{}, t.TempDir()) })
	memory := func(t *testing.T) *vfs.Memory {
		m := vfs.NewMemory()
		ok(t, m.MkdirAll("/data"))
		return m
	}
	t.Run("Memory", func(t *testing.T) { test(t, memory(t), "/data") })
	t.Run("Fault", func(t *testing.T) { test(t, vfs.NewFault(memory(t)), "/data") })
	t.Run("Recorder", func(t *testing.T) { test(t, vfs.NewRecorder(memory(t), nil), "/data") })
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func is(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got error %v, want %v", err, want)
	}
}

// write makes a file with this content, not synced.
func write(t *testing.T, fsys vfs.FS, name, content string) vfs.File {
	t.Helper()
	f, err := fsys.Create(name)
	ok(t, err)
	put(t, f, content, 0)
	return f
}

func put(t *testing.T, f vfs.File, content string, offset int64) {
	t.Helper()
	if n, err := f.WriteAt([]byte(content), offset); err != nil || n != len(content) {
		t.Fatalf("WriteAt = %d, %v, want %d bytes", n, err, len(content))
	}
}

// read returns the content of a file.
func read(t *testing.T, fsys vfs.FS, name string) string {
	t.Helper()
	f, err := fsys.Open(name)
	ok(t, err)
	defer func() { ok(t, f.Close()) }()
	size, err := f.Size()
	ok(t, err)
	b := make([]byte, size+1)
	n, err := f.ReadAt(b, 0)
	if n != int(size) || !errors.Is(err, io.EOF) {
		t.Fatalf("ReadAt over the end = %d, %v, want %d, EOF", n, err, size)
	}
	return string(b[:n])
}

func TestFileContent(t *testing.T) {
	each(t, func(t *testing.T, fsys vfs.FS, dir string) {
		name := filepath.Join(dir, "f")
		f := write(t, fsys, name, "hello")
		put(t, f, "J", 0)
		put(t, f, "end", 5000) // leaves a hole over a page's end
		want := "Jello" + string(make([]byte, 4995)) + "end"
		if got := read(t, fsys, name); got != want {
			t.Errorf("content has %d bytes, want %d with a hole", len(got), len(want))
		}
		ok(t, f.Truncate(4))
		ok(t, f.Truncate(6))
		if got, want := read(t, fsys, name), "Jell\x00\x00"; got != want {
			t.Errorf("after cutting and extending: %q, want %q", got, want)
		}
		info, err := fsys.Stat(name)
		if want := (vfs.Info{Bytes: 6}); err != nil || info != want {
			t.Errorf("Stat = %v, %v, want %v", info, err, want)
		}
		ok(t, f.Sync())
		ok(t, f.SyncData())
		ok(t, f.Close())
		if _, err := f.WriteAt([]byte("x"), 0); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("write after close: %v, want %v", err, fs.ErrClosed)
		}
	})
}

func TestOpenModes(t *testing.T) {
	each(t, func(t *testing.T, fsys vfs.FS, dir string) {
		name := filepath.Join(dir, "f")
		ok(t, write(t, fsys, name, "content").Close())
		r, err := fsys.Open(name)
		ok(t, err)
		if _, err := r.WriteAt([]byte("x"), 0); err == nil {
			t.Error("a file opened for reading took a write")
		}
		ok(t, r.Close())
		rw, err := fsys.OpenReadWrite(name)
		ok(t, err)
		put(t, rw, "C", 0)
		ok(t, rw.Close())
		if got, want := read(t, fsys, name), "Content"; got != want {
			t.Errorf("content %q, want %q", got, want)
		}
		ok(t, write(t, fsys, name, "").Close())
		if got := read(t, fsys, name); got != "" {
			t.Errorf("Create of a file that exists left %q", got)
		}
		_, err = fsys.Open(filepath.Join(dir, "absent"))
		is(t, err, fs.ErrNotExist)
		_, err = fsys.OpenReadWrite(filepath.Join(dir, "absent"))
		is(t, err, fs.ErrNotExist)
		_, err = fsys.Create(filepath.Join(dir, "absent", "f"))
		is(t, err, fs.ErrNotExist)
	})
}

func TestReadAt(t *testing.T) {
	each(t, func(t *testing.T, fsys vfs.FS, dir string) {
		f := write(t, fsys, filepath.Join(dir, "f"), "0123456789")
		tests := []struct {
			name   string
			offset int64
			bytes  int
			want   string
			err    error
		}{
			{"inside", 2, 3, "234", nil},
			{"up to the end", 7, 3, "789", nil},
			{"over the end", 8, 5, "89", io.EOF},
			{"at the end", 10, 1, "", io.EOF},
			{"behind the end", 9999, 1, "", io.EOF},
		}
		for _, tt := range tests {
			b := make([]byte, tt.bytes)
			n, err := f.ReadAt(b, tt.offset)
			if string(b[:n]) != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("%s: got %q, %v, want %q, %v", tt.name, b[:n], err, tt.want, tt.err)
			}
		}
		if _, err := f.ReadAt(make([]byte, 1), -1); err == nil {
			t.Error("no error at a negative offset")
		}
		ok(t, f.Close())
	})
}

func TestNames(t *testing.T) {
	each(t, func(t *testing.T, fsys vfs.FS, dir string) {
		in := func(name string) string { return filepath.Join(dir, name) }
		ok(t, fsys.MkdirAll(in("a/b")))
		ok(t, fsys.MkdirAll(in("a/b")))
		ok(t, write(t, fsys, in("two"), "2").Close())
		ok(t, write(t, fsys, in("one"), "1").Close())
		ok(t, fsys.Rename(in("one"), in("a/b/uno")))
		ok(t, fsys.Rename(in("two"), in("a/b/uno"))) // replaces
		ok(t, write(t, fsys, in("three"), "3").Close())
		ok(t, fsys.SyncDir(dir))
		entries, err := fsys.List(dir)
		ok(t, err)
		if want := []vfs.Entry{{Name: "a", Dir: true}, {Name: "three"}}; !reflect.DeepEqual(entries, want) {
			t.Errorf("List = %v, want %v", entries, want)
		}
		if got := read(t, fsys, in("a/b/uno")); got != "2" {
			t.Errorf("renamed file has %q, want 2", got)
		}
		if info, err := fsys.Stat(in("a")); err != nil || info != (vfs.Info{Dir: true}) {
			t.Errorf("Stat of a directory = %v, %v", info, err)
		}
		if err := fsys.Remove(in("a/b")); err == nil {
			t.Error("removed a directory that is not empty")
		}
		ok(t, fsys.Remove(in("a/b/uno")))
		ok(t, fsys.Remove(in("a/b")))
		is(t, fsys.Remove(in("a/b")), fs.ErrNotExist)
		is(t, fsys.Rename(in("absent"), in("x")), fs.ErrNotExist)
		is(t, fsys.SyncDir(in("absent")), fs.ErrNotExist)
		_, err = fsys.List(in("absent"))
		is(t, err, fs.ErrNotExist)
		_, err = fsys.Stat(in("absent"))
		is(t, err, fs.ErrNotExist)
	})
}

func TestLock(t *testing.T) {
	each(t, func(t *testing.T, fsys vfs.FS, dir string) {
		lock, err := fsys.Lock(dir)
		ok(t, err)
		_, err = fsys.Lock(dir)
		is(t, err, vfs.ErrLocked)
		ok(t, lock.Close())
		lock, err = fsys.Lock(dir)
		ok(t, err)
		ok(t, lock.Close())
		_, err = fsys.Lock(filepath.Join(dir, "absent"))
		is(t, err, fs.ErrNotExist)
	})
}

func TestFreeBytes(t *testing.T) {
	each(t, func(t *testing.T, fsys vfs.FS, dir string) {
		if n, err := fsys.FreeBytes(dir); err != nil || n <= 0 {
			t.Errorf("FreeBytes = %d, %v, want some", n, err)
		}
		_, err := fsys.FreeBytes(filepath.Join(dir, "absent"))
		is(t, err, fs.ErrNotExist)
	})
}

// TestConcurrentUse is for the race detector; each goroutine also finds what it wrote itself.
func TestConcurrentUse(t *testing.T) {
	each(t, func(t *testing.T, fsys vfs.FS, dir string) {
		shared := write(t, fsys, filepath.Join(dir, "shared"), "")
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				mine := bytes.Repeat([]byte{byte('a' + i)}, 6000)
				got := make([]byte, len(mine))
				for j := range 20 {
					at := int64(i*20+j) * int64(len(mine))
					_, err := shared.WriteAt(mine, at)
					_, err2 := shared.ReadAt(got, at)
					err3 := shared.SyncData()
					if err := errors.Join(err, err2, err3, fsys.SyncDir(dir)); err != nil || !bytes.Equal(got, mine) {
						t.Errorf("goroutine %d, write %d: %v, or other bytes than written", i, j, err)
						return
					}
				}
			})
		}
		wg.Wait()
		ok(t, shared.Close())
	})
}
