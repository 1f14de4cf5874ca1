package order_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"runnel/jetlog/order"
)

// TestTogether holds the first up while others come: those are done together, in their order, no more at once than allowed,
// and everybody returns when his is done.
func TestTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g order.Together[int]
		var done [][]int // guarded by the order of turns
		hold := make(chan struct{})
		do := func(items []int) {
			<-hold
			done = append(done, items)
		}
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() { g.Do(i, 5, do) })
			synctest.Wait()
		}
		for range 3 {
			hold <- struct{}{}
			synctest.Wait()
		}
		all.Wait()
		want := [][]int{{0}, {1, 2, 3, 4, 5}, {6, 7}}
		if !slices.EqualFunc(done, want, slices.Equal) {
			t.Errorf("done: %v, want %v", done, want)
		}
		close(hold)
		g.Do(9, 5, do)
		if len(done) != 4 {
			t.Errorf("one more: %v", done)
		}
	})
}

// TestTogetherOfMany lets many come at the same time: each is done once.
func TestTogetherOfMany(t *testing.T) {
	var g order.Together[int]
	var all sync.WaitGroup
	seen := map[int]int{} // no two turns at a time
	for i := range 1000 {
		all.Go(func() {
			g.Do(i, 100, func(items []int) {
				for _, x := range items {
					seen[x]++
				}
			})
		})
	}
	all.Wait()
	for i := range 1000 {
		if seen[i] != 1 {
			t.Fatalf("%d was done %d times", i, seen[i])
		}
	}
}
