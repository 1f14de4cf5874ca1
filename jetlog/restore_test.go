package jetlog_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
)

// TestRestoreConsumers makes streams with consumers in all states by random commands, brings their messages and
// consumers into another stream, and sees that nothing is different there.
func TestRestoreConsumers(t *testing.T) {
	seeds := []uint64{398} // something that is to be handed over comes again
	for seed := range uint64(40) {
		seeds = append(seeds, seed)
	}
	for _, seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 7))
		g := &generator{rng: rng, clock: int64(time.Hour)}
		cfg := g.config()
		g.model = newModel(cfg)
		w := &world{t: t, stream: jetlog.New(3, cfg, g.clock), body: jetlog.NewMemory()}
		w.twin, w.other = jetlog.New(3, cfg, g.clock), jetlog.NewMemory()
		g.world = w
		for range 200 {
			c := g.command()
			for name, consumer := range g.model.consumers {
				consumer.incarnation = w.stream.Consumer(name).Incarnation()
			}
			r := mustApply(t, w.stream, w.body, c)
			g.model.apply(c)
			g.follow(func() string { return fmt.Sprintf("seed %d", seed) }, c, r)
		}
		compareRestored(t, seed, w)
	}
}

func compareRestored(t *testing.T, seed uint64, w *world) {
	t.Helper()
	cfg := *w.stream.Config()
	staged := config.Stream{Name: cfg.Name, Retention: cfg.Retention, AllowTTL: cfg.AllowTTL, MaxMessages: -1, MaxBytes: -1, MaxPerSubject: -1}
	if staged.Retention == config.InterestRetention {
		staged.Retention = config.LimitsRetention
	}
	s, m := jetlog.New(4, staged, w.stream.Clock()), jetlog.NewMemory()
	copied := &command.Copy{Time: w.stream.Clock(), From: 1, Through: w.stream.State().Last}
	for seq := uint64(1); ; seq++ {
		seq, _ = w.body.Next(seq)
		if seq == 0 {
			break
		}
		message, err := w.body.Load(seq)
		if err != nil {
			t.Fatal(err)
		}
		copied.Messages = append(copied.Messages, command.Copied{
			Sequence: message.Sequence, Time: message.Time, Subject: message.Subject, Header: message.Header, Payload: message.Payload,
		})
	}
	if r := mustApply(t, s, m, copied); r.Code != 0 {
		t.Fatalf("seed %d: copy: %+v", seed, r)
	}
	for _, c := range w.stream.Consumers() {
		restore := c.Backup()
		restore.Time = s.Clock()
		if r := mustApply(t, s, m, restore); r.Code != 0 || !r.Created {
			t.Fatalf("seed %d: restore %q: %+v", seed, c.Name(), r)
		}
	}
	if staged.Retention != cfg.Retention {
		staged.Retention = cfg.Retention
		if r := mustApply(t, s, m, &command.Configure{Time: s.Clock(), Config: staged}); r.Code != 0 || r.Removed != 0 {
			t.Fatalf("seed %d: configure: %+v", seed, r)
		}
	}
	if err := s.Check(m); err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	if got, want := s.State().Messages, w.stream.State().Messages; got != want {
		t.Fatalf("seed %d: %d messages, want %d", seed, got, want)
	}
	for _, c := range w.stream.Consumers() {
		got := s.Consumer(c.Name())
		if g, w := fmt.Sprintf("%+v", got.Backup()), fmt.Sprintf("%+v", c.Backup()); g != w {
			t.Errorf("seed %d: got %s\nwant %s", seed, g, w)
		}
		if c.Passed().Len() > 0 {
			if got.AckPending() > 0 || got.Pending() < c.Pending() {
				t.Errorf("seed %d: consumer %q of which something was passed over: got %d, %d, want all above the floor again", seed, c.Name(), got.Pending(), got.AckPending())
			}
			continue
		}
		if got.Pending() != c.Pending() || got.AckPending() != c.AckPending() || got.Redelivered() != c.Redelivered() {
			t.Errorf("seed %d: consumer %q: got %d, %d, %d, want %d, %d, %d", seed, c.Name(),
				got.Pending(), got.AckPending(), got.Redelivered(), c.Pending(), c.AckPending(), c.Redelivered())
		}
	}
}

// TestRestoreConsumerRefuses gives states that contradict themselves, or the stream.
func TestRestoreConsumerRefuses(t *testing.T) {
	good := func() *command.ConsumerRestore {
		return &command.ConsumerRestore{
			Config:            config.Consumer{Name: "r", Ack: config.AckExplicit, AckWait: time.Second},
			DeliveredConsumer: 5, DeliveredStream: 6, FloorConsumer: 1, FloorStream: 1,
			Pending:   []command.Restored{{Sequence: 2, Consumer: 2, Count: 1}, {Sequence: 5, Consumer: 4, Count: 3}, {Sequence: 900, Consumer: 5, Count: 1}},
			Exhausted: []uint64{3, 4},
		}
	}
	tests := []struct {
		name string
		do   func(*command.ConsumerRestore)
		code config.Code
	}{
		{"pending that was not delivered", func(*command.ConsumerRestore) {}, config.BadRequest},
		{"sound", func(c *command.ConsumerRestore) { c.Pending = c.Pending[:2] }, 0},
		{"there already", func(c *command.ConsumerRestore) { c.Config.Name = "old" }, config.ConsumerExists},
		{"too many", func(c *command.ConsumerRestore) { c.Pending, c.Max = nil, 1 }, config.MaximumConsumers},
		{"floor above delivered", func(c *command.ConsumerRestore) { c.Pending, c.FloorStream = nil, 7 }, config.BadRequest},
		{"delivered out of range", func(c *command.ConsumerRestore) { c.Pending, c.DeliveredStream = nil, 1<<64-1 }, config.BadRequest},
		{"pending below the floor", func(c *command.ConsumerRestore) { c.Pending[0].Sequence = 1; c.Pending = c.Pending[:2] }, config.BadRequest},
		{"pending twice", func(c *command.ConsumerRestore) { c.Pending[1] = c.Pending[0]; c.Pending = c.Pending[:2] }, config.BadRequest},
		{"pending without a delivery", func(c *command.ConsumerRestore) { c.Pending[0].Count = 0; c.Pending = c.Pending[:2] }, config.BadRequest},
		{"exhausted out of order", func(c *command.ConsumerRestore) { c.Pending, c.Exhausted = nil, []uint64{4, 3} }, config.BadRequest},
		{"exhausted beyond", func(c *command.ConsumerRestore) { c.Pending, c.Exhausted = nil, []uint64{7} }, config.BadRequest},
		{"initial beyond", func(c *command.ConsumerRestore) { c.Pending, c.Initial = nil, []uint64{9} }, config.BadRequest},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, m := jetlog.New(1, config.Stream{Name: "S", Subjects: []string{"s"}}, 1), jetlog.NewMemory()
			for range 10 {
				mustApply(t, s, m, &command.Publish{Time: 2, Subject: "s"})
			}
			mustApply(t, s, m, &command.ConsumerCreate{Time: 2, Config: config.Consumer{Name: "old"}})
			c := good()
			tt.do(c)
			r := mustApply(t, s, m, c)
			if r.Code != tt.code {
				t.Errorf("got %+v, want %d", r, tt.code)
			}
			if err := s.Check(m); err != nil {
				t.Error(err)
			}
			if r.Created != (len(s.Consumers()) == 2) {
				t.Errorf("got %d consumers, created %v", len(s.Consumers()), r.Created)
			}
		})
	}
}

// TestRestoredConsumerGoesOn sees that what was pending is delivered again when its time is up, and that messages
// that have gone are not waited for.
func TestRestoredConsumerGoesOn(t *testing.T) {
	s, m := jetlog.New(1, config.Stream{Name: "S", Subjects: []string{"s"}}, 1), jetlog.NewMemory()
	for range 10 {
		mustApply(t, s, m, &command.Publish{Time: 2, Subject: "s"})
	}
	mustApply(t, s, m, &command.Delete{Time: 3, Sequence: 3})
	mustApply(t, s, m, &command.ConsumerRestore{
		Time:              4,
		Config:            config.Consumer{Name: "r", Ack: config.AckExplicit, AckWait: time.Second, MaxDeliver: 3},
		DeliveredConsumer: 5, DeliveredStream: 5, FloorConsumer: 2, FloorStream: 2,
		Pending: []command.Restored{{Sequence: 3, Consumer: 3, Count: 1}, {Sequence: 5, Consumer: 5, Count: 2}},
	})
	c := s.Consumer("r")
	if c.AckPending() != 1 || c.Deliveries(5) != 2 || c.Pending() != 5 || c.NextDeadline() != 4+int64(time.Second) {
		t.Fatalf("got %d waiting, %d deliveries, %d pending, deadline %d", c.AckPending(), c.Deliveries(5), c.Pending(), c.NextDeadline())
	}
	mustApply(t, s, m, &command.AckDeadline{Time: c.NextDeadline()})
	again := 0
	c.Redelivery(func(seq, deliveries uint64) bool {
		again++
		return seq == 5 && deliveries == 2
	})
	if again != 1 {
		t.Errorf("%d are delivered again, want 1", again)
	}
	if err := s.Check(m); err != nil {
		t.Error(err)
	}
}

// TestRestoredStray has messages pending that the filter does not match any more: they are delivered again all the
// same, and forgotten when they go.
func TestRestoredStray(t *testing.T) {
	s, m := jetlog.New(1, config.Stream{Name: "S", Subjects: []string{"s.*"}}, 1), jetlog.NewMemory()
	for range 3 {
		mustApply(t, s, m, &command.Publish{Time: 2, Subject: "s.a"})
		mustApply(t, s, m, &command.Publish{Time: 2, Subject: "s.b"})
	}
	mustApply(t, s, m, &command.ConsumerRestore{
		Time:              3,
		Config:            config.Consumer{Name: "r", Ack: config.AckExplicit, AckWait: time.Second, FilterSubjects: []string{"s.b"}},
		DeliveredConsumer: 2, DeliveredStream: 3,
		Pending: []command.Restored{{Sequence: 1, Consumer: 1, Count: 1}, {Sequence: 3, Consumer: 2, Count: 1}},
	})
	if err := s.Check(m); err != nil {
		t.Error(err)
	}
	mustApply(t, s, m, &command.Delete{Time: 4, Sequence: 1})
	if err := s.Check(m); err != nil {
		t.Error(err)
	}
	mustApply(t, s, m, &command.Ack{Time: 5, Consumer: "r", Replies: []command.Reply{{Answer: command.Done, Sequence: 3}}})
	if c := s.Consumer("r"); c.AckPending() != 0 || c.Pending() != 2 {
		t.Errorf("%d wait, %d pending, want 0 and 2", c.AckPending(), c.Pending())
	}
	if err := s.Check(m); err != nil {
		t.Error(err)
	}
}
