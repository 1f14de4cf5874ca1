package main

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// smallHeap may have three times its size in garbage, mediumHeap twice: collecting a small heap again and again
	// costs more than that memory, which is bounded by it.
	smallHeap  = 32 << 20
	mediumHeap = 96 << 20
	// garbageInterval is how often the size is looked at: the heap does not grow by much meanwhile.
	garbageInterval = 2 * time.Second
)

// garbagePercent is how much garbage a heap may have when so much of it is in use, as a percentage of that.
func garbagePercent(liveBytes uint64) int {
	switch {
	case liveBytes < smallHeap:
		return 300
	case liveBytes < mediumHeap:
		return 200
	}
	return 100
}

// steerGarbage lets the garbage collector work less often while the heap is small, until ctx ends. A GOGC that
// somebody has set stays; GOMEMLIMIT holds in any case.
func steerGarbage(ctx context.Context) {
	if os.Getenv("GOGC") != "" {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	ticker := time.NewTicker(garbageInterval)
	defer ticker.Stop()
	before := debug.SetGCPercent(garbagePercent(0))
	defer debug.SetGCPercent(before)
	for now := garbagePercent(0); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		metrics.Read(live)
		if percent := garbagePercent(live[0].Value.Uint64()); percent != now {
			now = percent
			debug.SetGCPercent(now)
		}
	}
}
