package delivery_test

import (
	"errors"
	"testing"
	"time"

	"runnel/headers"
	"runnel/jetlog"
	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
)

// grouped is a consumer with a priority group.
func grouped(p config.Priority) config.Consumer {
	cfg := explicit()
	cfg.PriorityPolicy, cfg.PriorityGroups = p, []string{"A"}
	return cfg
}

func TestPriorityRefusals(t *testing.T) {
	tests := []struct {
		name   string
		policy config.Priority
		body   string
		want   string
	}{
		{"no group", config.PriorityOverflow, `{"batch":1}`, "400 Bad Request - Priority Group missing"},
		{"no group, empty body", config.PriorityPinned, ``, "400 Bad Request - Priority Group missing"},
		{"other group", config.PriorityPrioritized, `{"group":"B"}`, "400 Bad Request - Invalid Priority Group"},
		{"id", config.PriorityOverflow, `{"group":"A","id":"x"}`, "400 Bad Request - Not a Pinned Client Priority consumer"},
		{"pending", config.PriorityPinned, `{"group":"A","min_pending":1}`, "400 Bad Request - Not a Overflow Priority consumer"},
		{"ack pending", config.PriorityPrioritized, `{"group":"A","min_ack_pending":1}`, "400 Bad Request - Not a Overflow Priority consumer"},
		{"wrong id", config.PriorityPinned, `{"group":"A","id":"x"}`, "423 Nats-Pin-Id mismatch"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, streamConfig(), func(t *testing.T, w *world) {
				w.consumer(grouped(test.policy))
				w.publish("s.a", "1")
				w.pull("inbox", test.body)
				w.got("inbox", test.want)
			})
		})
	}
}

func TestOverflow(t *testing.T) {
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.consumer(grouped(config.PriorityOverflow))
		w.pull("pending", `{"batch":10,"group":"A","min_pending":3}`)
		w.pull("acks", `{"batch":10,"group":"A","min_ack_pending":2}`)
		w.publish("s.a", "1", "2")
		w.wait()
		w.got("pending")
		w.got("acks")
		w.publish("s.a", "3")
		w.wait()
		w.got("pending", "1")
		w.publish("s.a", "4")
		w.wait()
		w.got("pending", "2")
		// Two wait for an answer now, so the other request may have the rest.
		w.got("acks", "3", "4")
		w.pull("no wait", `{"batch":1,"group":"A","min_pending":50,"no_wait":true}`)
		w.got("no wait", "404 No Messages")
		w.pull("all", `{"batch":1,"group":"A"}`)
		w.publish("s.a", "5")
		w.wait()
		if got := append(w.net.take("all"), w.net.take("acks")...); len(got) != 1 {
			t.Errorf("got %v, want one message", got)
		}
	})
}

func TestPrioritized(t *testing.T) {
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.consumer(grouped(config.PriorityPrioritized))
		w.pull("low", `{"batch":2,"group":"A","priority":9}`)
		w.pull("x", `{"batch":2,"group":"A","priority":1}`)
		w.pull("y", `{"batch":2,"group":"A","priority":1}`)
		w.pull("high", `{"batch":1,"group":"A"}`)
		w.publish("s.a", "1", "2", "3", "4", "5", "6")
		w.wait()
		w.got("high", "1")
		w.got("x", "2", "4")
		w.got("y", "3", "5")
		w.got("low", "6")
	})
}

func TestPinned(t *testing.T) {
	cfg := grouped(config.PriorityPinned)
	cfg.PriorityTimeout = 3 * time.Second
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.consumer(cfg)
		w.pull("x", `{"batch":2,"group":"A"}`)
		w.pull("y", `{"batch":9,"group":"A"}`)
		w.publish("s.a", "1", "2", "3")
		w.wait()
		m := w.got("x", "1", "2")
		if id, _ := headers.Get([]byte(m[0].header), "Nats-Pin-Id"); string(id) != "ticket1" {
			t.Errorf("the id is %q, want ticket1", id)
		}
		w.told("pinned c A ticket1")
		w.got("y") // another client has to wait
		w.pull("z", `{"batch":2,"group":"A","no_wait":true}`)
		w.got("z", "404 No Messages")
		w.pull("x", `{"batch":2,"group":"A","id":"ticket1","expires":60000000000}`)
		w.got("x", "3")
		if id, since := pinnedTo(w); id != "ticket1" || since == 0 {
			t.Errorf("the state says pinned to %q since %d", id, since)
		}
		w.pull("z", `{"batch":2,"group":"A","id":"other"}`)
		w.got("z", "423 Nats-Pin-Id mismatch")

		w.pass(2900 * time.Millisecond)
		w.told()
		w.pass(200 * time.Millisecond)
		w.told("unpinned c A timeout")
		w.got("x", "423 Nats-Wrong-Pin-Id Pending-Messages=1 Pending-Bytes=0")
		w.publish("s.a", "4")
		w.wait()
		w.got("y", "4")
		w.told("pinned c A ticket2")
		w.pull("x", `{"batch":2,"group":"A","id":"ticket1"}`)
		w.got("x", "423 Nats-Pin-Id mismatch")

		if err := w.stream.Unpin("c", "A"); err != nil {
			t.Fatal(err)
		}
		w.wait()
		w.told("unpinned c A admin")
		w.got("y", "423 Nats-Wrong-Pin-Id Pending-Messages=8 Pending-Bytes=0")
		if id, _ := pinnedTo(w); id != "" {
			t.Errorf("the state says pinned to %q", id)
		}
		if err := w.stream.Unpin("c", "A"); err != nil { // nobody is
			t.Error(err)
		}
		w.wait()
		w.told()
		w.publish("s.a", "5")
		w.pull("x", `{"group":"A"}`)
		w.got("x", "5")
		w.told("pinned c A ticket3")
	})
}

// pinnedTo returns what the state says.
func pinnedTo(w *world) (id string, since int64) {
	_ = w.log.View(func(s *jetlog.Stream, _ jetlog.Messages) error {
		id, since = s.Consumer("c").Pinned("A")
		return nil
	})
	return id, since
}

func TestPinSurvivesRestart(t *testing.T) {
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.consumer(grouped(config.PriorityPinned))
		w.publish("s.a", "1", "2", "3")
		w.pull("x", `{"batch":1,"group":"A"}`)
		w.got("x", "1")
		w.pool.Close()
		w.open()
		w.wait()
		w.pull("y", `{"batch":1,"group":"A"}`)
		w.got("y")
		w.pull("x", `{"batch":1,"group":"A","id":"ticket1"}`)
		w.got("x", "2")
	})
}

func TestUnpinErrors(t *testing.T) {
	bubble(t, streamConfig(), func(t *testing.T, w *world) {
		w.consumer(grouped(config.PriorityPinned))
		plain := explicit()
		plain.Name = "plain"
		w.consumer(plain)
		for _, test := range []struct {
			consumer, group string
			want            config.Code
		}{
			{"nobody", "A", config.ConsumerNotFound},
			{"c", "B", config.PriorityGroupUnknown},
			{"plain", "A", config.PriorityGroupUnknown},
		} {
			err := w.stream.Unpin(test.consumer, test.group)
			if want := api.NewError(test.want); err == nil || err.Error() != want.Error() {
				t.Errorf("unpin %q of %q: %v, want %v", test.group, test.consumer, err, want)
			}
			var e *api.Error
			if !errors.As(err, &e) {
				t.Errorf("unpin %q of %q is no error of the API: %v", test.group, test.consumer, err)
			}
		}
	})
}
