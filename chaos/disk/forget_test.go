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

// TestMerge: what was synced is as it is now, everything else as it was before.
func TestMerge(t *testing.T) {
	type content = map[string]string
	before := content{"a": "1", "d/b": "1"}
	tests := []struct {
		name  string
		now   content
		trace []string // calls, with DIR for the folder
		want  content
		lost  disk.Forgotten
	}{
		{"nothing has happened", before, nil, before, disk.Forgotten{Back: 2}},
		{"nothing was synced", content{"a": "2", "d/b": "2", "c": "2"}, nil, before, disk.Forgotten{Back: 2, Gone: 1}},
		{"one file was", content{"a": "2", "d/b": "2"}, []string{`fsync(3<DIR/a>) = 0`}, content{"a": "2", "d/b": "1"}, disk.Forgotten{Back: 1, Staying: 1}},
		{"a new one was", content{"a": "1", "d/b": "1", "e/c": "2"}, []string{`fdatasync(3<DIR/e/c>) = 0`}, content{"a": "1", "d/b": "1", "e/c": "2"}, disk.Forgotten{Back: 2, Staying: 1}},
		{"a folder was", content{"a": "1", "d/b": "2", "d/c": "2"}, []string{`fsync(3<DIR/d>) = 0`}, content{"a": "1", "d/b": "1", "d/c": "2"}, disk.Forgotten{Back: 2, Staying: 1}},
		{"a file was removed", content{"a": "1"}, nil, before, disk.Forgotten{Back: 2}},
		{"and its folder synced", content{"a": "1"}, []string{`fsync(3<DIR/d>) = 0`}, content{"a": "1"}, disk.Forgotten{Back: 1}},
		{
			"a name was taken over, and its folder synced",
			content{"a": "2", "d/b": "1"},
			[]string{`fsync(3<DIR/t>) = 0`, `rename("DIR/t", "DIR/a") = 0`, `fsync(3<DIR>) = 0`},
			content{"a": "2", "d/b": "1"},
			disk.Forgotten{Back: 1, Staying: 1},
		},
		{"all is gone, and all synced", content{}, []string{`fsync(3<DIR>) = 0`, `fsync(3<DIR/d>) = 0`}, content{}, disk.Forgotten{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir, kept := filepath.Join(t.TempDir(), "now"), filepath.Join(t.TempDir(), "kept")
			for folder, files := range map[string]content{dir: test.now, kept: before} {
				if err := os.Mkdir(folder, 0o700); err != nil {
					t.Fatal(err)
				}
				for name, text := range files {
					put(t, filepath.Join(folder, name), []byte(text))
				}
			}
			trace := strings.ReplaceAll(strings.Join(test.trace, "\n"), "DIR", dir)
			lost, err := disk.Merge(dir, kept, strings.NewReader(trace))
			if err != nil || lost != test.lost {
				t.Errorf("got %v, %v, want %v", lost, err, test.lost)
			}
			if got := contents(t, kept); !maps.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestForgotten: the numbers are told in words.
func TestForgotten(t *testing.T) {
	const want = "1 files are as they were before, 2 are gone, 3 were synced and stay"
	if got := (disk.Forgotten{Back: 1, Gone: 2, Staying: 3}).String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestForgetNothing: without a copy nothing is touched, and what was never begun can be closed.
func TestForgetNothing(t *testing.T) {
	var f disk.Forgetting
	if lost, err := f.Forget(); err == nil || lost != (disk.Forgotten{}) {
		t.Errorf("got %v, %v, want an error", lost, err)
	}
	if err := f.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// TestCopy: a copy has all files and folders, is never put over another one, and takes the place of the first when it is restored.
func TestCopy(t *testing.T) {
	dir := lay(t, ours, page)
	want := contents(t, dir)
	if err := os.Symlink("nowhere", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	kept := dir + ".kept"
	if err := disk.Copy(dir, kept); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(kept, "link")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what is no file was copied: %v", err)
	}
	if got := contents(t, kept); !maps.Equal(got, want) {
		t.Errorf("the copy has %d files, want %d that are the same", len(got), len(want))
	}
	if err := disk.Copy(dir, kept); !errors.Is(err, os.ErrExist) {
		t.Errorf("copied over a copy: %v", err)
	}
	if err := disk.Copy(dir+".none", kept+".none"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("copied what is not there: %v", err)
	}
	put(t, filepath.Join(dir, "runnel", "LOCK"), []byte("changed"))
	put(t, filepath.Join(dir, "new"), []byte("new"))
	if err := disk.Restore(kept, dir); err != nil {
		t.Fatal(err)
	}
	if got := contents(t, dir); !maps.Equal(got, want) {
		t.Errorf("restored: %d files, want %d that are the same", len(got), len(want))
	}
	if err := disk.Restore(kept, dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("restored twice: %v", err)
	}
}

// TestFilesOfNothing: a folder that is not there is an error, and one without files has none of any class.
func TestFilesOfNothing(t *testing.T) {
	for _, c := range []disk.Class{disk.Log, disk.Data, disk.Meta, disk.Any} {
		if got, err := disk.Files(t.TempDir(), process.Runnel, c); err != nil || len(got) != 0 {
			t.Errorf("%s: got %q, %v", c, got, err)
		}
		if _, err := disk.Files(filepath.Join(t.TempDir(), "none"), process.Runnel, c); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: got error %v, want that there is no folder", c, err)
		}
	}
	names := []string{disk.Log.String(), disk.Data.String(), disk.Meta.String(), disk.Any.String()}
	if want := []string{"log", "messages", "metadata", "any"}; !slices.Equal(names, want) {
		t.Errorf("classes are called %q, want %q", names, want)
	}
}
