package network_test

import (
	"testing"
	"time"

	"runnel/chaos/network"
)

func TestWeatherPass(t *testing.T) {
	now := time.Unix(1000, 0)
	tests := []struct {
		name  string
		delay time.Duration
		rate  int
		bytes int
		age   time.Duration // since the bytes were read
		n     int
		pause time.Duration
	}{
		{"all", 0, 0, 1000, 0, 1000, 0},
		{"delayed", time.Second, 0, 1000, 300 * time.Millisecond, 0, 700 * time.Millisecond},
		{"late enough", time.Second, 0, 1000, time.Second, 1000, 0},
		{"a slice", 0, 1000, 1000, 0, 20, 0},
		{"less than a slice", 0, 1000, 10, 0, 10, 0},
		{"at least one", 0, 1, 1000, 0, 1, 0},
		{"the end", 0, 1, 0, 0, 0, 0},
		{"the end, delayed", time.Second, 1, 0, 0, 0, time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n, pause := network.NewWeather(tt.delay, tt.rate).Pass(tt.bytes, now.Add(-tt.age), now)
			if n != tt.n || pause != tt.pause {
				t.Errorf("got %d bytes, pause %v, want %d, %v", n, pause, tt.n, tt.pause)
			}
		})
	}
}

// However often somebody asks, and however late, no more goes through than the rate allows.
func TestWeatherRate(t *testing.T) {
	const rate, bytes = 10_000, 50_000
	for _, late := range []time.Duration{0, time.Millisecond, 15 * time.Millisecond} {
		w := network.NewWeather(0, rate)
		begin := time.Unix(1000, 0)
		now := begin
		for left := bytes; left > 0; {
			n, pause := w.Pass(left, begin, now)
			left -= n
			if n == 0 {
				now = now.Add(pause + late)
			}
		}
		if took, want := now.Sub(begin), 5*time.Second; took < want-50*time.Millisecond || took > want+50*time.Millisecond {
			t.Errorf("with timers %v late: %d bytes took %v, want %v", late, bytes, took, want)
		}
	}
}
