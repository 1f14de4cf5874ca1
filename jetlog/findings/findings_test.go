package findings_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"runnel/jetlog/findings"
)

// TestOnce adds the same damages again and again, from several goroutines: each is news once.
func TestOnce(t *testing.T) {
	var l findings.List
	if all := l.All(); len(all) != 0 {
		t.Errorf("an empty list has %v", all)
	}
	var mu sync.Mutex
	news := map[string]int{}
	var adding sync.WaitGroup
	for range 8 {
		adding.Go(func() {
			for i := range 10 {
				if err := fmt.Errorf("damage %d", i); l.Add(err) {
					mu.Lock()
					news[err.Error()]++
					mu.Unlock()
				}
			}
		})
	}
	adding.Wait()
	if len(news) != 10 || len(l.All()) != 10 {
		t.Fatalf("%d were news and %d are remembered, want 10", len(news), len(l.All()))
	}
	for text, n := range news {
		if n != 1 {
			t.Errorf("%s was news %d times", text, n)
		}
	}
}

// TestMax adds more than are remembered.
func TestMax(t *testing.T) {
	var l findings.List
	for i := range findings.Max {
		if !l.Add(fmt.Errorf("damage %d", i)) {
			t.Errorf("damage %d is not news", i)
		}
	}
	first := l.All()[0]
	if l.Add(errors.New("one more")) || len(l.All()) != findings.Max || first.Error() != "damage 0" {
		t.Errorf("%d are remembered, the first is %v", len(l.All()), first)
	}
	l.All()[0] = nil
	if l.All()[0] != first {
		t.Error("the list is not a copy")
	}
}
