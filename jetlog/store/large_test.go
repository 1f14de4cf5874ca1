//go:build long

package store_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/rescue"
	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
	"runnel/jetlog/wal"
)

var large = flag.Int("large", 10_000_000, "messages of the large tests")

func largeStore(t testing.TB) store.Config {
	return store.Config{FS: vfs.Disk{}, Dir: filepath.Join(t.TempDir(), "store"), Policy: wal.OS, ScrubBytes: -1, LogBytes: 256 << 20}
}

// fill publishes messages of 128 bytes, many in flight.
func fill(t testing.TB, stream *store.Stream, n int, subject func(i int) string) {
	t.Helper()
	slots := make(chan struct{}, 4096)
	done := func(r jetlog.Result, err error) {
		if err != nil || r.Code != 0 {
			t.Errorf("%+v, %v", r, err)
		}
		<-slots
	}
	payload := make([]byte, 128)
	for i := range n {
		slots <- struct{}{}
		c := &command.Publish{Time: int64(i), Subject: subject(i), Payload: payload}
		if err := stream.Start(context.Background(), c, done); err != nil {
			t.Fatal(err)
		}
	}
	for range cap(slots) {
		slots <- struct{}{}
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// inUse is the heap with what nobody needs any more.
func inUse() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func timed(t testing.TB, what string, n int, do func()) {
	t.Helper()
	took := make([]time.Duration, n)
	for i := range took {
		start := time.Now()
		do()
		took[i] = time.Since(start)
	}
	slices.Sort(took)
	t.Logf("%s: median %v, p99 %v, max %v", what, took[n/2], took[n*99/100], took[n-1])
}

// TestLargeOpen prints how long it takes to open a store with many messages.
func TestLargeOpen(t *testing.T) {
	cfg := largeStore(t)
	s := open(t, cfg)
	start := time.Now()
	fill(t, create(t, s, unlimited("S")), *large, func(i int) string { return fmt.Sprintf("S.%d", i%1000) })
	t.Logf("%d messages in %v", *large, time.Since(start))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	start = time.Now()
	s, report, err := store.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("opened in %v, %d commands were in the log only", time.Since(start), report.Replayed)
	stream := s.Stream("A", "S")
	if got := stream.State().Messages; got != uint64(*large) {
		t.Errorf("%d messages", got)
	}
	timed(t, "load", 1000, func() {
		if _, err := stream.Load(1 + rand.Uint64N(uint64(*large))); err != nil {
			t.Fatal(err)
		}
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	found, err := rescue.Check(cfg)
	if err != nil || len(found.Problems) > 0 {
		t.Errorf("check: %+v, %v", found, err)
	}
}

// TestLargeSubjects prints what distinct subjects cost in memory, and how long it takes to find the last
// message of one.
func TestLargeSubjects(t *testing.T) {
	cfg := largeStore(t)
	s := open(t, cfg)
	before := heap()
	c := unlimited("S")
	c.MaxPerSubject = 5
	stream := create(t, s, c)
	subject := func(i int) string { return fmt.Sprintf("S.devices.region.%08d.state", i) }
	start := time.Now()
	fill(t, stream, *large, subject)
	t.Logf("%d subjects in %v; about %d MiB in use", *large, time.Since(start), inUse()>>20)
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := s.Compact(); err != nil {
		t.Fatal(err)
	}
	timed(t, "subject", 10_000, func() {
		i := rand.IntN(*large)
		if state, err := stream.Subject(subject(i)); err != nil || state.Count != 1 || state.Last != uint64(i+1) {
			t.Fatalf("%+v, %v", state, err)
		}
	})
	timed(t, "last by subject", 10_000, func() {
		i := rand.IntN(*large)
		if last, err := stream.LastOf(jetlog.Filter{subject(i)}, ^uint64(0)>>1); err != nil || last != uint64(i+1) {
			t.Fatalf("%d, %v", last, err)
		}
	})
	t.Logf("heap: %d MiB more", (int64(heap())-int64(before))>>20)
	timed(t, "count the subjects", 1, func() {
		if n, err := stream.CountSubjects(t.Context()); err != nil || n != *large {
			t.Fatalf("%d subjects, %v", n, err)
		}
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestLargeDeletes deletes nearly everything, in no order, and prints how long it takes to find the rest.
func TestLargeDeletes(t *testing.T) {
	cfg := largeStore(t)
	s := open(t, cfg)
	stream := create(t, s, unlimited("S"))
	fill(t, stream, *large, func(i int) string { return fmt.Sprintf("S.%d", i%10) })
	slots := make(chan struct{}, 4096)
	for i, n := range rand.New(rand.NewPCG(1, 1)).Perm(*large) {
		if i%100 == 0 {
			continue
		}
		slots <- struct{}{}
		err := stream.Start(context.Background(), &command.Delete{Time: int64(*large), Sequence: uint64(n + 1)}, func(jetlog.Result, error) { <-slots })
		if err != nil {
			t.Fatal(err)
		}
	}
	for range cap(slots) {
		slots <- struct{}{}
	}
	for _, when := range []string{"deleted", "compacted"} {
		for _, filter := range []jetlog.Filter{nil, {"S.3"}, {"S.*"}} {
			timed(t, fmt.Sprintf("%s: next of %q", when, filter), 1000, func() {
				if _, err := stream.NextOf(filter, rand.Uint64N(uint64(*large))); err != nil {
					t.Fatal(err)
				}
			})
		}
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
		if err := s.Compact(); err != nil {
			t.Fatal(err)
		}
	}
	closeStore(t, s)
}
