package jetlog_test

import (
	"slices"
	"testing"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
)

// ahead is a stream of some retention with messages 1 to 6 on the subjects s.a and s.b in turn, and a consumer c of it.
type ahead struct {
	*testing.T
	s *jetlog.Stream
	m *jetlog.Memory
	c *jetlog.Consumer
}

func newAhead(t *testing.T, retention config.Retention, metadata map[string]string) *ahead {
	t.Helper()
	cfg := unlimited()
	cfg.Retention = retention
	a := &ahead{T: t, s: jetlog.New(1, cfg, 1), m: jetlog.NewMemory()}
	a.apply(&command.ConsumerCreate{Time: 1, Config: config.Consumer{Name: "c", Ack: config.AckExplicit, AckWait: time.Second, Metadata: metadata}})
	for i := range 6 {
		a.apply(&command.Publish{Time: 2, Subject: []string{"s.a", "s.b"}[i%2]})
	}
	a.c = a.s.Consumer("c")
	return a
}

// apply carries a command out and verifies the stream.
func (a *ahead) apply(c command.Command) jetlog.Result {
	a.Helper()
	r := mustApply(a.T, a.s, a.m, c)
	check(a.T, a.s, a.m)
	return r
}

func (a *ahead) skip(upTo uint64, passed ...uint64) jetlog.Result {
	a.Helper()
	return a.apply(&command.Skip{Time: 3, Consumer: "c", Incarnation: a.c.Incarnation(), Above: a.c.Delivered().Stream, UpTo: upTo, Passed: passed})
}

func (a *ahead) deliver(sequences ...uint64) jetlog.Result {
	a.Helper()
	d := &command.Deliver{Time: 3, Consumer: "c", Incarnation: a.c.Incarnation(), From: a.c.Delivered().Consumer + 1}
	for _, seq := range sequences {
		d.Messages = append(d.Messages, command.Delivery{Sequence: seq})
	}
	return a.apply(d)
}

func (a *ahead) answer(answer command.Answer, sequence uint64) jetlog.Result {
	a.Helper()
	return a.apply(&command.Ack{Time: 4, Consumer: "c", Replies: []command.Reply{{Answer: answer, Sequence: sequence}}})
}

// wants compares what is pending, and passed over, what waits for an answer, and the ack floor.
func (a *ahead) wants(pending uint64, passed []uint64, ackPending int, floor uint64) {
	a.Helper()
	if got := slices.Collect(a.c.Passed().All); a.c.Pending() != pending || !slices.Equal(got, passed) || a.c.AckPending() != ackPending || a.c.AckFloor().Stream != floor {
		a.Errorf("got %d pending, %v passed over, %d wait, floor %d, want %d, %v, %d, %d",
			a.c.Pending(), got, a.c.AckPending(), a.c.AckFloor().Stream, pending, passed, ackPending, floor)
	}
}

func TestSkip(t *testing.T) {
	for retention, removed := range map[config.Retention]uint64{config.LimitsRetention: 0, config.InterestRetention: 1, config.WorkQueueRetention: 1} {
		a := newAhead(t, retention, nil)
		if r := a.skip(3, 1, 3); r.Code != 0 || r.Removed != removed {
			t.Errorf("%v: skip 2: got %+v, want %d removed", retention, r, removed)
		}
		a.wants(5, []uint64{1, 3}, 0, 0)
		if next, _ := a.c.Next(0, a.m); next != 1 {
			t.Errorf("next is %d, want 1", next)
		}
		if next, _ := a.c.Next(1, a.m); next != 3 {
			t.Errorf("next behind 1 is %d, want 3", next)
		}
		if next, _ := a.c.Next(3, a.m); next != 4 {
			t.Errorf("next behind 3 is %d, want 4", next)
		}
		a.deliver(3)
		a.wants(4, []uint64{1}, 1, 0)
		a.deliver(1)
		a.wants(3, nil, 2, 0)
		a.answer(command.Done, 1)
		a.wants(3, nil, 1, 2)
		if r := a.skip(6); r.Removed != 3*removed {
			t.Errorf("%v: skip the rest: got %+v, want %d removed", retention, r, 3*removed)
		}
		a.wants(0, nil, 1, 2)
		a.answer(command.Done, 3)
		a.wants(0, nil, 0, 6)
	}
}

func TestSkipRefuses(t *testing.T) {
	a := newAhead(t, config.LimitsRetention, nil)
	inc := a.c.Incarnation()
	for name, c := range map[string]command.Command{
		"another incarnation":  &command.Skip{Consumer: "c", Incarnation: inc + 1, UpTo: 2},
		"a gap":                &command.Skip{Consumer: "c", Incarnation: inc, Above: 1, UpTo: 2},
		"what is not there":    &command.Skip{Consumer: "c", Incarnation: inc, UpTo: 7},
		"another consumer":     &command.Skip{Consumer: "d", Incarnation: inc, UpTo: 2},
		"not passed over":      &command.Deliver{Consumer: "c", Incarnation: inc, From: 1, Messages: []command.Delivery{{Sequence: 2}, {Sequence: 1}}},
		"twice, and the first": &command.Deliver{Consumer: "c", Incarnation: inc, From: 1, Messages: []command.Delivery{{Sequence: 2}, {Sequence: 2}}},
	} {
		if r := a.apply(c); r.Code == 0 {
			t.Errorf("%s: got %+v, want a refusal", name, r)
		}
	}
	a.wants(6, nil, 0, 0)
}

// TestAckPassed: whoever acknowledges a message that was passed over has got it, although the state does not have that.
func TestAckPassed(t *testing.T) {
	a := newAhead(t, config.WorkQueueRetention, map[string]string{config.MetadataFilter: `{"subject":[{"exists":true}]}`})
	a.skip(4, 1, 2, 3, 4)
	if r := a.answer(command.Done, 3); r.Removed != 1 {
		t.Errorf("got %+v, want that it goes", r)
	}
	a.wants(5, []uint64{1, 2, 4}, 0, 0)
	if r := a.deliver(5); r.Code == 0 {
		t.Errorf("deliver what was not looked at: got %+v, want a refusal", r)
	}
}

// TestSkipAfterPurge: what a leader has looked at goes on where a purge has brought the consumer meanwhile.
func TestSkipAfterPurge(t *testing.T) {
	a := newAhead(t, config.LimitsRetention, nil)
	a.skip(2, 1, 2)
	a.apply(&command.Purge{Time: 3, Sequence: 5})
	a.wants(2, nil, 0, 4)
	a.apply(&command.Skip{Time: 3, Consumer: "c", Incarnation: a.c.Incarnation(), Above: 2, UpTo: 5, Passed: []uint64{3, 5}})
	a.wants(2, []uint64{5}, 0, 4)
	a.apply(&command.Skip{Time: 3, Consumer: "c", Incarnation: a.c.Incarnation(), Above: 2, UpTo: 4, Passed: []uint64{3}})
	a.wants(2, []uint64{5}, 0, 4)
	if r := a.deliver(3); r.Code != 0 {
		t.Errorf("deliver what has gone: got %+v, want that it takes a number", r)
	}
	a.wants(2, []uint64{5}, 0, 4)
}

// TestPassedLeaves: messages that were passed over go as others do, and with a filter that does not match them.
func TestPassedLeaves(t *testing.T) {
	a := newAhead(t, config.InterestRetention, nil)
	a.skip(4, 1, 2, 3, 4)
	a.apply(&command.Delete{Time: 3, Sequence: 2})
	a.wants(5, []uint64{1, 3, 4}, 0, 0)
	cfg := a.c.Config()
	cfg.FilterSubject = "s.b"
	if r := a.apply(&command.ConsumerCreate{Time: 3, Config: cfg}); r.Removed != 3 {
		t.Errorf("another filter: got %+v, want that 1, 3 and 5 go", r)
	}
	a.wants(2, []uint64{4}, 0, 3)
	a.apply(&command.Reset{Time: 3, Consumer: "c", Sequence: 6})
	a.wants(1, nil, 0, 5)
	if got := a.s.State().Messages; got != 1 {
		t.Errorf("%d messages are left, want 6 alone", got)
	}
}

// TestBlocks: a message that is given up for good keeps its place, in a work queue too, until it is acknowledged.
func TestBlocks(t *testing.T) {
	a := newAhead(t, config.WorkQueueRetention, map[string]string{config.MetadataKey: "token:2", config.MetadataKeyFailed: "block"})
	a.skip(6, 1, 2, 3, 4, 5, 6)
	a.deliver(1, 2)
	if r := a.answer(command.Terminate, 1); r.Removed != 0 {
		t.Errorf("terminate: got %+v, want that it stays", r)
	}
	if r := a.answer(command.Terminate, 1); r.Removed != 0 {
		t.Errorf("terminate again: got %+v, want that it stays", r)
	}
	a.wants(4, []uint64{3, 4, 5, 6}, 1, 1)
	if !slices.Equal(a.c.Exhausted(), []uint64{1}) {
		t.Errorf("exhausted are %v, want 1", a.c.Exhausted())
	}
	if r := a.answer(command.Done, 1); r.Removed != 1 {
		t.Errorf("acknowledge: got %+v, want that it goes", r)
	}
	if got := a.c.AckFloor().Consumer; got != 1 {
		t.Errorf("%d deliveries are settled, want 1", got)
	}
}
