package state_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"runnel/cluster/meta/state"
)

// TestTree compares trees with maps, old ones too.
func TestTree(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var tree state.Tree
	model := map[string]int{}
	type pair struct {
		tree  state.Tree
		model map[string]int
	}
	var kept []pair
	for i := range 2000 {
		key := fmt.Sprint(random.IntN(300))
		if random.IntN(3) == 0 {
			tree = tree.Without(key)
			delete(model, key)
		} else {
			tree = tree.Set(key, i)
			model[key] = i
		}
		if i%100 == 0 {
			kept = append(kept, pair{tree, maps.Clone(model)})
		}
	}
	kept = append(kept, pair{tree, model})
	for _, p := range kept {
		if p.tree.Len() != len(p.model) {
			t.Fatalf("%d keys, want %d", p.tree.Len(), len(p.model))
		}
		keys := slices.Sorted(maps.Keys(p.model))
		at := len(keys) / 2
		for _, from := range []int{0, at} {
			i := from
			for key, value := range p.tree.From(keys[from]) {
				if key != keys[i] || value != p.model[key] {
					t.Fatalf("got %s: %d, want %s: %d", key, value, keys[i], p.model[keys[i]])
				}
				i++
			}
			if i != len(keys) {
				t.Fatalf("%d keys from %s on, want %d", i-from, keys[from], len(keys)-from)
			}
		}
		if _, ok := p.tree.Get("none"); ok {
			t.Error("a key that was never set is there")
		}
	}
}

// TestTreeIsShallow sets keys in their order, which would make a plain tree a list.
func TestTreeIsShallow(t *testing.T) {
	var tree state.Tree
	for i := range 10_000 {
		tree = tree.Set(fmt.Sprintf("%05d", i), i)
	}
	if d := tree.Depth(); d > 80 {
		t.Errorf("the depth is %d", d)
	}
}
