package jetstream_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestPatternHeaderRefused publishes with headers that would have meant something if they had been written otherwise: each is refused, and
// said what is wrong, rather than stored as if nothing had been asked for.
func TestPatternHeaderRefused(t *testing.T) {
	s := newSite(t, "")
	s.stream("S", `"subjects":["s.>"],"allow_atomic":true`)
	for name, c := range map[string]struct {
		headers []string
		says    string
	}{
		"no header of ours":        {[]string{"Runnel-Prodcuer", "p"}, `"Runnel-Prodcuer" is none`},
		"small letters":            {[]string{"runnel-delay", "1h"}, `"runnel-delay" is none`},
		"mixed letters":            {[]string{"Runnel-delay", "1h"}, `"Runnel-delay" is none`},
		"beside a right one":       {[]string{"Runnel-Producer", "p", "Runnel-Producer-Seq", "1", "Runnel-Producer-Sequence", "1"}, "Runnel-Producer-Sequence"},
		"a delay twice":            {[]string{"Runnel-Delay", "1h", "Runnel-Delay", "1h"}, "Runnel-Delay is there twice"},
		"a time twice":             {[]string{"Runnel-Deliver-At", "2100-01-01T00:00:00Z", "Runnel-Deliver-At", "2100-01-01T00:00:00Z"}, "twice"},
		"an acknowledgement":       {[]string{"Runnel-Ack", "$JS.ACK.S.c.1.1.1.1.0", "Runnel-Ack", "$JS.ACK.S.c.1.1.1.1.0"}, "Runnel-Ack is there twice"},
		"a producer twice":         {[]string{"Runnel-Producer", "p", "Runnel-Producer", "q", "Runnel-Producer-Seq", "1"}, "Runnel-Producer is there twice"},
		"a number twice":           {[]string{"Runnel-Producer", "p", "Runnel-Producer-Seq", "1", "Runnel-Producer-Seq", "2"}, "Runnel-Producer-Seq is there twice"},
		"in a batch":               {[]string{"Nats-Batch-Id", "b", "Nats-Batch-Sequence", "1", "Nats-Batch-Commit", "1", "Runnel-Dealy", "1h"}, "Runnel-Dealy"},
		"a name that is only ours": {[]string{"Runnel-X", ""}, "Runnel-X"},
	} {
		t.Run(name, func(t *testing.T) {
			s.t = t
			if a := s.publish("s.a", "x", c.headers...); a.Error.Code != 11080 || !strings.Contains(a.Error.Description, c.says) {
				t.Errorf("got %+v, want 11080 with %q", a, c.says)
			}
		})
	}
	s.t = t
	for i := range 3 { // a batch whose second member cannot be stored with the others says why
		headers := []string{"Nats-Batch-Id", "delayed", "Nats-Batch-Sequence", fmt.Sprint(i + 1)}
		if i == 1 {
			headers = append(headers, "Runnel-Delay", "1h")
		}
		if a := s.publish("s.a", "x", headers...); i == 1 && a.Error.Code != 11060 {
			t.Errorf("got %+v, want 11060", a)
		}
	}
	s.holds("S", 0, 0, 0)
	s.stores(1, "s.a", "x", "Runnel-Dead-Reason", "terminated", "Runnels", "x", "X-Runnel-Delay", "1h", "Runnel", "1")
}

// TestPatternHeaderForged publishes what looks like a message that was given up before: it does not keep the dead letters of others from being
// handed over, and is none itself.
func TestPatternHeaderForged(t *testing.T) {
	s := newSite(t, "")
	s.stream("S", `"subjects":["s.>"]`)
	s.stream("DEAD", `"subjects":["dead.>"]`)
	s.consumer("S", "c", `"ack_policy":"explicit","metadata":{"runnel.dead_letter":"DEAD"}`)
	s.stores(1, "s.a", "forged", "Runnel-Dead-Path", "DEAD", "My", "own")
	s.stores(2, "s.a", "behind it")
	if m := s.get("S", `{"seq":1}`); strings.Contains(m.Headers, "Runnel-Dead-Path") {
		t.Errorf("stored with %q", m.Headers)
	}
	for _, m := range s.next("S", "c", 2) {
		s.acknowledge(m, "+TERM")
	}
	s.buried("DEAD", 2)
	s.stores(3, "dead.x", "no letter", "Runnel-Dead-Stream", "S", "Runnel-Dead-Subject", "s.secret", "Runnel-Dead-Consumer", "c", "Runnel-Dead-Path", "S")
	var found struct {
		Letters []struct {
			Sequence uint64 `json:"seq"`
		}
	}
	s.calls("DLQ.GET.DEAD", `{"limit":10}`, &found)
	if len(found.Letters) != 2 {
		t.Errorf("%d dead letters, want 2: %+v", len(found.Letters), found)
	}
}

// TestPatternDelayCompanion takes the place of the stream that keeps what is delayed: it is said what is in the way. And that stream stays what it
// is when it is edited.
func TestPatternDelayCompanion(t *testing.T) {
	s := newSite(t, "")
	s.stream("S", `"subjects":["s"]`)
	s.stream("T", `"subjects":["t"]`)
	s.stream("RUNNEL-DELAYED-S", `"subjects":["mine"]`)
	if a := s.publish("s", "x", "Runnel-Delay", "1h"); a.Error.Code != 11061 || !strings.Contains(a.Error.Description, "stream RUNNEL-DELAYED-S is somebody's own") {
		t.Errorf("got %+v", a)
	}
	if a := s.publish("t", "x", "Runnel-Delay", "1h"); a.Stream != "RUNNEL-DELAYED-T" {
		t.Fatalf("got %+v", a)
	}
	const edited = `"subjects":["$RUNNEL.DELAYED.T.>"],"allow_msg_schedules":true,"description":"edited"`
	s.refuses("STREAM.UPDATE.RUNNEL-DELAYED-T", `{"name":"RUNNEL-DELAYED-T",`+edited+`}`, 10052)
	s.must("STREAM.UPDATE.RUNNEL-DELAYED-T", `{"name":"RUNNEL-DELAYED-T",`+edited+`,"metadata":{"runnel.delayed_for":"T"}}`, nil)
}
