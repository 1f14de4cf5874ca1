package jetlog_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
)

// ackCase is an ack policy in a stream of some retention, beside a second consumer or without.
type ackCase struct {
	ack       config.Ack
	retention config.Retention
	// beside is how far the second consumer, which acknowledges, has come: -1 when there is none.
	beside int
}

func ackCases() []ackCase {
	var cases []ackCase
	for _, ack := range []config.Ack{config.AckNone, config.AckAll, config.AckExplicit, config.AckFlowControl} {
		for _, beside := range []int{-1, 0, 3, 6} {
			cases = append(cases, ackCase{ack, config.LimitsRetention, beside}, ackCase{ack, config.InterestRetention, beside})
		}
	}
	return append(cases, ackCase{config.AckExplicit, config.WorkQueueRetention, -1}, ackCase{config.AckFlowControl, config.WorkQueueRetention, -1})
}

// answered is what a consumer and its stream should be, told in the plainest words.
type answered struct {
	ackCase
	live    map[uint64]bool
	waiting map[uint64]bool
	floor   uint64
	// mine is up to where the consumer has been delivered.
	mine uint64
}

// gone takes what the consumer has settled out of the stream, if nobody else needs it.
func (a *answered) gone(seq uint64) {
	switch {
	case a.retention == config.LimitsRetention:
	case a.retention == config.InterestRetention && a.beside >= 0 && seq > uint64(a.beside):
	default:
		delete(a.live, seq)
	}
}

func (a *answered) deliver(seq uint64) {
	a.mine = seq
	if a.ack == config.AckNone {
		if a.retention == config.InterestRetention {
			a.gone(seq)
		}
		a.floor = seq
		return
	}
	a.waiting[seq] = true
}

func (a *answered) answer(kind command.Answer, seq uint64) {
	if kind == command.Nak || kind == command.Progress {
		return
	}
	all := kind == command.Done && (a.ack == config.AckAll || a.ack == config.AckFlowControl)
	settled := false
	for _, w := range slices.Sorted(maps.Keys(a.waiting)) {
		if w == seq || all && w < seq {
			delete(a.waiting, w)
			a.gone(w)
			settled = true
		}
	}
	if settled {
		a.floor = a.mine
		for w := range a.waiting {
			a.floor = min(a.floor, w-1)
		}
	}
}

// TestAcks crosses every ack policy and retention with every answer to every message, twice over.
func TestAcks(t *testing.T) {
	for _, tt := range ackCases() {
		for _, kind := range []command.Answer{command.Done, command.Nak, command.Terminate, command.Progress} {
			for at := range uint64(7) {
				name := fmt.Sprintf("ack %d retention %d beside %d answer %d to %d", tt.ack, tt.retention, tt.beside, kind, at+1)
				t.Run(name, func(t *testing.T) { acks(t, tt, kind, at+1) })
			}
		}
	}
}

func acks(t *testing.T, tt ackCase, kind command.Answer, seq uint64) {
	cfg := unlimited()
	cfg.Retention = tt.retention
	s, m := jetlog.New(1, cfg, 1), jetlog.NewMemory()
	want := &answered{ackCase: tt, live: map[uint64]bool{}, waiting: map[uint64]bool{}}
	create := func(name string, ack config.Ack) *jetlog.Consumer {
		mustApply(t, s, m, &command.ConsumerCreate{Time: 2, Config: config.Consumer{Name: name, Ack: ack}})
		return s.Consumer(name)
	}
	c := create("c", tt.ack)
	if tt.beside >= 0 {
		create("beside", config.AckAll)
	}
	for n := range uint64(6) {
		mustApply(t, s, m, &command.Publish{Time: 10, Subject: "s.a"})
		want.live[n+1] = true
	}
	if tt.beside > 0 {
		mustApply(t, s, m, choose(s, m, s.Consumer("beside"), uint64(tt.beside), 20))
		done := []command.Reply{{Sequence: uint64(tt.beside)}}
		mustApply(t, s, m, &command.Ack{Time: 21, Consumer: "beside", Replies: done})
	}
	compare := func(when string) {
		t.Helper()
		check(t, s, m)
		if got, want := sequencesOf(metas(t, m)), slices.Sorted(maps.Keys(want.live)); !slices.Equal(got, want) {
			t.Errorf("%s: live are %v, want %v", when, got, want)
		}
		for n := range uint64(8) {
			if got := c.Deliveries(n); (got == 1) != want.waiting[n] {
				t.Errorf("%s: %d was delivered %d times", when, n, got)
			}
		}
		if c.AckPending() != len(want.waiting) || c.AckFloor().Stream != want.floor || c.Pending() != 6-want.mine {
			t.Errorf("%s: ack pending %d, floor %d, pending %d, want %+v", when, c.AckPending(), c.AckFloor().Stream, c.Pending(), want)
		}
	}
	for range 4 {
		mustApply(t, s, m, choose(s, m, c, 1, 30))
		want.deliver(want.mine + 1)
		compare(fmt.Sprintf("delivered %d", want.mine))
	}
	for _, reply := range []command.Reply{{Answer: kind, Sequence: seq}, {Answer: kind, Sequence: seq}, {Sequence: 4}, {Sequence: 9}} {
		r := mustApply(t, s, m, &command.Ack{Time: 40, Consumer: "c", Replies: []command.Reply{reply}})
		before := uint64(len(want.live))
		want.answer(reply.Answer, reply.Sequence)
		compare(fmt.Sprintf("answer %+v", reply))
		if removed := before - uint64(len(want.live)); r.Code != 0 || r.Removed != removed {
			t.Errorf("answer %+v: got %+v, want %d removed", reply, r, removed)
		}
	}
}

func sequencesOf(list []jetlog.Meta) []uint64 {
	var out []uint64
	for _, meta := range list {
		out = append(out, meta.Sequence)
	}
	return out
}

// redelivered is a consumer of six messages, with a clock of its own.
type redelivered struct {
	t      *testing.T
	stream *jetlog.Stream
	body   *jetlog.Memory
	now    time.Duration
}

func newRedelivered(t *testing.T, cfg config.Consumer) *redelivered {
	t.Helper()
	r := &redelivered{t: t, stream: jetlog.New(1, unlimited(), 0), body: jetlog.NewMemory()}
	cfg.Name, cfg.Ack = "c", config.AckExplicit
	fill(t, r.stream, r.body, 6, func(int) string { return "s" })
	mustApply(t, r.stream, r.body, &command.ConsumerCreate{Config: cfg})
	return r
}

func (r *redelivered) at() int64 { return int64(time.Hour + r.now) }

func (r *redelivered) consumer() *jetlog.Consumer { return r.stream.Consumer("c") }

// fetch delivers what there is, and returns it with the number of each delivery.
func (r *redelivered) fetch(n uint64) string {
	r.t.Helper()
	d := choose(r.stream, r.body, r.consumer(), n, r.at())
	if len(d.Messages) == 0 {
		return ""
	}
	mustApply(r.t, r.stream, r.body, d)
	check(r.t, r.stream, r.body)
	var text strings.Builder
	for _, message := range d.Messages {
		text.WriteString(fmt.Sprintf(" %d:%d", message.Sequence, r.consumer().Deliveries(message.Sequence)))
	}
	return text.String()[1:]
}

func (r *redelivered) answer(a command.Answer, delay time.Duration, seqs ...uint64) jetlog.Result {
	r.t.Helper()
	c := &command.Ack{Time: r.at(), Consumer: "c"}
	for _, seq := range seqs {
		c.Replies = append(c.Replies, command.Reply{Answer: a, Sequence: seq, Delay: delay})
	}
	result := mustApply(r.t, r.stream, r.body, c)
	check(r.t, r.stream, r.body)
	return result
}

// due carries out AckDeadline and returns what is exhausted by it.
func (r *redelivered) due() string {
	r.t.Helper()
	result := mustApply(r.t, r.stream, r.body, &command.AckDeadline{Time: r.at()})
	check(r.t, r.stream, r.body)
	var text strings.Builder
	for _, e := range result.Exhausted {
		text.WriteString(fmt.Sprintf(" %d after %d", e.Sequence, e.Deliveries))
	}
	return text.String()
}

func (r *redelivered) want(what, got, want string) {
	r.t.Helper()
	if got != want {
		r.t.Fatalf("at %s: %s: got %q, want %q", r.now, what, got, want)
	}
}

// TestBackoff sees at which times a message comes again: after the steps of the backoff, the last of
// which repeats, until it was delivered as often as it may.
func TestBackoff(t *testing.T) {
	const ms = time.Millisecond
	tests := []struct {
		name  string
		cfg   config.Consumer
		times []time.Duration // of all deliveries
		spent time.Duration   // when it is given up, 0 for never
	}{
		{
			"four deliveries",
			config.Consumer{Backoff: []time.Duration{200 * ms, 600 * ms}, MaxDeliver: 4, AckWait: 200 * ms},
			[]time.Duration{0, 200 * ms, 800 * ms, 1400 * ms},
			2000 * ms,
		},
		{
			"three steps",
			config.Consumer{Backoff: []time.Duration{ms, 2 * ms, 3 * ms}, MaxDeliver: 3, AckWait: ms},
			[]time.Duration{0, ms, 3 * ms},
			6 * ms,
		},
		{
			"without an end",
			config.Consumer{Backoff: []time.Duration{5 * ms, ms}, MaxDeliver: -1, AckWait: 5 * ms},
			[]time.Duration{0, 5 * ms, 6 * ms, 7 * ms, 8 * ms, 9 * ms},
			0,
		},
		{"ack wait", config.Consumer{AckWait: 10 * ms, MaxDeliver: 2}, []time.Duration{0, 10 * ms}, 20 * ms},
		{"once", config.Consumer{AckWait: 10 * ms, MaxDeliver: 1}, []time.Duration{0}, 10 * ms},
		{"no wait", config.Consumer{MaxDeliver: 2}, []time.Duration{0}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.MaxAckPending = 1
			r := newRedelivered(t, tt.cfg)
			for i, at := range tt.times {
				if i > 0 { // a nanosecond earlier it is not yet due
					r.now = at - 1
					r.want("too early", r.due()+r.fetch(1), "")
					if next := r.stream.NextAckDeadline(); next != r.at()+1 {
						t.Errorf("the next deadline is %d, want %d", next, r.at()+1)
					}
				}
				r.now = at
				r.want("exhausted", r.due(), "")
				r.want("delivered", r.fetch(1), fmt.Sprintf("1:%d", i+1))
			}
			if tt.spent == 0 {
				if tt.cfg.AckWait == 0 && r.stream.NextAckDeadline() != 0 {
					t.Errorf("the next deadline is %d, want none", r.stream.NextAckDeadline())
				}
				return
			}
			r.now = tt.spent - 1
			r.want("too early", r.due(), "")
			r.now = tt.spent
			r.want("exhausted", r.due(), fmt.Sprintf(" 1 after %d", len(tt.times)))
			r.want("exhausted again", r.due(), "")
			r.want("delivered", r.fetch(1), "2:1")
			if c := r.consumer(); c.AckFloor().Stream != 0 || c.Redelivered() != 1 {
				t.Errorf("floor %d, redelivered %d", c.AckFloor().Stream, c.Redelivered())
			}
		})
	}
}

// TestRedeliveryOrder sees that messages come again in the order in which that was asked for, before
// new ones, and that an answer takes one out of that order.
func TestRedeliveryOrder(t *testing.T) {
	r := newRedelivered(t, config.Consumer{AckWait: time.Second, MaxDeliver: -1})
	r.want("delivered", r.fetch(4), "1:1 2:1 3:1 4:1")
	r.answer(command.Nak, 0, 3, 1, 4)
	r.answer(command.Nak, 0, 1, 3) // they keep their places
	r.want("delivered", r.fetch(2), "3:2 1:2")
	r.answer(command.Nak, 0, 2, 3)
	r.answer(command.Done, 0, 2)
	r.want("settled in the queue", r.fetch(9), "4:2 3:3 5:1 6:1")
	r.answer(command.Nak, 0, 6, 5, 1)
	r.answer(command.Progress, 0, 5) // it has more time instead
	r.answer(command.Nak, 300*time.Millisecond, 1)
	r.want("delivered", r.fetch(9), "6:2")
	r.now = 300 * time.Millisecond
	r.want("exhausted", r.due(), "")
	r.want("after the delay", r.fetch(9), "1:3")
	r.now = time.Second
	r.want("exhausted", r.due(), "")
	r.want("by their deadlines, then by sequence", r.fetch(9), "3:4 4:3 5:2 6:3")
	r.answer(command.Terminate, 0, 3)
	r.answer(command.Nak, 0, 3) // it is settled
	r.want("nothing", r.fetch(9), "")
	if c := r.consumer(); c.AckPending() != 4 || c.Redelivered() != 4 || c.Delivered() != (jetlog.Position{Consumer: 16, Stream: 6}) {
		t.Errorf("ack pending %d, redelivered %d, delivered %+v", c.AckPending(), c.Redelivered(), c.Delivered())
	}
}

// TestPauses sees until when a consumer rests, and that answers and deadlines go on meanwhile.
func TestPauses(t *testing.T) {
	r := newRedelivered(t, config.Consumer{AckWait: time.Second, MaxDeliver: -1})
	pause := func(until time.Duration) {
		t.Helper()
		mustApply(t, r.stream, r.body, &command.Pause{Time: r.at(), Consumer: "c", Until: int64(time.Hour + until)})
	}
	r.want("delivered", r.fetch(2), "1:1 2:1")
	pause(2 * time.Second)
	r.want("paused", r.fetch(2), "")
	r.answer(command.Done, 0, 1)
	r.now = time.Second
	r.want("deadlines", r.due(), "")
	r.want("paused still", r.fetch(2), "")
	r.now = 2*time.Second - 1
	r.want("to the nanosecond", r.fetch(2), "")
	r.now = 2 * time.Second
	r.want("goes on", r.fetch(2), "2:2 3:1")
	pause(time.Hour)
	if got := r.consumer().PausedUntil(); got != int64(2*time.Hour) {
		t.Errorf("paused until %d", got)
	}
	pause(2 * time.Second) // that is now: no longer
	if got := r.consumer().PausedUntil(); got != 0 {
		t.Errorf("paused until %d, want that it goes on", got)
	}
	r.want("goes on", r.fetch(1), "4:1")
	if got := mustApply(t, r.stream, r.body, &command.Pause{Consumer: "none", Until: 1}); got.Code != config.ConsumerNotFound {
		t.Errorf("nobody: got %+v", got)
	}
}

// TestPins sees whom priority groups belong to, and that an update keeps that of the groups it keeps.
func TestPins(t *testing.T) {
	r := newRedelivered(t, config.Consumer{PriorityPolicy: config.PriorityPinned, PriorityGroups: []string{"a", "b"}})
	pin := func(group, id string) jetlog.Result {
		t.Helper()
		return mustApply(t, r.stream, r.body, &command.Pin{Time: r.at(), Consumer: "c", Group: group, ID: id})
	}
	want := func(group, id string, since time.Duration) {
		t.Helper()
		at := int64(0)
		if id != "" {
			at = int64(time.Hour + since)
		}
		if gotID, gotSince := r.consumer().Pinned(group); gotID != id || gotSince != at {
			t.Errorf("group %s is %q since %d, want %q since %d", group, gotID, gotSince, id, at)
		}
	}
	want("a", "", 0)
	pin("a", "one")
	r.now = time.Second
	pin("b", "two")
	want("a", "one", 0)
	want("b", "two", time.Second)
	if got := pin("c", "three"); got.Code != config.PriorityGroupUnknown {
		t.Errorf("unknown group: got %+v", got)
	}
	want("c", "", 0)
	pin("a", "four")
	want("a", "four", time.Second)
	pin("b", "")
	want("b", "", 0)
	next := r.consumer().Config()
	next.PriorityGroups = []string{"b", "new", "a"}
	mustApply(t, r.stream, r.body, &command.ConsumerCreate{Time: r.at(), Config: next})
	check(t, r.stream, r.body)
	want("a", "four", time.Second)
	want("b", "", 0)
	want("new", "", 0)
	if got := mustApply(t, r.stream, r.body, &command.Pin{Consumer: "none", Group: "a"}); got.Code != config.ConsumerNotFound {
		t.Errorf("nobody: got %+v", got)
	}
}

// TestResets sees from where a consumer goes on after a reset to every sequence, what is pending then,
// and that a delivery that was on its way is not taken for one of the new incarnation.
func TestResets(t *testing.T) {
	for seq := range uint64(10) {
		t.Run(fmt.Sprint(seq), func(t *testing.T) {
			r := newRedelivered(t, config.Consumer{AckWait: time.Second, MaxDeliver: 2})
			r.want("delivered", r.fetch(5), "1:1 2:1 3:1 4:1 5:1")
			r.answer(command.Done, 0, 1, 4)
			r.answer(command.Nak, 0, 3)
			r.want("delivered", r.fetch(1), "3:2")
			r.answer(command.Nak, 0, 3) // that was its last
			late := choose(r.stream, r.body, r.consumer(), 1, r.at())
			got := mustApply(t, r.stream, r.body, &command.Reset{Time: r.at(), Consumer: "c", Sequence: seq})
			check(t, r.stream, r.body)
			start := seq
			if seq == 0 { // the one after the ack floor
				start = 2
			}
			c := r.consumer()
			position := jetlog.Position{Stream: start - 1}
			if got.Code != 0 || got.Sequence != start || c.Delivered() != position || c.AckFloor() != position {
				t.Errorf("got %+v, delivered %+v, floor %+v, want %+v", got, c.Delivered(), c.AckFloor(), position)
			}
			left := max(0, 7-int(start))
			if c.Pending() != uint64(left) || c.AckPending() != 0 || r.stream.NextAckDeadline() != 0 {
				t.Errorf("pending %d, ack pending %d, deadline %d, want %d pending", c.Pending(), c.AckPending(), r.stream.NextAckDeadline(), left)
			}
			if got := mustApply(t, r.stream, r.body, late); got.Code != config.BadRequest {
				t.Errorf("a late delivery: got %+v", got)
			}
			var want strings.Builder
			for s := start; s <= 6; s++ {
				want.WriteString(fmt.Sprintf(" %d:1", s))
			}
			r.want("delivered", " "+r.fetch(9), max(want.String(), " "))
		})
	}
}
