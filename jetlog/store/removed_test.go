package store_test

import (
	"encoding/hex"
	"math/rand/v2"
	"testing"

	"runnel/jetlog/store"
)

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
