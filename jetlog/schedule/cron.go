package schedule

import (
	"strconv"
	"strings"
	"time"
)

// cron is a pattern of six fields: the values that each allows, as bits.
type cron struct {
	second, minute, hour, day, month, weekday uint64
	// anyDay and anyWeekday tell that the field has a star. If neither has, a day that one of them allows
	// is enough; otherwise both have to.
	anyDay, anyWeekday bool
}

// field says what values a field may have.
type field struct {
	low, high int
	names     string // three letters each, for low and on; empty for none
}

// yearsAhead is how far a time is looked for: eight years may lie between two 29th of February.
const yearsAhead = 9

// parseCron reads six fields. It refuses a pattern that no day ever fits.
func parseCron(pattern string) (*cron, bool) {
	const months, days = "janfebmaraprmayjunjulaugsepoctnovdec", "sunmontuewedthufrisat"
	parts := strings.Fields(pattern)
	if len(parts) != 6 {
		return nil, false
	}
	var c cron
	var unused bool
	for i, f := range []struct {
		field
		bits *uint64
		star *bool
	}{
		{field{0, 59, ""}, &c.second, &unused},
		{field{0, 59, ""}, &c.minute, &unused},
		{field{0, 23, ""}, &c.hour, &unused},
		{field{1, 31, ""}, &c.day, &c.anyDay},
		{field{1, 12, months}, &c.month, &unused},
		{field{0, 6, days}, &c.weekday, &c.anyWeekday},
	} {
		var ok bool
		if *f.bits, *f.star, ok = f.parse(parts[i]); !ok {
			return nil, false
		}
	}
	return &c, c.possible()
}

// possible reports whether there is a day that fits. Only a day that its months do not have is none; with
// days of the week there always is one.
func (c *cron) possible() bool {
	if !c.anyDay && !c.anyWeekday {
		return true
	}
	for month, days := range []int{31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31} {
		if c.month&(1<<(month+1)) != 0 && c.day&(1<<(days+1)-1) != 0 {
			return true
		}
	}
	return false
}

// parse reads a list of ranges. It reports whether one of them is a star.
func (f field) parse(list string) (bits uint64, star, ok bool) {
	for part := range strings.SplitSeq(list, ",") {
		if part == "" {
			continue
		}
		b, s, ok := f.parseRange(part)
		if !ok {
			return 0, false, false
		}
		bits, star = bits|b, star || s
	}
	return bits, star, bits != 0
}

// parseRange reads a star, a value or two with a dash between, all perhaps with a step. A single value
// with a step goes to the end.
func (f field) parseRange(part string) (bits uint64, star, ok bool) {
	text, stepText, stepped := strings.Cut(part, "/")
	step := 1
	if stepped {
		var err error
		if step, err = strconv.Atoi(stepText); err != nil || step < 1 {
			return 0, false, false
		}
	}
	low, high := f.low, f.high
	if text == "*" || text == "?" {
		star = step == 1
	} else {
		first, last, isRange := strings.Cut(text, "-")
		if low, ok = f.value(first); !ok {
			return 0, false, false
		}
		switch {
		case isRange:
			if high, ok = f.value(last); !ok || high < low {
				return 0, false, false
			}
		case !stepped:
			high = low
		}
	}
	for v := low; v <= high; v += min(step, high-low+1) {
		bits |= 1 << v
	}
	return bits, star, true
}

// value reads a number or a name.
func (f field) value(text string) (int, bool) {
	if len(text) == 3 && f.names != "" {
		if i := strings.Index(f.names, strings.ToLower(text)); i >= 0 && i%3 == 0 {
			return f.low + i/3, true
		}
	}
	n, err := strconv.ParseUint(text, 10, 8)
	if err != nil || int(n) < f.low || int(n) > f.high {
		return 0, false
	}
	return int(n), true
}

// next returns the first time after a given one, in whose zone the fields are meant. A time of the day that
// a change of clocks leaves out is passed over, one that it repeats comes twice.
func (c *cron) next(after time.Time) (time.Time, bool) {
	t := after.Truncate(time.Second).Add(time.Second)
	last := t.Year() + yearsAhead
	for t.Year() <= last {
		switch {
		case c.month&(1<<t.Month()) == 0:
			t = later(t, time.Date(t.Year(), t.Month()+1, 1, 0, 0, 0, 0, t.Location()))
		case !c.dayFits(t):
			t = later(t, time.Date(t.Year(), t.Month(), t.Day()+1, 0, 0, 0, 0, t.Location()))
		case c.hour&(1<<t.Hour()) == 0:
			t = t.Add(time.Duration(60-t.Minute())*time.Minute - time.Duration(t.Second())*time.Second)
		case c.minute&(1<<t.Minute()) == 0:
			t = t.Add(time.Duration(60-t.Second()) * time.Second)
		case c.second&(1<<t.Second()) == 0:
			t = t.Add(time.Second)
		default:
			return t, true
		}
	}
	return time.Time{}, false
}

// later returns the midnight that begins another day. A midnight that a change of clocks leaves out may be
// given as a time before it, still on the day of t.
func later(t, midnight time.Time) time.Time {
	for midnight.Day() == t.Day() && midnight.Month() == t.Month() {
		midnight = midnight.Add(30 * time.Minute)
	}
	return midnight
}

func (c *cron) dayFits(t time.Time) bool {
	day, weekday := c.day&(1<<t.Day()) != 0, c.weekday&(1<<t.Weekday()) != 0
	if c.anyDay || c.anyWeekday {
		return day && weekday
	}
	return day || weekday
}
