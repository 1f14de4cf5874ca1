package jetstream_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"runnel/server/servertest"
)

// scaleStreams is how many streams and consumers the benchmarks make.
var scaleStreams = flag.Int("many", 10_000, "streams and consumers of the benchmarks of scale")

// inFlight is how many requests wait at a time.
const inFlight = 16

// many calls do for 0..n-1, inFlight at a time, and fails with the first error.
func many(t testing.TB, n int, do func(i int) error) {
	t.Helper()
	var wg sync.WaitGroup
	numbers := make(chan int)
	failed := make(chan error, inFlight)
	for range inFlight {
		wg.Go(func() {
			for i := range numbers {
				if err := do(i); err != nil {
					select {
					case failed <- fmt.Errorf("%d: %w", i, err):
					default:
					}
				}
			}
		})
	}
	for i := range n {
		numbers <- i
	}
	close(numbers)
	wg.Wait()
	select {
	case err := <-failed:
		t.Fatal(err)
	default:
	}
}

// ask makes a request of the API whose answer must not be an error, and reads the answer.
func ask(nc *nats.Conn, subject string, body, into any) error {
	var payload []byte
	if body != nil {
		var err error
		if payload, err = json.Marshal(body); err != nil {
			return err
		}
	}
	m, err := nc.Request("$JS.API."+subject, payload, time.Minute)
	if err != nil {
		return fmt.Errorf("%s: %w", subject, err)
	}
	var refused struct{ Error *nats.APIError }
	if err := json.Unmarshal(m.Data, &refused); err != nil || refused.Error != nil {
		return fmt.Errorf("%s: %s", subject, m.Data)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(m.Data, into)
}

func createStream(nc *nats.Conn, name string, subjects ...string) error {
	return ask(nc, "STREAM.CREATE."+name, map[string]any{"name": name, "subjects": subjects}, nil)
}

func createConsumer(nc *nats.Conn, stream, name, filter string) error {
	return ask(nc, "CONSUMER.CREATE."+stream+"."+name, map[string]any{
		"stream_name": stream,
		"config":      map[string]any{"name": name, "durable_name": name, "filter_subject": filter, "ack_policy": "explicit"},
	}, nil)
}

// burden is what the process has.
type burden struct {
	heap, rss  int64
	goroutines int
}

// weigh collects garbage and says what is left.
func weigh() burden {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b := burden{heap: int64(m.HeapAlloc), goroutines: runtime.NumGoroutine()}
	status, _ := os.ReadFile("/proc/self/status") // none on other systems
	for line := range strings.SplitSeq(string(status), "\n") {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kilobytes, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			b.rss = kilobytes << 10
		}
	}
	return b
}

// report has the benchmark say what n things cost.
func report(b *testing.B, before, after burden, n int, took time.Duration) {
	b.ReportMetric(took.Seconds()*1e6/float64(n), "µs/each")
	b.ReportMetric(float64(after.heap-before.heap)/float64(n), "heapB/each")
	b.ReportMetric(float64(after.rss-before.rss)/float64(n), "rssB/each")
	b.ReportMetric(float64(after.goroutines-before.goroutines), "goroutines")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkManyStreams creates streams over the API and asks about them.
func BenchmarkManyStreams(b *testing.B) {
	for b.Loop() {
		nc := startMany(b)
		before := weigh()
		began := time.Now()
		many(b, *scaleStreams, func(i int) error { return createStream(nc, fmt.Sprintf("s%d", i), fmt.Sprintf("s%d.>", i)) })
		took := time.Since(began)
		after := weigh()
		report(b, before, after, *scaleStreams, took)
		timed := func(unit string, do func() error) {
			began := time.Now()
			if err := do(); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(time.Since(began).Microseconds()), unit)
		}
		timed("info-µs", func() error { return ask(nc, "STREAM.INFO.s77", nil, nil) })
		timed("account-µs", func() error { return ask(nc, "INFO", nil, nil) })
		timed("names-µs", func() error { return ask(nc, "STREAM.NAMES", nil, nil) })
		timed("find-µs", func() error { return ask(nc, "STREAM.NAMES", map[string]any{"subject": "s77.x"}, nil) })
		timed("list-µs", func() error { return ask(nc, "STREAM.LIST", map[string]any{"offset": 500}, nil) })
		timed("publish-µs", func() error { return publish(nc, *scaleStreams, 10_000) })
		timed("delete-µs", func() error {
			many(b, *scaleStreams, func(i int) error { return ask(nc, fmt.Sprintf("STREAM.DELETE.s%d", i), nil, nil) })
			return nil
		})
	}
}

// publish publishes n messages over streams s0.. and waits for the acknowledgements.
func publish(nc *nats.Conn, streams, n int) error {
	js, err := nc.JetStream(nats.PublishAsyncMaxPending(1024))
	if err != nil {
		return err
	}
	for i := range n {
		if _, err := js.PublishAsync(fmt.Sprintf("s%d.x%d", i%streams, i%100), nil, nats.StallWait(servertest.Patience)); err != nil {
			return err
		}
	}
	<-js.PublishAsyncComplete()
	return nil
}

// startMany runs a server that allows as many consumers as are asked for.
func startMany(t testing.TB) *nats.Conn {
	t.Helper()
	s := servertest.Start(t, fmt.Sprintf("jetstream { store_dir: %q, sync: os, limits { default_max_consumers: 100000 } }", t.TempDir()))
	return servertest.Connect(t, s)
}

// BenchmarkManyConsumers creates consumers of one stream, each with a filter of its own, and asks about them.
func BenchmarkManyConsumers(b *testing.B) {
	for b.Loop() {
		nc := startMany(b)
		if err := createStream(nc, "s0", "s0.>"); err != nil {
			b.Fatal(err)
		}
		before := weigh()
		began := time.Now()
		many(b, *scaleStreams, func(i int) error {
			return createConsumer(nc, "s0", fmt.Sprintf("c%d", i), fmt.Sprintf("s0.x%d", i))
		})
		took := time.Since(began)
		after := weigh()
		report(b, before, after, *scaleStreams, took)
		timed := func(unit string, do func() error) {
			began := time.Now()
			if err := do(); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(time.Since(began).Microseconds()), unit)
		}
		timed("info-µs", func() error { return ask(nc, "STREAM.INFO.s0", nil, nil) })
		timed("consumer-µs", func() error { return ask(nc, "CONSUMER.INFO.s0.c77", nil, nil) })
		timed("names-µs", func() error { return ask(nc, "CONSUMER.NAMES.s0", nil, nil) })
		timed("list-µs", func() error { return ask(nc, "CONSUMER.LIST.s0", nil, nil) })
		timed("publish-µs", func() error { return publish(nc, 1, 10_000) })
		// All wait for a message now, and a hundred get some.
		for i := range *scaleStreams {
			if err := nc.PublishRequest(fmt.Sprintf("$JS.API.CONSUMER.MSG.NEXT.s0.c%d", i), "waiting", []byte(`{"batch":1,"expires":600000000000}`)); err != nil {
				b.Fatal(err)
			}
		}
		if err := nc.Flush(); err != nil {
			b.Fatal(err)
		}
		timed("publishwaiting-µs", func() error { return publish(nc, 1, 10_000) })
		timed("delete-µs", func() error {
			many(b, *scaleStreams, func(i int) error { return ask(nc, fmt.Sprintf("CONSUMER.DELETE.s0.c%d", i), nil, nil) })
			return nil
		})
	}
}

// BenchmarkManyOfBoth creates ten consumers on each of a tenth of the streams.
func BenchmarkManyOfBoth(b *testing.B) {
	for b.Loop() {
		nc := startMany(b)
		streams := *scaleStreams / 10
		many(b, streams, func(i int) error { return createStream(nc, fmt.Sprintf("s%d", i), fmt.Sprintf("s%d.>", i)) })
		before := weigh()
		began := time.Now()
		many(b, *scaleStreams, func(i int) error { return createConsumer(nc, fmt.Sprintf("s%d", i%streams), fmt.Sprintf("c%d", i), "") })
		took := time.Since(began)
		report(b, before, weigh(), *scaleStreams, took)
		idle := cpuTime()
		<-time.After(5 * time.Second)
		b.ReportMetric(float64((cpuTime()-idle).Milliseconds())/5, "idle-ms/s")
	}
}

// BenchmarkStart measures how long a server takes that was killed.
func BenchmarkStart(b *testing.B) {
	for name, fill := range map[string]func(nc *nats.Conn) error{
		"streams": func(nc *nats.Conn) error {
			many(b, *scaleStreams/10, func(i int) error { return createStream(nc, fmt.Sprintf("s%d", i), fmt.Sprintf("s%d.>", i)) })
			many(b, *scaleStreams/10, func(i int) error { return createConsumer(nc, fmt.Sprintf("s%d", i), "c", "") })
			return publish(nc, *scaleStreams/10, *scaleStreams)
		},
		"messages": func(nc *nats.Conn) error {
			if err := createStream(nc, "s0", "s0.>"); err != nil {
				return err
			}
			return publish(nc, 1, *scaleStreams*100)
		},
	} {
		b.Run(name, func(b *testing.B) {
			dir, after := b.TempDir(), b.TempDir()
			_, nc := runIn(b, dir)
			if err := fill(nc); err != nil {
				b.Fatal(err)
			}
			if err := os.CopyFS(after, os.DirFS(dir)); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				began := time.Now()
				s, nc := runIn(b, after)
				b.ReportMetric(float64(time.Since(began).Milliseconds()), "ready-ms")
				if err := ask(nc, "STREAM.INFO.s0", nil, nil); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(time.Since(began).Milliseconds()), "info-ms")
				if err := s.Shutdown(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}
