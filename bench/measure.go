package bench

import (
	"errors"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// ErrNotMeasured says that this operating system does not tell what another
// process uses. Reports show "n/a".
var ErrNotMeasured = errors.New("process usage is not available on this system")

const (
	// tickShift makes clock ticks of 64 ns, so that 32 bits of them span 274 s.
	tickShift = 6

	// The histogram spans these latencies with three significant digits.
	latencyMin = int64(64)
	latencyMax = int64(time.Minute)
)

// clock gives send times that fit into a stamp. It is anchored to the wall
// clock, so that two processes on one machine agree, and advances monotonically.
type clock struct {
	base time.Time
	wall int64
}

func newClock() clock {
	now := time.Now()
	return clock{base: now, wall: now.UnixNano()}
}

// ticks converts an instant of this process.
func (c clock) ticks(at time.Time) uint32 {
	return uint32((c.wall + int64(at.Sub(c.base))) >> tickShift)
}

// since is the time from a stamp's due time until now. Times that seem to lie in
// the future (clocks that differ) count as zero.
func (c clock) since(due uint32) time.Duration {
	passed := int32(c.ticks(time.Now()) - due)
	return time.Duration(max(passed, 0)) << tickShift
}

// Recorder collects latencies in an HDR histogram: constant memory, three
// significant digits. It is not safe for concurrent use.
type Recorder struct {
	histogram *hdrhistogram.Histogram
}

// NewRecorder makes an empty recorder.
func NewRecorder() *Recorder {
	return &Recorder{histogram: hdrhistogram.New(latencyMin, latencyMax, 3)}
}

// Record adds one latency; one above a minute counts as a minute.
func (r *Recorder) Record(d time.Duration) {
	// The only error is "out of range", which the bounds exclude.
	_ = r.histogram.RecordValue(min(max(int64(d), 0), latencyMax))
}

// Merge adds all that other has recorded.
func (r *Recorder) Merge(other *Recorder) { r.histogram.Merge(other.histogram) }

// Reset forgets everything recorded so far.
func (r *Recorder) Reset() { r.histogram.Reset() }

// Latency sums a distribution up. Times are in microseconds.
type Latency struct {
	Count int64   `json:"count"`
	Mean  float64 `json:"mean"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
	P999  float64 `json:"p99_9"`
	Max   float64 `json:"max"`
}

// Latency returns the distribution, nil if nothing was recorded.
func (r *Recorder) Latency() *Latency {
	h := r.histogram
	if h.TotalCount() == 0 {
		return nil
	}
	at := func(percentile float64) float64 { return float64(h.ValueAtQuantile(percentile)) / 1e3 }
	return &Latency{
		Count: h.TotalCount(),
		Mean:  h.Mean() / 1e3,
		P50:   at(50),
		P90:   at(90),
		P99:   at(99),
		P999:  at(99.9),
		Max:   float64(h.Max()) / 1e3,
	}
}

// Usage is what a process has used up to a moment.
type Usage struct {
	// Scheduled is the run time of the threads that live now, exact to the
	// nanosecond; zero where the kernel does not account for it.
	Scheduled time.Duration
	// Ticked is the run time of all threads that ever lived, in steps of 10 ms.
	Ticked time.Duration
	// RSSBytes is the memory that is resident now.
	RSSBytes int64
}

// tickError is by how much two readings in steps of 10 ms for user and system
// time may overstate a difference.
const tickError = 30 * time.Millisecond

// CPUSince is the CPU time between two readings. It takes the exact count
// unless that is missing or threads have ended in between (and took theirs with
// them), which shows as less than the coarse count allows.
func (u Usage) CPUSince(before Usage) time.Duration {
	exact, coarse := u.Scheduled-before.Scheduled, u.Ticked-before.Ticked
	if u.Scheduled == 0 || exact < coarse-tickError {
		return coarse
	}
	return exact
}
