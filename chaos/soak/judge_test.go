package soak

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// TestLedger: what was acknowledged counts, what was not does not, and no name comes twice.
func TestLedger(t *testing.T) {
	l := &ledger{acked: make(map[string]uint64)}
	names := make(map[string]bool)
	for range 100 {
		m, name := l.message(3)
		if names[name] || m.Header.Get(nameHeader) != name || len(m.Data) != 3 {
			t.Fatalf("message %q: header %q, %d bytes", name, m.Header.Get(nameHeader), len(m.Data))
		}
		names[name] = true
	}
	l.note("a", &jetstream.PubAck{Sequence: 1}, nil)
	l.note("b", nil, jetstream.ErrNoStreamResponse)
	if l.count() != 1 || l.unanswered() != 1 {
		t.Errorf("%d acknowledged, %d not, want one each", l.count(), l.unanswered())
	}
	l.note("c", &jetstream.PubAck{Sequence: 2}, nil)
	if got := l.lacking(map[string]uint64{"a": 1, "c": 7, "x": 9}); len(got) != 1 || got[0] != "c" {
		t.Errorf("missing %q, want c, which is elsewhere", got)
	}
	if got := l.lacking(map[string]uint64{"a": 1, "c": 2}); len(got) != 0 {
		t.Errorf("missing %q, want none", got)
	}
}

// TestViolated: a verdict does not get better again.
func TestViolated(t *testing.T) {
	r := &rig{result: Result{Verdict: Passed}}
	r.noted("%d of %d", 1, 2)
	r.violated("what %s", "happened")
	r.noted("more")
	if r.result.Verdict != Violated || strings.Join(r.result.Why, ";") != "what happened" || len(r.result.Notes) != 2 {
		t.Errorf("got %+v", r.result)
	}
}

// TestPeak: the peak is the highest of each.
func TestPeak(t *testing.T) {
	r := &rig{}
	for _, u := range []Usage{{1, 9}, {5, 2}, {3, 3}} {
		r.note(u)
	}
	if r.peak != (Usage{5, 9}) {
		t.Errorf("got %+v, want 5 and 9", r.peak)
	}
}
