package retry

import (
	"math"
	"math/bits"
	"time"
)

// Policy is a policy that was understood. The zero value is none: use Parse. Policies can be compared with ==.
type Policy struct {
	fixed    bool          // min and max are the delay, factor is 0
	min, max time.Duration // 0 < min <= max
	factor   thousandths
	jitter   thousandths
	attempts int           // 0: no limit
	total    time.Duration // 0: no limit
}

// thousandths is a number with three decimals.
type thousandths int

const one thousandths = 1000

// Delay returns how long after its delivery failed a message is to be delivered again. Attempt is the number of
// that delivery, from 1. Seed tells messages apart: those with different seeds get different jitter.
func (p Policy) Delay(attempt int, seed uint64) time.Duration {
	delay := p.min
	for n := 1; n < attempt && delay < p.max; n++ {
		delay = min(p.factor.times(delay), p.max)
	}
	span := p.jitter.times(delay)
	from, to := delay-span, delay+span
	if !p.fixed {
		from, to = within(from, to, p.min, p.max)
	}
	offset, _ := bits.Mul64(mix(mix(seed)^uint64(attempt)), uint64(to-from)+1)
	return from + time.Duration(offset)
}

// Exhausted reports whether a message is not to be delivered again: as many deliveries have been made as the
// policy allows, or the first of them was so long ago.
func (p Policy) Exhausted(attempt int, sinceFirst time.Duration) bool {
	return p.attempts > 0 && attempt >= p.attempts || p.total > 0 && sinceFirst >= p.total
}

// within moves a range so that it is between two limits, and cuts it if it is longer than they allow.
func within(from, to, lower, upper time.Duration) (time.Duration, time.Duration) {
	if from < lower {
		from, to = lower, to+lower-from
	}
	if to > upper {
		from, to = from-(to-upper), upper
	}
	return max(from, lower), to
}

// times multiplies a duration, which is not negative.
func (t thousandths) times(d time.Duration) time.Duration {
	high, low := bits.Mul64(uint64(t), uint64(d))
	if high >= uint64(one) {
		return math.MaxInt64
	}
	quotient, _ := bits.Div64(high, low, uint64(one))
	return time.Duration(min(quotient, math.MaxInt64))
}

// mix is the finalizer of SplitMix64: all bits of the result depend on all bits of x. It must never change,
// since replicas of different versions must come to the same delays.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
