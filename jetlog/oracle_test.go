package jetlog

import (
	"strings"
	"testing"

	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/deadlines"
)

// sound returns a stream of interest retention with ten messages, of which some have a TTL, and three
// consumers: one that waits for answers and has something to deliver again, one of last messages, and
// one that has become a stray.
func sound(t *testing.T) (*Stream, *Memory) {
	t.Helper()
	cfg := config.Stream{
		Name: "S", Subjects: []string{"s.>"}, Retention: config.InterestRetention, MaxMessages: -1, MaxBytes: -1,
		MaxPerSubject: -1, MaxMessageBytes: -1, AllowTTL: true, MaxAge: 1 << 50, Replicas: 1,
	}
	s, m := New(1, cfg, 1), NewMemory()
	apply := func(c command.Command) {
		t.Helper()
		if r, err := s.Apply(c, m); err != nil || r.Code != 0 {
			t.Fatalf("%T: %+v, %v", c, r, err)
		}
	}
	create := func(c config.Consumer) {
		t.Helper()
		c.Ack, c.AckWait = config.AckExplicit, 1000
		apply(&command.ConsumerCreate{Time: 30, Config: c})
	}
	deliver := func(name string, seqs ...uint64) {
		t.Helper()
		c := s.Consumer(name)
		d := &command.Deliver{Time: 40, Consumer: name, Incarnation: c.Incarnation(), From: c.Delivered().Consumer + 1}
		for _, seq := range seqs {
			d.Messages = append(d.Messages, command.Delivery{Sequence: seq})
		}
		apply(d)
	}
	create(config.Consumer{Name: "all", MaxDeliver: 1, PriorityPolicy: config.PriorityOverflow, PriorityGroups: []string{"g"}})
	create(config.Consumer{Name: "stray", FilterSubject: "s.a"})
	for i := range 10 {
		p := &command.Publish{Time: 10, Subject: []string{"s.a", "s.b"}[i%2]}
		if i%3 == 0 {
			p.Header = []byte("NATS/1.0\r\nNats-TTL: 60\r\n\r\n")
		}
		apply(p)
	}
	create(config.Consumer{Name: "last", Deliver: config.DeliverLastPerSubject, FilterSubject: "s.*"})
	deliver("all", 1, 2, 3, 4)
	apply(&command.Ack{Time: 41, Consumer: "all", Replies: []command.Reply{{Answer: command.Nak, Sequence: 2}}})
	deliver("stray", 1, 3)
	apply(&command.Ack{Time: 41, Consumer: "stray", Replies: []command.Reply{{Answer: command.Nak, Sequence: 3}}})
	create(config.Consumer{Name: "stray", FilterSubject: "s.b"})
	if err := s.Check(m); err != nil {
		t.Fatal(err)
	}
	return s, m
}

// rewrite changes what a body knows of one message.
func rewrite(m *Memory, which uint64, change func(*Meta)) {
	fresh := NewMemory()
	for seq, _ := m.Next(0); seq != 0; seq, _ = m.Next(seq + 1) {
		meta, _ := m.Meta(seq)
		message, _ := m.Load(seq)
		if seq == which {
			change(&meta)
			message.Time = meta.Time
		}
		fresh.Append(&message, &meta)
	}
	*m = *fresh
}

// TestCheckFinds breaks one invariant after the other. Check, on which most other tests rely, has to
// tell each.
func TestCheckFinds(t *testing.T) {
	tests := []struct {
		name  string
		wreck func(s *Stream, m *Memory)
		want  string
	}{
		{"counters", func(s *Stream, _ *Memory) { s.published++ }, "11 published, but 10 live and 0 removed"},
		{"reasons", func(s *Stream, _ *Memory) { s.removed[Purged]++ }, "10 live and 1 removed"},
		{"bytes", func(s *Stream, _ *Memory) { s.state.Bytes-- }, "state is"},
		{"last time", func(s *Stream, _ *Memory) { s.clock = 5 }, "the clock 5 is before the last message"},
		{"names", func(s *Stream, _ *Memory) { s.consumers[0], s.consumers[1] = s.consumers[1], s.consumers[0] }, "order of their names"},
		{"strays", func(s *Stream, _ *Memory) { s.strays = 0 }, "0 strays, counted 1"},
		{"no stray", func(s *Stream, _ *Memory) { s.Consumer("stray").stray, s.strays = false, 0 }, "the consumer is no stray"},
		{"stray of nothing", func(s *Stream, _ *Memory) { s.Consumer("last").stray, s.strays = true, 2 }, "nothing left of its former filter"},
		{"age", func(s *Stream, _ *Memory) { s.aged = 5 }, "message 4 is passed over by age"},
		{"TTL lost", func(s *Stream, _ *Memory) { s.ttl = deadlines.Of(s.ttl.Sorted()[1:]) }, "TTL deadlines are"},
		{"TTL too many", func(s *Stream, _ *Memory) { s.ttl.Add(1, 2) }, "TTL deadlines are"},
		{"TTL heap", func(s *Stream, _ *Memory) {
			s.ttl = deadlines.Of(append(deadlines.Heap{{At: 1 << 60}}, s.ttl.Sorted()...))
		}, "TTL deadlines are out of order"},
		{"body", func(_ *Stream, m *Memory) { rewrite(m, 4, func(meta *Meta) { meta.Bytes++ }) }, "message 4 counts for"},
		{"time", func(_ *Stream, m *Memory) { rewrite(m, 4, func(meta *Meta) { meta.Time = 9 }) }, "message 4 comes behind 3"},
		{"pending", func(s *Stream, _ *Memory) { s.Consumer("all").pending++ }, `consumer "all": 7 pending, counted 6`},
		{"floor", func(s *Stream, _ *Memory) { s.Consumer("all").floor.Stream = 9 }, "ack floor {Consumer:0 Stream:9} is above delivered"},
		{"floor of deliveries", func(s *Stream, _ *Memory) { s.Consumer("all").floor.Consumer = 9 }, "is above delivered"},
		{"floor above a delivery", func(s *Stream, _ *Memory) { s.Consumer("all").floor.Stream = 1 }, "message 1 waits for an answer"},
		{"exhausted twice", func(s *Stream, _ *Memory) { s.Consumer("all").exhausted = []uint64{2, 2} }, "exhausted message 2"},
		{"exhausted and waiting", func(s *Stream, _ *Memory) { s.Consumer("all").exhausted = []uint64{1} }, "exhausted message 1"},
		{"exhausted and gone", func(s *Stream, _ *Memory) { s.Consumer("all").exhausted = []uint64{2, 77} }, "exhausted message 77"},
		{"delivery of nothing", func(s *Stream, _ *Memory) { s.Consumer("all").acks.Find(3).Sequence = 5 }, "message 5 waits for an answer"},
		{"passed over and gone", func(s *Stream, _ *Memory) { s.Consumer("all").pass(77) }, "message 77 was passed over"},
		{"passed over and waiting", func(s *Stream, _ *Memory) { s.Consumer("all").pass(3) }, "message 3 was passed over"},
		{"passed over and not counted", func(s *Stream, _ *Memory) { s.Consumer("all").pass(3) }, "6 pending, counted 7"},
		{"initial", func(s *Stream, _ *Memory) { s.Consumer("last").initial.Renew([]uint64{77}) }, "message 77 is to be delivered at first"},
		{"resume", func(s *Stream, _ *Memory) { s.Consumer("last").initial.Resume = 11 }, "above the last sequence 10"},
		{"pins", func(s *Stream, _ *Memory) { s.Consumer("all").pins = nil }, "0 pins for 1 groups"},
		{"unneeded", func(s *Stream, _ *Memory) {
			for _, c := range s.consumers {
				c.acks.Settle(1)
			}
		}, `message 1 on "s.a" is kept, but no consumer needs it`},
		{"message lost", func(_ *Stream, m *Memory) { m.Remove(&Meta{Sequence: 1}, Deleted) }, "message 1 waits for an answer"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, m := sound(t)
			tt.wreck(s, m)
			if err := s.Check(m); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
