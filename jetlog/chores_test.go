package jetlog_test

import (
	"bytes"
	"fmt"
	"testing"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
)

// choreCase is a command that is too much for one.
type choreCase struct {
	name      string
	configure func(*config.Stream)
	consumers []config.Consumer
	before    []command.Command
	command   command.Command
	// want is how many messages are left on s.a, s.b and s.c. Messages that come meanwhile do not count.
	want [3]uint64
	// reason is the one that counts the removals.
	reason jetlog.Reason
}

func choreCases() []choreCase {
	interest := func(c *config.Stream) { c.Retention = config.InterestRetention }
	all := config.Consumer{Name: "all", Ack: config.AckExplicit}
	some := config.Consumer{Name: "some", Ack: config.AckExplicit, FilterSubject: "s.b"}
	limited := func(change func(*config.Stream)) command.Command {
		cfg := unlimited()
		change(&cfg)
		return &command.Configure{Config: cfg}
	}
	filtered := some
	filtered.FilterSubject = "s.c"
	return []choreCase{
		{name: "purge of a subject", command: &command.Purge{Filter: "s.a"}, want: [3]uint64{0, 10000, 10000}, reason: jetlog.Purged},
		{name: "purge below", command: &command.Purge{Filter: "s.*", Sequence: 29999}, want: [3]uint64{0, 1, 1}, reason: jetlog.Purged},
		{name: "purge but some", command: &command.Purge{Filter: "s.a", Keep: 10}, want: [3]uint64{10, 10000, 10000}, reason: jetlog.Purged},
		{name: "purge but many", command: &command.Purge{Filter: "s.*", Keep: 20001}, want: [3]uint64{6667, 6667, 6667}, reason: jetlog.Purged},
		{
			name: "rollup of a subject", configure: func(c *config.Stream) { c.AllowRollup = true },
			command: &command.Publish{Subject: "s.a", Header: []byte("NATS/1.0\r\nNats-Rollup: sub\r\n\r\n")},
			want:    [3]uint64{1, 10000, 10000}, reason: jetlog.Rollup,
		},
		{
			name: "rollup of all", configure: func(c *config.Stream) { c.AllowRollup = true },
			command: &command.Publish{Subject: "s.a", Header: []byte("NATS/1.0\r\nNats-Rollup: all\r\n\r\n")},
			want:    [3]uint64{1, 0, 0}, reason: jetlog.Rollup,
		},
		{
			name: "rollup in a batch", configure: func(c *config.Stream) { c.AllowRollup, c.AllowAtomic = true, true },
			command: &command.Batch{Members: []command.Publish{
				{Subject: "s.b"}, {Subject: "s.a", Header: []byte("NATS/1.0\r\nNats-Rollup: sub\r\n\r\n")}, {Subject: "s.a"},
			}},
			want: [3]uint64{2, 10001, 10000}, reason: jetlog.Rollup,
		},
		{
			name: "a consumer goes", configure: interest, consumers: []config.Consumer{all, some},
			command: &command.ConsumerDelete{Consumer: "all"}, want: [3]uint64{0, 10000, 0}, reason: jetlog.Acked,
		},
		{
			name: "a consumer gets another filter", configure: interest, consumers: []config.Consumer{all, some},
			before:  []command.Command{&command.ConsumerDelete{Consumer: "nobody"}},
			command: &command.ConsumerCreate{Config: config.Consumer{Name: "all", Ack: config.AckExplicit, FilterSubject: "s.c"}},
			want:    [3]uint64{0, 10000, 10000}, reason: jetlog.Acked,
		},
		{
			name: "a consumer skips", configure: interest, consumers: []config.Consumer{all, some},
			command: &command.Reset{Consumer: "all", Sequence: 29998}, want: [3]uint64{1, 10000, 1}, reason: jetlog.Acked,
		},
		{
			name: "another retention", consumers: []config.Consumer{some},
			command: limited(interest), want: [3]uint64{0, 10000, 0}, reason: jetlog.Acked,
		},
		{
			name: "fewer of each subject", command: limited(func(c *config.Stream) { c.MaxPerSubject = 3 }),
			want: [3]uint64{3, 3, 3}, reason: jetlog.LimitSubject,
		},
		{
			name: "fewer messages", command: limited(func(c *config.Stream) { c.MaxMessages = 6 }),
			want: [3]uint64{2, 2, 2}, reason: jetlog.LimitMessages,
		},
		{
			name: "fewer bytes", command: limited(func(c *config.Stream) { c.MaxBytes = 6 * 33 }),
			want: [3]uint64{2, 2, 2}, reason: jetlog.LimitBytes,
		},
		{
			name:    "fewer messages, and new ones are refused",
			command: limited(func(c *config.Stream) { c.MaxMessages, c.Discard = 6, config.DiscardNew }),
			want:    [3]uint64{10000, 10000, 10000}, reason: jetlog.LimitMessages,
		},
	}
}

const (
	choreMessages = 30000
	chorePart     = 8192 // what one command removes at most
)

// TestChores gives commands that remove more than one command may. What is left is done by others, whatever
// else happens meanwhile: a restart, or messages that must not go.
func TestChores(t *testing.T) {
	for _, tt := range choreCases() {
		t.Run(tt.name, func(t *testing.T) {
			s, m := choreStream(t, &tt)
			r := mustApply(t, s, m, tt.command)
			removed, parts := r.Removed, 0
			meanwhile := uint64(0)
			for r.More = s.Unfinished(); r.More; parts++ {
				if parts == 1 && tt.reason > jetlog.LimitSubject {
					mustApply(t, s, m, &command.Publish{Subject: "s.b"})
					meanwhile++
				}
				s = choreRestart(t, s, m)
				if r = mustApply(t, s, m, &command.Continue{}); r.Removed > chorePart || parts > choreMessages/chorePart+1 {
					t.Fatalf("part %d: got %+v", parts, r)
				}
				removed += r.Removed
			}
			if got := [3]uint64{onSubject(t, m, "s.a"), onSubject(t, m, "s.b") - meanwhile, onSubject(t, m, "s.c")}; got != tt.want {
				t.Errorf("%v are left, want %v", got, tt.want)
			}
			if got := s.Removed(tt.reason); got != removed {
				t.Errorf("%d are removed, counted %d", removed, got)
			}
			check(t, s, m)
			if more := mustApply(t, s, m, &command.Continue{}); more.Removed > 0 || more.More || s.Unfinished() {
				t.Errorf("there is more to do: %+v", more)
			}
		})
	}
}

func onSubject(t *testing.T, m jetlog.Messages, subject string) uint64 {
	t.Helper()
	state, err := m.Subject(subject)
	if err != nil {
		t.Fatal(err)
	}
	return state.Count
}

func choreStream(t *testing.T, tt *choreCase) (*jetlog.Stream, *jetlog.Memory) {
	t.Helper()
	cfg := unlimited()
	if tt.configure != nil {
		tt.configure(&cfg)
	}
	s, m := jetlog.New(1, cfg, 1), jetlog.NewMemory()
	for _, c := range tt.consumers {
		mustApply(t, s, m, &command.ConsumerCreate{Config: c})
	}
	fill(t, s, m, choreMessages, func(i int) string { return fmt.Sprintf("s.%c", 'a'+i%3) })
	for _, c := range tt.before {
		mustApply(t, s, m, c)
	}
	if got := s.State().Messages; got != choreMessages {
		t.Fatalf("%d messages", got)
	}
	return s, m
}

// choreRestart returns the stream as it is after a restart.
func choreRestart(t *testing.T, s *jetlog.Stream, m *jetlog.Memory) *jetlog.Stream {
	t.Helper()
	check(t, s, m)
	form := s.AppendSnapshot(nil)
	restored, err := jetlog.Restore(form)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(restored.AppendSnapshot(nil), form) {
		t.Fatal("what was restored is another")
	}
	return restored
}

// TestChoresFail sees that a part of which nothing can be read changes nothing, and that one chore is
// not begun twice.
func TestChoresFail(t *testing.T) {
	tt := choreCase{command: &command.Purge{Filter: "s.a", Sequence: 29000}}
	s, m := choreStream(t, &tt)
	mustApply(t, s, m, tt.command)
	mustApply(t, s, m, &command.Purge{Filter: "s.a"})
	before := s.AppendSnapshot(nil)
	for n := range 5 {
		if _, err := s.Apply(&command.Continue{}, &failing{Memory: m, left: n}); err == nil {
			t.Fatalf("read %d fails, but nobody notices", n)
		}
		if !bytes.Equal(s.AppendSnapshot(nil), before) {
			t.Fatalf("read %d fails: something has changed", n)
		}
	}
	parts := 0
	for ; s.Unfinished(); parts++ {
		mustApply(t, s, m, &command.Continue{})
	}
	if parts != 2 || onSubject(t, m, "s.a") != 0 {
		t.Errorf("%d parts, %d are left", parts, onSubject(t, m, "s.a"))
	}
}

// TestChoresOfStrays removes a consumer that waits for answers which its filter no longer matches: they go too.
func TestChoresOfStrays(t *testing.T) {
	tt := choreCase{
		configure: func(c *config.Stream) { c.Retention = config.InterestRetention },
		consumers: []config.Consumer{{Name: "all", Ack: config.AckExplicit}, {Name: "some", Ack: config.AckExplicit, FilterSubject: "s.b"}},
	}
	s, m := choreStream(t, &tt)
	mustApply(t, s, m, choose(s, m, s.Consumer("all"), 3, 10))
	for _, c := range []command.Command{
		&command.ConsumerCreate{Config: config.Consumer{Name: "all", Ack: config.AckExplicit, FilterSubject: "s.b"}},
		&command.ConsumerDelete{Consumer: "all"},
	} {
		mustApply(t, s, m, c)
		for s.Unfinished() {
			mustApply(t, s, m, &command.Continue{})
		}
		check(t, s, m)
	}
	if got := [3]uint64{onSubject(t, m, "s.a"), onSubject(t, m, "s.b"), onSubject(t, m, "s.c")}; got != [3]uint64{0, 10000, 0} {
		t.Errorf("%v are left", got)
	}
}
