package jetstream_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"runnel/server/jetstream/api"
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
	second := delay("s.b", "Runnel-Delay", "700ms", "Other", "header", "Nats-Msg-Id", "id")
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
		if m.Subject != subject || string(m.Data) != "later" || strings.Contains(m.Headers, "Nats-S") || strings.Contains(m.Headers, "Runnel-") {
			t.Errorf("message %d: got %+v", seq, m)
		}
		if seq == 5 && (!strings.Contains(m.Headers, "Other: header") || !strings.Contains(m.Headers, "Nats-Msg-Id: id\r\n")) {
			t.Errorf("message 5 has lost its headers: %q", m.Headers)
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
	s.stream("S", `"subjects":["s.>"],"allow_atomic":true,"max_msg_size":100`)
	for _, headers := range [][]string{
		{"Runnel-Delay", "soon"},
		{"Runnel-Delay", "-1s"},
		{"Runnel-Delay", "1000000h"},
		{"Runnel-Deliver-At", "tomorrow"},
		{"Runnel-Deliver-At", "2500-01-01T00:00:00Z"},
		{"Runnel-Delay", "1h", "Runnel-Deliver-At", "2100-01-01T00:00:00Z"},
		{"Runnel-Delay", "1h", "Nats-Expected-Last-Sequence", "0"},
		{"Runnel-Delay", "1h", "Nats-Rollup", "sub"},
		{"Runnel-Delay", "1h", "Runnel-Producer", "p", "Runnel-Producer-Seq", "1"},
		{"Runnel-Delay", "1h", "Nats-Batch-Id", "b", "Nats-Batch-Sequence", "1"},
	} {
		s.rejects(11060, "s.a", "x", headers...)
	}
	s.rejects(10054, "s.a", strings.Repeat("x", 101), "Runnel-Delay", "1h") // which would never be taken
	s.stream("COUNT", `"subjects":["count.>"],"allow_msg_counter":true`)
	s.rejects(11060, "count.a", "", "Runnel-Delay", "1h")
	s.stream("SEALED", `"subjects":["sealed.>"]`)
	s.must("STREAM.UPDATE.SEALED", `{"name":"SEALED","subjects":["sealed.>"],"sealed":true}`, nil)
	s.rejects(10109, "sealed.a", "", "Runnel-Delay", "1h")
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

// TestPatternDelayCalls looks at what is delayed, and cancels some of it, by the name of the stream that it is for.
func TestPatternDelayCalls(t *testing.T) {
	s := newSite(t, "")
	s.stream("S", `"subjects":["s.>"],"max_msgs":1,"discard":"new"`)
	list := func(body string) (l api.DelayListAnswer) {
		t.Helper()
		s.calls("DELAY.LIST.S", body, &l)
		return l
	}
	cancel := func(code int, body string) (c api.DelayCancelAnswer) {
		t.Helper()
		if got := own(t, s.conn, "DELAY.CANCEL.S", body, &c); got != code {
			t.Errorf("cancel %s: got error %d, want %d", body, got, code)
		}
		return c
	}
	if l := list(""); l.Messages != 0 || l.Delayed == nil || len(l.Delayed) != 0 {
		t.Errorf("before anything is delayed: got %+v", l)
	}
	cancel(11062, `{"seq":1}`)
	if c := cancel(0, `{"all":true}`); c.Cancelled != 0 {
		t.Errorf("of nothing: got %+v", c)
	}
	at := time.Now().Add(90 * time.Minute).UTC()
	var told []uint64
	for i := range 10 {
		a := s.publish(fmt.Sprintf("s.%d.x", i%2), "body", "Runnel-Deliver-At", at.Add(-time.Duration(i)*time.Second).Format(time.RFC3339Nano), "Nats-Msg-Id", fmt.Sprint("id", i))
		if a.Error.Code != 0 {
			t.Fatal(a)
		}
		told = append(told, a.Sequence)
	}
	l := list("")
	if len(l.Delayed) != 10 || l.Messages != 10 || l.Next != 0 || l.First == nil || !l.First.Equal(at.Add(-9*time.Second)) {
		t.Errorf("all: got %+v", l)
	}
	if d := l.Delayed[3]; d.Sequence != told[3] || d.Subject != "s.1.x" || d.ID != "id3" || d.State != "waiting" || !d.At.Equal(at.Add(-3*time.Second)) ||
		time.Since(d.Time) > time.Hour || d.Size < len("body")+len("Nats-Msg-Id: id3") || d.Size > 60 {
		t.Errorf("the fourth: got %+v", d)
	}
	if l := list(`{"limit":3,"filter":{"subject":"*.1.>"}}`); len(l.Delayed) != 3 || l.Delayed[2].Sequence != told[5] || l.Next != told[5]+1 {
		t.Errorf("by subject: got %+v", l)
	} else if l = list(fmt.Sprintf(`{"seq":%d,"filter":{"subject":"*.1.>"}}`, l.Next)); len(l.Delayed) != 2 || l.Next != 0 {
		t.Errorf("by subject, further on: got %+v", l)
	}
	if l := list(`{"filter":{"id":"id7"}}`); len(l.Delayed) != 1 || l.Delayed[0].Sequence != told[7] {
		t.Errorf("by id: got %+v", l)
	}
	for body, want := range map[string]int{
		`{"filter":{"subject":"s..x"}}`: 11062, `{"nonsense":1}`: 10025, `[]`: 10025,
	} {
		if got := own(t, s.conn, "DELAY.LIST.S", body, nil); got != want {
			t.Errorf("list %s: got error %d, want %d", body, got, want)
		}
	}
	cancel(11062, ``)
	cancel(11062, `{"seq":1,"all":true}`)
	cancel(11062, `{"filter":{"id":"id1"},"all":true}`)
	cancel(11062, `{"seq":999}`)
	for _, step := range []struct {
		body       string
		want, left int
	}{
		{fmt.Sprintf(`{"seq":%d,"dry_run":true}`, told[0]), 1, 10},
		{fmt.Sprintf(`{"seq":%d}`, told[0]), 1, 9},
		{`{"filter":{"id":"id7"}}`, 1, 8},
		{`{"filter":{"id":"id7"}}`, 0, 8},
		{`{"filter":{"subject":"s.0.*"},"dry_run":true}`, 4, 8},
		{`{"filter":{"subject":"s.0.*"}}`, 4, 4},
		{`{"all":true}`, 4, 0},
	} {
		if c, left := cancel(0, step.body), list(""); c.Cancelled != step.want || int(left.Messages) != step.left {
			t.Errorf("cancel %s: got %d, %d are left, want %d, %d", step.body, c.Cancelled, left.Messages, step.want, step.left)
		}
	}
	cancel(11062, fmt.Sprintf(`{"seq":%d}`, told[0]))
	if got := own(t, s.conn, "DELAY.LIST.NONE", "", nil); got != 10059 {
		t.Errorf("a stream that there is not: got error %d", got)
	}
}

// TestPatternDelayDue looks at what is due while its stream is full: it is not cancelled by mistake, and can be in so many words.
func TestPatternDelayDue(t *testing.T) {
	s := newSite(t, "")
	s.stream("S", `"subjects":["s.>"],"max_msgs":1,"discard":"new"`)
	s.stores(1, "s.a", "x")
	first := s.publish("s.b", "x", "Runnel-Delay", "1ms")
	var l api.DelayListAnswer
	list := func() api.DelayListAnswer {
		l = api.DelayListAnswer{}
		s.calls("DELAY.LIST.S", "", &l)
		return l
	}
	servertest.Eventually(t, "one to be due", func() bool { return len(list().Delayed) == 1 && l.Delayed[0].State == "due" })
	due := l.Delayed[0]
	if due.Subject != "s.b" || due.Sequence == first.Sequence || l.Messages != 1 || l.First != nil {
		t.Errorf("got %+v", due)
	}
	if waits := s.publish("s.b", "x", "Runnel-Delay", "1h"); waits.Error.Code != 0 {
		t.Fatal(waits)
	}
	for _, step := range []struct {
		body       string
		code, want int
	}{
		{fmt.Sprintf(`{"seq":%d}`, first.Sequence), 11062, 0},
		{fmt.Sprintf(`{"seq":%d}`, due.Sequence), 11062, 0},
		{`{"all":true,"dry_run":true}`, 0, 1},
		{`{"all":true,"due":true,"dry_run":true}`, 0, 2},
		{fmt.Sprintf(`{"seq":%d,"due":true}`, due.Sequence), 0, 1},
		{`{"all":true,"due":true}`, 0, 1},
	} {
		var c api.DelayCancelAnswer
		if got := own(t, s.conn, "DELAY.CANCEL.S", step.body, &c); got != step.code || c.Cancelled != step.want {
			t.Errorf("%s: got error %d, %d, want %d, %d", step.body, got, c.Cancelled, step.code, step.want)
		}
	}
	if list(); l.Messages != 0 {
		t.Errorf("%d are left", l.Messages)
	}
	s.must("STREAM.PURGE.S", "", nil)
	s.stores(2, "s.c", "x")
	s.holds("S", 1, 2, 2)
}

// TestPatternDelayUnwanted delays messages for a stream that keeps only what its consumers want: what nobody wants when its time has come
// is not kept, and holds up nothing.
func TestPatternDelayUnwanted(t *testing.T) {
	s := newSite(t, "")
	s.stream("S", `"subjects":["s.>"],"retention":"interest"`)
	s.consumer("S", "c", `"ack_policy":"explicit","filter_subject":"s.wanted"`)
	for i, subject := range []string{"s.nobody", "s.wanted", "s.nobody", "s.wanted"} {
		if a := s.publish(subject, fmt.Sprint(i), "Runnel-Delay", fmt.Sprintf("%dms", 50+i)); a.Error.Code != 0 {
			t.Fatal(a)
		}
	}
	for i, m := range s.next("S", "c", 2) {
		if want := fmt.Sprint(2*i + 1); string(m.Data) != want {
			t.Errorf("got %s, want %s", m.Data, want)
		}
	}
	servertest.Eventually(t, "the companion to be empty", func() bool { return s.state("RUNNEL-DELAYED-S").Messages == 0 })
}
