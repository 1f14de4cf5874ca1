package gone_test

import (
	"maps"
	"math/rand/v2"
	"testing"

	"runnel/jetlog/gone"
	"runnel/jetlog/manifest"
)

// TestSet compares the set of removed sequences with a map.
func TestSet(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 3))
		set, want, top := gone.New(), map[uint64]bool{}, uint64(1+rng.IntN(20_000))
		for range 300 {
			seq := 1 + rng.Uint64N(top)
			if all := rng.IntN(60) == 0; all {
				for i := uint64(0); i <= seq/2; i++ {
					want[i] = true
				}
				set.Raise(seq / 2)
			} else {
				run := rng.Uint64N(100)
				for i := seq; i < seq+run; i++ {
					want[i] = true
					set.Add(i)
				}
			}
			compareSets(t, seed, set, want, rng.Uint64N(top+200))
		}
	}
}

func compareSets(t *testing.T, seed uint64, set *gone.Set, want map[uint64]bool, at uint64) {
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

// TestFreeze keeps a set by what Freeze says is new, as the manifest does, and wants the same set.
func TestFreeze(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 3))
	set, pages := gone.New(), map[uint64]*manifest.Page{}
	const top = 8 * manifest.PageSpan
	for range 50 {
		for range rng.IntN(50) {
			set.Add(1 + rng.Uint64N(top))
		}
		if rng.IntN(10) == 0 {
			set.Raise(rng.Uint64N(top / 2))
		}
		frozen, changed, cleared := set.Freeze()
		for _, n := range cleared {
			delete(pages, n)
		}
		maps.Copy(pages, changed)
		maps.DeleteFunc(pages, func(n uint64, _ *manifest.Page) bool { return n < (frozen.Floor()+1)/manifest.PageSpan })
		again := gone.Of(frozen.Floor(), pages)
		for seq := range uint64(top + 10) {
			if again.Has(seq) != set.Has(seq) || frozen.Has(seq) != set.Has(seq) {
				t.Fatalf("%d: noted %v, frozen %v, want %v", seq, again.Has(seq), frozen.Has(seq), set.Has(seq))
			}
		}
		if _, changed, cleared := set.Freeze(); len(changed)+len(cleared) > 0 {
			t.Fatalf("%d changes, %d cleared at once afterwards", len(changed), len(cleared))
		}
	}
}

// TestDrop takes out of a set what another one has, in a range.
func TestDrop(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 3))
	const top = 3 * manifest.PageSpan
	for range 50 {
		set, other, all := gone.New(), gone.New(), map[uint64]bool{}
		from := 2 + rng.Uint64N(top)
		to := from + rng.Uint64N(top)
		for range 500 {
			seq := 2 + rng.Uint64N(top)
			set.Add(seq)
			all[seq] = true
			if rng.IntN(2) == 0 {
				other.Add(seq)
			}
		}
		set.Drop(other, from, to)
		for seq := uint64(1); seq < top+2; seq++ {
			want := all[seq] && (!other.Has(seq) || seq < from || seq > to)
			if got := set.Has(seq); got != want {
				t.Fatalf("%d of %d to %d: %v, want %v", seq, from, to, got, want)
			}
		}
	}
}

func TestNoneFrom(t *testing.T) {
	set := gone.New()
	set.Raise(10)
	if set.NoneFrom(10) || !set.NoneFrom(11) {
		t.Error("up to 10 all are in the set")
	}
	set.Add(20)
	if set.NoneFrom(11) {
		t.Error("20 is in the set")
	}
}
