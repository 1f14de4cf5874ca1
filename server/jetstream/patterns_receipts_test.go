package jetstream_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"runnel/server/servertest"
)

// acknowledged waits until a consumer has nothing that waits for an answer.
func (s *site) acknowledged(stream, consumer string) {
	s.t.Helper()
	servertest.Eventually(s.t, "what was processed to be acknowledged", func() bool { return s.consumerState(stream, consumer).AckPending == 0 })
}

// TestPatternReceipt processes messages: what is made of each is published with its acknowledgement. Where the outcome goes to another
// stream, to one in memory, to the same one; where the origin keeps messages and where it does not.
func TestPatternReceipt(t *testing.T) {
	for _, c := range []struct{ name, in, out, to string }{
		{"two streams", `"subjects":["in.>"]`, `"subjects":["out.>"]`, "OUT"},
		{"a work queue", `"subjects":["in.>"],"retention":"workqueue"`, `"subjects":["out.>"]`, "OUT"},
		{"by interest", `"subjects":["in.>"],"retention":"interest"`, `"subjects":["out.>"]`, "OUT"},
		{"to memory", `"subjects":["in.>"],"retention":"workqueue"`, `"subjects":["out.>"],"storage":"memory"`, "OUT"},
		{"the same stream", `"subjects":["in.>","out.>"]`, "", "IN"},
		{"the same work queue", `"subjects":["in.>","out.>"],"retention":"workqueue"`, "", "IN"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t, "")
			s.stream("IN", c.in)
			if c.out != "" {
				s.stream("OUT", c.out)
			}
			s.consumer("IN", "c", `"ack_policy":"explicit","filter_subject":"in.>"`)
			for i := range 3 {
				s.stores(uint64(i+1), "in.a", fmt.Sprint("job ", i))
			}
			first := uint64(1)
			if c.to == "IN" {
				first = 4
			}
			jobs := s.next("IN", "c", 3)
			for i, job := range jobs {
				s.stores(first+uint64(i), "out.a", "done", "Runnel-Ack", job.Reply)
				if a := s.publish("out.a", "done again", "Runnel-Ack", job.Reply); !a.Duplicate || a.Sequence != first+uint64(i) {
					t.Errorf("again: got %v, want a duplicate of %d", a, first+uint64(i))
				}
			}
			s.acknowledged("IN", "c")
			wants(t, "delivered later", s.rest("IN", "c"), []*nats.Msg(nil))
			left := uint64(3)
			if strings.Contains(c.in, "retention") {
				left = 0
			}
			if c.to == "IN" {
				left += 3
			} else {
				s.holds("OUT", 3, 1, 3)
			}
			if got := s.state("IN").Messages; got != left {
				t.Errorf("IN has %d messages, want %d", got, left)
			}
			if m := s.get(c.to, fmt.Sprintf(`{"seq":%d}`, first)); m.Headers != "" && strings.Contains(m.Headers, "Runnel-Ack") {
				t.Errorf("stored with the header: %q", m.Headers)
			}
			s.restart()
			a := s.publish("out.a", "much later", "Runnel-Ack", jobs[1].Reply)
			if c.name == "to memory" {
				if a.Error.Code != 11051 {
					t.Errorf("after a restart: got %v, want 11051", a)
				}
			} else if !a.Duplicate || a.Sequence != first+1 {
				t.Errorf("after a restart: got %v, want a duplicate of %d", a, first+1)
			}
		})
	}
}

// TestPatternReceiptOfDuplicate publishes outcomes that are stored already, as their ids or numbers say, but from somebody who did not say what
// they were made from: the messages are acknowledged all the same, or they would come again for ever.
func TestPatternReceiptOfDuplicate(t *testing.T) {
	for name, to := range map[string]string{"two streams": "out.a", "the same stream": "in.out"} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, "")
			s.stream("IN", `"subjects":["in.>"],"retention":"workqueue"`)
			s.stream("OUT", `"subjects":["out.>"]`)
			s.consumer("IN", "c", `"ack_policy":"explicit","filter_subject":"in.job"`)
			for i := range 2 {
				s.stores(uint64(i+1), "in.job", fmt.Sprint("job ", i))
			}
			first := uint64(1)
			if to == "in.out" {
				first = 3
			}
			s.stores(first, to, "done", "Nats-Msg-Id", "outcome")
			s.stores(first+1, to, "done", numbered("p", 1)...)
			jobs := s.next("IN", "c", 2)
			for i, how := range [][]string{{"Nats-Msg-Id", "outcome"}, numbered("p", 1)} {
				a := s.publish(to, "done", append(how, "Runnel-Ack", jobs[i].Reply)...)
				if !a.Duplicate || a.Sequence != first+uint64(i) || a.Error.Code != 0 {
					t.Errorf("%v: got %+v, want a duplicate of %d", how, a, first+uint64(i))
				}
				if left := s.consumerState("IN", "c").AckPending; left != 1-i {
					t.Errorf("%v: %d wait for an answer, want %d", how, left, 1-i)
				}
			}
		})
	}
}

// TestPatternReceiptRefused publishes with acknowledgements that nobody waits for: nothing is stored.
func TestPatternReceiptRefused(t *testing.T) {
	s := newSite(t, "")
	s.stream("IN", `"subjects":["in.>"]`)
	s.stream("OUT", `"subjects":["out.>"],"allow_atomic":true,"allow_batched":true`)
	s.consumer("IN", "c", "")
	s.consumer("IN", "none", `"ack_policy":"none"`)
	s.consumer("IN", "gone", "")
	for i := range 3 {
		s.stores(uint64(i+1), "in.a", "job")
	}
	jobs, gone := s.next("IN", "c", 2), s.next("IN", "gone", 1)[0]
	s.must("CONSUMER.DELETE.IN.gone", "", nil)
	s.acknowledge(jobs[0], "+ACK")
	s.waitsFor("IN", "c", 1)
	other := strings.Replace(jobs[1].Reply, "$JS.ACK.", "$JS.ACK.hub.HASH.", 1)
	for name, c := range map[string]struct {
		ack  string
		code int
	}{
		"acknowledged already": {jobs[0].Reply, 11051},
		"never delivered":      {"$JS.ACK.IN.c.1.3.3.1.0", 11051},
		"never stored":         {"$JS.ACK.IN.c.1.30.30.1.0", 11051},
		"no such consumer":     {gone.Reply, 11052},
		"no such stream":       {"$JS.ACK.NONE.c.1.1.1.1.0", 11052},
		"wants none":           {"$JS.ACK.IN.none.1.1.1.1.0", 11055},
		"no acknowledgement":   {"in.a", 11055},
		"empty":                {"", 11055},
		"cut off":              {"$JS.ACK.IN.c.1.2", 11055},
		"of another domain":    {other, 11055},
	} {
		t.Run(name, func(t *testing.T) {
			s.t = t
			s.rejects(c.code, "out.a", "x", "Runnel-Ack", c.ack)
		})
	}
	s.t = t
	s.rejects(10071, "out.a", "x", "Runnel-Ack", jobs[1].Reply, "Nats-Expected-Last-Sequence", "7")
	if got := s.consumerState("IN", "c").AckPending; got != 1 {
		t.Errorf("%d wait for an answer after what was refused, want 1", got)
	}
	s.holds("OUT", 0, 0, 0)
	inAnotherForm := strings.Replace(jobs[1].Reply, "$JS.ACK.", "$JS.ACK._.HASH.", 1)
	s.stores(1, "out.a", "x", "Runnel-Ack", inAnotherForm)
	s.acknowledged("IN", "c")
}

// waitsFor waits until only so many wait for an answer.
func (s *site) waitsFor(stream, consumer string, left int) {
	s.t.Helper()
	servertest.Eventually(s.t, "an acknowledgement", func() bool { return s.consumerState(stream, consumer).AckPending == left })
}

// TestPatternReceiptBatch publishes several messages with the acknowledgement of the one that they were made from: all or nothing.
func TestPatternReceiptBatch(t *testing.T) {
	for _, at := range []int{1, 2, 3} {
		t.Run(fmt.Sprint("in message ", at), func(t *testing.T) {
			s := newSite(t, "")
			s.stream("IN", `"subjects":["in.>"],"retention":"workqueue"`)
			s.stream("OUT", `"subjects":["out.>"],"allow_atomic":true`)
			s.consumer("IN", "c", "")
			s.stores(1, "in.a", "job")
			job := s.next("IN", "c", 1)[0]
			send := func(id string) (a ack) {
				for i := 1; i <= 3; i++ {
					headers := []string{"Nats-Batch-Id", id, "Nats-Batch-Sequence", fmt.Sprint(i)}
					if i == at {
						headers = append(headers, "Runnel-Ack", job.Reply)
					}
					if i == 3 {
						headers = append(headers, "Nats-Batch-Commit", "1")
					}
					a = s.publish("out.a", fmt.Sprint("part ", i), headers...)
				}
				return a
			}
			if a := send("one"); a.Error.Code != 0 || a.Sequence != 3 || a.Count != 3 {
				t.Fatalf("got %v, want 3 messages", a)
			}
			s.acknowledged("IN", "c")
			s.holds("IN", 0, 2, 1)
			if a := send("two"); !a.Duplicate || a.Sequence != 3 {
				t.Errorf("again: got %v, want a duplicate of 3", a)
			}
			s.holds("OUT", 3, 1, 3)
		})
	}
}

// TestPatternReceiptBatchOfTwo refuses a batch that would acknowledge two messages.
func TestPatternReceiptBatchOfTwo(t *testing.T) {
	s := newSite(t, "")
	s.stream("IN", `"subjects":["in.>"]`)
	s.stream("OUT", `"subjects":["out.>"],"allow_atomic":true,"allow_batched":true`)
	s.consumer("IN", "c", "")
	s.stores(1, "in.a", "job")
	s.stores(2, "in.a", "job")
	jobs := s.next("IN", "c", 2)
	s.publish("out.a", "x", "Nats-Batch-Id", "b", "Nats-Batch-Sequence", "1", "Runnel-Ack", jobs[0].Reply)
	s.rejects(11055, "out.a", "x", "Nats-Batch-Id", "b", "Nats-Batch-Sequence", "2", "Nats-Batch-Commit", "1", "Runnel-Ack", jobs[1].Reply)
	s.holds("OUT", 0, 0, 0)
}

// TestPatternReceiptAgain lets a message be delivered again while its outcome is there already, and the consumer begin again: then it is
// another delivery.
func TestPatternReceiptAgain(t *testing.T) {
	s := newSite(t, "")
	s.stream("IN", `"subjects":["in.>"]`)
	s.stream("OUT", `"subjects":["out.>"]`)
	s.consumer("IN", "c", `"ack_policy":"explicit","ack_wait":50000000`)
	s.stores(1, "in.a", "job")
	first := s.next("IN", "c", 1)[0]
	second := s.next("IN", "c", 1)[0]
	s.stores(1, "out.a", "by the second", "Runnel-Ack", second.Reply)
	if a := s.publish("out.a", "by the first", "Runnel-Ack", first.Reply); !a.Duplicate || a.Sequence != 1 {
		t.Errorf("by the first worker: got %v, want a duplicate", a)
	}
	s.acknowledged("IN", "c")
	s.must("CONSUMER.RESET.IN.c", `{"seq":1}`, nil)
	third := s.next("IN", "c", 1)[0]
	s.stores(2, "out.a", "once more", "Runnel-Ack", third.Reply)
	s.acknowledged("IN", "c")
}
