package monitor

import (
	"context"
	"net/http"
	"time"
)

// SetUsage makes the pages show the given use of the machine, so that their output can be compared.
func SetUsage(p *Pages, u Usage) { p.usage = func() Usage { return u } }

// Uptime is the human form of durations.
func Uptime(d time.Duration) string { return uptime(d) }

// CPUShares feeds a sampler with moments and CPU times since its start and returns what it says.
func CPUShares(at, used []time.Duration) []float64 {
	start := time.Unix(0, 0)
	s := &sampler{at: start}
	var shares []float64
	for i := range at {
		shares = append(shares, s.cpu(start.Add(at[i]), used[i]))
	}
	return shares
}

// SampleUsage returns a real sample.
func SampleUsage() Usage { return newSampler().usage() }

// Paths lists the paths that Handler serves below its base.
func Paths() []string {
	paths := []string{"/"}
	for _, r := range routes() {
		paths = append(paths, r.path)
		if r.alias != "" {
			paths = append(paths, r.alias)
		}
	}
	return paths
}

// SortNames lists the orders of the connections page.
func SortNames() []string { return sortNames() }

// OccupiedHandler is Handler whose turns for large pages are all taken.
func OccupiedHandler(p *Pages) http.Handler {
	s := &site{pages: p, turns: make(chan struct{}, 1)}
	s.turns <- struct{}{}
	return s.mux()
}

// Turn waits for one of n turns as a request does, and gives it back.
func Turn(ctx context.Context, taken chan struct{}) error {
	done, err := (&site{turns: taken}).turn(ctx)
	if err == nil {
		done()
		done()
	}
	return err
}

const (
	MaxAccountSeries = maxAccountSeries
	MaxLimit         = maxLimit
	MaxBodyBytes     = maxBodyBytes
	MaxQueryBytes    = maxQueryBytes
)
