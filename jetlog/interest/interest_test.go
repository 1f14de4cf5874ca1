package interest_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"runnel/jetlog/interest"
	"runnel/subjects"
)

// TestMatching compares a table with a plain list, over random steps.
func TestMatching(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	patterns := []string{"a.b", "a.*", "a.>", "*.b", "c", ">"}
	table := interest.New[int]()
	members := make([]interest.Member[int], 12)
	wants := make([][]string, len(members))
	for step := range 3000 {
		i := rng.IntN(len(members))
		if wants[i] == nil {
			list := []string{}
			for _, pattern := range patterns {
				if rng.IntN(4) == 0 {
					list = append(list, pattern)
				}
			}
			table.Enter(&members[i], i, list)
			if wants[i] = list; len(list) == 0 {
				wants[i] = []string{">"}
			}
		} else {
			table.Leave(&members[i])
			table.Leave(&members[i]) // is in no table any more
			wants[i] = nil
		}
		subject := []string{"a.b", "a.c", "a.b.c", "c", "d.b", "", "a..b"}[rng.IntN(7)] // the last two are none
		var want, got []int
		for i, list := range wants {
			if slices.ContainsFunc(list, func(p string) bool { return subjects.Match(p, subject) }) {
				want = append(want, i)
			}
		}
		table.Matching(subject, func(i int) bool {
			got = append(got, i)
			return true
		})
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Fatalf("step %d: %q matches %v, want %v", step, subject, got, want)
		}
	}
	n := 0
	table.Matching("a.b", func(int) bool { n++; return false })
	if n > 1 {
		t.Errorf("%d were told after the first had enough", n)
	}
}

// TestWantingAll: who wants all subjects takes no memory beside the member but a place in a list.
func TestWantingAll(t *testing.T) {
	const crowd = 1000
	members := make([]interest.Member[int], crowd)
	n := testing.AllocsPerRun(10, func() {
		table := interest.New[int]()
		for i := range members {
			table.Enter(&members[i], i, nil)
		}
		for i := range members {
			table.Leave(&members[(i*7)%crowd])
			table.Leave(&members[(i*7)%crowd]) // is in no table any more
		}
		table.Matching("a", func(i int) bool { t.Errorf("%d is still there", i); return true })
	})
	if n > 20 {
		t.Errorf("%v allocations for %d members, want those of a list that grows", n, crowd)
	}
}

// BenchmarkMatching is a subject that one of many members wants.
func BenchmarkMatching(b *testing.B) {
	table := interest.New[int]()
	members := make([]interest.Member[int], 1000)
	for i := range members {
		table.Enter(&members[i], i, []string{"s." + string(rune('a'+i%26)), "t.*"})
	}
	b.ReportAllocs()
	for b.Loop() {
		table.Matching("s.a", func(int) bool { return true })
	}
}
