package powercut_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"runnel/jetlog/vfs"
)

// clockAckWait is how long a worker may keep a message.
const clockAckWait = time.Second

// jumps are what is done to the clock of a server, one after the other: how far it is ahead then.
func jumps() map[string][]time.Duration {
	strobe := make([]time.Duration, 0, 40)
	for n := range 20 {
		strobe = append(strobe, time.Duration(n%5)*200*time.Millisecond, -time.Duration(n%7)*200*time.Millisecond)
	}
	return map[string][]time.Duration{
		"a second on":   {time.Second},
		"a second back": {-time.Second},
		"an hour on":    {time.Hour},
		"an hour back":  {-time.Hour},
		"on and back":   {time.Hour, 0},
		"to and fro":    strobe,
	}
}

// TestClockJumps sets the clocks of servers, of one or of all, while clients are at work: nothing that was acknowledged is lost, workers get
// what was not acknowledged when its time is up and not an hour later, nobody has to be elected anew for that, and a power cut afterwards makes
// no difference.
func TestClockJumps(t *testing.T) {
	for name, steps := range jumps() {
		t.Run(name, func(t *testing.T) {
			c, js := start(t)
			three := startLoad(t, c, "three", 4, 0)
			before := leader(t, js, "three")
			for _, ahead := range steps {
				for i := range 3 {
					c.SetClock(i, ahead)
				}
				three.waitAck()
			}
			w := newWorkers(t, js)
			w.publish("late")
			w.comesAgain("late")
			if after := leader(t, js, "three"); after != before {
				t.Errorf("%s leads, and %s did before", after, before)
			}
			// Whoever leads next has the right clock, and a state that is from other times.
			c.CutPower(func(int) vfs.Choice { return vfs.Lose }, 0, 1, 2)
			for i := range 3 {
				c.SetClock(i, 0)
				if err := c.PowerOn(i); err != nil {
					t.Fatal(err)
				}
			}
			three.waitAck()
			w.publish("later")
			w.comesAgain("later")
			three.verify(js)
		})
	}
}

// leader is who leads a stream.
func leader(t *testing.T, js jetstream.JetStream, stream string) (name string) {
	t.Helper()
	waitFor(t, "a leader", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		s, err := js.Stream(ctx, stream)
		if err != nil {
			return false
		}
		name = s.CachedInfo().Cluster.Leader
		return name != ""
	})
	return name
}

// workers share a stream of their own.
type workers struct {
	t        *testing.T
	js       jetstream.JetStream
	consumer jetstream.Consumer
}

func newWorkers(t *testing.T, js jetstream.JetStream) *workers {
	t.Helper()
	w := &workers{t: t, js: js}
	w.try("create a stream", func(ctx context.Context) error {
		_, err := js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
			Name: "work", Subjects: []string{"work"}, Replicas: 3, Retention: jetstream.WorkQueuePolicy, Duplicates: time.Minute,
		})
		return err
	})
	w.try("create a consumer", func(ctx context.Context) (err error) {
		w.consumer, err = js.CreateOrUpdateConsumer(ctx, "work", jetstream.ConsumerConfig{
			Durable: "workers", AckPolicy: jetstream.AckExplicitPolicy, AckWait: clockAckWait,
		})
		return err
	})
	return w
}

// try tries something until it succeeds.
func (w *workers) try(what string, do func(ctx context.Context) error) {
	w.t.Helper()
	var last error
	waitFor(w.t, what, func() bool {
		ctx, cancel := context.WithTimeout(w.t.Context(), 2*time.Second)
		defer cancel()
		last = do(ctx)
		return last == nil
	})
}

// publish stores a message, and once more, which must be recognised.
func (w *workers) publish(id string) {
	w.t.Helper()
	for _, again := range []bool{false, true} {
		w.try("publish", func(ctx context.Context) error {
			ack, err := w.js.Publish(ctx, "work", []byte(id), jetstream.WithMsgID(id))
			if err == nil && again && !ack.Duplicate {
				w.t.Errorf("%s was stored twice, as messages up to %d", id, ack.Sequence)
			}
			return err
		})
	}
}

// comesAgain takes a message and forgets it, so that it has to come again, and acknowledges it then.
func (w *workers) comesAgain(want string) {
	w.t.Helper()
	w.try("delivery of "+want, func(ctx context.Context) error {
		_, err := w.take(want)
		return err
	})
	w.try("second delivery of "+want, func(ctx context.Context) error {
		// An acknowledgement may get lost, and so may its answer.
		if m, err := w.take(want); err == nil {
			if err := m.DoubleAck(ctx); err == nil {
				return nil
			}
		}
		info, err := w.consumer.Info(ctx)
		if err == nil && info.NumPending+uint64(info.NumAckPending) > 0 {
			err = fmt.Errorf("%s is not acknowledged", want)
		}
		return err
	})
}

// take gets the one message that there is.
func (w *workers) take(want string) (jetstream.Msg, error) {
	m, err := w.consumer.Next(jetstream.FetchMaxWait(time.Second))
	if err == nil && string(m.Data()) != want {
		w.t.Errorf("got %q, want %q", m.Data(), want)
	}
	return m, err
}

// TestAgesAndClocks: what has an age goes when it has that age, though the clocks are set back meanwhile; and not before, though one that does
// not lead is set on.
func TestAgesAndClocks(t *testing.T) {
	c, js := start(t)
	w := &workers{t: t, js: js}
	var s jetstream.Stream
	w.try("create a stream", func(ctx context.Context) (err error) {
		s, err = js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
			Name: "aging", Subjects: []string{"aging"}, Replicas: 3, MaxAge: 5 * time.Second, Duplicates: time.Second,
		})
		return err
	})
	first := leader(t, js, "aging")
	for i := range 3 {
		if c.Name(i) != first {
			c.SetClock(i, time.Hour)
		}
	}
	w.try("publish", func(ctx context.Context) error {
		_, err := js.Publish(ctx, "aging", nil)
		return err
	})
	stored := time.Now()
	messages := func() (n uint64) {
		w.try("ask", func(ctx context.Context) error {
			info, err := s.Info(ctx)
			if err == nil {
				n = info.State.Msgs
			}
			return err
		})
		return n
	}
	if n := messages(); n != 1 && time.Since(stored) < 4*time.Second {
		t.Errorf("%d messages are stored, want the one", n)
	}
	for i := range 3 {
		c.SetClock(i, -time.Hour)
	}
	waitFor(t, "the end of a message", func() bool { return messages() == 0 })
}
