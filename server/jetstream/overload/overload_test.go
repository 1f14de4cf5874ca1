package overload_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"runnel/server/jetstream/overload"
)

// TestOverload tells of the first drop at once, of those behind it together, and of none after the end.
func TestOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // guards list
		var list []int64
		told := func() []int64 {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(list)
		}
		o := overload.Overload{Tell: func(n int64) {
			mu.Lock()
			defer mu.Unlock()
			list = append(list, n)
		}}
		o.Note()
		synctest.Wait()
		for range 5 {
			o.Note()
		}
		synctest.Wait()
		if got := told(); !slices.Equal(got, []int64{1}) {
			t.Errorf("at once: got %v, want [1]", got)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if got := told(); !slices.Equal(got, []int64{1, 5}) {
			t.Errorf("after a second: got %v, want [1 5]", got)
		}
		o.Note()
		o.Close()
		o.Note()
		time.Sleep(time.Minute)
		if got := told(); len(got) != 2 {
			t.Errorf("after the end: got %v", got)
		}
	})
}
