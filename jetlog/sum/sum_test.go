package sum_test

import (
	"testing"

	"runnel/jetlog/sum"
)

// What is summed up, and in which order, makes a difference. The values are for ever.
func TestMix(t *testing.T) {
	if got := sum.Mix(sum.Mix(0, 1), 2); got != 0x607d3ca73ce8b5ef {
		t.Errorf("got %#x", got)
	}
	seen := map[uint64]bool{}
	for h := range uint64(100) {
		for v := range uint64(100) {
			if n := sum.Mix(sum.Mix(h, v), 7); n == 0 && h+v > 0 {
				t.Errorf("%d and %d give 0", h, v)
			} else {
				seen[sum.Mix(n, h)] = true
			}
		}
	}
	if len(seen) != 100*100 {
		t.Errorf("%d different sums", len(seen))
	}
}
