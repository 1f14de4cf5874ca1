package bench_test

import (
	"math"
	"slices"
	"testing"

	"runnel/bench"
)

func TestMedian(t *testing.T) {
	tests := []struct {
		values []float64
		want   float64
	}{
		{nil, 0},
		{[]float64{7}, 7},
		{[]float64{9, 1}, 5},
		{[]float64{9, 1, 2}, 2},
		{[]float64{4, 1, 3, 100}, 3.5},
	}
	for _, test := range tests {
		before := slices.Clone(test.values)
		if got := bench.Median(test.values); got != test.want {
			t.Errorf("%v: got %v, want %v", test.values, got, test.want)
		}
		if !slices.Equal(test.values, before) {
			t.Errorf("the argument %v became %v", before, test.values)
		}
	}
}

func TestNewRatio(t *testing.T) {
	// The machine is four times slower in round 2: medians of both sides would
	// give 2/4, the rounds' own ratios say what is true of each.
	got, ok := bench.NewRatio([]float64{4, 16, 5}, []float64{2, 4, 2})
	want := bench.Ratio{A: 5, B: 2, Median: 0.4, Min: 0.25, Max: 0.5, Rounds: 3}
	if !ok || got != want {
		t.Errorf("got %+v %v, want %+v", got, ok, want)
	}
	got, ok = bench.NewRatio([]float64{4, 0, 5, 1}, []float64{2, 4, 0, 3})
	want = bench.Ratio{A: 2.5, B: 2.5, Median: 1.75, Min: 0.5, Max: 3, Rounds: 2}
	if !ok || got != want || math.IsNaN(got.Median) {
		t.Errorf("with rounds that failed: got %+v %v, want %+v", got, ok, want)
	}
	for _, none := range [][2][]float64{{nil, nil}, {{0}, {1}}, {{1}, {0}}, {{1}, nil}} {
		if got, ok := bench.NewRatio(none[0], none[1]); ok {
			t.Errorf("%v: got %+v, want none", none, got)
		}
	}
}
