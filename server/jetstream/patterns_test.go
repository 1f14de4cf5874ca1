package jetstream_test

import (
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"
)

// Patterns are what docs/patterns promises, with nothing but what every client can do: metadata and headers.

func numbered(producer string, number int) []string {
	return []string{"Runnel-Producer", producer, "Runnel-Producer-Seq", fmt.Sprint(number)}
}

// TestPatternProducer publishes again what was published before: it is stored once, also when the message has gone, the
// window of message ids is over, and the server was started again.
func TestPatternProducer(t *testing.T) {
	s := newSite(t, "")
	s.stream("S", `"subjects":["s.>"],"duplicate_window":100000000`)
	for i := range 3 {
		s.stores(uint64(i+1), "s.a", "x", numbered("p", i+1)...)
	}
	s.must("STREAM.PURGE.S", "", nil)
	s.restart()
	if a := s.publish("s.a", "x", numbered("p", 3)...); !a.Duplicate || a.Sequence != 3 || a.Error.Code != 0 {
		t.Errorf("the last number again: got %+v, want a duplicate of 3", a)
	}
	if a := s.publish("s.a", "x", numbered("p", 1)...); !a.Duplicate || a.Error.Code != 0 {
		t.Errorf("an old number again: got %+v, want a duplicate", a)
	}
	s.rejects(11002, "s.a", "x", numbered("p", 5)...)
	s.rejects(11001, "s.a", "x", "Runnel-Producer", "p")
	s.stores(4, "s.a", "x", numbered("p", 4)...)
	s.stores(5, "s.a", "x", numbered("q", 70)...)
	s.holds("S", 2, 4, 5)
}

// TestPatternRetry lets messages fail: each comes again by the policy, and no more after its last attempt. Meanwhile another
// message has the only place.
func TestPatternRetry(t *testing.T) {
	s := newSite(t, "")
	s.stream("S", `"subjects":["s.>"],"retention":"workqueue"`)
	const policy = `"metadata":{"runnel.retry":"exponential,min=20ms,max=50ms,attempts=3"}`
	s.refuses("CONSUMER.CREATE.S.bad", `{"stream_name":"S","config":{"name":"bad","ack_policy":"explicit","metadata":{"runnel.retry":"often"}}}`, 10012)
	dead := s.subscribe("$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.S.c")
	s.consumer("S", "c", `"ack_policy":"explicit","max_ack_pending":1,`+policy)
	s.stores(1, "s.a", "fails")
	s.stores(2, "s.a", "is done")
	seen := map[uint64]uint64{}
	for seen[1] < 3 || seen[2] < 1 {
		m := s.next("S", "c", 1)[0]
		about := metadata(m)
		if seen[about.Sequence.Stream]++; about.NumDelivered != seen[about.Sequence.Stream] {
			t.Fatalf("message %d: delivery %d, want %d", about.Sequence.Stream, about.NumDelivered, seen[about.Sequence.Stream])
		}
		if about.Sequence.Stream == 1 {
			s.acknowledge(m, "-NAK")
		} else {
			s.acknowledge(m, "+ACK")
		}
	}
	wants(t, "given up", s.advisories(dead, 1), []advisory{{1, 3, ""}})
	wants(t, "delivered later", s.rest("S", "c"), []*nats.Msg(nil))
	s.holds("S", 1, 1, 2)
}
