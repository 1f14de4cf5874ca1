//go:build unix

package client_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"runnel/client"
	"runnel/cluster/rigtest"
)

func TestMain(m *testing.M) { os.Exit(rigtest.Main(m)) }

// jobs is how many messages TestKill processes, killed is after how many of them the leader dies.
const jobs, killed = 300, 100

// TestKill processes messages on three servers, the leader of which dies in the middle without a word: what handlers have published is
// there once for each message, and afterwards nobody is behind.
func TestKill(t *testing.T) {
	c := rigtest.Start(t, rigtest.Config{JetStream: true})
	nc := c.Connect()
	c.CreateStream(nc, "JOBS", 3)
	c.CreateStream(nc, "RESULTS", 3)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	_, err = rigtest.Retry(func(ctx context.Context) error {
		_, err := js.CreateOrUpdateConsumer(ctx, "JOBS", jetstream.ConsumerConfig{
			Durable: "work", AckPolicy: jetstream.AckExplicitPolicy, AckWait: 5 * time.Second,
			Metadata: map[string]string{"runnel.retry": "exponential,min=10ms,max=1s"},
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range jobs {
		if _, err := js.Publish(t.Context(), fmt.Sprintf("JOBS.%d", i), nil, jetstream.WithMsgID(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	var handled atomic.Int64
	ctx, end := context.WithCancel(t.Context())
	done, dies := make(chan error, 1), make(chan struct{})
	go func() {
		done <- client.Process(ctx, js, client.Work[string]{Stream: "JOBS", Consumer: "work", Workers: 8, Handle: func(_ context.Context, m *client.Message[string]) error {
			if handled.Add(1) == killed {
				close(dies)
			}
			m.Publish(nats.NewMsg("RESULTS." + m.Subject))
			return nil
		}})
	}()
	<-dies
	leader := c.Leader(nc, "JOBS")
	leader.Kill()
	var lag client.ConsumerLag
	rigtest.Eventually(t, "all to be processed", func() error {
		page, err := client.AllLags(t.Context(), nc, client.LagQuery{Stream: "JOBS"})
		if err != nil {
			return err
		}
		if len(page.Missing) > 0 || len(page.Consumers) != 1 {
			return fmt.Errorf("got %+v", page)
		}
		if lag = page.Consumers[0]; lag.Messages > 0 {
			return fmt.Errorf("%d messages are left, %+v", lag.Messages, lag.Stalled)
		}
		return nil
	})
	end()
	if err := <-done; err != nil {
		t.Error(err)
	}
	why, err := client.Explain(t.Context(), nc, "JOBS", "work")
	if err != nil || !why.Delivers || why.Reasons[0].Code != "caught_up" {
		t.Errorf("explain: got %+v, %v", why, err)
	}
	leader.Start()
	c.WaitReplicas(nc, "RESULTS")
	verify(t, js)
}

// verify looks whether there is one result for each job.
func verify(t *testing.T, js jetstream.JetStream) {
	t.Helper()
	stream, err := js.Stream(t.Context(), "RESULTS")
	if err != nil {
		t.Fatal(err)
	}
	info, err := stream.Info(t.Context(), jetstream.WithSubjectFilter(">"))
	if err != nil {
		t.Fatal(err)
	}
	var wrong []string
	for i := range jobs {
		subject := fmt.Sprintf("RESULTS.JOBS.%d", i)
		if n := info.State.Subjects[subject]; n != 1 {
			wrong = append(wrong, fmt.Sprintf("%s: %d", subject, n))
		}
	}
	if slices.Sort(wrong); len(wrong) > 0 || info.State.Msgs != jobs {
		t.Errorf("%d results for %d jobs, wrong are %v", info.State.Msgs, jobs, wrong)
	}
}
