package checkpoint_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"runnel/jetlog/checkpoint"
	"runnel/jetlog/codec"
	"runnel/jetlog/manifest"
	"runnel/jetlog/segment"
	"runnel/jetlog/vfs"
)

// sample is a row of the manifest with two files.
func sample() (*manifest.Stream, []manifest.File) {
	row := &manifest.Stream{
		ID: manifest.FirstAssigned, Account: "A", Snapshot: []byte("state"), Applied: 9, Purged: 3, Forgot: -2, Floor: 1,
		Pages: map[uint64]*manifest.Page{2: {1: 5}}, Parts: []manifest.Part{{File: 4, Purged: 1}, {File: 7, Covered: true}},
		Replica: &manifest.Replica{Index: 8, Term: 2, Configuration: []byte("a"), Begin: 5, Key: [2]uint64{1, 2}},
	}
	return row, []manifest.File{{Number: 4, ID: segment.FileID{1}, Bytes: 10, Checksum: 3}, {Number: 7, Bytes: 20}}
}

// TestDescription decodes what was encoded, and refuses everything else.
func TestDescription(t *testing.T) {
	row, files := sample()
	data := checkpoint.Encode(row, files)
	got, gotFiles, err := checkpoint.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	got.Pages = got.Changed
	if !reflect.DeepEqual(got.Stream, *row) || !reflect.DeepEqual(gotFiles, files) {
		t.Errorf("%+v, %+v", got, gotFiles)
	}
	if f := checkpoint.FileOf(&files[0]); f.Bytes != 10 || f.Checksum != 3 || !strings.HasPrefix(f.ID, "01000") {
		t.Errorf("%+v", f)
	}
	for i := range data {
		changed := bytes.Clone(data)
		changed[i] ^= 1
		if _, _, err := checkpoint.Decode(changed); !errors.Is(err, checkpoint.ErrDamaged) {
			t.Errorf("byte %d is changed: %v", i, err)
		}
		if _, _, err := checkpoint.Decode(data[:i]); !errors.Is(err, checkpoint.ErrDamaged) {
			t.Errorf("cut at %d: %v", i, err)
		}
	}
	for name, bad := range map[string]func(*manifest.Stream, *[]manifest.File){
		"a file is missing":     func(_ *manifest.Stream, f *[]manifest.File) { *f = (*f)[:1] },
		"another file":          func(_ *manifest.Stream, f *[]manifest.File) { (*f)[1].Number = 8 },
		"it is no replica":      func(r *manifest.Stream, _ *[]manifest.File) { r.Replica = nil },
		"a file without length": func(_ *manifest.Stream, f *[]manifest.File) { (*f)[0].Bytes = -1 },
	} {
		row, files := sample()
		bad(row, &files)
		if _, _, err := checkpoint.Decode(checkpoint.Encode(row, files)); !errors.Is(err, checkpoint.ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	row, files := sample()
	f.Add(checkpoint.Encode(row, files))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _, err := checkpoint.Decode(data)
		if err != nil && !errors.Is(err, checkpoint.ErrDamaged) && !errors.Is(err, codec.ErrDamaged) && !errors.Is(err, manifest.ErrNewer) {
			t.Errorf("%v", err)
		}
	})
}

// file writes a segment file, and returns its description and content.
func file(t *testing.T) (checkpoint.File, []byte) {
	t.Helper()
	fs := vfs.NewMemory()
	w, err := segment.Create(fs, "/a", segment.WriterConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(50) {
		if err := w.Add(7, segment.Message{Sequence: i + 1, Subject: "S.x", Payload: make([]byte, 100)}); err != nil {
			t.Fatal(err)
		}
	}
	summary, err := w.Finish()
	if err != nil {
		t.Fatal(err)
	}
	f, err := fs.Open("/a")
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, summary.Bytes)
	if _, err := f.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return checkpoint.FileOf(&manifest.File{ID: summary.ID, Bytes: summary.Bytes, Checksum: summary.Checksum}), b
}

// TestReceive gets a file in pieces, from somebody who breaks off, and refuses one that is another.
func TestReceive(t *testing.T) {
	f, content := file(t)
	broken := errors.New("broken")
	other := f
	other.Checksum++
	for _, step := range []struct {
		name  string
		file  checkpoint.File
		piece int
		end   error // of each piece
		disk  bool  // is full
		want  error
	}{
		{"at once", f, len(content), nil, false, nil},
		{"in pieces", f, 99, nil, false, nil},
		{"broken off again and again", f, 99, broken, false, nil},
		{"nothing comes", f, 0, broken, false, broken},
		{"another file", other, len(content), nil, false, checkpoint.ErrDamaged},
		{"a full disk", f, len(content), nil, true, syscall.ENOSPC},
	} {
		memory := vfs.NewMemory()
		fs := vfs.NewFault(memory)
		if step.disk {
			fs.SetRoom(100)
		}
		opened := 0
		fetch := func(_ context.Context, _ checkpoint.File, offset int64) (io.ReadCloser, error) {
			opened++
			rest := content[offset:]
			return io.NopCloser(io.MultiReader(bytes.NewReader(rest[:min(step.piece, len(rest))]), failing{step.end})), nil
		}
		err := checkpoint.Receive(context.Background(), fs, "/x.tmp", step.file, nil, fetch)
		if !errors.Is(err, step.want) || step.want == nil && err != nil {
			t.Errorf("%s: %v, want %v", step.name, err, step.want)
		}
		if _, statErr := fs.Stat("/x.tmp"); (statErr == nil) != (err == nil) {
			t.Errorf("%s: the file is there: %v", step.name, statErr == nil)
		}
		if err == nil && step.piece == 99 && opened != (len(content)+98)/99 {
			t.Errorf("%s: fetched %d times", step.name, opened)
		}
	}
}

// failing ends with an error, or with the end of the file.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	return 0, io.EOF
}
