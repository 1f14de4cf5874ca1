package monitor

import (
	"bytes"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"time"
)

// Usage is what the process takes from the machine.
type Usage struct {
	MemBytes   int64   `json:"mem"` // resident memory
	Cores      int     `json:"cores"`
	GoMaxProcs int     `json:"gomaxprocs"`
	GoMemLimit int64   `json:"gomemlimit,omitempty"` // bytes, 0 = none
	CPU        float64 `json:"cpu"`                  // percent of one core since the sample before
}

// usageWindow is the shortest time over which a CPU share is measured; within it the last value is repeated.
const usageWindow = time.Second

// sampler measures the CPU share between one call and the next. It needs no goroutine.
type sampler struct {
	mu      sync.Mutex // guards what follows
	at      time.Time
	cpuTime time.Duration
	percent float64
}

func newSampler() *sampler {
	return &sampler{at: time.Now(), cpuTime: cpuTime()}
}

func (s *sampler) usage() Usage {
	return Usage{
		MemBytes:   residentBytes(),
		Cores:      runtime.NumCPU(),
		GoMaxProcs: runtime.GOMAXPROCS(0),
		GoMemLimit: memoryLimit(),
		CPU:        s.cpu(time.Now(), cpuTime()),
	}
}

// cpu returns the share, in percent with one decimal, that used has grown by since the last sample.
func (s *sampler) cpu(now time.Time, used time.Duration) float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	passed := now.Sub(s.at)
	if passed < usageWindow {
		return s.percent
	}
	share := float64(used-s.cpuTime) / float64(passed)
	s.percent = math.Round(max(share, 0)*1000) / 10
	s.at, s.cpuTime = now, used
	return s.percent
}

// memoryLimit returns GOMEMLIMIT, 0 when it is off.
func memoryLimit() int64 {
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 {
		return 0
	}
	return limit
}

// residentBytes asks the kernel where it can (Linux), the Go runtime otherwise.
func residentBytes() int64 {
	b, err := os.ReadFile("/proc/self/statm")
	if err == nil {
		if fields := bytes.Fields(b); len(fields) > 1 {
			if pages, err := strconv.ParseInt(string(fields[1]), 10, 64); err == nil {
				return pages * int64(os.Getpagesize())
			}
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys - m.HeapReleased)
}
