package delivery_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/server/accounts"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/delivery"
)

// many makes n consumers with a filter each, s.0 and so on, and lets each take messages if asked to.
func many(b testing.TB, w *world, n int) {
	b.Helper()
	stream := w.log.Config()
	for i := range n {
		cfg := config.Consumer{
			Name: fmt.Sprintf("c%d", i), Durable: fmt.Sprintf("c%d", i), Ack: config.AckExplicit, FilterSubject: fmt.Sprintf("s.%d", i),
		}
		cfg, err := cfg.Normalized(&stream, config.Limits{}, false)
		if err != nil {
			b.Fatal(err)
		}
		if err := w.log.Start(context.Background(), &command.ConsumerCreate{Time: now(), Config: cfg}, func(r jetlogResult, err error) {
			if err != nil || r.Code != 0 {
				b.Errorf("create %q: %v, code %d", cfg.Name, err, r.Code)
			}
		}); err != nil {
			b.Fatal(err)
		}
	}
	w.propose(&command.AckDeadline{Time: now()})
	for i := range n {
		w.stream.Update(fmt.Sprintf("c%d", i))
	}
	if err := w.stream.Settle(context.Background(), ""); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkStored(b *testing.B) {
	for _, n := range []int{1, 1000, 10000} {
		for _, hungry := range []bool{false, true} {
			b.Run(fmt.Sprintf("consumers=%d/one-hungry=%v", n, hungry), func(b *testing.B) {
				w := openWorld(b, streamConfig())
				defer w.close()
				many(b, w, n)
				if hungry { // but not for what is stored
					cfg := config.Consumer{Name: "h", Durable: "h", FilterSubject: "s.other"}
					w.makeConsumer(cfg)
					w.net.subscribe("inbox")
					w.stream.Pull("h", delivery.Request{Reply: "inbox"})
					if err := w.stream.Settle(context.Background(), "h"); err != nil {
						b.Fatal(err)
					}
				}
				subjects := make([]string, n)
				for i := range subjects {
					subjects[i] = fmt.Sprintf("s.%d", i)
				}
				b.ReportAllocs()
				b.ResetTimer()
				for i := range b.N {
					w.stream.Stored(subjects[i%n], uint64(i))
				}
			})
		}
	}
}

// sink counts messages and acknowledges them all at once.
type sink struct {
	acks []api.AckSubject
	got  chan []api.AckSubject
	want int
	mu   sync.Mutex
}

func (s *sink) Publish(_ *accounts.Account, _, _ string, _, _ []byte) int { return 1 }
func (s *sink) Deliver(_ *accounts.Account, _, _, _, reply string, _, _ []byte) int {
	a, _ := api.ParseAck(reply)
	s.mu.Lock()
	s.acks = append(s.acks, a)
	s.mu.Unlock()
	return 1
}
func (s *sink) Blocked(*accounts.Account, string, string, interface{ Wake() }) bool { return false }

func (s *sink) Flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.acks) >= s.want {
		s.got <- s.acks
		s.acks = nil
	}
}
func (s *sink) Close() {}

// benchmarkPull has a consumer deliver messages, in batches. They are on so many subjects.
func benchmarkPull(b *testing.B, cfg config.Consumer, batch, subjects int) {
	w := openWorld(b, streamConfig())
	w.net.subscribe("inbox")
	w.pool.Close()
	s := &sink{got: make(chan []api.AckSubject, 1), want: batch}
	w.pool = delivery.New(delivery.Config{
		Outlet: func() delivery.Outlet { return s }, Watch: w.net.watch, Events: w.events,
	})
	w.stream = w.pool.Open(w.account, w.log, nil)
	defer w.close()
	payload := make([]byte, 128)
	var left sync.WaitGroup
	for i := range b.N + batch {
		left.Add(1)
		subject := fmt.Sprintf("s.%d", i%subjects)
		err := w.log.Start(context.Background(), &command.Publish{Time: now(), Subject: subject, Payload: payload}, func(jetlogResult, error) { left.Done() })
		if err != nil {
			b.Fatal(err)
		}
	}
	left.Wait()
	w.makeConsumer(cfg)
	body := fmt.Appendf(nil, `{"batch":%d}`, batch)
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; n += batch {
		w.stream.Pull("c", delivery.Request{Reply: "inbox", Body: body})
		for _, a := range <-s.got {
			if cfg.Ack == config.AckExplicit {
				w.stream.Ack("c", delivery.Ack{Subject: a})
			}
		}
	}
	b.StopTimer()
}

func BenchmarkPull(b *testing.B) {
	b.Run("explicit/batch=500", func(b *testing.B) { benchmarkPull(b, explicit(), 500, 1) })
	b.Run("none/batch=500", func(b *testing.B) { benchmarkPull(b, config.Consumer{Ack: config.AckNone}, 500, 1) })
	b.Run("explicit/batch=1", func(b *testing.B) { benchmarkPull(b, explicit(), 1, 1) })
	b.Run("subjects=100000/batch=500", func(b *testing.B) { benchmarkPull(b, explicit(), 500, 100_000) })
	b.Run("keys=100000/batch=500", func(b *testing.B) { benchmarkPull(b, byKey(), 500, 100_000) })
}

// TestIdleConsumersCostLittle: no goroutine, no timer, and memory only for what they are.
func TestIdleConsumersCostLittle(t *testing.T) {
	w := openWorld(t, streamConfig())
	defer w.close()
	const n = 10000
	goroutines := runtime.NumGoroutine()
	stream := w.log.Config()
	_ = stream
	before := heap()
	many(t, w, n)
	w.quiet()
	state := heap() - before
	w.pool.Close()
	w.stream = nil
	w.pool = nil
	without := heap() - before
	each := (int64(state) - int64(without)) / n
	t.Logf("%d bytes each for the deliveries, %d for the state", each, int64(without)/n)
	if each > 1000 {
		t.Errorf("an idle consumer costs %d bytes, want less than 1000", each)
	}
	w.open()
	w.quiet()
	if g := runtime.NumGoroutine(); g > goroutines {
		t.Errorf("%d goroutines with idle consumers, %d without", g, goroutines)
	}
}

// heap returns the bytes in use.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// quiet waits until nothing is going on.
func (w *world) quiet() {
	w.t.Helper()
	if err := w.stream.Settle(context.Background(), ""); err != nil {
		w.t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); w.pool.Working() > 0; {
		if time.Now().After(deadline) {
			w.t.Fatal("workers do not end")
		}
		runtime.Gosched()
	}
}

// BenchmarkManyConsumers is one message for one of many consumers, each of which waits for its own subject.
func BenchmarkManyConsumers(b *testing.B) {
	for _, n := range []int{1, 1000} {
		b.Run(fmt.Sprintf("consumers=%d", n), func(b *testing.B) {
			w := openWorld(b, streamConfig())
			w.pool.Close()
			s := &sink{got: make(chan []api.AckSubject, 1), want: 1}
			w.pool = delivery.New(delivery.Config{
				Outlet: func() delivery.Outlet { return s }, Watch: w.net.watch, Events: w.events,
			})
			w.stream = w.pool.Open(w.account, w.log, nil)
			defer w.close()
			many(b, w, n)
			w.net.subscribe("inbox")
			for i := range n {
				w.stream.Pull(fmt.Sprintf("c%d", i), delivery.Request{Reply: "inbox", Body: []byte(`{"batch":100000000}`)})
			}
			if err := w.stream.Settle(context.Background(), ""); err != nil {
				b.Fatal(err)
			}
			payload := make([]byte, 128)
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				subject := fmt.Sprintf("s.%d", i%n)
				r := w.propose(&command.Publish{Time: now(), Subject: subject, Payload: payload})
				w.stream.Stored(subject, r.Sequence)
				for _, a := range <-s.got {
					w.stream.Ack(a.Consumer, delivery.Ack{Subject: a})
				}
			}
			b.StopTimer()
		})
	}
}
