package system_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"runnel/headers"
	"runnel/server/msgtrace"
	"runnel/server/system"
)

// TestTraced compares a report with a file, as the nats command decodes it.
func TestTraced(t *testing.T) {
	inWorld(t, func(w *world) {
		header := headers.Build(headers.Field{Name: "Nats-Trace-Dest", Value: "a.way"})
		trace := msgtrace.New(header, len(header)+5, false, func(trace *msgtrace.Trace) { w.system.Traced("A", "a.way", trace) })
		trace.Enter(msgtrace.Peer{CID: 7, Name: "ann"}, "A", "x")
		trace.Leave(&msgtrace.Egress{Peer: msgtrace.Peer{CID: 8, Name: "bob"}, Subscription: "*"})
		trace.Store("S").Done("x", false, "")
		trace.Release()
		synctest.Wait()
		got := w.published("a.way")
		if len(got) != 1 || got[0].account != "A" || got[0].header != nil {
			t.Fatalf("got %+v, want one message in A", got)
		}
		compareGolden(t, "message-trace", got[0].payload)
	})
}

// TestTracedEncoded checks that a report is encoded as the message that it is about wants its answers.
func TestTracedEncoded(t *testing.T) {
	inWorld(t, func(w *world) {
		header := headers.Build(headers.Field{Name: "Accept-Encoding", Value: "gzip"})
		trace := msgtrace.New(header, 10, false, func(trace *msgtrace.Trace) { w.system.Traced("A", "a.way", trace) })
		trace.Release()
		synctest.Wait()
		got := w.published("a.way")
		if len(got) != 1 || !strings.Contains(string(got[0].header), "Content-Encoding: gzip") || json.Valid(got[0].payload) {
			t.Fatalf("got %+v, want one message with gzip", got)
		}
	})
}

// TestTracedTooMany checks that reports which nobody fetches do not pile up.
func TestTracedTooMany(t *testing.T) {
	w := &fakeBus{}
	s := system.New(system.Config{Bus: w})
	waiting := func(steps, reports int) int {
		for range reports {
			trace := msgtrace.New(nil, 0, false, func(trace *msgtrace.Trace) { s.Traced("A", "a", trace) })
			for range steps {
				trace.Map("x")
			}
			trace.Release()
		}
		return s.Queues()["message traces"].Pending
	}
	if got := waiting(2, 5000); got != 5000 {
		t.Errorf("%d small reports wait, want 5000", got)
	}
	if got := waiting(4000, 500) - 5000; got < 10 || got > 100 {
		t.Errorf("%d large reports wait, want some of 500", got)
	}
}
