package jetlog_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
)

// second is the time of the n-th message of the streams of these tests.
func second(n int) time.Time { return time.Unix(1000+int64(n), 0) }

// holed returns a stream of 24 messages, a second apart, of which the first four, the last two and
// some in the middle are gone.
func holed(t *testing.T, cfg config.Stream) (*jetlog.Stream, *jetlog.Memory) {
	t.Helper()
	s, m := jetlog.New(1, cfg, 1), jetlog.NewMemory()
	subjects := []string{"s.a", "s.b.x", "s.b.y", "s.a", "s.c.x", "s.c"}
	for i := range 24 {
		mustApply(t, s, m, &command.Publish{Time: second(i + 1).UnixNano(), Subject: subjects[i%len(subjects)]})
	}
	for _, seq := range []uint64{1, 2, 3, 4, 9, 10, 11, 15, 23, 24} {
		mustApply(t, s, m, &command.Delete{Time: second(25).UnixNano(), Sequence: seq})
	}
	return s, m
}

// metas returns all that is live.
func metas(t *testing.T, m *jetlog.Memory) []jetlog.Meta {
	t.Helper()
	var out []jetlog.Meta
	for seq, err := m.Next(0); seq != 0 || err != nil; seq, err = m.Next(seq + 1) {
		meta, err := m.Meta(seq)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, meta)
	}
	return out
}

// startCase is a deliver policy with what it needs, and which of the live messages it selects, in
// the plainest words.
type startCase struct {
	name    string
	cfg     config.Consumer
	selects func(matching []jetlog.Meta) []jetlog.Meta
}

func startCases() []startCase {
	cases := []startCase{
		{"all", config.Consumer{}, func(list []jetlog.Meta) []jetlog.Meta { return list }},
		{"new", config.Consumer{Deliver: config.DeliverNew}, func([]jetlog.Meta) []jetlog.Meta { return nil }},
		{"last", config.Consumer{Deliver: config.DeliverLast}, func(list []jetlog.Meta) []jetlog.Meta {
			return list[max(0, len(list)-1):]
		}},
		{"last per subject", config.Consumer{Deliver: config.DeliverLastPerSubject}, func(list []jetlog.Meta) []jetlog.Meta {
			last := map[string]uint64{}
			for _, meta := range list {
				last[meta.Subject] = meta.Sequence
			}
			return slices.DeleteFunc(list, func(meta jetlog.Meta) bool { return last[meta.Subject] != meta.Sequence })
		}},
	}
	for n := range 28 {
		at := second(n)
		cases = append(cases,
			startCase{
				fmt.Sprint("sequence ", n+1),
				config.Consumer{Deliver: config.DeliverByStartSequence, StartSequence: uint64(n + 1)},
				func(list []jetlog.Meta) []jetlog.Meta {
					return slices.DeleteFunc(list, func(meta jetlog.Meta) bool { return meta.Sequence < uint64(n+1) })
				},
			},
			startCase{
				fmt.Sprint("time ", n),
				config.Consumer{Deliver: config.DeliverByStartTime, StartTime: &at},
				func(list []jetlog.Meta) []jetlog.Meta {
					return slices.DeleteFunc(list, func(meta jetlog.Meta) bool { return meta.Time < at.UnixNano() })
				},
			})
	}
	return cases
}

var startFilters = [][]string{
	nil, {">"}, {"s.a"}, {"s.c"}, {"s.*"}, {"s.>"}, {"s.a", "s.b.>"}, {"s.b.*", "s.*.x"}, {"s.b.y"}, {"none"}, {"none", "s.c.*"},
}

// TestStarts crosses every deliver policy and start with every filter. After each step, what is
// pending is counted anew: in the list of what is to come, from which a message is taken when it is
// delivered or goes, and to which one is added when it arrives and matches.
func TestStarts(t *testing.T) {
	for _, tt := range startCases() {
		for _, filter := range startFilters {
			t.Run(fmt.Sprint(tt.name, filter), func(t *testing.T) {
				s, m := holed(t, unlimited())
				cfg := tt.cfg
				cfg.Name, cfg.FilterSubjects, cfg.Ack = "c", filter, config.AckExplicit
				r := mustApply(t, s, m, &command.ConsumerCreate{Time: second(30).UnixNano(), Config: cfg})
				if !r.Created {
					t.Fatalf("got %+v", r)
				}
				matching := slices.DeleteFunc(metas(t, m), func(meta jetlog.Meta) bool { return !jetlog.Filter(filter).Matches(meta.Subject) })
				f := &follower{t: t, stream: s, body: m, consumer: s.Consumer("c")}
				for _, meta := range tt.selects(matching) {
					f.want = append(f.want, meta.Sequence)
				}
				f.through()
			})
		}
	}
}

// follower knows what a consumer is to get, as a plain list.
type follower struct {
	t        *testing.T
	stream   *jetlog.Stream
	body     *jetlog.Memory
	consumer *jetlog.Consumer
	want     []uint64
}

// apply carries out a command, and counts again.
func (f *follower) apply(c command.Command) jetlog.Result {
	f.t.Helper()
	r := mustApply(f.t, f.stream, f.body, c)
	f.count()
	return r
}

// count compares what is pending with the list, and the next message with its first.
func (f *follower) count() {
	f.t.Helper()
	if got := f.consumer.Pending(); got != uint64(len(f.want)) {
		f.t.Fatalf("%d pending, want %v", got, f.want)
	}
	next, err := f.consumer.Next(0, f.body)
	if err != nil || next != first(f.want) {
		f.t.Fatalf("the next is %d, %v, want %v", next, err, f.want)
	}
	for i, seq := range f.want { // behind each of them comes the one after it
		after, err := f.consumer.Next(seq, f.body)
		if err != nil || after != first(f.want[i+1:]) {
			f.t.Fatalf("behind %d comes %d, %v, want %v", seq, after, err, f.want)
		}
	}
	check(f.t, f.stream, f.body)
}

func (f *follower) publish(subject string) {
	f.t.Helper()
	starts := f.consumer.Config().StartSequence
	next := f.stream.State().Last + 1
	if f.consumer.Filter().Matches(subject) && (f.consumer.Config().Deliver != config.DeliverByStartSequence || next >= starts) {
		f.want = append(f.want, next)
	}
	f.apply(&command.Publish{Time: second(31).UnixNano(), Subject: subject})
}

func (f *follower) deliver(n uint64) {
	f.t.Helper()
	d := choose(f.stream, f.body, f.consumer, n, second(32).UnixNano())
	if len(d.Messages) != min(int(n), len(f.want)) {
		f.t.Fatalf("chosen: %+v, want %v", d.Messages, f.want)
	}
	for i, message := range d.Messages {
		if message.Again || message.Sequence != f.want[i] {
			f.t.Fatalf("chosen: %+v, want %v", d.Messages, f.want)
		}
	}
	before := f.consumer.Delivered().Consumer
	f.want = f.want[len(d.Messages):]
	f.apply(d)
	if got := f.consumer.Delivered().Consumer - before; got != uint64(len(d.Messages)) {
		f.t.Fatalf("%d deliveries are counted, want %d", got, len(d.Messages))
	}
}

func (f *follower) remove(seq uint64) {
	f.t.Helper()
	f.want = slices.DeleteFunc(f.want, func(s uint64) bool { return s == seq })
	f.apply(&command.Delete{Time: second(33).UnixNano(), Sequence: seq})
}

func (f *follower) purge(filter string, below uint64) {
	f.t.Helper()
	for _, meta := range metas(f.t, f.body) {
		if (below == 0 || meta.Sequence < below) && (filter == "" || jetlog.Filter{filter}.Matches(meta.Subject)) {
			f.want = slices.DeleteFunc(f.want, func(s uint64) bool { return s == meta.Sequence })
		}
	}
	f.apply(&command.Purge{Time: second(34).UnixNano(), Filter: filter, Sequence: below})
}

// through goes the way of a consumer.
func (f *follower) through() {
	f.t.Helper()
	f.count()
	f.publish("s.a")
	f.publish("other")
	if len(f.want) > 2 {
		f.remove(f.want[1]) // it was about to come
	}
	f.deliver(1)
	f.publish("s.b.x")
	f.publish("s.c")
	f.purge("s.b.*", 20)
	f.deliver(2)
	f.publish("s.b.y")
	if len(f.want) > 0 {
		f.remove(f.want[len(f.want)-1])
	}
	f.remove(f.stream.State().First)
	f.deliver(3)
	f.purge("", 18)
	f.publish("s.a")
	f.purge("s.a", 0)
	f.publish("s.c.x")
	f.deliver(100)
	f.deliver(1)
	f.publish("s.b.x")
	f.publish("s.a")
	f.purge("", 0)
	f.publish("s.a")
	f.publish("s.b.y")
	f.deliver(10)
}

// TestStartsOfNothing sees where consumers of an empty stream begin: whatever its sequences were.
func TestStartsOfNothing(t *testing.T) {
	at := second(3)
	tests := []struct {
		name string
		cfg  config.Consumer
		want uint64 // delivered, as a sequence of a stream whose last is 24
	}{
		{"all", config.Consumer{}, 24},
		{"new", config.Consumer{Deliver: config.DeliverNew}, 24},
		{"last", config.Consumer{Deliver: config.DeliverLast}, 24},
		{"last per subject", config.Consumer{Deliver: config.DeliverLastPerSubject, FilterSubject: "s.>"}, 24},
		{"time", config.Consumer{Deliver: config.DeliverByStartTime, StartTime: &at}, 24},
		{"sequence", config.Consumer{Deliver: config.DeliverByStartSequence, StartSequence: 5}, 24},
		{"a later sequence", config.Consumer{Deliver: config.DeliverByStartSequence, StartSequence: 100}, 99},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, m := holed(t, unlimited())
			mustApply(t, s, m, &command.Purge{Time: second(26).UnixNano()})
			tt.cfg.Name, tt.cfg.Ack = "c", config.AckExplicit
			mustApply(t, s, m, &command.ConsumerCreate{Time: second(27).UnixNano(), Config: tt.cfg})
			c := s.Consumer("c")
			want := jetlog.Position{Stream: tt.want}
			if c.Delivered() != want || c.AckFloor() != want || c.Pending() != 0 {
				t.Errorf("delivered %+v, floor %+v, pending %d, want %+v", c.Delivered(), c.AckFloor(), c.Pending(), want)
			}
			f := &follower{t: t, stream: s, body: m, consumer: c}
			f.publish("s.a")
			f.publish("s.b.x")
			f.deliver(5)
		})
	}
}

// first returns the first of a list of sequences, 0 for none.
func first(list []uint64) uint64 {
	if len(list) == 0 {
		return 0
	}
	return list[0]
}
