package state

import (
	"math"
	"math/bits"
)

// Total is a sum of sizes in bytes. It has room for more than there are bytes in the world, so that what was added can be
// taken off again whatever somebody has reserved.
type Total struct{ high, low uint64 }

// plus returns the total with n more, or less if sign is negative. n is not negative.
func (t Total) plus(n int64, sign int) Total {
	if sign < 0 {
		low, borrow := bits.Sub64(t.low, uint64(n), 0)
		return Total{t.high - borrow, low}
	}
	low, carry := bits.Add64(t.low, uint64(n), 0)
	return Total{t.high + carry, low}
}

// add returns the sum of two totals.
func (t Total) add(o Total) Total {
	low, carry := bits.Add64(t.low, o.low, 0)
	return Total{t.high + o.high + carry, low}
}

// times returns n times the total, n being small.
func (t Total) times(n int) Total {
	var sum Total
	for range n {
		sum = sum.add(t)
	}
	return sum
}

// Bytes is the total, the largest number there is if it is more than that.
func (t Total) Bytes() int64 {
	if t.high > 0 || t.low > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(t.low)
}

// exceeds tells whether the total is above a limit, negative for none.
func (t Total) exceeds(limit int64) bool {
	return limit >= 0 && (t.high > 0 || t.low > uint64(limit))
}
