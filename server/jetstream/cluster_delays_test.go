package jetstream_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

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
