package main

import (
	"context"
	"os"
	"runtime"
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

// A server that allocates less than quietBytes in garbageInterval has time to collect, and gives back what it does not use once that
// is keepBytes and an eighth of what it does: the peak of a busy time does not stay for the quiet one.
const (
	quietBytes = 4 << 20
	keepBytes  = 8 << 20
)

// heap is what the runtime says of it, in bytes.
type heap struct {
	live      uint64 // found in use by the last collection
	allocated uint64 // since the start of the process
	spare     uint64 // that the process has and could give back: garbage, and memory without objects
}

// readHeap reads the figures.
func readHeap() heap {
	samples := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"},
		{Name: "/gc/heap/allocs:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
	}
	metrics.Read(samples)
	value := func(i int) uint64 { return samples[i].Value.Uint64() }
	h := heap{live: value(0), allocated: value(1)}
	if used := value(2) + value(3); used > h.live {
		h.spare = used - h.live
	}
	return h
}

// lull notices that a busy time has ended. What was pooled for it counts as in use until it has survived two collections, which a
// server with nothing to do would not make for minutes.
type lull struct{ quiet int }

// lullIntervals is how many quiet intervals after a busy one make a lull.
const lullIntervals = 3

// begins reports whether a lull begins with an interval in which so much was allocated; it does once after each busy time.
func (l *lull) begins(allocated uint64) bool {
	if allocated >= quietBytes {
		l.quiet = 0
		return false
	}
	l.quiet++
	return l.quiet == lullIntervals
}

// mayTidy reports whether now is a good time to give memory back; before is the heap an interval ago.
func (h heap) mayTidy(before heap) bool {
	return h.allocated-before.allocated < quietBytes && h.spare > keepBytes+h.live/8
}

// steerGarbage lets the garbage collector work less often while the heap is small, and has it give memory back in quiet times, until
// ctx ends. A GOGC that somebody has set stays, and all is left to it; GOMEMLIMIT holds in any case.
func steerGarbage(ctx context.Context) {
	if os.Getenv("GOGC") != "" {
		return
	}
	ticker := time.NewTicker(garbageInterval)
	defer ticker.Stop()
	before := debug.SetGCPercent(garbagePercent(0))
	defer debug.SetGCPercent(before)
	last := readHeap()
	var pause lull
	for now := garbagePercent(0); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		h := readHeap()
		if percent := garbagePercent(h.live); percent != now {
			now = percent
			debug.SetGCPercent(now)
		}
		if begins := pause.begins(h.allocated - last.allocated); begins || h.mayTidy(last) {
			if begins {
				runtime.GC()
			}
			debug.FreeOSMemory()
			h = readHeap()
		}
		last = h
	}
}
