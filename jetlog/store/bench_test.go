package store_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/rescue"
	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
	"runnel/jetlog/wal"
)

// BenchmarkPublish measures messages of 128 bytes that are stored and safe, with so many in flight, by
// one goroutine: index and limits included. The control is a raw log that is told of each message by itself, as a
// stream is; the log is that of the store, with the same records, asked now and then how far it is. The ratios say
// what streams cost. The baseline writes and syncs one file a message, and has one in flight.
func BenchmarkPublish(b *testing.B) {
	for _, streams := range []int{1, 100} {
		for _, inFlight := range []int{16, 256, 4096} {
			name := fmt.Sprintf("streams=%d/inflight=%d", streams, inFlight)
			b.Run(name+"/control", func(b *testing.B) { benchRawLog(b, streams, inFlight) })
			b.Run(name+"/log", func(b *testing.B) { benchLog(b, streams, inFlight) })
			b.Run(name+"/store", func(b *testing.B) { benchStore(b, streams, inFlight) })
		}
	}
	b.Run("baseline", benchFiles)
}

func benchStore(b *testing.B, streams, inFlight int) {
	s := open(b, store.Config{FS: vfs.Disk{}, Dir: filepath.Join(b.TempDir(), "store"), ScrubBytes: -1, ReserveBytes: -1})
	all := createMany(b, s, streams)
	b.ReportAllocs()
	b.SetBytes(128)
	start := processorTime(b)
	b.ResetTimer()
	publishToAll(b, all, inFlight, b.N)
	b.StopTimer()
	report(b, start)
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}

// TestBenchmarkIsSound checks a store that was written as the benchmark does, and flushed meanwhile.
func TestBenchmarkIsSound(t *testing.T) {
	const streams, messages = 10, 50_000
	cfg := store.Config{
		FS: vfs.Disk{}, Dir: filepath.Join(t.TempDir(), "store"), ScrubBytes: -1, ReserveBytes: -1,
		FlushBytes: 1 << 20, SegmentBytes: 4 << 20, LogBytes: 16 << 20, LogSegmentBytes: 1 << 20,
	}
	s := open(t, cfg)
	publishToAll(t, createMany(t, s, streams), 256, messages)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	found, err := rescue.Check(cfg)
	if err != nil || len(found.Problems) > 0 || len(found.Streams) != streams || found.Files == 0 {
		t.Fatalf("check: %+v, %v", found, err)
	}
	sum := uint64(0)
	for _, x := range found.Streams {
		sum += x.Published
		gone := uint64(0)
		for _, n := range x.Removed {
			gone += n
		}
		if x.Published != x.Messages+gone {
			t.Errorf("%+v does not add up", x)
		}
	}
	if sum != messages {
		t.Errorf("%d messages were published, want %d", sum, messages)
	}
}

// createMany creates streams with limits that are never reached.
func createMany(b testing.TB, s *store.Store, streams int) (all []*store.Stream) {
	b.Helper()
	for i := range streams {
		cfg := unlimited(fmt.Sprintf("s%d", i))
		cfg.MaxMessages = 1 << 40
		all = append(all, create(b, s, cfg))
	}
	return all
}

// publishToAll publishes messages to streams in turn, with so many in flight.
func publishToAll(b testing.TB, all []*store.Stream, inFlight, messages int) {
	b.Helper()
	streams := len(all)
	var subjects []string
	for _, stream := range all {
		subjects = append(subjects, stream.Name()+".orders.new")
	}
	slots := newWindow(inFlight)
	done := func(r jetlog.Result, err error) {
		if err != nil || !r.Stored {
			b.Errorf("%+v, %v", r, err)
		}
		slots.leave()
	}
	ctx := context.Background()
	for i := range messages {
		slots.enter()
		c := &command.Publish{Time: int64(i), Subject: subjects[i%streams], Payload: make([]byte, 128)}
		if err := all[i%streams].Start(ctx, c, done); err != nil {
			b.Fatal(err)
		}
	}
	slots.wait(0)
}

// window limits what one goroutine has in flight. It costs as little as that of the control.
type window struct {
	limit, used int64
	done        atomic.Int64
	waiting     atomic.Int64 // until so many are done; 0: nobody waits
	wake        chan struct{}
}

func newWindow(limit int) *window { return &window{limit: int64(limit), wake: make(chan struct{}, 1)} }

// enter begins one, and waits while too many are in flight.
func (w *window) enter() {
	if w.used-w.done.Load() >= w.limit {
		w.wait(w.limit - 1)
	}
	w.used++
}

// wait waits until no more than so many are in flight.
func (w *window) wait(left int64) {
	w.waiting.Store(w.used - left)
	for w.used-w.done.Load() > left {
		<-w.wake
	}
	w.waiting.Store(0)
}

// leave ends one.
func (w *window) leave() {
	done := w.done.Add(1)
	if until := w.waiting.Load(); until > 0 && done >= until {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

func report(b *testing.B, start time.Duration) {
	b.Helper()
	b.ReportMetric(float64(processorTime(b)-start)/float64(b.N), "cpu-ns/op")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msg/s")
}

func benchRawLog(b *testing.B, streams, inFlight int) {
	log := newRawLog(b)
	slots := newWindow(inFlight)
	var encoded []byte
	b.ReportAllocs()
	b.SetBytes(128)
	start := processorTime(b)
	b.ResetTimer()
	for i := range b.N {
		slots.enter()
		c := &command.Publish{Time: int64(i), Subject: "s12.orders.new", Payload: make([]byte, 128)}
		encoded = command.Append(encoded[:0], c)
		log.append(uint64(i%streams), uint64(i), encoded, slots.leave)
	}
	slots.wait(0)
	b.StopTimer()
	report(b, start)
	log.close()
}

func benchLog(b *testing.B, streams, inFlight int) {
	log, _, err := wal.Open(wal.Config{FS: vfs.Disk{}, Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	window := make([]wal.Position, 0, inFlight)
	var encoded []byte
	b.ReportAllocs()
	b.SetBytes(128)
	start := processorTime(b)
	b.ResetTimer()
	for i := range b.N {
		if len(window) == inFlight {
			if err := log.Wait(ctx, window[0]); err != nil {
				b.Fatal(err)
			}
			n, safe := 0, log.Durable()
			for n < len(window) && window[n] <= safe {
				n++
			}
			window = window[:copy(window, window[n:])]
		}
		c := &command.Publish{Time: int64(i), Subject: "s12.orders.new", Payload: make([]byte, 128)}
		encoded = command.Append(encoded[:0], c)
		p, err := log.Append(ctx, wal.Record{Group: uint64(i % streams), Kind: 1, Index: uint64(i), Payload: encoded})
		if err != nil {
			b.Fatal(err)
		}
		window = append(window, p)
		if i%100_000 == 0 {
			for g := range streams {
				log.Release(uint64(g), p)
			}
		}
	}
	if len(window) > 0 {
		if err := log.Wait(ctx, window[len(window)-1]); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	report(b, start)
	if err := log.Close(); err != nil {
		b.Fatal(err)
	}
}

// benchFiles appends to a file and syncs it, message by message.
func benchFiles(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "messages"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	message := make([]byte, 160)
	start := processorTime(b)
	b.ResetTimer()
	for i := range b.N {
		binary.LittleEndian.PutUint64(message, uint64(i))
		if _, err := f.Write(message); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	report(b, start)
}

// BenchmarkFlush flushes many streams together that have little each.
func BenchmarkFlush(b *testing.B) {
	const streams = 1000
	s := open(b, store.Config{FS: vfs.Disk{}, Dir: filepath.Join(b.TempDir(), "store"), ScrubBytes: -1, ReserveBytes: -1})
	var all []*store.Stream
	for i := range streams {
		all = append(all, create(b, s, unlimited(fmt.Sprintf("s%d", i))))
	}
	payload := make([]byte, 128)
	for b.Loop() {
		b.StopTimer()
		slots := make(chan struct{}, 1000)
		for i := range 100 * streams {
			slots <- struct{}{}
			stream := all[i%streams]
			c := &command.Publish{Time: int64(i), Subject: stream.Name() + ".a", Payload: payload}
			if err := stream.Start(context.Background(), c, func(jetlog.Result, error) { <-slots }); err != nil {
				b.Fatal(err)
			}
		}
		for range cap(slots) {
			slots <- struct{}{}
		}
		b.StartTimer()
		if err := s.Flush(); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}
