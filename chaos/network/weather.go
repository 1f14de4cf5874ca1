package network

import "time"

// slice is the time whose bytes go on at once through a throttled proxy.
const slice = 20 * time.Millisecond

// weather is what a proxy does to its connections.
type weather struct {
	held  [2]bool       // by direction: bytes wait, for ever if need be
	delay time.Duration // on every byte, in both directions
	rate  int           // bytes a second, in each direction; 0: all

	// free is when the next byte may go on in a direction, as far as the rate is concerned.
	free [2]time.Time
}

// never is a pause that only another weather ends.
const never = -1

// clear reports whether new connections may come about.
func (w *weather) clear() bool { return !w.held[Forward] && !w.held[Backward] }

// pass says how many of some bytes may go on now, and books them: at least one, when any may. What was read at a time is late
// enough when the delay is over. When nothing may go on, it says how long that is so. The end of a connection is no bytes, and
// pause tells whether it may go on.
func (w *weather) pass(d Direction, bytes int, read, now time.Time) (n int, pause time.Duration) {
	if w.held[d] {
		return 0, never
	}
	if due := read.Add(w.delay); now.Before(due) {
		return 0, due.Sub(now)
	}
	if w.rate == 0 || bytes == 0 {
		return bytes, 0
	}
	if now.Before(w.free[d]) {
		return 0, w.free[d].Sub(now)
	}
	n = min(bytes, max(1, int(int64(w.rate)*int64(slice)/int64(time.Second))))
	start := w.free[d]
	if earliest := now.Add(-slice); start.Before(earliest) {
		start = earliest // what was not used before is lost, but for what a late timer takes
	}
	w.free[d] = start.Add(time.Duration(int64(n) * int64(time.Second) / int64(w.rate)))
	return n, 0
}
