package deadlines_test

import (
	"math"
	"testing"
	"time"

	"runnel/jetlog/deadlines"
)

func TestLater(t *testing.T) {
	const most = math.MaxInt64
	tests := []struct{ at, d, want int64 }{
		{0, 0, 0}, {5, 7, 12}, {most, 0, most}, {most, 1, most}, {most - 7, 7, most}, {most - 7, 8, most}, {1, most, most}, {0, most, most}, {-5, most, most - 5},
	}
	for _, tt := range tests {
		if got := deadlines.Later(tt.at, time.Duration(tt.d)); got != tt.want {
			t.Errorf("%d after %d: got %d, want %d", tt.d, tt.at, got, tt.want)
		}
	}
}

func TestNanoseconds(t *testing.T) {
	day := func(year int) time.Time { return time.Date(year, 3, 4, 5, 6, 7, 8, time.UTC) }
	for when, want := range map[time.Time]int64{
		{}: math.MinInt64, day(1000): math.MinInt64, day(1676): math.MinInt64, day(2263): math.MaxInt64, day(9999): math.MaxInt64,
		time.Unix(0, 0): 0, time.Unix(0, math.MaxInt64): math.MaxInt64, time.Unix(0, math.MinInt64): math.MinInt64,
		day(2200): day(2200).UnixNano(), day(1700): day(1700).UnixNano(),
	} {
		if got := deadlines.Nanoseconds(when); got != want {
			t.Errorf("%v: got %d, want %d", when, got, want)
		}
	}
}
