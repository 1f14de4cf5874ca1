package jetlog_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"runnel/headers"
	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
)

// These tests have numbers at which tables are cleared of what no longer holds.

func check(t testing.TB, s *jetlog.Stream, m jetlog.Messages) {
	t.Helper()
	if err := s.Check(m); err != nil {
		t.Fatal(err)
	}
}

func fill(t testing.TB, s *jetlog.Stream, m jetlog.Messages, n int, subject func(i int) string) {
	t.Helper()
	for i := range n {
		mustApply(t, s, m, &command.Publish{Time: 10, Subject: subject(i)})
	}
}

// TestManyCancelledTTLs replaces one message over and over: its deadlines must not pile up.
func TestManyCancelledTTLs(t *testing.T) {
	cfg := unlimited()
	cfg.AllowTTL, cfg.MaxPerSubject = true, 1
	s, m := jetlog.New(1, cfg, 1), jetlog.NewMemory()
	header := headers.Build(headers.Field{Name: "Nats-TTL", Value: "1h"})
	for i := range 5000 {
		at := int64(i) * int64(time.Second)
		mustApply(t, s, m, &command.Publish{Time: at, Subject: fmt.Sprintf("s.%d", i%3), Header: header})
	}
	check(t, s, m)
	if n := len(s.AppendSnapshot(nil)); n > 600 {
		t.Errorf("a snapshot with three messages has %d bytes", n)
	}
	if got, err := s.NextExpiry(m); err != nil || got != int64(4997*time.Second+time.Hour) {
		t.Errorf("next expiry %s, %v", time.Duration(got), err)
	}
	r := mustApply(t, s, m, &command.Expire{Time: int64(5000*time.Second + time.Hour)})
	if r.Removed != 3 || r.More {
		t.Errorf("got %+v, want 3 removed", r)
	}
	check(t, s, m)
}

// TestManyAnswers answers thousands of deliveries in random order and in every way.
func TestManyAnswers(t *testing.T) {
	const n = 3000
	for _, retention := range []config.Retention{config.LimitsRetention, config.WorkQueueRetention} {
		cfg := unlimited()
		cfg.Retention = retention
		s, m := jetlog.New(1, cfg, 1), jetlog.NewMemory()
		mustApply(t, s, m, &command.ConsumerCreate{Config: config.Consumer{
			Name: "c", Ack: config.AckExplicit, AckWait: time.Second, MaxDeliver: 50,
		}})
		fill(t, s, m, n, func(int) string { return "s" })
		c := s.Consumer("c")
		mustApply(t, s, m, choose(s, m, c, n, 10))
		rng := rand.New(rand.NewPCG(1, 1))
		now := int64(10)
		for round := 0; c.AckPending() > 0; round++ {
			now += int64(100 * time.Millisecond)
			a := &command.Ack{Time: now, Consumer: "c"}
			for range 400 {
				reply := command.Reply{Answer: command.Answer(rng.IntN(4)), Sequence: 1 + rng.Uint64N(n)}
				if reply.Answer == command.Nak {
					reply.Delay = time.Duration(rng.IntN(2)*rng.IntN(5000)) * time.Millisecond
				}
				a.Replies = append(a.Replies, reply)
			}
			mustApply(t, s, m, a)
			mustApply(t, s, m, &command.AckDeadline{Time: now})
			mustApply(t, s, m, choose(s, m, c, rng.Uint64N(200), now))
			if round%5 == 0 {
				check(t, s, m)
			}
		}
		check(t, s, m)
		if c.AckFloor() != c.Delivered() || c.LastDelivered() != now || c.LastAcked() == 0 {
			t.Errorf("%v: floor %v, delivered %v at %d of %d", retention, c.AckFloor(), c.Delivered(), c.LastDelivered(), now)
		}
		if left := s.State().Messages; retention == config.WorkQueueRetention && left != uint64(c.Redelivered()) {
			t.Errorf("%d messages are left of a work queue, %d of them exhausted", left, c.Redelivered())
		}
	}
}

// TestManyLasts lets a consumer of last messages wait while nearly all of them are replaced.
func TestManyLasts(t *testing.T) {
	const n = 2000
	cfg := unlimited()
	cfg.MaxPerSubject = 1
	s, m := jetlog.New(1, cfg, 1), jetlog.NewMemory()
	fill(t, s, m, n, func(i int) string { return fmt.Sprintf("s.%d", i) })
	mustApply(t, s, m, &command.ConsumerCreate{Config: config.Consumer{
		Name: "c", Deliver: config.DeliverLastPerSubject, FilterSubject: "s.*",
	}})
	rng := rand.New(rand.NewPCG(2, 2))
	fill(t, s, m, 3*n, func(int) string { return fmt.Sprintf("s.%d", rng.IntN(n-10)) })
	check(t, s, m)
	c := s.Consumer("c")
	if c.Pending() != n {
		t.Errorf("%d pending, want %d", c.Pending(), n)
	}
	d := choose(s, m, c, 2*n, 20)
	if len(d.Messages) != n {
		t.Errorf("%d to be delivered, want %d", len(d.Messages), n)
	}
	mustApply(t, s, m, d)
	check(t, s, m)
}

// TestLongSubject removes messages of one subject everywhere in its list.
func TestLongSubject(t *testing.T) {
	s, m := jetlog.New(1, unlimited(), 1), jetlog.NewMemory()
	fill(t, s, m, 2000, func(int) string { return "s" })
	rng := rand.New(rand.NewPCG(3, 3))
	for s.State().Messages > 0 {
		seq, _ := m.Next(1 + rng.Uint64N(2000))
		if seq == 0 {
			seq = s.State().First
		}
		mustApply(t, s, m, &command.Delete{Sequence: seq})
		if s.State().Messages%200 == 0 {
			check(t, s, m)
		}
		if got, _ := m.Count(jetlog.Filter{"s"}, 0); got != s.State().Messages {
			t.Fatalf("%d on the subject, want %d", got, s.State().Messages)
		}
	}
}

func TestMatching(t *testing.T) {
	s, m := jetlog.New(1, unlimited(), 1), jetlog.NewMemory()
	for _, c := range []config.Consumer{
		{Name: "z", FilterSubject: "s.a"},
		{Name: "y"},
		{Name: "x", FilterSubject: "s.b"},
		{Name: "w", FilterSubjects: []string{"s.*", "*.a"}},
	} {
		mustApply(t, s, m, &command.ConsumerCreate{Time: 77, Config: c})
	}
	var names []string
	for _, c := range s.Matching("s.a", nil) {
		names = append(names, c.Name())
	}
	if got := strings.Join(names, " "); got != "z y w" {
		t.Errorf("got %q, want those of s.a in the order of their creation", got)
	}
	if c := s.Consumer("w"); c.Created() != 77 || !c.Filter().Matches("x.a") || c.Filter().Matches("x.b") {
		t.Errorf("created %d, filter %v", c.Created(), c.Filter())
	}
}

// TestCheckFindsDamage changes a body behind the back of its stream.
func TestCheckFindsDamage(t *testing.T) {
	tests := []struct {
		name   string
		damage func(m *jetlog.Memory)
		want   []string
	}{
		{"lost", func(m *jetlog.Memory) { m.Remove(&jetlog.Meta{Sequence: 2}, jetlog.Deleted) }, []string{
			"state is", `consumer "c": 3 pending, counted 2`,
		}},
		{"first lost", func(m *jetlog.Memory) { m.Remove(&jetlog.Meta{Sequence: 1}, jetlog.Deleted) }, []string{
			"state is", `consumer "c": message 1 waits for an answer`,
		}},
		{"added", func(m *jetlog.Memory) {
			m.Append(&jetlog.Message{Sequence: 9, Time: 99, Subject: "s"}, &jetlog.Meta{Bytes: 1, Expires: 5})
		}, []string{
			"message 9 counts for 1 bytes, want 31", "message 9 is above the last sequence 4", "TTL deadlines are []",
		}},
		{"replaced", func(m *jetlog.Memory) {
			m.Remove(&jetlog.Meta{Sequence: 4}, jetlog.Deleted)
			m.Append(&jetlog.Message{Sequence: 4, Time: 1, Subject: "s"}, &jetlog.Meta{Bytes: 31})
		}, []string{"message 4 comes behind 3"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, m := jetlog.New(1, unlimited(), 1), jetlog.NewMemory()
			fill(t, s, m, 4, func(int) string { return "s" })
			mustApply(t, s, m, &command.ConsumerCreate{Config: config.Consumer{Name: "c", Ack: config.AckAll, AckWait: 1}})
			mustApply(t, s, m, choose(s, m, s.Consumer("c"), 1, 10))
			check(t, s, m)
			tt.damage(m)
			err := s.Check(m)
			for _, want := range tt.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %q", err, want)
				}
			}
		})
	}
}

// TestBodyDoesNotFit sees that a body that has lost what the state knows of stops a replica, and is
// not taken for an answer.
func TestBodyDoesNotFit(t *testing.T) {
	ttl := headers.Build(headers.Field{Name: "Nats-TTL", Value: "1"})
	tests := []struct {
		name string
		lost uint64
		c    command.Command
	}{
		{"limit", 1, &command.Publish{Time: 20, Subject: "s"}},
		{"subject", 2, &command.Publish{Time: 20, Subject: "s.b"}},
		{"expiry", 2, &command.Expire{Time: int64(time.Hour)}},
		{"new oldest", 2, &command.Delete{Time: 20, Sequence: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := unlimited()
			cfg.AllowTTL, cfg.MaxMessages, cfg.MaxPerSubject = true, 3, 2
			s, m := jetlog.New(1, cfg, 1), jetlog.NewMemory()
			mustApply(t, s, m, &command.Publish{Time: 10, Subject: "s.a"})
			mustApply(t, s, m, &command.Publish{Time: 10, Subject: "s.b", Header: ttl})
			mustApply(t, s, m, &command.Publish{Time: 10, Subject: "s.b"})
			before := string(s.AppendSnapshot(nil))
			if _, err := s.Apply(tt.c, &forgetful{m, tt.lost}); !errors.Is(err, jetlog.ErrBody) {
				t.Errorf("got %v, want that the body does not fit", err)
			}
			if string(s.AppendSnapshot(nil)) != before {
				t.Error("the state has changed")
			}
		})
	}
}

// forgetful is a body that names a message and then does not have it.
type forgetful struct {
	*jetlog.Memory
	lost uint64
}

func (f *forgetful) Meta(seq uint64) (jetlog.Meta, error) {
	if seq == f.lost {
		return jetlog.Meta{}, nil
	}
	return f.Memory.Meta(seq)
}

// TestStaleDelivery sees that what a leader chose by an older state is not noted.
func TestStaleDelivery(t *testing.T) {
	s, m := jetlog.New(1, unlimited(), 1), jetlog.NewMemory()
	fill(t, s, m, 4, func(int) string { return "s" })
	mustApply(t, s, m, &command.ConsumerCreate{Config: config.Consumer{Name: "c", Ack: config.AckExplicit, AckWait: 1}})
	c := s.Consumer("c")
	early := choose(s, m, c, 2, 20)
	tests := []struct {
		name   string
		before command.Command
		change func(d *command.Deliver)
	}{
		{"reset", &command.Reset{Consumer: "c", Sequence: 3}, func(*command.Deliver) {}},
		{"delivered meanwhile", early, func(*command.Deliver) {}},
		{"backwards", nil, func(d *command.Deliver) { d.Messages[1].Sequence = d.Messages[0].Sequence }},
		{"not there yet", nil, func(d *command.Deliver) { d.Messages[1].Sequence = 99 }},
		{"unknown", nil, func(d *command.Deliver) { d.Consumer = "d" }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			mustApply(t, s, m, &command.Reset{Consumer: "c", Sequence: 1})
			d := choose(s, m, c, 2, 20)
			early.Incarnation = c.Incarnation()
			if tt.before != nil {
				mustApply(t, s, m, tt.before)
			}
			tt.change(d)
			before := describe(c)
			if r := mustApply(t, s, m, d); r.Code == 0 {
				t.Errorf("got %+v, want a refusal", r)
			}
			if after := describe(c); after != before {
				t.Errorf("got %s, want %s", after, before)
			}
			check(t, s, m)
		})
	}
}

// TestGoneWhenDelivered applies a Deliver for a message that has gone since: it takes its number.
func TestGoneWhenDelivered(t *testing.T) {
	s, m := jetlog.New(1, unlimited(), 1), jetlog.NewMemory()
	fill(t, s, m, 3, func(int) string { return "s" })
	mustApply(t, s, m, &command.ConsumerCreate{Config: config.Consumer{Name: "c", Ack: config.AckExplicit, AckWait: 1}})
	c := s.Consumer("c")
	d := choose(s, m, c, 2, 20)
	mustApply(t, s, m, &command.Delete{Sequence: 1})
	mustApply(t, s, m, &command.Delete{Sequence: 2})
	mustApply(t, s, m, d)
	if want := (jetlog.Position{Consumer: 2, Stream: 2}); c.Delivered() != want || c.AckFloor() != want || c.Pending() != 1 {
		t.Errorf("got %s", describe(c))
	}
	check(t, s, m)
}

// TestHashDiffers sees that the running hash tells states apart that differ in little.
func TestHashDiffers(t *testing.T) {
	seen := map[uint64]string{}
	for i, c := range []command.Command{
		&command.Publish{Time: 5, Subject: "s"},
		&command.Publish{Time: 6, Subject: "s"},
		&command.Publish{Time: 5, Subject: "ss"},
		&command.Expire{Time: 5},
		&command.AckDeadline{Time: 5},
		&command.Purge{Time: 5},
		&command.Delete{Time: 5, Sequence: 1},
	} {
		s, m := jetlog.New(1, unlimited(), 1), jetlog.NewMemory()
		mustApply(t, s, m, c)
		text := fmt.Sprintf("%d: %T", i, c)
		if other, ok := seen[s.Hash()]; ok {
			t.Errorf("%s has the hash of %s", text, other)
		}
		seen[s.Hash()] = text
	}
}

// TestManyDeadlines lets more deliveries go unanswered than one command takes up.
func TestManyDeadlines(t *testing.T) {
	s, m := jetlog.New(1, unlimited(), 1), jetlog.NewMemory()
	const many = 9000
	fill(t, s, m, many, func(int) string { return "s" })
	for _, name := range []string{"a", "b"} {
		mustApply(t, s, m, &command.ConsumerCreate{Config: config.Consumer{Name: name, Ack: config.AckExplicit, AckWait: 5}})
		mustApply(t, s, m, choose(s, m, s.Consumer(name), many, 10))
	}
	again := func(name string) int {
		n := 0
		s.Consumer(name).Redelivery(func(uint64, uint64) bool {
			n++
			return true
		})
		return n
	}
	for i, want := range [][2]int{{8192, 0}, {many, 2*8192 - many}, {many, many}} {
		if at := s.NextAckDeadline(); at != 15 {
			t.Fatalf("step %d: due at %d", i, at)
		}
		mustApply(t, s, m, &command.AckDeadline{Time: 15})
		if got := [2]int{again("a"), again("b")}; got != want {
			t.Errorf("step %d: got %v, want %v", i, got, want)
		}
	}
	if at := s.NextAckDeadline(); at != 0 {
		t.Errorf("something is due at %d", at)
	}
	check(t, s, m)
}

// TestExtremes gives commands with extreme values to streams: what comes of them is sound, and can be
// restored.
func TestExtremes(t *testing.T) {
	header := []byte("NATS/1.0\r\nNats-Schedule: @every 1s\r\nNats-Schedule-Target: s.b\r\n\r\n")
	ttl := []byte("NATS/1.0\r\nNats-TTL: 1000000h\r\n\r\n")
	commands := []command.Command{
		&command.Publish{Subject: "s.a", Header: header, Fire: math.MaxInt64},
		&command.Publish{Subject: "s.a", Header: header, Fire: math.MinInt64},
		&command.Publish{Fire: 7},
		&command.Batch{Members: make([]command.Publish, 3)},
		&command.Copy{From: 2, Through: math.MaxUint64},
		&command.Copy{From: 2, Messages: []command.Copied{{Sequence: math.MaxUint64}}},
		&command.Copy{From: 2, Through: 1 << 62},
		&command.Copy{From: 2, Messages: []command.Copied{{Sequence: 1 << 62, Time: math.MaxInt64, Header: ttl}}},
		&command.Copy{From: 2, Messages: []command.Copied{{Sequence: 2, Time: math.MinInt64, Header: header, Fire: math.MinInt64}}},
		&command.Copy{Time: math.MinInt64, From: 2, Messages: []command.Copied{{Sequence: 3, Time: math.MaxInt64}}},
		&command.Fire{Sequence: math.MaxUint64, Due: math.MinInt64, Next: math.MaxInt64},
		&command.Purge{Filter: "s.a", Sequence: math.MaxUint64},
		&command.Continue{Time: math.MinInt64},
	}
	for i, c := range commands {
		for j, change := range []func(*config.Stream){
			func(c *config.Stream) {
				c.AllowSchedules, c.AllowRollup, c.AllowTTL, c.AllowAtomic = true, true, true, true
			},
			func(c *config.Stream) { c.Retention, c.AllowAtomic = config.InterestRetention, true },
			func(c *config.Stream) { c.MaxMessages, c.MaxAge, c.DuplicateWindow = 1, time.Hour, time.Hour },
		} {
			cfg := unlimited()
			change(&cfg)
			s, m := jetlog.New(1, cfg, 1), jetlog.NewMemory()
			fill(t, s, m, 1, func(int) string { return "s.a" })
			mustApply(t, s, m, c)
			mustApply(t, s, m, &command.Publish{Time: 20, Subject: "s.c"})
			mustApply(t, s, m, &command.Expire{Time: 21})
			if err := s.Check(m); err != nil {
				t.Errorf("command %d, stream %d: %v", i, j, err)
			}
			choreRestart(t, s, m)
		}
	}
}
