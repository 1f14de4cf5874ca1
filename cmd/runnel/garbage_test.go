package main

import (
	"context"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"
)

func TestGarbagePercent(t *testing.T) {
	for _, test := range []struct {
		live uint64
		want int
	}{
		{0, 300}, {smallHeap - 1, 300}, {smallHeap, 200}, {mediumHeap - 1, 200}, {mediumHeap, 100}, {1 << 40, 100},
	} {
		if got := garbagePercent(test.live); got != test.want {
			t.Errorf("%d bytes: got %d, want %d", test.live, got, test.want)
		}
		// Garbage is bounded: a heap never has more than that of the largest heap of its class.
		if garbage := test.live / 100 * uint64(garbagePercent(test.live)); test.live < mediumHeap && garbage > 2*mediumHeap {
			t.Errorf("%d bytes: %d bytes of garbage", test.live, garbage)
		}
	}
}

func TestSteerGarbage(t *testing.T) {
	percent := func() int {
		now := debug.SetGCPercent(100)
		debug.SetGCPercent(now)
		return now
	}
	before := percent()
	t.Setenv("GOGC", "")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		go steerGarbage(ctx)
		synctest.Wait()
		if got := percent(); got != 300 {
			t.Errorf("at the start: got %d, want 300", got)
		}
		cancel()
		synctest.Wait()
		if got := percent(); got != before {
			t.Errorf("at the end: got %d, want the %d from before", got, before)
		}
	})
	t.Setenv("GOGC", "50")
	steerGarbage(t.Context()) // returns at once
	if got := percent(); got != before {
		t.Errorf("got %d in spite of the user's own choice", got)
	}
}

func TestSteerGarbageFollowsTheHeap(t *testing.T) {
	t.Setenv("GOGC", "")
	synctest.Test(t, func(t *testing.T) {
		go steerGarbage(t.Context())
		synctest.Wait()
		held := make([]byte, 2*mediumHeap)
		for i := 0; i < len(held); i += 4096 {
			held[i] = 1
		}
		debug.FreeOSMemory()            // collects, so that what is in use is known
		time.Sleep(garbageInterval + 1) // of the bubble's clock
		synctest.Wait()
		now := debug.SetGCPercent(100)
		debug.SetGCPercent(now)
		if now != 100 || held[0] != 1 {
			t.Errorf("got %d with %d bytes in use, want 100", now, len(held))
		}
	})
}

func TestMayTidy(t *testing.T) {
	const mib = 1 << 20
	before := heap{live: 64 * mib, allocated: 1000 * mib}
	tests := []struct {
		name  string
		after heap
		want  bool
	}{
		{"quiet, much to spare", heap{live: 64 * mib, allocated: 1001 * mib, spare: 40 * mib}, true},
		{"busy", heap{live: 64 * mib, allocated: 1005 * mib, spare: 40 * mib}, false},
		{"little to spare", heap{live: 64 * mib, allocated: 1000 * mib, spare: 16 * mib}, false},
		{"little for its size", heap{live: 800 * mib, allocated: 1000 * mib, spare: 100 * mib}, false},
		{"just collected", heap{live: 64 * mib, allocated: 1000 * mib}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.after.mayTidy(before); got != test.want {
				t.Errorf("got %t, want %t", got, test.want)
			}
		})
	}
}

// What a busy time has left goes back to the system when it is quiet.
func TestMemoryIsGivenBack(t *testing.T) {
	t.Setenv("GOGC", "")
	synctest.Test(t, func(t *testing.T) {
		go steerGarbage(t.Context())
		synctest.Wait()
		for range 64 {
			_ = make([]byte, 1<<20)
		}
		time.Sleep(2 * garbageInterval) // virtual time: the first interval was busy
		synctest.Wait()
		if h := readHeap(); h.spare > keepBytes+h.live/8 {
			t.Errorf("got %d bytes to spare beside %d in use", h.spare, h.live)
		}
	})
}

// TestLull: a lull begins once after each busy time, and not with a short pause.
func TestLull(t *testing.T) {
	var l lull
	var began []int
	for i, allocated := range []uint64{1 << 30, 0, 0, 1 << 30, 0, quietBytes - 1, 0, 0, 0, 0, quietBytes, 0, 0, 0, 0} {
		if l.begins(allocated) {
			began = append(began, i)
		}
	}
	if len(began) != 2 || began[0] != 6 || began[1] != 13 {
		t.Errorf("lulls began at %v, want 6 and 13", began)
	}
}
