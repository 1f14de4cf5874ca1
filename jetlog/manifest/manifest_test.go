package manifest_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"reflect"
	"testing"

	"runnel/jetlog/codec"
	"runnel/jetlog/manifest"
	"runnel/jetlog/vfs"
)

var update = flag.Bool("update", false, "write the golden files of this version")

// TestGoldenManifest opens the manifest of each released version; files of versions that were written
// once are never written again.
func TestGoldenManifest(t *testing.T) {
	const name = "testdata/manifest-v1.golden"
	now, err := manifest.SampleManifest()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(name, now, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := manifest.LoadManifest(golden); err != nil {
		t.Errorf("the golden file: %v", err)
	}
	if !bytes.Equal(now, golden) {
		t.Errorf("what is written now is not what version 1 wrote: raise the version")
	}
}

// TestManifestVersions refuses what a later program has written, and says so.
func TestManifestVersions(t *testing.T) {
	sample := manifest.SampleEdit()
	sample[0]++
	if _, err := manifest.Recode(sample); !errors.Is(err, manifest.ErrNewer) {
		t.Errorf("a later record: %v", err)
	}
	b, err := manifest.SampleManifest()
	if err != nil {
		t.Fatal(err)
	}
	b[8]++
	if err := manifest.LoadManifest(b); !errors.Is(err, manifest.ErrNewer) {
		t.Errorf("a later file: %v", err)
	}
}

// TestDamagedManifest changes every byte, and cuts at each: the end may be torn, nothing else passes.
func TestDamagedManifest(t *testing.T) {
	b, err := manifest.SampleManifest()
	if err != nil {
		t.Fatal(err)
	}
	first := 44 + 12 + int(b[44]) // where the second record begins
	for i := range b {
		changed := bytes.Clone(b)
		changed[i] ^= 16
		err := manifest.LoadManifest(changed)
		var damage *manifest.Damage
		torn := i >= first
		if torn != (err == nil) || !torn && !errors.As(err, &damage) && !errors.Is(err, manifest.ErrNewer) {
			t.Errorf("byte %d is changed: %v", i, err)
		}
		err = manifest.LoadManifest(b[:i])
		if torn != (err == nil) {
			t.Errorf("cut at byte %d: %v", i, err)
		}
	}
}

// TestNotes changes what is noted of a stream, and nothing else; the next file has that, and which of its files are
// covered.
func TestNotes(t *testing.T) {
	fs := vfs.NewMemory()
	m := manifest.New(fs, "/", [16]byte{1}, nil)
	c := manifest.NewCatalog([2]uint64{})
	if err := m.Create(c); err != nil {
		t.Fatal(err)
	}
	made := manifest.StreamEdit{Created: true, Advanced: true}
	made.ID, made.Applied, made.Snapshot = 7, 3, []byte("state")
	made.Parts = []manifest.Part{{File: 1, Covered: true}, {File: 2}}
	note := func(n uint64) *manifest.Edit {
		e := manifest.StreamEdit{}
		e.ID, e.Noted = 7, n
		return &manifest.Edit{Streams: []manifest.StreamEdit{e}}
	}
	edits := []*manifest.Edit{
		{Files: []manifest.File{{Number: 1}, {Number: 2}}, Streams: []manifest.StreamEdit{made}}, note(300), note(20),
	}
	for _, e := range edits {
		if err := errors.Join(m.Append(e), c.Apply(e)); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		got := manifest.NewCatalog([2]uint64{})
		if _, _, err := manifest.New(fs, "/", [16]byte{1}, nil).Load(got); err != nil {
			t.Fatal(err)
		}
		s := got.Streams[7]
		if s == nil || s.Noted != 300 || s.Applied != 3 || len(s.Parts) != 2 || !s.Parts[0].Covered || s.Parts[1].Covered {
			t.Fatalf("got %+v", s)
		}
		if err := m.Create(c); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Apply(&manifest.Edit{Streams: []manifest.StreamEdit{{Stream: manifest.Stream{ID: 8, Noted: 1}}}}); err == nil {
		t.Error("a note about a stream that does not exist")
	}
}

// TestReplicas lets a stream become a replica, go on, and be none any more: what is noted of it means something else each
// time. Ids that were given to the store do not raise its own.
func TestReplicas(t *testing.T) {
	c := manifest.NewCatalog([2]uint64{})
	const id = manifest.FirstAssigned + 3
	edit := func(created bool, noted uint64, replica *manifest.Replica) {
		t.Helper()
		e := manifest.StreamEdit{Created: created, Advanced: noted == 0}
		e.ID, e.Noted, e.Replica = id, noted, replica
		again, err := manifest.ReadEdit((&manifest.Edit{Streams: []manifest.StreamEdit{e}}).Append(nil))
		if err == nil {
			err = c.Apply(again)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	first := &manifest.Replica{Index: 1, Term: 2, Configuration: []byte("a, b"), Begin: 30, Key: [2]uint64{4, 5}}
	for _, step := range []struct {
		name    string
		do      func()
		noted   uint64
		replica *manifest.Replica
	}{
		{"made", func() { edit(true, 0, nil) }, 0, nil},
		{"noted", func() { edit(false, 900, nil) }, 900, nil},
		{"a replica", func() { edit(false, 0, first) }, 0, first},
		{"noted again", func() { edit(false, 40, nil) }, 40, first},
		{"flushed", func() { edit(false, 0, &manifest.Replica{Index: 9, Term: 3, Begin: 30}) }, 40, &manifest.Replica{Index: 9, Term: 3, Begin: 30}},
		{"none any more", func() { edit(false, 0, &manifest.Replica{Solo: true}) }, 0, &manifest.Replica{Solo: true}},
		{"flushed without", func() { edit(false, 0, nil) }, 0, &manifest.Replica{Solo: true}},
		{"another one", func() { edit(true, 31, first) }, 31, first},
	} {
		step.do()
		if got := c.Streams[id]; got.Noted != step.noted || !reflect.DeepEqual(got.Replica, step.replica) {
			t.Errorf("%s: noted %d, %+v, want %d, %+v", step.name, got.Noted, got.Replica, step.noted, step.replica)
		}
	}
	if c.NextStream != 1 {
		t.Errorf("the next stream is %d", c.NextStream)
	}
}

func FuzzEdit(f *testing.F) {
	f.Add(manifest.SampleEdit())
	f.Add(manifest.SampleReplica())
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0})
	f.Add([]byte{1, 0, 0, 0, 0, 0, 1, 7, 4, 200, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		again, err := manifest.Recode(b)
		if err != nil {
			if !errors.Is(err, codec.ErrDamaged) && !errors.Is(err, manifest.ErrNewer) {
				t.Errorf("%v", err)
			}
			return
		}
		if twice, err := manifest.Recode(again); err != nil || !bytes.Equal(twice, again) {
			t.Errorf("encoded again: %v", err)
		}
		_ = manifest.ApplyEdit(b)
	})
}

func FuzzManifest(f *testing.F) {
	b, err := manifest.SampleManifest()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(_ *testing.T, b []byte) { _ = manifest.LoadManifest(b) })
}

// TestApplyRefuses gives a catalog edits that contradict it.
func TestApplyRefuses(t *testing.T) {
	stream := func(created bool, parts ...manifest.Part) *manifest.Edit {
		e := manifest.StreamEdit{Created: created}
		e.ID, e.Parts = 7, parts
		return &manifest.Edit{Streams: []manifest.StreamEdit{e}}
	}
	for name, e := range map[string]*manifest.Edit{
		"a stream that does not exist": stream(false),
		"a file that does not exist":   stream(true, manifest.Part{File: 3}),
	} {
		if err := manifest.NewCatalog([2]uint64{}).Apply(e); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	c := manifest.NewCatalog([2]uint64{})
	if err := c.Apply(stream(true)); err != nil || c.NextStream != 8 || len(c.Streams) != 1 {
		t.Errorf("a new stream: %v, %+v", err, c)
	}
	if err := c.Apply(&manifest.Edit{Deleted: []uint64{7}}); err != nil || c.NextStream != 8 || len(c.Streams) != 0 {
		t.Errorf("a deleted stream: %v, %+v", err, c)
	}
}
