package bench

import "slices"

// Median returns the middle of the values, the mean of the two middle ones if
// their number is even, and 0 for none. The argument is not changed.
func Median(values []float64) float64 {
	n := len(values)
	if n == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	if n%2 == 1 {
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}

// Ratio compares a metric of b with that of a. Quotients are taken within each
// round, where both ran under the same conditions, and only then summed up.
type Ratio struct {
	A      float64 `json:"a_median"`
	B      float64 `json:"b_median"`
	Median float64 `json:"ratio_median"` // of the rounds' b/a
	Min    float64 `json:"ratio_min"`
	Max    float64 `json:"ratio_max"`
	Rounds int     `json:"rounds"` // in which both were measured
}

// NewRatio compares the values of each round: a[i] and b[i] belong together. A
// round in which either is not above zero is left out. False means that no
// round is left.
func NewRatio(a, b []float64) (Ratio, bool) {
	var as, bs, quotients []float64
	for i := range min(len(a), len(b)) {
		if a[i] > 0 && b[i] > 0 {
			as, bs = append(as, a[i]), append(bs, b[i])
			quotients = append(quotients, b[i]/a[i])
		}
	}
	if len(quotients) == 0 {
		return Ratio{}, false
	}
	return Ratio{
		A:      Median(as),
		B:      Median(bs),
		Median: Median(quotients),
		Min:    slices.Min(quotients),
		Max:    slices.Max(quotients),
		Rounds: len(quotients),
	}, true
}
