package jetlog_test

import (
	"testing"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
)

// TestLag sees which messages a consumer is behind with, step by step.
func TestLag(t *testing.T) {
	s, m := jetlog.New(1, unlimited(), 1), jetlog.NewMemory()
	now := int64(0)
	at := func(seconds int64) int64 { now = seconds * int64(time.Second); return now }
	apply := func(c command.Command) { mustApply(t, s, m, c) }
	apply(&command.ConsumerCreate{Config: config.Consumer{
		Name: "c", Ack: config.AckExplicit, FilterSubject: "s.a", MaxAckPending: 2, MaxDeliver: 2,
		AckWait: time.Second, Backoff: []time.Duration{10 * time.Second, 20 * time.Second},
	}})
	c := s.Consumer("c")
	check := func(step string, pending, unacked uint64) {
		t.Helper()
		p, err := c.OldestPending(m)
		if err != nil {
			t.Fatal(err)
		}
		u, err := c.OldestUnacked(m)
		if err != nil {
			t.Fatal(err)
		}
		if p.Sequence != pending || u.Sequence != unacked {
			t.Errorf("%s: got pending %d, unacked %d, want %d, %d", step, p.Sequence, u.Sequence, pending, unacked)
		}
		for _, meta := range []jetlog.Meta{p, u} {
			if meta.Sequence != 0 && meta.Time != int64(meta.Sequence)*int64(time.Second) {
				t.Errorf("%s: message %d is of %d", step, meta.Sequence, meta.Time)
			}
		}
	}
	check("nothing", 0, 0)
	for i, subject := range []string{"s.b", "s.a", "s.b", "s.a", "s.a"} {
		apply(&command.Publish{Time: at(int64(i + 1)), Subject: subject})
	}
	check("published", 2, 0)
	apply(choose(s, m, c, 1, at(10)))
	check("one delivered", 4, 2)
	apply(choose(s, m, c, 1, at(11)))
	check("full", 5, 2)
	apply(&command.AckDeadline{Time: at(20)})
	check("due again", 5, 2)
	apply(choose(s, m, c, 1, at(20)))
	check("delivered again", 5, 2)
	apply(&command.Ack{Time: at(20), Consumer: "c", Replies: []command.Reply{{Sequence: 4}}})
	check("one settled", 5, 2)
	apply(&command.AckDeadline{Time: at(40)})
	check("exhausted", 5, 2)
	apply(choose(s, m, c, 1, at(41)))
	check("the last", 0, 2)
	apply(&command.Delete{Time: now, Sequence: 2})
	check("exhausted and gone", 0, 5)
	apply(&command.Purge{Time: now})
	check("purged", 0, 0)
	if _, err := c.OldestPending(&failing{Memory: m}); err != nil {
		t.Errorf("nothing is read where nothing is pending: %v", err)
	}
	apply(&command.Publish{Time: at(60), Subject: "s.a"})
	if _, err := c.OldestPending(&failing{Memory: m}); err == nil {
		t.Error("a read that fails is told")
	}
	apply(choose(s, m, c, 1, at(61)))
	if _, err := c.OldestUnacked(&failing{Memory: m}); err == nil {
		t.Error("a read that fails is told")
	}
}

// TestFirstUnacked asks for the oldest message that waits for an answer, with a policy that knows of first deliveries and without.
func TestFirstUnacked(t *testing.T) {
	s, m := jetlog.New(1, unlimited(), 1), jetlog.NewMemory()
	noted := map[string]string{"runnel.retry": "fixed,delay=1s"}
	for name, metadata := range map[string]map[string]string{"plain": nil, "noted": noted} {
		mustApply(t, s, m, &command.ConsumerCreate{Config: config.Consumer{Name: name, Ack: config.AckExplicit, AckWait: time.Minute, Metadata: metadata}})
	}
	for i := range int64(2) {
		mustApply(t, s, m, &command.Publish{Time: i + 1, Subject: "s.a"})
	}
	check := func(name string, want uint64, since int64) {
		t.Helper()
		if seq, at := s.Consumer(name).FirstUnacked(); seq != want || at != since {
			t.Errorf("%s: got message %d, delivered at %d, want %d at %d", name, seq, at, want, since)
		}
	}
	for _, at := range []int64{10, 20} {
		for _, name := range []string{"plain", "noted"} {
			if at == 10 {
				check(name, 0, 0)
			}
			mustApply(t, s, m, choose(s, m, s.Consumer(name), 1, at))
		}
	}
	check("plain", 1, 0)
	check("noted", 1, 10)
	mustApply(t, s, m, &command.Ack{Time: 30, Consumer: "noted", Replies: []command.Reply{{Sequence: 1}}})
	check("noted", 2, 20)
}
