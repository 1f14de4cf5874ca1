package store_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
)

// TestCreatesShareSyncs makes many streams at the same time: while the first waits for its sync the others gather, and
// share one. Each name is given once, and all are there after a power cut.
func TestCreatesShareSyncs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := vfs.NewMemory()
		syncs, hold := atomic.Int64{}, make(chan struct{})
		var held atomic.Bool
		fs := vfs.NewRecorder(memory, func(op vfs.Op) {
			if op.Kind == vfs.OpSyncData && strings.Contains(op.Name, "manifest-") && held.Load() {
				syncs.Add(1)
				<-hold
			}
		})
		s := open(t, small(fs))
		held.Store(true)
		var all sync.WaitGroup
		var made, exist atomic.Int64
		for i := range 100 {
			all.Go(func() {
				stream, err := s.Create("A", unlimited(fmt.Sprintf("S%d", i%90)))
				switch {
				case err == nil && stream.Name() == fmt.Sprintf("S%d", i%90):
					made.Add(1)
				case errors.Is(err, store.ErrExists):
					exist.Add(1)
				default:
					t.Error(stream, err)
				}
			})
		}
		synctest.Wait()
		close(hold)
		all.Wait()
		if made.Load() != 90 || exist.Load() != 10 || syncs.Load() != 2 {
			t.Errorf("%d made, %d there already, with %d syncs; want 90, 10, 2", made.Load(), exist.Load(), syncs.Load())
		}
		cut := memory.PowerCut(vfs.Lose)
		closeStore(t, s)
		if _, err := s.Create("A", unlimited("late")); !errors.Is(err, store.ErrClosed) {
			t.Errorf("after the end: %v", err)
		}
		again := open(t, small(cut))
		ids := map[uint64]bool{}
		for _, stream := range again.Streams() {
			ids[stream.ID()] = true
			publish(t, stream, 1)
		}
		if len(ids) != 90 {
			t.Errorf("%d streams are there", len(ids))
		}
		closeStore(t, again)
	})
}

// TestCreatesFailTogether has no space for the record: all are told, none is there, and later they can be made.
func TestCreatesFailTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fault := vfs.NewFault(vfs.NewMemory())
		s := open(t, small(fault))
		synctest.Wait() // a log segment that is being prepared would give room back
		fault.SetRoom(0)
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				if _, err := s.Create("A", unlimited(fmt.Sprint("S", i))); !errors.Is(err, store.ErrFull) {
					t.Errorf("on a full disk: %v", err)
				}
			})
		}
		all.Wait()
		fault.Heal()
		if n := len(s.Streams()); n != 0 {
			t.Errorf("%d streams", n)
		}
		create(t, s, unlimited("S1"))
		closeStore(t, s)
	})
}

// BenchmarkCreate makes streams, many at the same time.
func BenchmarkCreate(b *testing.B) {
	for _, inFlight := range []int{1, 16, 1000} {
		b.Run(fmt.Sprint(inFlight), func(b *testing.B) {
			b.ReportAllocs()
			s := open(b, store.Config{FS: vfs.Disk{}, Dir: b.TempDir() + "/store", ScrubBytes: -1, ReserveBytes: -1})
			var next atomic.Int64
			b.ResetTimer()
			var all sync.WaitGroup
			for range inFlight {
				all.Go(func() {
					for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
						if _, err := s.Create("A", unlimited(fmt.Sprint("S", i))); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
			b.StopTimer()
			closeStore(b, s)
		})
	}
}
