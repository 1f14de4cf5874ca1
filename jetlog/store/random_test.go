package store_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"runnel/headers"
	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
)

// generator makes random commands that have something to do with a stream's state.
type generator struct {
	rng   *rand.Rand
	clock int64
	state *jetlog.Stream // of the oracle
	body  jetlog.Messages
	n     int
}

func (g *generator) chance(percent int) bool { return g.rng.IntN(100) < percent }

func (g *generator) one(of ...string) string { return of[g.rng.IntN(len(of))] }

func (g *generator) limit(most int) int64 {
	if g.chance(60) {
		return -1
	}
	return int64(1 + g.rng.IntN(most))
}

func (g *generator) config() config.Stream {
	cfg := config.Stream{
		Name: "S", Subjects: []string{"s.>"}, MaxMessages: g.limit(60), MaxPerSubject: g.limit(9),
		Retention: config.Retention(g.rng.IntN(3)), Discard: config.Discard(g.rng.IntN(2)),
		DuplicateWindow: 5 * time.Second, AllowRollup: g.chance(70), AllowTTL: g.chance(70),
		Compression: config.Compression(g.rng.IntN(2)),
	}
	if g.chance(30) {
		cfg.MaxAge = 10 * time.Second
	}
	if g.chance(30) && cfg.AllowRollup && cfg.AllowTTL {
		cfg.MarkerTTL = 2 * time.Second
	}
	cfg, err := cfg.Normalized(config.Limits{}, false)
	if err != nil {
		panic(err)
	}
	return cfg
}

func (g *generator) subject() string {
	return g.one("s.a", "s.b", "s.c", "s.a.x", "s.b.x", fmt.Sprintf("s.n.%d", g.rng.IntN(40)))
}

func (g *generator) filter() jetlog.Filter {
	switch g.rng.IntN(6) {
	case 0:
		return nil
	case 1:
		return jetlog.Filter{g.subject()}
	case 2:
		return jetlog.Filter{"s.*"}
	case 3:
		return jetlog.Filter{"s.*.x"}
	case 4:
		return jetlog.Filter{"s.a.>", "s.*.x", "s.b"}
	}
	return jetlog.Filter{"s.n.>", "s.c"}
}

func (g *generator) sequence() uint64 {
	s := g.state.State()
	return s.First + uint64(g.rng.IntN(int(s.Last-s.First)+3))
}

func (g *generator) command() command.Command {
	if g.chance(20) {
		g.clock += int64(g.rng.IntN(1500)) * int64(time.Millisecond)
	}
	switch n := g.rng.IntN(100); {
	case n < 60:
		return g.publish()
	case n < 70:
		return &command.Delete{Time: g.clock, Sequence: g.sequence()}
	case n < 73:
		return g.purge()
	case n < 78:
		return &command.Expire{Time: g.clock}
	case n < 79:
		cfg := *g.state.Config()
		cfg.MaxMessages, cfg.MaxPerSubject = g.limit(60), g.limit(9)
		return &command.Configure{Time: g.clock, Config: cfg}
	}
	return g.consumer()
}

func (g *generator) publish() command.Command {
	g.n++
	c := &command.Publish{Time: g.clock, Subject: g.subject(), Payload: fmt.Appendf(nil, "payload %d", g.n)}
	var fields []headers.Field
	add := func(name, value string) { fields = append(fields, headers.Field{Name: name, Value: value}) }
	if g.chance(40) {
		add("Nats-Msg-Id", fmt.Sprint(g.rng.IntN(50)))
	}
	if g.chance(10) {
		add("Nats-TTL", g.one("1s", "3s", "never"))
	}
	if g.chance(3) {
		add("Nats-Rollup", g.one("sub", "sub", "sub", "all"))
	}
	if g.chance(5) {
		s, _ := g.body.Subject(c.Subject)
		add("Nats-Expected-Last-Subject-Sequence", fmt.Sprint(s.Last+uint64(g.rng.IntN(2))))
	}
	if len(fields) > 0 {
		c.Header = headers.Build(fields...)
	}
	return c
}

func (g *generator) purge() command.Command {
	c := &command.Purge{Time: g.clock}
	if g.chance(60) {
		c.Filter = g.one("s.*", "s.a", "s.n.>", "s.n.3")
	}
	switch g.rng.IntN(3) {
	case 0:
		c.Sequence = g.sequence()
	case 1:
		c.Keep = uint64(1 + g.rng.IntN(10))
	}
	return c
}

func (g *generator) consumer() command.Command {
	name := g.one("c0", "c1", "c2")
	c := g.state.Consumer(name)
	if c == nil {
		return g.create(name)
	}
	if g.chance(2) {
		return &command.ConsumerDelete{Time: g.clock, Consumer: name}
	}
	if g.chance(5) {
		return &command.AckDeadline{Time: g.clock}
	}
	if g.chance(50) {
		if d := g.deliver(c); d != nil {
			return d
		}
	}
	a := &command.Ack{Time: g.clock, Consumer: name}
	delivered := c.Delivered().Stream
	for seq := c.AckFloor().Stream + 1; seq <= delivered && len(a.Replies) < 5; seq++ {
		if c.Deliveries(seq) > 0 && g.chance(70) {
			a.Replies = append(a.Replies, command.Reply{Answer: command.Answer(g.rng.IntN(4)), Sequence: seq})
		}
	}
	return a
}

func (g *generator) create(name string) command.Command {
	cfg := config.Consumer{
		Name: name, Durable: name, Ack: config.AckExplicit, AckWait: 2 * time.Second,
		Deliver: config.Deliver(g.rng.IntN(3)), FilterSubjects: g.filter(), MaxDeliver: int(g.limit(3)),
	}
	if g.chance(20) {
		cfg.Deliver = config.DeliverLastPerSubject
	}
	if g.state.Config().Retention == config.WorkQueueRetention {
		cfg.Deliver = config.DeliverAll
	}
	normalized, err := cfg.Normalized(g.state.Config(), config.Limits{}, false)
	if err != nil {
		return &command.Expire{Time: g.clock}
	}
	return &command.ConsumerCreate{Time: g.clock, Config: normalized}
}

func (g *generator) deliver(c *jetlog.Consumer) command.Command {
	d := &command.Deliver{
		Time: g.clock, Consumer: c.Name(), Incarnation: c.Incarnation(), From: c.Delivered().Consumer + 1,
	}
	above := c.Delivered().Stream
	for range 1 + g.rng.IntN(5) {
		seq, err := c.Next(above, g.body)
		if err != nil || seq == 0 {
			break
		}
		d.Messages = append(d.Messages, command.Delivery{Sequence: seq})
		above = seq
	}
	if len(d.Messages) == 0 {
		return nil
	}
	return d
}
