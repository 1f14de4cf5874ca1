package claims_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"runnel/server/jetstream/claims"
	"runnel/subjects"
)

// TestTree compares the tree with asking each pattern.
func TestTree(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pattern := func() string {
		tokens := make([]string, 1+random.IntN(4))
		for i := range tokens {
			tokens[i] = []string{"a", "b", "c", "*", "$KV"}[random.IntN(5)]
		}
		if random.IntN(3) == 0 {
			tokens[len(tokens)-1] = ">"
		}
		return strings.Join(tokens, ".")
	}
	var c claims.Tree
	have := map[string][]string{}
	for i := range 3000 {
		owner := fmt.Sprint(random.IntN(40))
		switch old := have[owner]; {
		case old == nil:
			have[owner] = []string{pattern(), pattern()}
			c.Add(owner, have[owner])
		case random.IntN(2) == 0:
			c.Remove(owner, old)
			delete(have, owner)
		}
		asked := pattern()
		want := map[string]bool{}
		for owner, patterns := range have {
			if slices.ContainsFunc(patterns, func(p string) bool { return subjects.Overlap(p, asked) }) {
				want[owner] = true
			}
		}
		got := map[string]bool{}
		c.Overlapping(asked, func(owner string) bool { got[owner] = true; return true })
		if !maps.Equal(got, want) {
			t.Fatalf("step %d, %s over %v: got %v, want %v", i, asked, have, got, want)
		}
	}
	for owner, patterns := range have {
		c.Remove(owner, patterns)
	}
	if !c.Empty() {
		t.Error("there is something left when all is removed")
	}
}
