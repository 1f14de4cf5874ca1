package lazily_test

import (
	"sync"
	"testing"

	"runnel/server/jetstream/lazily"
)

func TestValue(t *testing.T) {
	var v lazily.Value[int]
	made := 0
	create := func() *int { made++; return &made }
	var getting sync.WaitGroup
	for range 10 {
		getting.Go(func() {
			if v.Get(create) != &made {
				t.Error("got something else")
			}
		})
	}
	getting.Wait()
	if made != 1 || v.End() != &made {
		t.Errorf("made %d times, in the end %v", made, v.End())
	}
}

func TestEnd(t *testing.T) {
	var v lazily.Value[int]
	if v.End() != nil || v.Get(func() *int { return new(int) }) != nil || v.End() != nil {
		t.Error("there is something in the end")
	}
}
