package shadow_test

import (
	"errors"
	"io/fs"
	"testing"

	"runnel/jetlog/shadow"
	"runnel/jetlog/vfs"
)

func write(t *testing.T, f vfs.FS, name, text string) {
	t.Helper()
	file, err := f.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteAt([]byte(text), 0); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

func read(f vfs.FS, name string) string {
	file, err := f.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "none"
	} else if err != nil {
		return err.Error()
	}
	defer file.Close()
	b := make([]byte, 100)
	n, _ := file.ReadAt(b, 0)
	return string(b[:n])
}

func list(t *testing.T, f vfs.FS) (names string) {
	t.Helper()
	entries, err := f.List("/d")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names += e.Name + " "
	}
	return names
}

// TestBaseStays does everything to a shadow and looks at both.
func TestBaseStays(t *testing.T) {
	base := vfs.NewMemory()
	if err := base.MkdirAll("/d"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b", "c"} {
		write(t, base, "/d/"+name, name)
	}
	s := shadow.New(base)
	f, err := s.OpenReadWrite("/d/a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("A"), 1); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{f.Close(), s.Rename("/d/b", "/d/e"), s.Remove("/d/c"), s.MkdirAll("/d/new"), s.SyncDir("/d")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	write(t, s, "/d/f", "new")
	if err := s.Remove("/d/c"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("removed twice: %v", err)
	}
	if _, err := s.OpenReadWrite("/d/c"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("opened although removed: %v", err)
	}
	for name, want := range map[string]string{"a": "aA", "b": "none", "c": "none", "e": "b", "f": "new"} {
		if got := read(s, "/d/"+name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if got := list(t, s); got != "a e f new " {
		t.Errorf("the shadow has %q", got)
	}
	if got := list(t, base); got != "a b c " {
		t.Errorf("the base has %q", got)
	}
	if got := read(base, "/d/a"); got != "a" {
		t.Errorf("a file of the base is %q", got)
	}
	lock, err := s.Lock("/d")
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if _, err := base.Lock("/d"); !errors.Is(err, vfs.ErrLocked) {
		t.Errorf("the base is not locked: %v", err)
	}
}
