package jetstream_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"

	"runnel/server/servertest"
)

// TestWithdrawn sees that consumers' owners are told of messages that go while an answer is awaited, by whatever they
// go, and of nothing else.
func TestWithdrawn(t *testing.T) {
	tests := []struct {
		name, config string
		do           func(s *site, first *nats.Msg)
		want         string // consumer sequence, sequence and deliveries of each
	}{
		{"a delete", "", func(s *site, _ *nats.Msg) {
			s.must("STREAM.MSG.DELETE.S", `{"seq":2}`, nil)
			s.must("STREAM.MSG.DELETE.S", `{"seq":5}`, nil) // was not delivered
		}, "2 2 1;"},
		{"a purge of a subject", "", func(s *site, _ *nats.Msg) {
			s.must("STREAM.PURGE.S", `{"filter":"s.2"}`, nil)
		}, "3 3 1;"},
		{"too many messages", `,"max_msgs":5`, func(s *site, _ *nats.Msg) { s.stores(6, "s.9", "x") }, "1 1 1;"},
		{"too many on a subject", `,"max_msgs_per_subject":1`, func(s *site, _ *nats.Msg) { s.stores(6, "s.1", "x") }, "2 2 1;"},
		{"a smaller stream", "", func(s *site, _ *nats.Msg) {
			s.must("STREAM.UPDATE.S", streamBody("S", `"subjects":["s.>"],"max_msgs":4`), nil)
		}, "1 1 1;"},
		{"age", "", func(s *site, _ *nats.Msg) {
			s.must("STREAM.UPDATE.S", streamBody("S", `"subjects":["s.>"],"max_age":100000000,"duplicate_window":100000000`), nil)
		}, "1 1 1;2 2 1;3 3 1;"},
		{"an acknowledgement", `,"retention":"workqueue"`, func(s *site, first *nats.Msg) {
			s.acknowledge(first, "+ACK")
			s.must("STREAM.MSG.DELETE.S", `{"seq":3}`, nil)
		}, "3 3 1;"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, "")
			s.stream("S", `"subjects":["s.>"]`+tt.config)
			s.consumer("S", "c", "")
			told := s.subscribe("$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.S.c")
			for i := range uint64(5) {
				s.stores(i+1, fmt.Sprint("s.", i), "x")
			}
			tt.do(s, s.next("S", "c", 3)[0])
			got := ""
			for len(got) < len(tt.want) {
				m, err := told.NextMsg(servertest.Patience)
				if err != nil {
					t.Fatalf("after %q: %v, want %q", got, err, tt.want)
				}
				var a struct {
					Type, Stream, Consumer, Reason string
					Consumed                       uint64 `json:"consumer_seq"`
					Sequence                       uint64 `json:"stream_seq"`
					Deliveries                     int
				}
				if err := json.Unmarshal(m.Data, &a); err != nil {
					t.Fatal(err)
				}
				got += fmt.Sprint(a.Consumed, a.Sequence, a.Deliveries, ";")
				if a.Type != "io.nats.jetstream.advisory.v1.terminated" || a.Stream != "S" || a.Consumer != "c" ||
					a.Reason != "Unacknowledged message was deleted" {
					t.Errorf("got %s", m.Data)
				}
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if n, _, err := told.Pending(); n != 0 || err != nil {
				t.Errorf("%d more, %v", n, err)
			}
		})
	}
}

// TestDeletedWithStream sees that the consumers that go with their stream are told of, too.
func TestDeletedWithStream(t *testing.T) {
	s := newSite(t, "")
	s.stream("S", `"subjects":["s.>"]`)
	s.consumer("S", "a", "")
	s.consumer("S", "b", "")
	told := s.subscribe("$JS.EVENT.ADVISORY.*.DELETED.>")
	s.must("STREAM.DELETE.S", "", nil)
	for _, want := range []string{"CONSUMER.DELETED.S.a", "CONSUMER.DELETED.S.b", "STREAM.DELETED.S"} {
		m, err := told.NextMsg(servertest.Patience)
		if err != nil {
			t.Fatalf("%s: %v", want, err)
		}
		if m.Subject != "$JS.EVENT.ADVISORY."+want {
			t.Errorf("got %s, want %s", m.Subject, want)
		}
	}
}
