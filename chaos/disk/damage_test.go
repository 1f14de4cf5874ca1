package disk_test

import (
	"bytes"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"runnel/chaos/disk"
	"runnel/chaos/process"
)

// page is one that is written.
var page = bytes.Repeat([]byte{0xa5}, 4096)

// ours and theirs are files of two makes, by class; "" are those of none.
var (
	ours = map[disk.Class][]string{
		disk.Log:  {"runnel/wal/00000000000000000001.wal", "runnel/wal/00000000000000000002.wal"},
		disk.Data: {"runnel/segments/0a0b0c0d-00000001.segment"},
		disk.Meta: {"runnel-cluster/meta/formation", "runnel-cluster/meta/log", "runnel-cluster/meta/snapshot", "runnel-cluster/node", "runnel/manifest-00000003"},
		-1:        {"runnel/LOCK", "runnel/reserve", "runnel/wal/LOCK", "runnel/wal/spare-00000000000000000009", "runnel/segments/x.tmp"},
	}
	theirs = map[disk.Class][]string{
		disk.Log:  {"jetstream/SYS/_js_/S-R3F-x/msgs/1.blk", "jetstream/SYS/_js_/_meta_/msgs/2.blk"},
		disk.Data: {"jetstream/APP/streams/W1/msgs/1.blk", "jetstream/APP/streams/W1/msgs/12.blk"},
		disk.Meta: {
			"jetstream/APP/streams/W1/meta.inf", "jetstream/APP/streams/W1/meta.sum", "jetstream/APP/streams/W1/msgs/index.db",
			"jetstream/APP/streams/W1/obs/c/o.dat", "jetstream/SYS/_js_/S-R3F-x/snapshots/snap.1.668", "jetstream/SYS/_js_/S-R3F-x/tav.idx",
		},
		-1: {"jetstream/APP/streams/W1/msgs/1.blk.tmp"},
	}
)

// lay writes all files with some content, and returns their folder.
func lay(t *testing.T, files map[disk.Class][]string, content []byte) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "streams")
	for _, names := range files {
		for _, name := range names {
			put(t, filepath.Join(dir, name), content)
		}
	}
	return dir
}

func put(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, content, 0o600)); err != nil {
		t.Fatal(err)
	}
}

// contents are all files below a folder.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		all[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestFiles(t *testing.T) {
	for dialect, files := range map[process.Dialect]map[disk.Class][]string{process.Runnel: ours, process.Incumbent: theirs} {
		dir := lay(t, files, page)
		var every []string
		for _, c := range []disk.Class{disk.Log, disk.Data, disk.Meta} {
			got, err := disk.Files(dir, dialect, c)
			if err != nil || !slices.Equal(got, files[c]) {
				t.Errorf("%s, %s: got %v, %v, want %v", dialect, c, got, err, files[c])
			}
			every = append(every, files[c]...)
		}
		slices.Sort(every)
		if got, err := disk.Files(dir, dialect, disk.Any); err != nil || !slices.Equal(got, every) {
			t.Errorf("%s, any: got %v, %v, want %v", dialect, got, err, every)
		}
	}
	if _, err := disk.Files(filepath.Join(t.TempDir(), "none"), process.Runnel, disk.Any); err == nil {
		t.Error("a folder that is not there has files")
	}
}

// TestDamage: what is done is what is said, to the byte, and nothing else changes.
func TestDamage(t *testing.T) {
	// Two pages are written, one is not, then come 100 bytes; the space behind was taken ahead.
	old := slices.Concat(bytes.Repeat([]byte{1}, 4096), page, make([]byte, 4096), page[:100], make([]byte, 8192))
	now := slices.Concat(page, page, make([]byte, 4096), page[:100], make([]byte, 8192))
	for form := range disk.Form(disk.Forms) {
		for _, class := range []disk.Class{disk.Log, disk.Data, disk.Meta, disk.Any} {
			for seed := range uint64(5) {
				dir, older := lay(t, ours, now), lay(t, ours, old)
				before, earlier := contents(t, dir), contents(t, older)
				f := disk.Folder{Dir: dir, Dialect: process.Runnel, Older: older, Random: rand.New(rand.NewPCG(seed, 1))}
				d, err := f.Damage(class, form)
				if err != nil {
					t.Fatalf("form %d, %s: %v", form, class, err)
				}
				files, _ := disk.Files(older, process.Runnel, class)
				if !slices.Contains(files, d.File) || !strings.HasPrefix(d.String(), d.File+": ") {
					t.Errorf("class %s: got %q", class, d)
				}
				want := maps.Clone(before)
				foretell(want, earlier[d.File], d)
				if got := contents(t, dir); !maps.Equal(got, want) {
					t.Errorf("form %d, seed %d: the folder is not as is said: %s", form, seed, d)
				}
				if maps.Equal(want, before) || !maps.Equal(contents(t, older), earlier) {
					t.Errorf("form %d, seed %d: nothing has changed, or the copy has: %s", form, seed, d)
				}
			}
		}
	}
}

// foretell makes of files what a damage says of them.
func foretell(files map[string]string, older string, d disk.Damage) {
	text := []byte(files[d.File])
	switch d.Form {
	case disk.Flip:
		for _, b := range d.Bits {
			text[b.Offset] ^= b.Mask
		}
	case disk.Truncate:
		if int64(len(text)) != d.Offset+d.Bytes || d.Offset >= 3*4096+100 {
			return
		}
		text = text[:d.Offset]
	case disk.RollBack:
		copy(text[d.Offset:d.Offset+d.Bytes], older[d.Offset:])
	case disk.Empty:
		text = nil
	default:
		delete(files, d.File)
		return
	}
	files[d.File] = string(text)
}

func TestDamageIsRepeatable(t *testing.T) {
	for form := range disk.Form(disk.Forms) {
		if form == disk.RollBack {
			continue
		}
		var said []string
		for _, seed := range []uint64{7, 7, 8} {
			f := disk.Folder{Dir: lay(t, theirs, page), Dialect: process.Incumbent, Random: rand.New(rand.NewPCG(seed, 1))}
			d, err := f.Damage(disk.Any, form)
			if err != nil {
				t.Fatal(err)
			}
			said = append(said, d.String())
		}
		if said[0] != said[1] || said[0] == said[2] {
			t.Errorf("form %d: got %q, want two that are the same and one that is not", form, said)
		}
	}
}

func TestNothingToDamage(t *testing.T) {
	dir := lay(t, ours, make([]byte, 10000)) // nothing is written
	outside := filepath.Join(t.TempDir(), "outside")
	put(t, outside, page)
	if err := os.Symlink(outside, filepath.Join(dir, "runnel/wal/00000000000000000003.wal")); err != nil {
		t.Skipf("not runnable here: %v", err)
	}
	before := contents(t, dir)
	for form := range disk.Form(disk.Forms) {
		for _, older := range []string{"", lay(t, ours, make([]byte, 10000))} {
			f := disk.Folder{Dir: dir, Dialect: process.Runnel, Older: older, Random: rand.New(rand.NewPCG(1, 1))}
			want := disk.ErrNothing
			if form == disk.RollBack {
				want = disk.ErrUnchanged // there are files
			}
			if d, err := f.Damage(disk.Any, form); !errors.Is(err, want) {
				t.Errorf("form %s: got %v, %v, want %v", form, d, err, want)
			}
		}
	}
	if text, err := os.ReadFile(outside); err != nil || !bytes.Equal(text, page) || !maps.Equal(contents(t, dir), before) {
		t.Errorf("something was touched, or a file outside: %v", err)
	}
}

func TestCopyAndRestore(t *testing.T) {
	dir := lay(t, ours, page)
	kept := dir + ".kept"
	before := contents(t, dir)
	if err := disk.Copy(dir, kept); err != nil {
		t.Fatal(err)
	}
	if err := disk.Copy(dir, kept); err == nil {
		t.Error("a copy was made over another one")
	}
	put(t, filepath.Join(dir, "new"), page)
	put(t, filepath.Join(dir, "runnel/reserve"), nil)
	if err := disk.Restore(kept, dir); err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(contents(t, dir), before) {
		t.Error("the folder is not as it was when it was copied")
	}
	if _, err := os.Stat(kept); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the copy is still there: %v", err)
	}
}

// What was done can be read.
func TestDamageText(t *testing.T) {
	for want, d := range map[string]disk.Damage{
		"f: bits flipped, byte:mask 17:80 5:01":                     {File: "f", Bits: []disk.Bit{{Offset: 17, Mask: 0x80}, {Offset: 5, Mask: 1}}},
		"f: cut at byte 10, 90 are gone":                            {File: "f", Form: disk.Truncate, Offset: 10, Bytes: 90},
		"f: 4096 bytes from 8192 on are as they were some time ago": {File: "f", Form: disk.RollBack, Offset: 8192, Bytes: 4096},
		"f: emptied, 7 bytes are gone":                              {File: "f", Form: disk.Empty, Bytes: 7},
		"f: removed, with 7 bytes":                                  {File: "f", Form: disk.Remove, Bytes: 7},
	} {
		if got := d.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Lengths that are cut off are mostly short, and some are not.
func TestTruncateMostlyLittle(t *testing.T) {
	little, much := 0, 0
	for seed := range uint64(60) {
		f := disk.Folder{Dir: lay(t, map[disk.Class][]string{disk.Log: ours[disk.Log][:1]}, page), Dialect: process.Runnel, Random: rand.New(rand.NewPCG(seed, 9))}
		d, err := f.Damage(disk.Log, disk.Truncate)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case d.Bytes <= 64:
			little++
		case d.Bytes > 1024:
			much++
		}
	}
	if little < 20 || much < 3 {
		t.Errorf("%d of 60 lose at most 64 bytes of 4096, and %d more than 1024", little, much)
	}
}

// A server that has no folder cannot be damaged or copied, and that is said.
func TestNoFolder(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	f := disk.Folder{Dir: none, Dialect: process.Runnel, Random: rand.New(rand.NewPCG(1, 1))}
	if _, err := f.Damage(disk.Any, disk.Flip); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("damage: got %v", err)
	}
	if err := disk.Copy(none, none+".copy"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("copy: got %v", err)
	}
	f = disk.Folder{Dir: lay(t, ours, page), Dialect: process.Runnel, Older: none, Random: rand.New(rand.NewPCG(1, 1))}
	if _, err := f.Damage(disk.Any, disk.RollBack); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("roll back to nothing: got %v", err)
	}
}
