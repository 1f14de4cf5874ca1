//go:build linux && long

package rigtest_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"runnel/cluster/rigtest"
)

// What is idle, and how long it is looked at.
const (
	idleStreams   = 1000
	idleConsumers = 10 // of each stream
	settling      = 30 * time.Second
	watching      = 60 * time.Second
)

// TestCrowdIdle tells what three servers take for many streams that nobody uses, and how much more with many durable consumers
// of them. It judges nothing: the figures are for people.
func TestCrowdIdle(t *testing.T) {
	c := rigtest.Start(t, rigtest.Config{JetStream: true})
	t.Logf("nothing: %s", watch(t, c))
	nc := c.Connect()
	each(idleStreams, func(i int) { c.CreateStream(nc, crowdName(i), 3) })
	before := watch(t, c)
	t.Logf("%d streams: %s", idleStreams, before)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	each(idleStreams*idleConsumers, func(i int) {
		_, err := rigtest.Retry(func(ctx context.Context) error {
			_, err := js.CreateConsumer(ctx, crowdName((i-1)/idleConsumers+1), jetstream.ConsumerConfig{
				Durable: fmt.Sprintf("C%d", i), AckPolicy: jetstream.AckExplicitPolicy,
			})
			return err
		})
		if err != nil {
			t.Errorf("create consumer %d: %v", i, err)
		}
	})
	after := watch(t, c)
	t.Logf("%d consumers besides: %s", idleStreams*idleConsumers, after)
	t.Logf("the consumers add %.1f %% of processor and %.1f %% of memory", 100*(after.cores/before.cores-1), 100*(after.bytes/before.bytes-1))
}

// usage is what the servers of a cluster take together.
type usage struct {
	cores float64 // busy all the time
	bytes float64 // of memory
}

// String has the processor time of one server in percent of a core.
func (u usage) String() string {
	return fmt.Sprintf("%.2f %% of a core and %.1f MiB for each of three servers", 100*u.cores/3, u.bytes/3/(1<<20))
}

// watch looks at servers for a while, after they have become quiet.
func watch(t *testing.T, c *rigtest.Cluster) usage {
	t.Helper()
	c.Pass(settling)
	begin := processorTime(t, c)
	c.Pass(watching)
	u := usage{cores: float64(processorTime(t, c)-begin) / float64(watching)}
	for _, n := range c.Nodes {
		for line := range strings.Lines(readProc(t, n, "status")) {
			if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
				kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
				if err != nil {
					t.Fatalf("memory of %s: %q: %v", n.Name, line, err)
				}
				u.bytes += kib * 1024
			}
		}
	}
	return u
}

// processorTime is what the servers have used since their start.
func processorTime(t *testing.T, c *rigtest.Cluster) time.Duration {
	t.Helper()
	const tick = 10 * time.Millisecond // of the times in stat
	var sum time.Duration
	for _, n := range c.Nodes {
		text := readProc(t, n, "stat")
		fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:]) // from the third field on: the second may have spaces
		for _, field := range fields[11:13] {
			ticks, err := strconv.ParseInt(field, 10, 64)
			if err != nil {
				t.Fatalf("times of %s: %q: %v", n.Name, text, err)
			}
			sum += time.Duration(ticks) * tick
		}
	}
	return sum
}

// readProc reads what the system says of the process of a server.
func readProc(t *testing.T, n *rigtest.Node, file string) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", n.PID(), file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
