package manifest_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"testing"

	"runnel/jetlog/codec"
	"runnel/jetlog/manifest"
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
	if _, err := manifest.ReadEdit(sample); !errors.Is(err, manifest.ErrNewer) {
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

func FuzzEdit(f *testing.F) {
	f.Add(manifest.SampleEdit())
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		again, err := manifest.ReadEdit(b)
		if err != nil {
			if !errors.Is(err, codec.ErrDamaged) && !errors.Is(err, manifest.ErrNewer) {
				t.Errorf("%v", err)
			}
			return
		}
		if twice, err := manifest.ReadEdit(again); err != nil || !bytes.Equal(twice, again) {
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
