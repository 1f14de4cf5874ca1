package bench_test

import (
	"context"
	"errors"
	"math"
	"os"
	"runtime"
	"testing"
	"time"

	"runnel/bench"
)

func TestRecorderPercentiles(t *testing.T) {
	r := bench.NewRecorder()
	for i := 1; i <= 1000; i++ {
		r.Record(time.Duration(i) * time.Microsecond)
	}
	l := r.Latency()
	near := func(name string, got, want float64) {
		if math.Abs(got-want) > want/500 {
			t.Errorf("%s: got %v µs, want %v", name, got, want)
		}
	}
	near("mean", l.Mean, 500.5)
	near("p50", l.P50, 500)
	near("p90", l.P90, 900)
	near("p99", l.P99, 990)
	near("p99.9", l.P999, 999)
	near("max", l.Max, 1000)
	if l.Count != 1000 {
		t.Errorf("count: got %d, want 1000", l.Count)
	}
}

func TestRecorderEdges(t *testing.T) {
	r := bench.NewRecorder()
	if got := r.Latency(); got != nil {
		t.Errorf("empty: got %+v, want nil", got)
	}
	r.Record(-time.Second)
	r.Record(time.Hour)
	other := bench.NewRecorder()
	other.Record(time.Millisecond)
	r.Merge(other)
	l := r.Latency()
	if l.Count != 3 || l.Max < 59e6 || l.Max > 61e6 {
		t.Errorf("got count %d, max %v µs, want 3, a minute", l.Count, l.Max)
	}
	r.Reset()
	if got := r.Latency(); got != nil {
		t.Errorf("after Reset: got %+v, want nil", got)
	}
}

func TestStampAge(t *testing.T) {
	now := time.Now()
	if got := bench.StampAge(now.Add(-time.Second)); got < time.Second-64 || got > time.Minute {
		t.Errorf("a second ago: got %v", got)
	}
	if got := bench.StampAge(now.Add(time.Minute)); got != 0 {
		t.Errorf("in the future: got %v, want 0", got)
	}
}

func TestCPUSince(t *testing.T) {
	ms := func(scheduled, ticked int) bench.Usage {
		return bench.Usage{Scheduled: time.Duration(scheduled) * time.Millisecond, Ticked: time.Duration(ticked) * time.Millisecond}
	}
	tests := []struct {
		name          string
		before, after bench.Usage
		want          time.Duration
	}{
		{"exact", ms(100, 100), ms(1234, 1240), 1134 * time.Millisecond},
		{"no scheduler statistics", ms(0, 100), ms(0, 350), 250 * time.Millisecond},
		{"a thread ended", ms(500, 500), ms(400, 1500), time.Second},
		{"rounding is no ended thread", ms(100, 100), ms(109, 130), 9 * time.Millisecond},
	}
	for _, test := range tests {
		if got := test.after.CPUSince(test.before); got != test.want {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
}

func TestReadUsageOfThisProcess(t *testing.T) {
	before, err := bench.ReadUsage(os.Getpid())
	if runtime.GOOS != "linux" {
		if !errors.Is(err, bench.ErrNotMeasured) {
			t.Errorf("got %v, want ErrNotMeasured", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if before.RSSBytes < 1<<20 {
		t.Errorf("resident: got %d bytes", before.RSSBytes)
	}
	for start := time.Now(); ; {
		after, err := bench.ReadUsage(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		if after.CPUSince(before) > 0 {
			return
		}
		if time.Since(start) > 10*time.Second {
			t.Fatalf("a busy loop used nothing: %+v then %+v", before, after)
		}
	}
}

func TestReadUsageOfNobody(t *testing.T) {
	if got, err := bench.ReadUsage(1 << 30); err == nil {
		t.Errorf("got %+v, want an error", got)
	}
}

func TestPacingPlan(t *testing.T) {
	start := time.Unix(1000, 0)
	tests := []struct {
		rate              float64
		index, publishers int
		message           uint64
		want              time.Duration
	}{
		{1000, 0, 1, 0, 0},
		{1000, 0, 1, 1, time.Millisecond},
		{1000, 0, 1, 86_400_000, 24 * time.Hour},
		{1000, 0, 4, 1, 4 * time.Millisecond},
		{1000, 3, 4, 1, 7 * time.Millisecond},
		{0.5, 0, 1, 2, 4 * time.Second},
	}
	for _, test := range tests {
		if got := bench.Due(start, test.rate, test.index, test.publishers, test.message).Sub(start); got != test.want {
			t.Errorf("message %d of publisher %d of %d at %v/s: got %v, want %v", test.message, test.index, test.publishers, test.rate, got, test.want)
		}
	}
}

func TestSleepUntil(t *testing.T) {
	at := time.Now().Add(30 * time.Millisecond)
	if err := bench.SleepUntil(t.Context(), at); err != nil || time.Now().Before(at) {
		t.Errorf("got %v, %v early", err, time.Until(at))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := bench.SleepUntil(ctx, time.Now().Add(time.Hour)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v", err)
	}
}
