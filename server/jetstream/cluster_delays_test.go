package jetstream_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"runnel/server/jetstream/api"
	"runnel/server/servertest"
)

// delay publishes a message to be stored later, until that is acknowledged.
func (w *world) delay(nc *nats.Conn, subject, id, delay string) {
	w.t.Helper()
	m := nats.NewMsg(subject)
	m.Header.Set("Runnel-Delay", delay)
	m.Header.Set(nats.MsgIdHdr, id)
	for deadline := time.Now().Add(servertest.Patience); ; {
		r, err := nc.RequestMsg(m, 500*time.Millisecond)
		var a ack
		if err == nil {
			err = json.Unmarshal(r.Data, &a)
		}
		switch {
		case time.Now().After(deadline):
			w.t.Errorf("%s: %v, %v", subject, a, err)
			return
		case errors.Is(err, nats.ErrNoResponders), errors.Is(err, nats.ErrTimeout), a.Error.Code == 11061:
			continue // nobody leads, or nobody knows what has become of it
		case err != nil || a.Error.Code != 0 || a.Stream != "RUNNEL-DELAYED-S":
			w.t.Errorf("%s: %v, %v", subject, a, err)
			return
		}
		return
	}
}

// TestClusterDelay delays messages while leaders of the stream and of its companion come and go: each gets there once.
func TestClusterDelay(t *testing.T) {
	for _, lossy := range []bool{false, true} {
		t.Run(fmt.Sprintf("lossy %v", lossy), func(t *testing.T) {
			w := newWorld(t, 3)
			nc := w.connect()
			w.must(nc, "STREAM.CREATE.S", `{"name":"S","subjects":["s.>"],"num_replicas":3}`, nil)
			const messages, changes = 120, 10
			w.delay(nc, "s.0", "0", "50ms")
			target, companion := w.group("S"), w.group("RUNNEL-DELAYED-S")
			target.lossy, companion.lossy = lossy, lossy
			done := make(chan struct{})
			go func() {
				defer close(done)
				for i := 1; i < messages && !t.Failed(); i++ {
					w.delay(nc, fmt.Sprint("s.", i), fmt.Sprint(i), fmt.Sprintf("%dms", 20+i%7*30))
				}
			}()
			random := rand.New(rand.NewPCG(1, 2))
			for i := range changes {
				want := uint64((i + 1) * messages / (changes + 2))
				servertest.Eventually(t, "messages to come in", func() bool { return target.logs[0].State().Last >= want || t.Failed() })
				if i%2 == 0 {
					companion.elect(random.IntN(3))
				} else {
					target.elect(random.IntN(3))
				}
			}
			<-done
			servertest.Eventually(t, "all to be moved", func() bool { return companion.logs[0].State().Messages == 0 || t.Failed() })
			target.drain()
			seen := map[string]uint64{}
			for seq := uint64(1); seq <= target.logs[0].State().Last; seq++ {
				m, err := target.logs[0].Load(seq)
				if before := seen[m.Subject]; err != nil || before != 0 {
					t.Errorf("message %d is on %s, as %d is (%v)", seq, m.Subject, before, err)
				}
				seen[m.Subject] = seq
			}
			if len(seen) != messages {
				t.Errorf("%d messages are there, want %d", len(seen), messages)
			}
			if got, want := companion.a.Config.Replicas, 3; got != want {
				t.Errorf("the companion has %d replicas, want %d", got, want)
			}
		})
	}
}

// TestClusterDelayCalls looks at what is delayed and cancels some of it, whoever leads the stream and whoever what it keeps; and the stream
// that keeps it has as many replicas as the one that it is for.
func TestClusterDelayCalls(t *testing.T) {
	w := newWorld(t, 3)
	nc := w.connect()
	w.must(nc, "STREAM.CREATE.S", `{"name":"S","subjects":["s.>"],"num_replicas":3}`, nil)
	var l api.DelayListAnswer
	if code := own(t, nc, "DELAY.LIST.S", "", &l); code != 0 || l.Delayed == nil || len(l.Delayed) != 0 {
		t.Errorf("before anything is delayed: got %d, %+v", code, l)
	}
	for i := range 6 {
		w.delay(nc, fmt.Sprint("s.", i), fmt.Sprint(i), "1h")
	}
	companion := w.group("RUNNEL-DELAYED-S")
	for leader := range 3 {
		companion.elect(leader)
		w.group("S").elect((leader + 1) % 3)
		l = api.DelayListAnswer{}
		if code := own(t, nc, "DELAY.LIST.S", "", &l); code != 0 || len(l.Delayed) != 6-leader || int(l.Messages) != 6-leader {
			t.Fatalf("led by n%d: got %d, %+v", leader+1, code, l)
		}
		var c api.DelayCancelAnswer
		if code := own(t, nc, "DELAY.CANCEL.S", fmt.Sprintf(`{"seq":%d}`, l.Delayed[0].Sequence), &c); code != 0 || c.Cancelled != 1 {
			t.Errorf("led by n%d: got %d, %+v", leader+1, code, c)
		}
	}
	if code := own(t, nc, "DELAY.LIST.NONE", "", nil); code != 10059 {
		t.Errorf("a stream that there is not: got error %d", code)
	}
	w.must(nc, "STREAM.UPDATE.S", `{"name":"S","subjects":["s.>"],"num_replicas":1,"duplicate_window":60000000000}`, nil)
	a, _ := w.members[0].Stream("A", "RUNNEL-DELAYED-S")
	if a.Config.Replicas != 1 || a.Config.DuplicateWindow != time.Minute || len(a.Config.Subjects) != 1 {
		t.Errorf("after the stream has changed: got %+v", a.Config)
	}
}
