package quota_test

import (
	"testing"

	"runnel/jetlog/config"
	"runnel/server/jetstream/quota"
)

func TestOccupied(t *testing.T) {
	var s quota.Occupied
	s.Of(config.MemoryStorage).Add(1)
	s.Of(config.FileStorage).Add(2)
	if m, f := s.Of(config.MemoryStorage).Load(), s.Of(config.FileStorage).Load(); m != 1 || f != 2 {
		t.Errorf("got %d and %d bytes, want 1 and 2", m, f)
	}
}

// TestFits: what is used is counted only where a limit is near, and all of it only where it is reached.
func TestFits(t *testing.T) {
	const far = 1 << 30
	for _, c := range []struct {
		name                    string
		limit, bytes            int64
		used, counted, recalled int64 // at first, after count, after all
		want                    bool
		counts                  int
	}{
		{"no limit", -1, far, far, far, far, true, 0},
		{"far away", far, 1, 5, far, far, true, 0},
		{"near", far, 1, far - 10, far - 5, far, true, 1},
		{"less after all", far, 1, far, far, far - 1, true, 2},
		{"reached", far, 1, far, far, far, false, 2},
		{"none allowed", 0, 1, 0, 0, 0, false, 2},
	} {
		used, counts := c.used, 0
		got := quota.Fits(c.limit, c.bytes, func() int64 { return used }, func() { used, counts = c.counted, counts+1 }, func() { used, counts = c.recalled, counts+1 })
		if got != c.want || counts != c.counts {
			t.Errorf("%s: got %v after %d counts, want %v after %d", c.name, got, counts, c.want, c.counts)
		}
	}
}
