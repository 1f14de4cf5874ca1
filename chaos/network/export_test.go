package network

import "time"

// Weather is what a proxy does to its connections.
type Weather struct{ weather }

// NewWeather has a delay and a rate in bytes a second.
func NewWeather(delay time.Duration, rate int) *Weather {
	return &Weather{weather{delay: delay, rate: rate}}
}

// Pass asks how many of some bytes may go forward.
func (w *Weather) Pass(bytes int, read, now time.Time) (n int, pause time.Duration) {
	return w.pass(Forward, bytes, read, now)
}
