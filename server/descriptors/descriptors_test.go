package descriptors

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// world is a process as a test wants it.
type world struct{ conns, files atomic.Int64 }

func (w *world) guard(limit int) *Guard {
	return newGuard(limit, func() int { return int(w.conns.Load()) }, func() (int, bool) { return int(w.conns.Load() + w.files.Load()), true })
}

// TestFull: clients may have all but what is in use otherwise, and a reserve.
func TestFull(t *testing.T) {
	for _, tt := range []struct{ limit, files, most int }{
		{100, 20, 100 - 20 - 16},
		{1000, 100, 1000 - 100 - 62},
		{1 << 20, 100, 1<<20 - 100 - 512},
		{10, 20, 0},
	} {
		var w world
		w.files.Store(int64(tt.files))
		g := w.guard(tt.limit)
		w.conns.Store(int64(tt.most - 1))
		if tt.most > 0 && g.Full() {
			t.Errorf("limit %d: full with %d clients", tt.limit, tt.most-1)
		}
		w.conns.Store(int64(tt.most))
		if !g.Full() {
			t.Errorf("limit %d: not full with %d clients", tt.limit, tt.most)
		}
	}
}

// TestUnknown: where there is no limit nobody is refused; where nobody counts, clients get what two reserves leave.
func TestUnknown(t *testing.T) {
	var w world
	w.conns.Store(1 << 30)
	if g := w.guard(0); g.Full() || !g.Tell() {
		t.Error("full without a limit")
	}
	w.conns.Store(100 - 32)
	g := newGuard(100, func() int { return int(w.conns.Load()) }, func() (int, bool) { return 0, false })
	if !g.Full() {
		t.Error("not full")
	}
	if w.conns.Add(-1); g.Full() {
		t.Error("full")
	}
}

// TestRun: files that come and go are noticed, sooner when few are left.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w world
		g := w.guard(100)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			g.Run(ctx)
			close(done)
		}()
		w.files.Store(90)
		time.Sleep(lookSeldom + time.Millisecond)
		synctest.Wait()
		if !g.Full() {
			t.Error("90 files of 100, and not full")
		}
		w.files.Store(10)
		time.Sleep(lookOften + time.Millisecond)
		synctest.Wait()
		if g.Full() {
			t.Error("10 files of 100, and full")
		}
		cancel()
		<-done
	})
}

// TestTell: of those that are refused only some are kept to be told why.
func TestTell(t *testing.T) {
	var w world
	g := w.guard(100)
	told := 0
	for range 100 {
		if g.Tell() {
			told++
		}
	}
	if told != 8 {
		t.Errorf("%d are told at a time, want 8", told)
	}
	if g.Told(); !g.Tell() || g.Tell() {
		t.Error("one has ended, and not one more is told")
	}
}

// TestThisProcess: a guard of this process counts something, and is not full.
func TestThisProcess(t *testing.T) {
	if g := New(func() int { return 0 }); g.Full() {
		t.Errorf("full with a limit of %d and %d files", g.limit, g.others.Load())
	}
}
