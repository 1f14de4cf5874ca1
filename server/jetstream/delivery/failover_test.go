package delivery_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"runnel/jetlog/config"
)

// openCluster is a world with a stream on three servers, of which the first leads.
func openCluster(t testing.TB, cfg config.Stream) *world {
	t.Helper()
	cfg.Replicas = 3
	w := newWorld(t)
	w.group = newGroup(t, cfg, 3)
	w.lead()
	return w
}

// lead begins the deliveries where the group is led.
func (w *world) lead() {
	w.log = &faultyLog{Stream: w.group.leader.stream}
	w.open()
}

// next is a member that does not lead, and can be reached.
func (w *world) next() *replica {
	for _, m := range w.group.members {
		if m != w.group.leader && !m.cut {
			return m
		}
	}
	return nil
}

// failover lets another member lead, as group.elect does, and the old one resign. With late, that comes after the new one
// has begun.
func (w *world) failover(committed, heard int, late bool) {
	w.t.Helper()
	old, pool := w.stream, w.pool
	w.group.elect(w.next(), committed, heard)
	if late {
		w.lead()
		w.wait()
	}
	old.Resign()
	pool.Close()
	if !late {
		w.lead()
	}
	w.wait()
}

// inCluster runs a test with a cluster in a bubble.
func inCluster(t *testing.T, test func(*testing.T, *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := openCluster(t, streamConfig())
		defer w.close()
		test(t, w)
	})
}

// kinds are consumers whose deliveries are committed before they are sent. Those that push deliver to the inbox as well.
func kinds() map[string]config.Consumer {
	push := explicit()
	push.DeliverSubject = "inbox"
	kinds := map[string]config.Consumer{"pull": explicit(), "push": push}
	for name, cfg := range kinds {
		cfg.AckWait, cfg.MaxDeliver = 10*time.Second, 3
		kinds[name] = cfg
	}
	return kinds
}

// ask has a consumer deliver to the inbox, however it does that.
func (w *world) ask(cfg config.Consumer, count int) {
	w.t.Helper()
	if cfg.DeliverSubject == "" {
		w.pull("inbox", fmt.Sprint(count))
		return
	}
	w.net.mu.Lock()
	listens := w.net.inboxes["inbox"] != nil
	w.net.mu.Unlock()
	if !listens {
		w.net.subscribe("inbox")
	}
	w.wait()
}

// counted is what the inbox has got, each message with how often it was delivered.
func (w *world) counted() string {
	var text strings.Builder
	for _, m := range w.net.take("inbox") {
		if m.reply != "" {
			fmt.Fprintf(&text, "%s/%d ", m.payload, m.ack(w.t).Deliveries)
		}
	}
	return text.String()
}

func (w *world) wantCounted(when, want string) {
	w.t.Helper()
	if got := w.counted(); got != want {
		w.t.Errorf("%s: got %q, want %q", when, got, want)
	}
}

// TestCommittedFirst: what is acknowledged one by one is not sent before it is committed.
func TestCommittedFirst(t *testing.T) {
	kinds := kinds()
	kinds["none"] = config.Consumer{Ack: config.AckNone}
	kinds["all"] = config.Consumer{Ack: config.AckAll}
	for name, cfg := range kinds {
		t.Run(name, func(t *testing.T) {
			inCluster(t, func(t *testing.T, w *world) {
				w.consumer(cfg)
				w.publish("s.a", "1", "2")
				w.group.hold(true)
				w.ask(cfg, 2)
				before, after := "", "1/1 2/1 "
				if cfg.Ack != config.AckExplicit {
					before, after = after, before
				}
				w.wantCounted("before it is committed", before)
				w.group.hold(false)
				w.wait()
				w.wantCounted("when it is committed", after)
			})
		})
	}
}

// TestLeaderChange: what a new leader does with a message that the old one was about to deliver, had delivered, or was
// told of.
func TestLeaderChange(t *testing.T) {
	tests := []struct {
		name             string
		point            string // what waits to be committed when the leader changes
		committed, heard int
		old, now, later  string // what is delivered by the old one, by the new one at once, and after ack_wait
		confirmed        int
	}{
		{"before a delivery is committed", "delivery", 0, 0, "", "1/1 ", "1/2 ", 0},
		{"between commit and sending", "delivery", 1, 0, "", "", "1/2 ", 0},
		{"when it is sent", "delivery", 1, 1, "1/1 ", "", "1/2 ", 0},
		{"before an acknowledgement is committed", "ack", 0, 0, "", "", "1/2 ", 0},
		{"before an acknowledgement is confirmed", "ack", 1, 0, "", "", "", 0},
		{"when it is confirmed", "ack", 1, 1, "", "", "", 1},
		{"before a refusal is committed", "nak", 0, 0, "", "", "1/2 ", 0},
		{"when it is", "nak", 1, 0, "", "1/2 ", "1/3 ", 0},
	}
	for kind, cfg := range kinds() {
		for _, test := range tests {
			for _, late := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/late %v", kind, test.name, late), func(t *testing.T) {
					inCluster(t, func(t *testing.T, w *world) {
						w.consumer(cfg)
						w.publish("s.a", "1")
						w.group.hold(test.point == "delivery")
						w.ask(cfg, 1)
						if test.point != "delivery" {
							m := w.net.take("inbox")
							w.group.hold(true)
							w.net.subscribe("reply")
							w.ack(m[0], map[string]string{"ack": "+ACK", "nak": "-NAK"}[test.point], "reply")
						}
						w.failover(test.committed, test.heard, late)
						w.group.hold(false)
						w.wait()
						if cfg.DeliverSubject != "" {
							w.wantCounted("together", test.old+test.now) // who listens gets it from both
						} else {
							w.wantCounted("from the old leader", test.old)
							w.ask(cfg, 1)
							w.wantCounted("from the new leader", test.now)
						}
						w.pass(cfg.AckWait + time.Second)
						w.ask(cfg, 1)
						w.wantCounted("after the time for an answer", test.later)
						if got := len(w.net.take("reply")); got != test.confirmed {
							t.Errorf("%d confirmations, want %d", got, test.confirmed)
						}
					})
				})
			}
		}
	}
}
