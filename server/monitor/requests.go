package monitor

import "sync/atomic"

// requestCounts counts HTTP requests by page. Its keys are fixed when it is made, so that no request can
// add one.
type requestCounts map[string]*atomic.Uint64

func newRequestCounts() requestCounts {
	counts := requestCounts{"/": {}}
	for _, r := range routes() {
		counts[r.path] = new(atomic.Uint64)
	}
	return counts
}

func (c requestCounts) add(path string) { c[path].Add(1) }

// snapshot returns the pages that were asked for and how often.
func (c requestCounts) snapshot() map[string]uint64 {
	counts := map[string]uint64{}
	for path, n := range c {
		if v := n.Load(); v > 0 {
			counts[path] = v
		}
	}
	return counts
}
