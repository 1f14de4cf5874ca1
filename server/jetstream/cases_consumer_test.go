package jetstream_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"runnel/server/servertest"
)

// eachRetention runs a test with all kinds of retention and storage.
func eachRetention(t *testing.T, test func(t *testing.T, retention, storage string)) {
	for _, retention := range []string{"limits", "interest", "workqueue"} {
		t.Run(retention, func(t *testing.T) {
			eachStorage(t, func(t *testing.T, storage string) { test(t, retention, storage) })
		})
	}
}

// advisory is what the cases look at of advisories about deliveries.
type advisory struct {
	Sequence   uint64 `json:"stream_seq"`
	Deliveries uint64
	Reason     string
}

// advisories waits for n advisories, and orders them.
func (s *site) advisories(sub *nats.Subscription, n int) (list []advisory) {
	s.t.Helper()
	for range n {
		m, err := sub.NextMsg(servertest.Patience)
		if err != nil {
			s.t.Fatalf("advisories: %v after %v", err, list)
		}
		var a advisory
		if err := json.Unmarshal(m.Data, &a); err != nil {
			s.t.Fatalf("advisory: %v", err)
		}
		list = append(list, a)
	}
	slices.SortFunc(list, func(a, b advisory) int { return int(a.Sequence) - int(b.Sequence) })
	return list
}

func (s *site) subscribe(subject string) *nats.Subscription {
	s.t.Helper()
	sub, err := s.conn.SubscribeSync(subject)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.conn.Flush(); err != nil {
		s.t.Fatal(err)
	}
	return sub
}

// TestCaseC040 delivers messages as often as is allowed: they stay in the stream, whatever its retention.
func TestCaseC040(t *testing.T) {
	for name, consumer := range map[string]string{
		"ack wait": `"ack_policy":"explicit","max_deliver":2,"ack_wait":100000000`,
		"backoff":  `"ack_policy":"explicit","max_deliver":2,"backoff":[50000000,100000000]`,
		"naks":     `"ack_policy":"explicit","max_deliver":2`,
	} {
		t.Run(name, func(t *testing.T) {
			eachRetention(t, func(t *testing.T, retention, storage string) {
				deadLetters(t, retention, storage, consumer, name == "naks")
			})
		})
	}
}

func deadLetters(t *testing.T, retention, storage, consumer string, naks bool) {
	s := newSite(t, "")
	s.stream("M", `"subjects":["m.>"],"retention":"`+retention+`","storage":"`+storage+`"`)
	dead := s.subscribe("$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.M.c")
	s.consumer("M", "c", consumer)
	for i := range uint64(3) {
		s.stores(i+1, "m.a", "x")
	}
	for n := range uint64(2) {
		messages := s.next("M", "c", 3)
		for _, m := range messages {
			if got := metadata(m).NumDelivered; got != n+1 {
				t.Errorf("message %d: delivery %d, want %d", metadata(m).Sequence.Stream, got, n+1)
			}
			if naks {
				s.acknowledge(m, "-NAK")
			}
		}
		slices.SortFunc(messages, func(a, b *nats.Msg) int { return int(metadata(a).Sequence.Stream) - int(metadata(b).Sequence.Stream) })
		wants(t, "delivered", sequences(messages), []uint64{1, 2, 3})
	}
	wants(t, "advisories", s.advisories(dead, 3), []advisory{{1, 2, ""}, {2, 2, ""}, {3, 2, ""}})
	s.stores(4, "m.a", "x")
	s.acknowledge(s.next("M", "c", 1)[0], "+ACK")
	check := func() {
		t.Helper()
		if retention == "limits" {
			s.holds("M", 4, 1, 4)
		} else {
			s.holds("M", 3, 1, 4)
		}
		for i := 1; i <= 3; i++ {
			if m := s.get("M", fmt.Sprintf(`{"seq":%d}`, i)); m.code != 0 {
				t.Errorf("message %d: got error %d", i, m.code)
			}
		}
		if c := s.consumerState("M", "c"); c.AckFloor.Stream != 4 || c.AckPending != 0 || c.Pending != 0 {
			t.Errorf("consumer: got %+v, want ack floor 4 and nothing pending", c)
		}
		wants(t, "delivered later", sequences(s.rest("M", "c")), nil)
	}
	check()
	if n, _, err := dead.Pending(); n != 0 || err != nil {
		t.Errorf("%d advisories too many, %v", n, err)
	}
	if storage == "file" {
		s.restart()
		check()
	}
	// What nobody is interested in any more goes, what is still to be done does not.
	s.must("CONSUMER.DELETE.M.c", "", nil)
	if retention == "interest" {
		s.holds("M", 0, 5, 4)
		return
	}
	s.consumer("M", "other", "")
	want := []uint64{1, 2, 3, 4}
	if retention == "workqueue" {
		want = want[:3]
	}
	wants(t, "delivered to another consumer", sequences(s.rest("M", "other")), want)
}

// TestCaseC043 publishes on subjects that nobody is interested in: what such a message does to others is done.
func TestCaseC043(t *testing.T) {
	eachStorage(t, func(t *testing.T, storage string) {
		s := newSite(t, "")
		again := s.subscribe("again.>")
		s.stream("I", `"subjects":["i.*"],"retention":"interest","allow_rollup_hdrs":true,"allow_atomic":true,"republish":{"src":"i.>","dest":"again.>"},"storage":"`+storage+`"`)
		s.consumer("I", "c", `"ack_policy":"explicit","filter_subject":"i.foo"`)
		s.stores(1, "i.foo", "x")
		s.holds("I", 1, 1, 1)
		s.stores(2, "i.bar", "x", "Nats-Rollup", "all")
		s.holds("I", 0, 3, 2)
		// Rolled up is a subject only, of which there is nothing.
		s.stores(3, "i.foo", "x")
		s.stores(4, "i.bar", "x", "Nats-Rollup", "sub")
		s.holds("I", 1, 3, 4)
		// What is wanted stays when it rolls up.
		s.stores(5, "i.foo", "x")
		s.stores(6, "i.foo", "x", "Nats-Rollup", "sub")
		s.holds("I", 1, 6, 6)
		// A refusal is one for what is not kept too.
		s.rejects(10071, "i.bar", "x", "Nats-Rollup", "all", "Nats-Expected-Last-Sequence", "1")
		s.rejects(10111, "i.bar", "x", "Nats-Rollup", "none")
		s.holds("I", 1, 6, 6)
		s.stores(7, "i.bar", "x", "Nats-Rollup", "all", "Nats-Expected-Last-Sequence", "6")
		s.holds("I", 0, 8, 7)
		// In a batch: what is wanted of it is kept.
		s.stores(8, "i.foo", "x")
		s.batch("i.bar", "b", 1, "", "Nats-Rollup", "all")
		s.batch("i.bar", "b", 2, "")
		if a := s.batch("i.foo", "b", 3, "1"); a.Sequence != 11 || a.Count != 3 {
			t.Errorf("batch: got %v of %d messages, want 11 and 3", a, a.Count)
		}
		s.holds("I", 1, 11, 11)
		s.stores(12, "i.bar", "x", "Nats-Rollup", "all")
		s.holds("I", 0, 13, 12)
		// What is not kept is not published again either.
		for _, want := range []string{"1", "3", "5", "6", "8", "11"} {
			if m, err := again.NextMsg(servertest.Patience); err != nil || m.Subject != "again.foo" || m.Header.Get("Nats-Sequence") != want {
				t.Errorf("republished: got %v, %v, want message %s", m, err, want)
			}
		}
		if storage == "file" {
			s.restart()
			s.holds("I", 0, 13, 12)
			s.stores(13, "i.bar", "x", "Nats-Rollup", "all")
			s.holds("I", 0, 14, 13)
		}
	})
}

// TestCaseC045 removes messages that are being worked on, in all ways: the consumer goes on with the next one.
func TestCaseC045(t *testing.T) {
	const stream = `"subjects":["foo","bar","roll"],"allow_rollup_hdrs":true,"allow_msg_ttl":true`
	removals := []struct {
		name, stream string
		remove       func(s *site)
	}{
		{"deleted", "", func(s *site) { s.must("STREAM.MSG.DELETE.S", `{"seq":2,"no_erase":true}`, nil) }},
		{"erased", "", func(s *site) { s.must("STREAM.MSG.DELETE.S", `{"seq":2}`, nil) }},
		{"purged below", "", func(s *site) { s.must("STREAM.PURGE.S", `{"seq":3}`, nil) }},
		{"purged but some", "", func(s *site) { s.must("STREAM.PURGE.S", `{"keep":2}`, nil) }},
		{"purged of a subject", "", func(s *site) { s.must("STREAM.PURGE.S", `{"filter":"bar","keep":1}`, nil) }},
		{"purged of a subject below", "", func(s *site) { s.must("STREAM.PURGE.S", `{"filter":"bar","seq":3}`, nil) }},
		{"replaced", `,"max_msgs_per_subject":1`, func(*site) {}},
		{"too many", `,"max_msgs":2`, func(*site) {}},
		{"limited later", "", func(s *site) { s.must("STREAM.UPDATE.S", streamBody("S", stream+`,"max_msgs":2`), nil) }},
	}
	for _, tt := range removals {
		for _, restarts := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, restart %v", tt.name, restarts), func(t *testing.T) {
				eachStorage(t, func(t *testing.T, storage string) {
					if restarts && storage == "memory" {
						return
					}
					s := newSite(t, "")
					kind := `,"storage":"` + storage + `"`
					s.stream("S", stream+tt.stream+kind)
					s.consumer("S", "c", `"ack_policy":"explicit","filter_subject":"bar","max_ack_pending":1`)
					s.stores(1, "foo", "x")
					s.stores(2, "bar", "x")
					wants(t, "first", sequences(s.next("S", "c", 1)), []uint64{2})
					s.stores(3, "foo", "x")
					s.stores(4, "bar", "x")
					if tt.name == "limited later" && storage == "memory" {
						s.must("STREAM.UPDATE.S", streamBody("S", stream+`,"max_msgs":2`+kind), nil)
					} else {
						tt.remove(s)
					}
					if restarts {
						s.restart()
					}
					if c := s.consumerState("S", "c"); c.AckPending != 0 || c.Pending != 1 {
						t.Errorf("after that: got %+v, want nothing to acknowledge and 1 pending", c)
					}
					next := s.next("S", "c", 1)
					wants(t, "next", sequences(next), []uint64{4})
					s.acknowledge(next[0], "+ACK")
					if c := s.consumerState("S", "c"); c.AckFloor.Stream != 4 || c.AckPending != 0 {
						t.Errorf("in the end: got %+v", c)
					}
				})
			})
		}
	}
}

// TestCaseC045Retention does the same with messages that a stream keeps for its consumers, that wait to be
// delivered again, or that time removes.
func TestCaseC045Retention(t *testing.T) {
	answers := []string{"", `-NAK {"delay":3600000000000}`, "-NAK", "+WPI"}
	eachRetention(t, func(t *testing.T, retention, storage string) {
		s := newSite(t, "")
		each := func(do func(name, answer string)) {
			for i, answer := range answers {
				do(fmt.Sprint("s", i), answer)
			}
		}
		waits := func(sequence uint64, headers ...string) {
			t.Helper()
			each(func(name, answer string) {
				s.stores(sequence, name, "x", headers...)
				m := s.next(name, "c", 1)[0]
				wants(t, fmt.Sprintf("delivered after %q", answer), metadata(m).Sequence.Stream, sequence)
				if answer != "" {
					s.acknowledge(m, answer)
				}
			})
		}
		each(func(name, _ string) {
			s.stream(name, `"allow_msg_ttl":true,"retention":"`+retention+`","storage":"`+storage+`"`)
			s.consumer(name, "c", `"ack_policy":"explicit","filter_subject":"`+name+`","max_ack_pending":1`)
		})
		waits(1)
		each(func(name, _ string) { s.must("STREAM.MSG.DELETE."+name, `{"seq":1}`, nil) })
		waits(2)
		each(func(name, _ string) { s.must("STREAM.PURGE."+name, "", nil) })
		waits(3, "Nats-TTL", "1s")
		each(func(name, _ string) {
			servertest.Eventually(t, "message 3 to expire", func() bool { return s.state(name).Messages == 0 })
		})
		waits(4)
		each(func(name, answer string) {
			if c := s.consumerState(name, "c"); c.AckPending != 1 || c.AckFloor.Stream != 3 || c.Pending != 0 {
				t.Errorf("after %q: got %+v, want 1 to acknowledge and floor 3", answer, c)
			}
			s.acknowledge(&nats.Msg{Reply: "$JS.ACK." + name + ".c.1.1.1.1.0"}, "+ACK") // late, of what is gone
			if c := s.consumerState(name, "c"); c.AckPending != 1 {
				t.Errorf("after an acknowledgement of what is gone: got %+v", c)
			}
		})
	})
}

// TestCaseC047 has a message wait long for its next delivery: one that came later and waits shortly is not held up.
func TestCaseC047(t *testing.T) {
	const short, long = 200 * time.Millisecond, time.Second
	backoff := fmt.Sprintf(`"backoff":[%d,%d],"max_deliver":3`, short, long)
	eachStorage(t, func(t *testing.T, storage string) {
		for _, restarts := range []bool{false, storage == "file"} {
			s := newSite(t, "")
			s.stream("B", `"subjects":["b.>"],"storage":"`+storage+`"`)
			s.consumer("B", "c", `"ack_policy":"explicit",`+backoff)
			begin := time.Now()
			type seen struct {
				subject string
				count   uint64
			}
			next := func() seen {
				m := s.next("B", "c", 1)[0]
				return seen{m.Subject, metadata(m).NumDelivered}
			}
			s.stores(1, "b.first", "x")
			got := []seen{next(), next()}
			s.stores(2, "b.second", "x")
			got = append(got, next())
			if restarts {
				s.restart()
			}
			got = append(got, next(), next(), next())
			wants(t, fmt.Sprintf("delivered, restart %v", restarts), got,
				[]seen{{"b.first", 1}, {"b.first", 2}, {"b.second", 1}, {"b.second", 2}, {"b.first", 3}, {"b.second", 3}})
			if took := time.Since(begin); took < short+long {
				t.Errorf("all was delivered within %v, want the long wait", took)
			}
		}
	})
}

// TestCaseC047Others has other waits beside each other: those of two consumers, and those that are asked for.
func TestCaseC047Others(t *testing.T) {
	eachStorage(t, func(t *testing.T, storage string) {
		s := newSite(t, "")
		s.stream("B", `"subjects":["b"],"storage":"`+storage+`"`)
		s.consumer("B", "long", `"ack_policy":"explicit"`)
		s.stores(1, "b", "x")
		s.next("B", "long", 1)
		s.consumer("B", "short", `"ack_policy":"explicit","ack_wait":100000000`)
		s.next("B", "short", 1)
		if m := s.next("B", "short", 1)[0]; metadata(m).NumDelivered != 2 {
			t.Errorf("the consumer that does not wait long: got delivery %d, want 2", metadata(m).NumDelivered)
		}
		s.stores(2, "b", "x")
		s.stores(3, "b", "x")
		two := s.next("B", "long", 2)
		s.acknowledge(two[0], `-NAK {"delay":3600000000000}`)
		s.acknowledge(two[1], `-NAK 100ms`)
		if m := s.next("B", "long", 1)[0]; metadata(m).Sequence.Stream != 3 || metadata(m).NumDelivered != 2 {
			t.Errorf("the short delay: got message %d, delivery %d, want 3 and 2", metadata(m).Sequence.Stream, metadata(m).NumDelivered)
		}
		if c := s.consumerState("B", "long"); c.AckPending != 3 || c.AckFloor.Stream != 0 {
			t.Errorf("got %+v, want 3 to acknowledge", c)
		}
		// Who goes on with what he gave back is not given it again at once.
		s.consumer("B", "back", `"ack_policy":"explicit","deliver_policy":"last"`)
		m := s.next("B", "back", 1)[0]
		s.acknowledge(m, "-NAK")
		s.acknowledge(m, "+WPI")
		wants(t, "delivered of what is in progress", sequences(s.rest("B", "back")), nil)
	})
}
