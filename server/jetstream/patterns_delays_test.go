package jetstream_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"runnel/server/servertest"
)

// TestPatternDelay publishes messages later: in a while, at a time, and now since the time has come.
func TestPatternDelay(t *testing.T) {
	s := newSite(t, "")
	s.stream("S", `"subjects":["s.>"],"max_msgs":100`)
	s.stores(1, "s.first", "x")
	delay := func(subject string, headers ...string) ack {
		t.Helper()
		a := s.publish(subject, "later", headers...)
		if a.Error.Code != 0 || a.Stream != "RUNNEL-DELAYED-S" {
			t.Fatalf("%s: got %v", subject, a)
		}
		return a
	}
	start := time.Now()
	second := delay("s.b", "Runnel-Delay", "700ms", "Other", "header")
	first := delay("s.a", "Runnel-Deliver-At", start.Add(300*time.Millisecond).Format(time.RFC3339Nano))
	cancelled := delay("s.never", "Runnel-Delay", "200ms")
	if first.Sequence != 2 || second.Sequence != 1 {
		t.Errorf("kept as %d and %d", second.Sequence, first.Sequence)
	}
	s.must("STREAM.MSG.DELETE.RUNNEL-DELAYED-S", fmt.Sprintf(`{"seq":%d}`, cancelled.Sequence), nil)
	s.stores(2, "s.now", "x", "Runnel-Delay", "0s")
	s.stores(3, "s.past", "x", "Runnel-Deliver-At", "2001-01-01T00:00:00Z")
	servertest.Eventually(t, "what was delayed", func() bool { return s.state("S").Messages == 5 })
	if passed := time.Since(start); passed < 700*time.Millisecond {
		t.Errorf("all are there after %v", passed)
	}
	for seq, subject := range map[int]string{4: "s.a", 5: "s.b"} {
		m := s.get("S", fmt.Sprintf(`{"seq":%d}`, seq))
		if m.Subject != subject || string(m.Data) != "later" || strings.Contains(m.Headers, "Nats-") || strings.Contains(m.Headers, "Runnel-") {
			t.Errorf("message %d: got %+v", seq, m)
		}
		if seq == 5 && !strings.Contains(m.Headers, "Other: header") {
			t.Errorf("message 5 has lost its header: %q", m.Headers)
		}
	}
	servertest.Eventually(t, "the companion to be empty", func() bool { return s.state("RUNNEL-DELAYED-S").Messages == 0 })
	if a := s.publish("s.a", "twice", "Runnel-Delay", "1h", "Nats-Msg-Id", "m"); a.Duplicate || a.Error.Code != 0 {
		t.Errorf("got %v", a)
	}
	if a := s.publish("s.a", "twice", "Runnel-Delay", "1h", "Nats-Msg-Id", "m"); !a.Duplicate {
		t.Errorf("with the same id: got %v", a)
	}
}

// TestPatternDelayRefused asks for what cannot be followed.
func TestPatternDelayRefused(t *testing.T) {
	s := newSite(t, "")
	s.stream("S", `"subjects":["s.>"],"allow_atomic":true`)
	for _, headers := range [][]string{
		{"Runnel-Delay", "soon"},
		{"Runnel-Delay", "-1s"},
		{"Runnel-Delay", "1000000h"},
		{"Runnel-Deliver-At", "tomorrow"},
		{"Runnel-Deliver-At", "2500-01-01T00:00:00Z"},
		{"Runnel-Delay", "1h", "Runnel-Deliver-At", "2100-01-01T00:00:00Z"},
		{"Runnel-Delay", "1h", "Nats-Expected-Last-Sequence", "0"},
		{"Runnel-Delay", "1h", "Nats-Rollup", "sub"},
		{"Runnel-Delay", "1h", "Nats-Batch-Id", "b", "Nats-Batch-Sequence", "1"},
	} {
		s.rejects(11060, "s.a", "x", headers...)
	}
	s.holds("S", 0, 0, 0)
	if err := s.conn.Publish("$RUNNEL.DELAYED.S.due.s.a", nil); err != nil {
		t.Fatal(err)
	}
	if err := s.conn.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := s.conn.LastError(); err == nil || !strings.Contains(err.Error(), "ermissions") {
		t.Errorf("a client publishes what is due: got %v", err)
	}
}

// TestPatternDelayFull lets what is due wait until its stream has room, and a restart pass.
func TestPatternDelayFull(t *testing.T) {
	s := newSite(t, "")
	s.stream("S", `"subjects":["s.>"],"max_msgs":1,"discard":"new"`)
	s.stores(1, "s.a", "x")
	for i := range 3 {
		if a := s.publish("s.a", fmt.Sprint(i), "Runnel-Delay", fmt.Sprintf("%dms", 100+i)); a.Error.Code != 0 {
			t.Fatal(a)
		}
	}
	due := func() bool {
		return len(s.state("RUNNEL-DELAYED-S").Subjects) == 1 // all on the subject of what is due
	}
	servertest.Eventually(t, "all to be due", due)
	s.restart()
	for i := range 3 {
		s.must("STREAM.PURGE.S", "", nil)
		seq := uint64(i + 2)
		servertest.Eventually(t, "the next message", func() bool { return s.state("S").Last == seq })
		if m := s.get("S", fmt.Sprintf(`{"seq":%d}`, seq)); string(m.Data) != fmt.Sprint(i) {
			t.Errorf("message %d is %s, want %d", seq, m.Data, i)
		}
	}
	servertest.Eventually(t, "the companion to be empty", func() bool { return s.state("RUNNEL-DELAYED-S").Messages == 0 })
}
