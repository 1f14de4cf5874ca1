package store_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"testing"

	"runnel/jetlog/codec"
	"runnel/jetlog/store"
)

var update = flag.Bool("update", false, "write the golden files of this version")

// TestGoldenManifest opens the manifest of each released version; files of versions that were written
// once are never written again.
func TestGoldenManifest(t *testing.T) {
	const name = "testdata/manifest-v1.golden"
	now, err := store.SampleManifest()
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
	if err := store.LoadManifest(golden); err != nil {
		t.Errorf("the golden file: %v", err)
	}
	if !bytes.Equal(now, golden) {
		t.Errorf("what is written now is not what version 1 wrote: raise the version")
	}
}

// TestManifestVersions refuses what a later program has written, and says so.
func TestManifestVersions(t *testing.T) {
	sample := store.SampleEdit()
	sample[0]++
	if _, err := store.ReadEdit(sample); !errors.Is(err, store.ErrNewer) {
		t.Errorf("a later record: %v", err)
	}
	b, err := store.SampleManifest()
	if err != nil {
		t.Fatal(err)
	}
	b[8]++
	if err := store.LoadManifest(b); !errors.Is(err, store.ErrNewer) {
		t.Errorf("a later file: %v", err)
	}
}

// TestDamagedManifest changes every byte, and cuts at each: the end may be torn, nothing else passes.
func TestDamagedManifest(t *testing.T) {
	b, err := store.SampleManifest()
	if err != nil {
		t.Fatal(err)
	}
	first := 44 + 12 + int(b[44]) // where the second record begins
	for i := range b {
		changed := bytes.Clone(b)
		changed[i] ^= 16
		err := store.LoadManifest(changed)
		var damage *store.ManifestDamage
		torn := i >= first
		if torn != (err == nil) || !torn && !errors.As(err, &damage) && !errors.Is(err, store.ErrNewer) {
			t.Errorf("byte %d is changed: %v", i, err)
		}
		err = store.LoadManifest(b[:i])
		if torn != (err == nil) {
			t.Errorf("cut at byte %d: %v", i, err)
		}
	}
}

func FuzzEdit(f *testing.F) {
	f.Add(store.SampleEdit())
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		again, err := store.ReadEdit(b)
		if err != nil {
			if !errors.Is(err, codec.ErrDamaged) && !errors.Is(err, store.ErrNewer) {
				t.Errorf("%v", err)
			}
			return
		}
		if twice, err := store.ReadEdit(again); err != nil || !bytes.Equal(twice, again) {
			t.Errorf("encoded again: %v", err)
		}
		_ = store.ApplyEdit(b)
	})
}

func FuzzManifest(f *testing.F) {
	b, err := store.SampleManifest()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(_ *testing.T, b []byte) { _ = store.LoadManifest(b) })
}

// TestHash compares with the test vectors of SipHash-2-4 with 128 bits.
func TestHash(t *testing.T) {
	for s, want := range map[string]string{
		"":                                 "a3817f04ba25a8e66df67214c7550293",
		"\x00":                             "da87c1d86b99af44347659119b22fc45",
		"\x00\x01\x02\x03\x04\x05\x06\x07": "",
	} {
		got := store.Sum(0x0706050403020100, 0x0f0e0d0c0b0a0908, s)
		if want != "" && hex.EncodeToString(got[:]) != want {
			t.Errorf("hash of %q: %x, want %s", s, got, want)
		}
	}
}

// TestRemovedSet compares the set of removed sequences with a map.
func TestRemovedSet(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 3))
		set, want, top := store.NewSet(), map[uint64]bool{}, uint64(1+rng.IntN(20_000))
		for range 300 {
			seq := 1 + rng.Uint64N(top)
			if all := rng.IntN(60) == 0; all {
				for i := uint64(0); i <= seq/2; i++ {
					want[i] = true
				}
				set.Change(seq/2, true)
			} else {
				run := rng.Uint64N(100)
				for i := seq; i < seq+run; i++ {
					want[i] = true
					set.Change(i, false)
				}
			}
			compareSets(t, seed, set, want, rng.Uint64N(top+200))
		}
	}
}

func compareSets(t *testing.T, seed uint64, set *store.Set, want map[uint64]bool, at uint64) {
	t.Helper()
	want[0] = true // never a sequence
	next, prev := at, at
	for want[next] {
		next++
	}
	for prev > 0 && want[prev] {
		prev--
	}
	if got := set.Next(at); got != next {
		t.Fatalf("seed %d: next of %d is %d, want %d", seed, at, got, next)
	}
	if got := set.Prev(at); got != prev {
		t.Fatalf("seed %d: prev of %d is %d, want %d", seed, at, got, prev)
	}
	if at > 0 && set.Has(at) != want[at] {
		t.Fatalf("seed %d: has %d: %v", seed, at, set.Has(at))
	}
	n := 0
	set.Each(at, at+500, func(seq uint64) bool {
		if n++; !want[seq] || seq < at || seq > at+500 {
			t.Fatalf("seed %d: each gives %d", seed, seq)
		}
		return true
	})
	for i := max(at, set.Floor()+1); i <= at+500; i++ {
		if want[i] {
			n--
		}
	}
	if n != 0 {
		t.Fatalf("seed %d: each gives %d too many from %d", seed, n, at)
	}
}
