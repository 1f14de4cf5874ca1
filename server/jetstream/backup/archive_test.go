package backup_test

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"runnel/server/jetstream/backup"
)

// file is a file of an archive.
type file struct{ name, data string }

// files takes an archive apart.
func files(t testing.TB, golden string) []file {
	t.Helper()
	r := tar.NewReader(bytes.NewReader(content(t, golden)))
	var list []file
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, file{h.Name, string(data)})
	}
}

// archived puts an archive together.
func archived(t testing.TB, list []file) *bytes.Reader {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range list {
		if err := w.WriteHeader(&tar.Header{Name: f.name, Size: int64(len(f.data)), Mode: 0o600}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, f.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return compressed(t, out.Bytes())
}

// change returns the archive with the data of one file changed; nil takes the file out.
func change(list []file, name string, edit func(string) string) []file {
	list = slices.Clone(list)
	i := slices.IndexFunc(list, func(f file) bool { return f.name == name })
	if edit == nil {
		return slices.Delete(list, i, i+1)
	}
	list[i].data = edit(list[i].data)
	return list
}

// patch returns an edit that overwrites the data at a place.
func patch(at int, with string) func(string) string {
	return func(s string) string { return s[:at] + with + s[at+len(with):] }
}

func TestDamagedArchives(t *testing.T) {
	const (
		index = "msgs/index.db"
		first = "msgs/1.blk"
		meta  = "obs/pull/meta.inf"
		state = "obs/pull/o.dat"
	)
	sound := files(t, "2.14-consumers.tar.s2")
	cut := func(n int) func(string) string { return func(s string) string { return s[:len(s)-n] } }
	constant := func(text string) func(string) string { return func(string) string { return text } }
	// 9 numbers of the head and the 6 subjects come before the number of blocks; the set of what is
	// deleted begins with 22, 2 and the number 1.
	set := strings.Index(sound[3].data, "\x16\x02\x01\x00\x00\x00")
	tests := []struct {
		name string
		list []file
		want error
		text string
	}{
		{"sound", sound, nil, ""},
		{"no index", change(sound, index, nil), backup.ErrVersion, "2.9"},
		{"index of a later version", change(sound, index, patch(1, "\x05")), backup.ErrVersion, "version 5"},
		{"index of another kind", change(sound, index, patch(0, "\x0c")), backup.ErrDamaged, index},
		{"empty index", change(sound, index, constant("")), backup.ErrDamaged, index},
		{"cut index", change(sound, index, cut(100)), backup.ErrDamaged, index},
		{"index with many subjects", change(sound, index, constant("\x0b\x04\x01\x01\x01\x01\x01\x01\xff\xff\xff\xff\x7f")), backup.ErrDamaged, index},
		{"index with a first beyond the last", change(sound, index, constant("\x0b\x04\x00\x00\x09\x00\x01\x00\x00\x00")), backup.ErrDamaged, "beyond"},
		{"set of another version", change(sound, index, patch(set+1, "\x03")), backup.ErrDamaged, index},
		{"set with many groups", change(sound, index, patch(set+2, "\xff\xff\xff\xff")), backup.ErrDamaged, index},
		{"short record", change(sound, first, patch(0, "\x1d\x00\x00\x00")), backup.ErrDamaged, "length of 29"},
		{"record shorter than its subject", change(sound, first, patch(20, "\xff\xff")), backup.ErrDamaged, "length of 44"},
		{"large record", change(sound, first, patch(0, "\x2c\x00\x00\x70")), backup.ErrTooLarge, "length of"},
		{"record of no length", change(sound, first, patch(0, "\x00\x00\x00\x00")), backup.ErrDamaged, "length of 0"},
		{"cut in a record", change(sound, first, cut(5)), backup.ErrDamaged, "msgs/1.blk"},
		{"cut in the front of a record", change(sound, first, cut(25)), backup.ErrDamaged, "msgs/1.blk"},
		{"header beyond the record", change(sound, first, func(s string) string {
			return strings.Replace(s, "t1.h\x1e\x00", "t1.h\x1e\x01", 1)
		}), backup.ErrDamaged, "message 11"},
		{"no room for a header", change(sound, first, patch(3, "\x80")), backup.ErrDamaged, "header block"},
		{"the same block twice", slices.Insert(slices.Clone(sound), 3, file{"msgs/2.blk", sound[2].data}), backup.ErrDamaged, "comes after"},
		{"consumer without a configuration", change(sound, meta, nil), backup.ErrDamaged, "no configuration"},
		{"consumer without a state", change(sound, state, nil), backup.ErrDamaged, "no state"},
		{"last consumer without a state", change(sound, "obs/redo/o.dat", nil), backup.ErrDamaged, "no state"},
		{"consumer with another name", change(sound, meta, constant(`{"name":"other"}`)), backup.ErrDamaged, "other"},
		{"consumer is no JSON", change(sound, meta, constant(`{`)), backup.ErrDamaged, meta},
		{"state of another kind", change(sound, state, patch(0, "\x17")), backup.ErrDamaged, state},
		{"state of another version", change(sound, state, patch(1, "\x01")), backup.ErrVersion, state},
		{"empty state", change(sound, state, constant("")), backup.ErrDamaged, state},
		{"cut state", change(sound, state, cut(2)), backup.ErrDamaged, state},
		{"state with many pending", change(sound, state, patch(6, "\xff")), backup.ErrDamaged, state},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := read(archived(t, test.list))
			if !errors.Is(err, test.want) {
				t.Fatalf("got %v, want %v", err, test.want)
			}
			if err != nil && !strings.Contains(err.Error(), test.text) {
				t.Errorf("got %q, want %q in it", err, test.text)
			}
		})
	}
}

// blockRecord makes a record of a block. What is not a message has no subject.
func blockRecord(seq uint64, subject string) string {
	b := binary.LittleEndian.AppendUint32(nil, uint32(30+len(subject)))
	b = binary.LittleEndian.AppendUint64(b, seq)
	b = binary.LittleEndian.AppendUint64(b, 1)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(subject)))
	return string(append(b, subject...)) + "12345678"
}

// TestDeletedInLaterBlock deletes in the second block what is in the first.
func TestDeletedInLaterBlock(t *testing.T) {
	const erased, tombstone = 1 << 63, 1 << 62
	list := []file{
		{"meta.inf", "{}"},
		{"msgs/1.blk", blockRecord(1, "a") + blockRecord(2, "a") + blockRecord(3|erased, "a") + blockRecord(4, "a")},
		{"msgs/2.blk", blockRecord(5, "a") + blockRecord(2|tombstone, "") + blockRecord(6, "a") + blockRecord(9, "a")},
		{"msgs/index.db", "\x0b\x01\x02\x3c\x02\x00\x06\x00\x00\x00"}, // first 2, last 6
	}
	b, err := read(archived(t, list))
	if err != nil {
		t.Fatal(err)
	}
	var got []uint64
	for _, m := range b.Messages {
		got = append(got, m.Sequence)
	}
	if want := []uint64{4, 5, 6}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if b.State.Deleted != 3 || b.State.FirstTime != b.State.LastTime || !b.State.FirstTime.IsZero() {
		t.Errorf("got %+v, want 3 deleted and no times", b.State)
	}
}

func TestArchiveNeedsSeek(t *testing.T) {
	data, err := os.ReadFile("testdata/2.14-consumers.tar.s2")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := backup.NewReader(io.MultiReader(bytes.NewReader(data))); !errors.Is(err, backup.ErrSeek) {
		t.Errorf("got %v, want %v", err, backup.ErrSeek)
	}
}

// noSeek fails to go back.
type noSeek struct{ *bytes.Reader }

var errSeek = errors.New("cannot seek")

func (noSeek) Seek(int64, int) (int64, error) { return 0, errSeek }

func TestArchiveSeekFails(t *testing.T) {
	data, err := os.ReadFile("testdata/2.14-consumers.tar.s2")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := backup.NewReader(noSeek{bytes.NewReader(data)}); !errors.Is(err, errSeek) {
		t.Errorf("got %v, want %v", err, errSeek)
	}
}
