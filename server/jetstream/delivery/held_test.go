package delivery_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/store"
	"runnel/server/jetstream/delivery"
)

// heldUp is a world on three servers in which nothing is committed, with a consumer and messages that were stored before.
func heldUp(t *testing.T, cfg config.Consumer, messages []string, test func(*testing.T, *world)) {
	t.Helper()
	inCluster(t, func(t *testing.T, w *world) {
		w.consumer(cfg)
		w.publish("s.a", messages...)
		w.group.hold(true)
		test(t, w)
	})
}

// TestRequestsWhileHeld: what a request is told, and when, while something is held for it.
func TestRequestsWhileHeld(t *testing.T) {
	messages := []string{"1", "2", "3"}
	size := len("s.a") + len("1") + len("$JS.ACK.S.c.1.1.1.946684800000000000.2")
	tests := []struct {
		name, body   string
		before, then []string // before the commit, and with it
		refused      []string // instead of it, when it fails
	}{
		{"all it wants", `2`, nil, []string{"1", "2"}, nil},
		{"more than there is", `5`, nil, messages, nil},
		{"and does not wait", `{"batch":5,"no_wait":true}`, nil, append(messages, "404 No Messages"), nil},
		{
			"expired", `{"batch":5,"expires":1000000000}`, nil,
			append(messages, "408 Request Timeout Pending-Messages=2 Pending-Bytes=0"),
			[]string{"408 Request Timeout Pending-Messages=5 Pending-Bytes=0"},
		},
		{
			"bytes for one", fmt.Sprintf(`{"batch":5,"max_bytes":%d}`, size+5), nil,
			[]string{"1", "409 Message Size Exceeds MaxBytes Pending-Messages=4 Pending-Bytes=5"},
			nil,
		},
		{
			"bytes are left", fmt.Sprintf(`{"batch":1,"max_bytes":%d}`, size+5), nil,
			[]string{"1", "409 Batch Completed Pending-Messages=0 Pending-Bytes=5"},
			nil,
		},
		{
			"heartbeats", `{"batch":5,"expires":30000000000,"idle_heartbeat":1500000000}`,
			[]string{"100 Idle Heartbeat Last-Consumer=0 Last-Stream=0"},
			messages, nil,
		},
	}
	for _, test := range tests {
		for _, fails := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, fails %v", test.name, fails), func(t *testing.T) {
				heldUp(t, explicit(), messages, func(_ *testing.T, w *world) {
					w.pull("inbox", test.body)
					w.pass(2 * time.Second)
					w.got("inbox", test.before...)
					if !fails {
						w.group.hold(false)
						w.wait()
						w.got("inbox", test.then...)
						return
					}
					w.group.elect(w.group.leader, 0, 0)
					w.wait()
					w.got("inbox", test.refused...)
					if w.group.hold(false); test.refused != nil {
						return
					}
					w.pass(time.Second)
					w.got("inbox", test.then...)
				})
			})
		}
	}
}

// TestRequestsShareWhatIsHeld: several requests are served in turn, whatever is committed with what.
func TestRequestsShareWhatIsHeld(t *testing.T) {
	heldUp(t, explicit(), []string{"1", "2", "3", "4", "5"}, func(_ *testing.T, w *world) {
		w.pull("a", `1`)
		w.pull("b", `2`)
		w.pull("c", `{"batch":2,"no_wait":true}`)
		w.pull("d", `{"batch":1,"no_wait":true}`)
		w.group.hold(false)
		w.wait()
		w.got("a", "1")
		w.got("b", "2", "5")
		w.got("c", "3", "404 No Messages")
		w.got("d", "4")
	})
}

// TestOneCommitServesMany: many messages wait for one commit, and what comes meanwhile for the next one.
func TestOneCommitServesMany(t *testing.T) {
	var messages []string
	for i := range 200 {
		messages = append(messages, fmt.Sprint(i))
	}
	heldUp(t, explicit(), messages, func(t *testing.T, w *world) {
		before := w.group.committed()
		for i := range 100 {
			w.pull("inbox", "2")
			if i == 0 {
				w.wait()
			}
		}
		w.group.hold(false)
		w.wait()
		w.got("inbox", messages...)
		if got := w.group.committed() - before; got > 2 {
			t.Errorf("%d commits, want 2 at most", got)
		}
	})
}

// TestHeldIsBounded: no more is chosen than may be held; all of it comes when it is committed.
func TestHeldIsBounded(t *testing.T) {
	var messages []string
	large := strings.Repeat("x", 100<<10)
	for range 40 {
		messages = append(messages, large)
	}
	heldUp(t, explicit(), messages, func(t *testing.T, w *world) {
		w.pull("inbox", "100")
		w.wait()
		if got := w.pool.Held(); got < 1<<20 || got > 2<<20 {
			t.Errorf("%d bytes are held, want 1 to 2 MiB", got)
		}
		w.group.hold(false)
		w.pass(time.Second)
		w.got("inbox", messages...)
		if got := w.pool.Held(); got != 0 {
			t.Errorf("%d bytes are held in the end", got)
		}
	})
}

// TestClientGoesMeanwhile: when nobody is there any more to get what was committed, somebody else gets it.
func TestClientGoesMeanwhile(t *testing.T) {
	tests := map[string]struct {
		other bool // waits for messages, too
		want  string
	}{
		"another one waits":         {true, "1/1 2/1 "},
		"another one comes at once": {false, "1/2 2/2 "},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			heldUp(t, explicit(), []string{"1", "2"}, func(_ *testing.T, w *world) {
				w.pull("gone", "2")
				if test.other {
					w.pull("inbox", "2")
				}
				w.net.leave("gone")
				w.group.hold(false)
				w.wait()
				if !test.other {
					w.pull("inbox", "2")
				}
				w.wantCounted("the other one", test.want)
				w.numbers("c", fmt.Sprintf("delivered %d/2 floor 0/0 pending 0 ack pending 2 redelivered %d",
					map[bool]int{true: 2, false: 4}[test.other], map[bool]int{true: 0, false: 2}[test.other]))
			})
		})
	}
}

// TestNobodyListens: nothing is chosen for a client that is gone already, and no delivery is counted.
func TestNobodyListens(t *testing.T) {
	heldUp(t, explicit(), []string{"1"}, func(_ *testing.T, w *world) {
		w.group.hold(false)
		w.net.subscribe("gone")
		w.net.leave("gone")
		w.stream.Pull("c", delivery.Request{Reply: "gone", Body: []byte("1")})
		w.wait()
		w.numbers("c", "delivered 0/0 floor 0/0 pending 1 ack pending 0 redelivered 0")
	})
}

// TestAcknowledgedMeanwhile: a message that is acknowledged while its next delivery is held is not sent again, and who
// would have got it gets another one.
func TestAcknowledgedMeanwhile(t *testing.T) {
	cfg := explicit()
	cfg.AckWait = time.Second
	heldUp(t, cfg, []string{"1", "2"}, func(_ *testing.T, w *world) {
		w.group.hold(false)
		w.pull("inbox", "1")
		m := w.got("inbox", "1")
		w.pass(2 * time.Second)
		w.group.hold(true)
		w.pull("other", "1")
		w.net.subscribe("reply")
		w.ack(m[0], "+ACK", "reply")
		w.got("reply")
		w.group.hold(false)
		w.wait()
		w.got("reply", "")
		w.got("other", "2")
		w.numbers("c", "delivered 3/2 floor 2/1 pending 0 ack pending 1 redelivered 0")
	})
}

// TestAnswersWhileHeld: a message that was sent before is wanted again, or worked on, while its next delivery is held.
func TestAnswersWhileHeld(t *testing.T) {
	tests := map[string]string{"-NAK": "1/2 1/3 ", "+WPI": "1/2 ", "+NXT": "", "+TERM": ""}
	for answer, want := range tests {
		t.Run(answer, func(t *testing.T) {
			cfg := explicit()
			cfg.AckWait = 10 * time.Second
			heldUp(t, cfg, []string{"1"}, func(_ *testing.T, w *world) {
				w.group.hold(false)
				w.pull("first", "1")
				m := w.got("first", "1")
				w.pass(11 * time.Second)
				w.group.hold(true)
				w.pull("inbox", "2")
				w.ack(m[0], answer, "first")
				w.group.hold(false)
				w.wait()
				w.wantCounted("the other one", want)
			})
		})
	}
}

// TestRefusedWhileReplicated: what cannot even be proposed is not sent, and is served when it can be.
func TestRefusedWhileReplicated(t *testing.T) {
	for _, cause := range []error{store.ErrFull, store.ErrNotLeader, context.Canceled} {
		t.Run(cause.Error(), func(t *testing.T) {
			heldUp(t, explicit(), []string{"1", "2"}, func(t *testing.T, w *world) {
				w.group.hold(false)
				w.log.fail(cause)
				w.pull("inbox", `{"batch":2,"expires":60000000000}`)
				w.pull("short", `{"batch":2,"expires":1000000000}`)
				w.pass(10 * time.Second)
				w.got("inbox")
				if cause != context.Canceled { // that lasts for a moment, and gives nothing back
					w.got("short", "408 Request Timeout Pending-Messages=2 Pending-Bytes=0")
				}
				w.log.fail(nil)
				w.pass(6 * time.Second)
				w.wantCounted("in the end", "1/1 2/1 ")
				if got := w.pool.Held(); got != 0 {
					t.Errorf("%d bytes are held in the end", got)
				}
			})
		})
	}
}

// TestFlowWhileHeld: what is held takes up the window of a push consumer; the client is asked for what it was sent only.
func TestFlowWhileHeld(t *testing.T) {
	cfg := explicit()
	cfg.DeliverSubject, cfg.FlowControl, cfg.Heartbeat = "to", true, time.Second
	large := strings.Repeat("x", 1<<20-200)
	heldUp(t, cfg, []string{large, large, large, large}, func(t *testing.T, w *world) {
		w.net.subscribe("to")
		w.pass(1500 * time.Millisecond)
		w.got("to", "100 Idle Heartbeat Last-Consumer=0 Last-Stream=0")
		w.group.hold(false)
		w.pass(500 * time.Millisecond)
		got := w.net.take("to")
		var asked []int // after how many messages the client was asked
		messages := 0
		for _, m := range got {
			switch {
			case m.String() == "100 FlowControl Request":
				asked = append(asked, messages)
			case m.payload != "":
				messages++
			}
		}
		if len(asked) != 1 || asked[0] > messages || messages == 4 {
			t.Errorf("asked after %v of %d messages, want it once, and not all of them", asked, messages)
		}
	})
}

// TestResetWhileHeld: a consumer that begins again while something is held delivers from where it begins.
func TestResetWhileHeld(t *testing.T) {
	heldUp(t, explicit(), []string{"1", "2", "3"}, func(t *testing.T, w *world) {
		w.pull("inbox", "2")
		if err := w.log.Start(context.Background(), &command.Reset{Time: now(), Consumer: "c", Sequence: 3}, func(jetlogResult, error) {}); err != nil {
			t.Fatal(err)
		}
		w.group.hold(false)
		w.wait()
		w.stream.Update("c")
		w.wait()
		w.got("inbox", "1", "2")
		w.pull("inbox", "2")
		w.got("inbox", "3")
	})
}

// TestUnpinnedWhileHeld: a client that loses its pin gets what was held for it first.
func TestUnpinnedWhileHeld(t *testing.T) {
	cfg := explicit()
	cfg.PriorityPolicy, cfg.PriorityGroups, cfg.PriorityTimeout = config.PriorityPinned, []string{"g"}, time.Minute
	heldUp(t, cfg, []string{"1"}, func(t *testing.T, w *world) {
		w.pull("inbox", `{"batch":3,"group":"g"}`)
		if err := w.stream.Unpin("c", "g"); err != nil {
			t.Fatal(err)
		}
		w.wait()
		w.got("inbox")
		w.group.hold(false)
		w.wait()
		w.got("inbox", "1", "423 Nats-Wrong-Pin-Id Pending-Messages=2 Pending-Bytes=0")
	})
}

// TestMaxWaitingWhileHeld: a request that is about to get all it wants takes nobody's place.
func TestMaxWaitingWhileHeld(t *testing.T) {
	cfg := explicit()
	cfg.MaxWaiting = 1
	heldUp(t, cfg, []string{"1", "2"}, func(_ *testing.T, w *world) {
		w.pull("a", "1")
		w.pull("b", "1")
		w.pull("c", "1")
		w.got("c", "409 Exceeded MaxWaiting")
		w.group.hold(false)
		w.wait()
		w.got("a", "1")
		w.got("b", "2")
	})
}

// TestAcknowledgementsGoWithDeliveries: what nobody waits for shares an entry with the next delivery, or with others like it
// after a moment. An acknowledgement that is waited for, or needed to go on, goes at once.
func TestAcknowledgementsGoWithDeliveries(t *testing.T) {
	tests := map[string]struct {
		max     int    // max_ack_pending
		reply   string // of the acknowledgements
		pull    bool   // a request follows
		entries int    // at once
		later   int    // and after a moment
	}{
		"nobody waits":       {100, "", false, 0, 1},
		"a request follows":  {100, "", true, 1, 0},
		"somebody waits":     {100, "reply", false, 2, 0},
		"no more may be out": {2, "", true, 2, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cfg := explicit()
			cfg.MaxAckPending = test.max
			heldUp(t, cfg, []string{"1", "2", "3", "4"}, func(t *testing.T, w *world) {
				w.group.hold(false)
				w.net.subscribe("reply")
				w.pull("inbox", "2")
				m := w.got("inbox", "1", "2")
				before := w.group.committed()
				for i := range m {
					a := m[i].ack(t)
					w.stream.Ack("c", delivery.Ack{Subject: a, Reply: test.reply})
					if test.reply != "" {
						w.wait()
					}
				}
				if test.pull {
					w.pull("inbox", "2")
				}
				w.wait()
				if got := w.group.committed() - before; got != test.entries {
					t.Errorf("%d entries at once, want %d", got, test.entries)
				}
				before = w.group.committed()
				w.pass(10 * time.Millisecond)
				if got := w.group.committed() - before; got != test.later {
					t.Errorf("%d entries after a moment, want %d", got, test.later)
				}
			})
		})
	}
}
