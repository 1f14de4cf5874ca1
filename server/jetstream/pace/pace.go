// Package pace measures how many things happened a second, lately. It costs a few additions where something happens, and
// nothing where nothing does: there is no timer and no goroutine.
package pace

import "time"

// Window is the time of which a rate is the mean.
const Window = 10 * time.Second

// Pace counts what happens in two windows, one after the other: the one that is not over yet, and the one before. The zero Pace
// has counted nothing. It is not safe for concurrent use.
type Pace struct {
	began  int64 // when the present window did, 0 before anything was counted
	now    uint64
	before uint64 // in the window before
	full   bool   // there was a window before
}

// Add counts n things at a time, in nanoseconds since 1970. The time should not go back; if it does, it counts as now.
func (p *Pace) Add(n uint64, at int64) {
	p.turn(at)
	p.now += n
}

// turn begins another window if the present one is over. One that is over for longer than a window leaves nothing.
func (p *Pace) turn(at int64) {
	passed := at - p.began
	switch {
	case p.began == 0 || passed >= 2*int64(Window):
		*p = Pace{began: at}
	case passed >= int64(Window):
		*p = Pace{began: p.began + int64(Window), before: p.now, full: true}
	}
}

// PerSecond returns the rate at a time: of the window that ends then. The part of it that lies in the window before is taken to
// have been even. Soon after the beginning it is the mean since then, of a second at least.
func (p *Pace) PerSecond(at int64) float64 {
	q := *p
	if q.turn(at); q.now == 0 && q.before == 0 {
		return 0
	}
	passed := max(time.Duration(at-q.began), 0)
	if !q.full {
		return float64(q.now) / max(passed, time.Second).Seconds()
	}
	left := 1 - passed.Seconds()/Window.Seconds()
	return (float64(q.before)*left + float64(q.now)) / Window.Seconds()
}
