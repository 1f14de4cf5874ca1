package overload_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"runnel/server/jetstream/overload"
)

// TestOverload tells of the first drop at once, of those behind it together, and of none after the end.
func TestOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []int64
		o := overload.Overload{Tell: func(n int64) { told = append(told, n) }}
		o.Note()
		synctest.Wait()
		for range 5 {
			o.Note()
		}
		synctest.Wait()
		if !slices.Equal(told, []int64{1}) {
			t.Errorf("at once: got %v, want [1]", told)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if !slices.Equal(told, []int64{1, 5}) {
			t.Errorf("after a second: got %v, want [1 5]", told)
		}
		o.Note()
		o.Close()
		o.Note()
		time.Sleep(time.Minute)
		if len(told) != 2 {
			t.Errorf("after the end: got %v", told)
		}
	})
}
