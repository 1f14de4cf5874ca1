package order_test

import (
	"errors"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"

	"runnel/jetlog/order"
)

// item has a key to be ordered by, and says where it comes from.
type item struct {
	key    int
	source int
}

func compare(a, b item) int { return a.key - b.key }

// source yields sorted items, then the error if there is one.
func source(items []item, err error) iter.Seq2[item, error] {
	return func(yield func(item, error) bool) {
		for _, x := range items {
			if !yield(x, nil) {
				return
			}
		}
		if err != nil {
			yield(item{}, err)
		}
	}
}

func TestMerge(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 1))
		last := map[int]int{} // by key, the last source that has it
		var sources []iter.Seq2[item, error]
		for i := range random.IntN(6) {
			var keys []int
			for range random.IntN(20) {
				keys = append(keys, random.IntN(30))
			}
			slices.Sort(keys)
			var items []item
			for _, key := range slices.Compact(keys) {
				items = append(items, item{key, i})
				last[key] = i
			}
			sources = append(sources, source(items, nil))
		}
		var want, got []item
		for key := range 30 {
			if from, ok := last[key]; ok {
				want = append(want, item{key, from})
			}
		}
		for x, err := range order.Merge(sources, compare) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, x)
		}
		if !slices.Equal(got, want) {
			t.Errorf("seed %d: got %v, want %v", seed, got, want)
		}
	}
}

func TestMergeEnds(t *testing.T) {
	broken := errors.New("broken")
	sources := []iter.Seq2[item, error]{source([]item{{1, 0}, {5, 0}}, nil), source([]item{{2, 1}}, broken), source([]item{{3, 2}}, nil)}
	var got []int
	var failure error
	for x, err := range order.Merge(sources, compare) {
		if failure = err; err == nil {
			got = append(got, x.key)
		}
	}
	if !errors.Is(failure, broken) || !slices.Equal(got, []int{1, 2}) {
		t.Errorf("got %v, %v", got, failure)
	}
	for x := range order.Merge(sources, compare) {
		if x.key != 1 {
			t.Errorf("the first is %d", x.key)
		}
		break
	}
}

// thing is what work belongs to.
type thing struct {
	name string
	slot int
}

type work struct {
	of *thing
	n  int
}

func TestGroup(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	things := []*thing{{name: "a"}, {name: "b"}, {name: "c"}, {name: "d"}}
	var g order.Grouper[work]
	for range 200 {
		var batch []work
		used := 1 + random.IntN(len(things))
		for n := range random.IntN(40) {
			batch = append(batch, work{things[random.IntN(used)], n})
		}
		var first []string // names by their first occurrence
		for _, w := range batch {
			if !slices.Contains(first, w.of.name) {
				first = append(first, w.of.name)
			}
		}
		want := slices.Clone(batch)
		slices.SortStableFunc(want, func(a, b work) int {
			return slices.Index(first, a.of.name) - slices.Index(first, b.of.name)
		})
		got := slices.Clone(g.Group(batch, func(w *work) *int { return &w.of.slot }))
		g.Clear()
		if !slices.Equal(got, want) {
			t.Fatalf("%v: got %v, want %v", first, got, want)
		}
		for _, x := range things {
			if x.slot != 0 {
				t.Fatalf("%s has slot %d", x.name, x.slot)
			}
		}
	}
}
