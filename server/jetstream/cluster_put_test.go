package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"runnel/server/jetstream/api"
	"runnel/server/jetstream/handover"
	"runnel/server/servertest"
)

// put has a member put messages with the numbers from one to another into stream S, and returns how many were there before.
func (w *world) put(member int, from, to uint64) (before int) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), servertest.Patience)
	defer cancel()
	var list []handover.Message
	for n := from; n <= to; n++ {
		list = append(list, handover.Message{Subject: fmt.Sprint("dead.", n), Payload: []byte("x"), Producer: "p", Number: n})
	}
	outcomes, err := w.members[member].service.Put(ctx, "A", "S", list)
	if err != nil || len(outcomes) != len(list) {
		w.t.Errorf("put %d to %d: %v, %v", from, to, outcomes, err)
		return 0
	}
	for i, o := range outcomes {
		switch {
		case o.Refusal != nil:
			w.t.Errorf("put %d: %v", from+uint64(i), o.Refusal)
		case o.Duplicate:
			before++
		}
	}
	return before
}

// TestClusterPut puts messages into a stream from all servers, wherever it is led.
func TestClusterPut(t *testing.T) {
	for _, replicas := range []int{1, 3} {
		t.Run(fmt.Sprint("R", replicas), func(t *testing.T) {
			w := newWorld(t, 3)
			nc := w.connect()
			w.must(nc, "STREAM.CREATE.S", fmt.Sprintf(`{"name":"S","subjects":["s.>"],"num_replicas":%d}`, replicas), nil)
			for i := range 3 {
				n := uint64(i * 10)
				if before := w.put(i, n+1, n+10); before != 0 {
					t.Errorf("n%d: %d of the messages were there before", i+1, before)
				}
				if before := w.put((i+1)%3, n+5, n+10); before != 6 {
					t.Errorf("n%d: %d of the messages were there before, want 6", i+1, before)
				}
			}
			var s answered
			w.must(nc, "STREAM.INFO.S", "", &s)
			if s.State.Messages != 30 {
				t.Errorf("the stream has %d messages, want 30", s.State.Messages)
			}
			_, err := w.members[1].service.Put(t.Context(), "A", "NONE", []handover.Message{{Subject: "s", Producer: "p", Number: 1}})
			var refusal *api.Error
			if !errors.As(err, &refusal) || refusal.ErrCode != int(api.StreamNotFound) {
				t.Errorf("no such stream: got %v", err)
			}
		})
	}
}

// TestClusterPutUnderChange puts messages while leaders come and go, some of which lose what is under way: each is there once, in
// order.
func TestClusterPutUnderChange(t *testing.T) {
	for _, lossy := range []bool{false, true} {
		t.Run(fmt.Sprintf("lossy %v", lossy), func(t *testing.T) {
			w := newWorld(t, 3)
			nc := w.connect()
			w.must(nc, "STREAM.CREATE.S", `{"name":"S","subjects":["s.>"],"num_replicas":3}`, nil)
			g := w.group("S")
			g.lossy = lossy
			const messages, changes = 400, 12
			done := make(chan struct{})
			go func() {
				defer close(done)
				random := rand.New(rand.NewPCG(3, 4))
				for n := uint64(1); n <= messages && !t.Failed(); {
					some := uint64(1 + random.IntN(5))
					w.put(random.IntN(3), n, n+some-1)
					n += some
				}
			}()
			random := rand.New(rand.NewPCG(1, 2))
			for i := range changes {
				want := uint64((i + 1) * messages / (changes + 2))
				servertest.Eventually(t, "messages to come in", func() bool { return g.logs[0].State().Last >= want || t.Failed() })
				g.elect(random.IntN(3))
			}
			<-done
			g.drain()
			last := uint64(0)
			for seq := uint64(1); seq <= g.logs[0].State().Last; seq++ {
				m, err := g.logs[0].Load(seq)
				if want := fmt.Sprint("dead.", seq); err != nil || m.Subject != want {
					t.Fatalf("message %d is on %s, want %s (%v)", seq, m.Subject, want, err)
				}
				last = seq
			}
			if last < messages {
				t.Errorf("%d messages are there, want %d", last, messages)
			}
		})
	}
}
