package clock_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"runnel/server/jetstream/clock"
)

// machine is a clock that is set now and then.
type machine struct{ ahead time.Duration }

func (m *machine) now() time.Time { return time.Now().Add(m.ahead).Round(0) }

// TestClock sets the machine's clock to and fro. However that is, as much time passes as passes.
func TestClock(t *testing.T) {
	tests := []struct {
		name string
		jump []time.Duration // what is added to the time of the machine, one after the other
		want time.Duration   // how far the clock is ahead of the time that has passed
	}{
		{"it is not set", []time.Duration{0, 0}, 0},
		{"back", []time.Duration{-time.Hour}, 0},
		{"back by a little", []time.Duration{-time.Second, -time.Millisecond}, 0},
		{"on", []time.Duration{time.Hour}, time.Hour},
		{"on and back", []time.Duration{time.Hour, -time.Hour}, time.Hour},
		{"back and on", []time.Duration{-time.Hour, time.Hour}, 0},
		{"to and fro", []time.Duration{time.Second, -time.Second, time.Second, -time.Second, -time.Hour, time.Hour}, time.Second},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &machine{}
				c := clock.New(m.now)
				begin := time.Now()
				last := c.Now()
				for _, d := range append(test.jump, 0) {
					time.Sleep(time.Minute)
					m.ahead += d
					now := c.Now()
					if passed := time.Duration(now - last); passed < time.Minute {
						t.Errorf("after a jump by %v: %v have passed, want a minute or more", d, passed)
					}
					last = now
				}
				if got := time.Until(time.Unix(0, last)); got != test.want {
					t.Errorf("%v after the beginning it is ahead by %v, want %v", time.Since(begin), got, test.want)
				}
			})
		})
	}
}

// TestReach has a clock go on from what a stream has come to elsewhere.
func TestReach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.New(nil)
		later := time.Now().Add(time.Hour)
		c.Reach(later.UnixNano())
		if got := c.Time(); !got.Equal(later) {
			t.Errorf("got %v, want %v", got, later)
		}
		time.Sleep(time.Minute)
		c.Reach(later.Add(-time.Hour).UnixNano()) // it is over
		if got := c.Time(); !got.Equal(later.Add(time.Minute)) {
			t.Errorf("a minute later: got %v, want %v", got, later.Add(time.Minute))
		}
	})
}

// TestTogether has many look at a clock that is set, none of whom may see it go back.
func TestTogether(t *testing.T) {
	var mu sync.Mutex
	m := &machine{}
	c := clock.New(func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		m.ahead = -m.ahead + time.Millisecond
		return m.now()
	})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			last := c.Now()
			for range 1000 {
				now := c.Now()
				if now < last {
					t.Errorf("it was %d, and is %d", last, now)
					return
				}
				last = now
			}
		})
	}
	all.Wait()
}

func BenchmarkNow(b *testing.B) {
	c := clock.New(nil)
	b.ReportAllocs()
	for b.Loop() {
		c.Now()
	}
}
