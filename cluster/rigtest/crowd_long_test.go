//go:build unix && long

package rigtest_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"runnel/cluster/rigtest"
)

// The crowd: many streams that do nothing.
const (
	crowd    = 900
	creators = 16
)

// each calls f for the numbers from 1 to n, some at the same time.
func each(n int, f func(i int)) {
	next := make(chan int)
	var running sync.WaitGroup
	for range creators {
		running.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i + 1
	}
	close(next)
	running.Wait()
}

// crowdName is the name of a stream of the crowd.
func crowdName(i int) string { return fmt.Sprintf("CROWD%d", i) }

// TestCrowdLeaderKilled: a server that leads a third of many streams ends, and all have other leaders that take messages. The
// figures are for a quiet machine; only what is far beyond them fails.
func TestCrowdLeaderKilled(t *testing.T) {
	c := rigtest.Start(t, rigtest.Config{JetStream: true})
	nc := c.Connect()
	each(crowd, func(i int) { c.CreateStream(nc, crowdName(i), 3) })
	victim := c.Random()
	var clients []*nats.Conn
	for range 4 {
		clients = append(clients, rigtest.Connect(t, c.Others(victim)))
	}
	t.Logf("no server ended: %s", acceptance(t, clients, func() {}))
	led, err := victim.Led()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("of %d streams the servers lead %v", crowd, led)
	var looking sync.WaitGroup
	times := acceptance(t, clients, func() {
		victim.Kill()
		begin := time.Now()
		looking.Go(func() { leaders(t, c.Others(victim), begin) })
	})
	looking.Wait()
	t.Logf("%s ended: %s", victim.Name, times)
	if last := times[len(times)-1]; last > 20*time.Second {
		t.Errorf("a stream took no message for %v", last)
	}
	victim.Start()
	c.WaitReady()
}

// leaders tells when all streams are led by some servers.
func leaders(t *testing.T, nodes []*rigtest.Node, begin time.Time) {
	rigtest.Eventually(t, "leaders of all streams", func() error {
		led, err := nodes[0].Led()
		sum := 0
		for _, n := range nodes {
			sum += led[n.Name]
		}
		if err == nil && sum < crowd {
			err = fmt.Errorf("%d have one", sum)
		}
		return err
	})
	t.Logf("all have leaders after %v", time.Since(begin).Round(time.Millisecond))
}

// durations are in order.
type durations []time.Duration

// String has the middle and the end.
func (d durations) String() string {
	at := func(percent int) time.Duration { return d[(len(d)-1)*percent/100].Round(time.Millisecond) }
	return fmt.Sprintf("half of %d streams took a message after %v, 70 %% after %v, 90 %% after %v, 99 %% after %v, all after %v", len(d), at(50), at(70), at(90), at(99), at(100))
}

// acceptance publishes to every stream of the crowd from a moment on, until it takes the message, and returns when that was,
// counted from the moment.
func acceptance(t *testing.T, clients []*nats.Conn, moment func()) durations {
	t.Helper()
	times := make(durations, crowd)
	moment()
	begin := time.Now()
	var running sync.WaitGroup
	for i := range times {
		js, err := jetstream.New(clients[i%len(clients)])
		if err != nil {
			t.Fatal(err)
		}
		running.Go(func() {
			subject := crowdName(i+1) + ".x"
			_, err := rigtest.Retry(func(ctx context.Context) error {
				_, err := js.Publish(ctx, subject, nil, jetstream.WithRetryAttempts(0))
				return err
			})
			if err != nil {
				t.Errorf("publish to %s: %v", subject, err)
			}
			times[i] = time.Since(begin)
		})
	}
	running.Wait()
	slices.Sort(times)
	return times
}
