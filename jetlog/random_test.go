package jetlog_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"runnel/headers"
	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/due"
	"runnel/jetlog/producers"
)

var (
	seeds     = flag.Int("seeds", 60, "how many random runs to compare with the model")
	firstSeed = flag.Uint64("seed", 1, "the first of their seeds")
)

// knownSeeds once failed.
var knownSeeds = []uint64{503, 1075, 1319, 1771, 3202, 5887, 20040}

// TestModel gives random commands to a stream and to the model, and compares them after each. A
// second replica gets the same commands encoded, and is replaced by a restored one now and then. Some
// commands meet a body that cannot be read: they fail, change nothing, and are given again.
func TestModel(t *testing.T) {
	for _, seed := range knownSeeds {
		runRandom(t, seed, 300)
	}
	for i := range *seeds {
		runRandom(t, *firstSeed+uint64(i), 300)
	}
}

func runRandom(t *testing.T, seed uint64, steps int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 0))
	g := &generator{rng: rng, clock: int64(time.Hour)}
	cfg := g.config()
	g.model = newModel(cfg)
	w := &world{t: t, stream: jetlog.New(3, cfg, g.clock), body: jetlog.NewMemory()}
	w.twin, w.other = jetlog.New(3, cfg, g.clock), jetlog.NewMemory()
	g.world = w
	for step := range steps {
		c := g.command()
		where := func() string { return fmt.Sprintf("seed %d, step %d: %s", seed, step, printable(c)) }
		g.failFirst(where, c)
		for name, consumer := range g.model.consumers {
			consumer.incarnation = w.stream.Consumer(name).Incarnation()
			consumer.box = w.stream.Consumer(name).Letters().ID()
		}
		r, err := w.stream.Apply(c, w.body)
		if err != nil {
			t.Fatalf("%s: %v", where(), err)
		}
		if got, want := modelResult(r), g.model.apply(c); got != want {
			t.Fatalf("%s: got %q, want %q", where(), got, want)
		}
		if d := g.model.difference(w.stream, w.body); d != "" {
			t.Fatalf("%s: %s", where(), d)
		}
		if d := g.model.causes.differs(w.stream); d != "" {
			t.Fatalf("%s: %s", where(), d)
		}
		if err := w.stream.Check(w.body); err != nil {
			t.Fatalf("%s: %v", where(), err)
		}
		g.follow(where, c, r)
	}
}

func printable(c command.Command) string {
	if p, ok := c.(*command.Publish); ok {
		return fmt.Sprintf("publish %s %q %q", p.Subject, p.Header, p.Payload)
	}
	return fmt.Sprintf("%T %+v", c, c)
}

// generator makes random commands that have something to do with the state.
type generator struct {
	rng   *rand.Rand
	clock int64
	model *model
	world *world
}

func (g *generator) chance(percent int) bool { return g.rng.IntN(100) < percent }

func (g *generator) one(of ...string) string { return of[g.rng.IntN(len(of))] }

func (g *generator) subject() string { return g.one("s.a", "s.b", "s.c", "s.a.x", "s.b.x", "s.b.y") }

func (g *generator) limit(most int) int64 {
	if g.chance(50) {
		return -1
	}
	return int64(1 + g.rng.IntN(most))
}

func (g *generator) config() config.Stream {
	cfg := config.Stream{
		Name: "S", Subjects: []string{"s.>"}, MaxMessages: g.limit(20), MaxPerSubject: g.limit(5),
		Retention: config.Retention(g.rng.IntN(3)), Discard: config.Discard(g.rng.IntN(2)),
		DuplicateWindow: 5 * time.Second, AllowAtomic: true, AllowRollup: g.chance(70), AllowTTL: g.chance(70),
	}
	if limit := g.limit(1500); limit > 0 {
		cfg.MaxBytes = limit + 100
	}
	if g.chance(50) {
		cfg.MaxAge = 5 * time.Second
	}
	if g.chance(40) && cfg.AllowRollup && cfg.AllowTTL {
		cfg.MarkerTTL = 2 * time.Second
	}
	cfg.AllowSchedules = cfg.Discard == config.DiscardOld && g.chance(60)
	cfg, err := cfg.Normalized(config.Limits{}, false)
	if err != nil {
		panic(err)
	}
	return cfg
}

// command returns the next command.
func (g *generator) command() command.Command {
	if g.chance(30) {
		g.clock += int64(g.rng.IntN(1500)) * int64(time.Millisecond)
	}
	switch n := g.rng.IntN(100); {
	case n < 40:
		c := g.publish()
		c.Cause = g.cause()
		return c
	case n < 44:
		return g.batch()
	case n < 46:
		return g.copied()
	case n < 50:
		if c := g.fire(); c != nil {
			return c
		}
	}
	if g.chance(60) {
		return g.consumerCommand()
	}
	switch g.rng.IntN(10) {
	case 8:
		return g.repay()
	case 9:
		return g.producers()
	case 0, 1:
		return &command.Delete{Time: g.clock, Sequence: g.sequence()}
	case 2:
		return g.purge()
	case 3:
		cfg := g.model.cfg
		cfg.MaxMessages, cfg.MaxPerSubject = g.limit(20), g.limit(5)
		return &command.Configure{Time: g.clock, Config: cfg}
	}
	return &command.Expire{Time: g.clock}
}

func (g *generator) sequence() uint64 { return 1 + uint64(g.rng.IntN(int(g.model.last)+2)) }

func (g *generator) purge() command.Command {
	c := &command.Purge{Time: g.clock}
	if g.chance(60) {
		c.Filter = g.one("s.a", "s.*", "s.*.x", ">", "s.none")
	}
	switch g.rng.IntN(3) {
	case 0:
		c.Sequence = g.sequence()
	case 1:
		c.Keep = uint64(g.rng.IntN(5))
	}
	return c
}

func (g *generator) publish() *command.Publish {
	c := &command.Publish{Time: g.clock, Subject: g.subject(), Payload: make([]byte, g.rng.IntN(40))}
	set := func(percent int, name, value string) {
		if g.chance(percent) {
			c.Header = headers.Add(c.Header, name, value)
		}
	}
	set(20, "Nats-Msg-Id", g.one("a", "b", "c", "d"))
	if producer := g.one("p", "q"); g.chance(20) {
		next := g.model.producers[producer][0] + uint64(g.rng.IntN(3))
		c.Header = headers.Add(c.Header, "Runnel-Producer", producer)
		c.Header = headers.Add(c.Header, "Runnel-Producer-Seq", fmt.Sprint(max(next, 1)))
	}
	set(5, "Nats-Expected-Last-Sequence", fmt.Sprint(max(0, int(g.model.last)-g.rng.IntN(2))))
	set(5, "Nats-Expected-Last-Subject-Sequence", fmt.Sprint(g.rng.IntN(int(g.model.last)+1)))
	set(3, "Nats-Expected-Last-Msg-Id", g.one("a", "b"))
	set(6, "Nats-Rollup", g.one("sub", "all"))
	set(15, "Nats-TTL", g.one("1", "3", "never"))
	set(5, "Other", "value")
	if g.chance(8) {
		c.Header = headers.Add(c.Header, "Nats-Schedule", g.one("@every 2s", "@at 1970-01-01T01:00:30Z", "*/7 * * * * *"))
		c.Header = headers.Add(c.Header, "Nats-Schedule-Target", g.subject())
		if m := g.model; m.cfg.AllowTTL {
			set(30, "Nats-Schedule-TTL", "3")
		}
		set(30, "Nats-Schedule-Source", "s.b.z")
		set(30, "Nats-Schedule-Rollup", "sub")
	} else if g.chance(3) {
		c.Header = headers.Add(c.Header, "Nats-Schedule-Next", "purge")
		c.Header = headers.Add(c.Header, "Nats-Scheduler", g.subject())
	}
	if g.chance(7) {
		c.Put = g.put()
		return c
	}
	c.Fire = due.FirstFire(c.Header, g.clock)
	return c
}

// put returns in whose name a message is put, with a number that may have been before, and perhaps behind one that is missing.
func (g *generator) put() *command.Put {
	p := &command.Put{Producer: g.one("p", "dlq")}
	last := g.model.producers["\n"+p.Producer][0]
	p.Number = max(1, last+uint64(g.rng.IntN(4)))
	if g.chance(40) {
		p.After = last + uint64(g.rng.IntN(2))
	}
	return p
}

// producers returns a command that forgets and sets producers, of both kinds, some of which are not where it believes.
func (g *generator) producers() command.Command {
	c := &command.Producers{Time: g.clock}
	one := func(number, sequence uint64) command.Producer {
		return command.Producer{Name: g.one("p", "q", "r", "\np", "\ndlq"), Mark: producers.Mark{Number: number, Sequence: sequence}}
	}
	for range g.rng.IntN(3) {
		p := one(0, 0)
		p.Number = g.model.producers[p.Name][0] + uint64(g.rng.IntN(2))
		c.Forget = append(c.Forget, p)
	}
	for range g.rng.IntN(3) {
		c.Set = append(c.Set, one(uint64(g.rng.IntN(20)), g.sequence()-1))
	}
	return c
}

// batch returns a command with several publishes.
func (g *generator) batch() command.Command {
	c := &command.Batch{Time: g.clock}
	for range g.rng.IntN(6) {
		p := g.publish()
		if g.chance(70) {
			p.Header = headers.Delete(p.Header, "Nats-Msg-Id") // else most batches would have duplicates
		}
		p.Header = headers.Delete(headers.Delete(p.Header, "Runnel-Producer"), "Runnel-Producer-Seq")
		p.Time, p.Put, p.Fire = g.clock, nil, due.FirstFire(p.Header, g.clock)
		c.Members = append(c.Members, *p)
	}
	if n := len(c.Members); n > 0 {
		c.Members[n-1].Cause = g.cause()
	}
	return c
}

// fire returns a command for a schedule, perhaps for one that is not due yet, and perhaps for one that is
// another by then; nil when there is none.
func (g *generator) fire() command.Command {
	list := g.world.stream.DueSchedules(g.clock+int64(g.rng.IntN(2))<<60, 10)
	if len(list) == 0 {
		return nil
	}
	d := list[g.rng.IntN(len(list))]
	c, err := due.Fire(d, max(g.clock, d.At), g.world.body)
	if err != nil {
		panic(err)
	}
	c.Time = g.clock
	if g.chance(10) {
		c.Due++
	}
	return c
}

// copied returns a command with messages from elsewhere.
func (g *generator) copied() command.Command {
	c := &command.Copy{Time: g.clock, From: g.model.last + 1}
	if g.chance(5) {
		c.From++
	}
	seq := g.model.last
	for range g.rng.IntN(5) {
		seq += uint64(1 + g.rng.IntN(2)*g.rng.IntN(4))
		p := g.publish()
		c.Messages = append(c.Messages, command.Copied{
			Sequence: seq, Time: g.clock + int64(g.rng.IntN(2000)-1500)*int64(time.Millisecond),
			Subject: p.Subject, Header: p.Header, Payload: p.Payload,
		})
	}
	if g.chance(30) {
		c.Through = seq + uint64(g.rng.IntN(3))
	}
	return c
}

func (g *generator) consumerCommand() command.Command {
	name := g.one("c1", "c2", "c3")
	c := g.world.stream.Consumer(name)
	if c == nil {
		return g.create(name, nil)
	}
	if g.chance(20) {
		if about := g.lettersCommand(c); about != nil {
			return about
		}
	}
	switch n := g.rng.IntN(40); {
	case n < 16:
		d := choose(g.world.stream, g.world.body, c, uint64(1+g.rng.IntN(4)), g.clock)
		if g.chance(3) {
			d.From++
		}
		return d
	case n < 20:
		return g.skip(c)
	case n < 29:
		return g.answers(c)
	case n < 34:
		return &command.AckDeadline{Time: g.clock}
	case n < 36:
		return &command.ConsumerDelete{Time: g.clock, Consumer: name}
	case n < 38:
		r := &command.Reset{Time: g.clock, Consumer: name}
		if g.chance(60) && c.Config().Deliver == config.DeliverAll {
			r.Sequence = g.sequence()
		}
		return r
	}
	return g.create(name, c)
}

// skip returns what a leader has looked at: it passes some over, and mostly delivers some of these later.
func (g *generator) skip(c *jetlog.Consumer) command.Command {
	if seq := c.Passed().Next(g.sequence() / 2); seq != 0 && g.chance(60) {
		d := &command.Deliver{Time: g.clock, Consumer: c.Name(), Incarnation: c.Incarnation(), From: c.Delivered().Consumer + 1}
		d.Messages = append(d.Messages, command.Delivery{Sequence: seq})
		if next := c.Passed().Next(0); next != seq {
			d.Messages = append(d.Messages, command.Delivery{Sequence: next})
		}
		return d
	}
	k := &command.Skip{Time: g.clock, Consumer: c.Name(), Incarnation: c.Incarnation(), Above: c.Delivered().Stream}
	k.UpTo = min(k.Above+uint64(g.rng.IntN(6)), max(g.model.last, k.Above))
	for seq := k.Above + 1; seq <= k.UpTo; seq++ {
		if g.chance(50) {
			k.Passed = append(k.Passed, seq)
		} else if g.chance(20) {
			k.Failed = append(k.Failed, seq)
		}
	}
	if g.chance(5) {
		k.Above++
	}
	return k
}

// answers returns answers, most of them for messages that wait for one.
func (g *generator) answers(c *jetlog.Consumer) command.Command {
	a := &command.Ack{Time: g.clock, Consumer: c.Name()}
	for seq := uint64(1); seq <= g.model.last; seq++ {
		if c.Deliveries(seq) > 0 && g.chance(40) || g.chance(2) {
			r := command.Reply{Answer: command.Answer(g.rng.IntN(4)), Sequence: seq}
			if r.Answer == command.Nak && g.chance(40) {
				r.Delay = time.Duration(1+g.rng.IntN(3)) * time.Second
			}
			if g.chance(40) {
				r.Answer, r.Delay = command.Done, 0
			}
			a.Replies = append(a.Replies, r)
		}
	}
	return a
}

// create returns a command for a new consumer, or for another filter of an existing one.
func (g *generator) create(name string, existing *jetlog.Consumer) command.Command {
	cfg := config.Consumer{Durable: name, Ack: config.AckExplicit, AckWait: 2 * time.Second}
	queue := g.model.cfg.Retention == config.WorkQueueRetention
	if existing != nil {
		cfg = existing.Config()
		cfg.FilterSubject, cfg.FilterSubjects = "", nil
	} else if !queue {
		cfg.Ack = config.Ack(g.rng.IntN(3))
		cfg.Deliver = config.Deliver(g.rng.IntN(6))
	}
	if g.chance(40) {
		cfg.MaxDeliver = 2 + g.rng.IntN(2)
		cfg.Backoff, cfg.Metadata = []time.Duration{time.Second, 3 * time.Second}, nil
	} else if cfg.Ack == config.AckExplicit && g.chance(40) {
		cfg.Backoff = nil
		cfg.Metadata = map[string]string{config.MetadataRetry: "exponential,min=1s,max=8s,factor=2,jitter=0"}
	}
	if cfg.Ack == config.AckExplicit && g.chance(30) {
		cfg.Metadata = map[string]string{config.MetadataKey: "token:2", config.MetadataKeyFailed: g.one("skip", "block")}
	}
	if cfg.Ack == config.AckExplicit && g.chance(50) {
		cfg.Metadata = maps.Clone(cfg.Metadata)
		if cfg.Metadata == nil {
			cfg.Metadata = map[string]string{}
		}
		cfg.Metadata[config.MetadataDeadLetter] = "D"
		if cfg.Metadata[config.MetadataKey] != "" {
			cfg.Metadata[config.MetadataKeyFailed] = "skip"
		}
	}
	switch n := g.rng.IntN(4); {
	case queue:
		// The parts of a work queue must not overlap.
		cfg.FilterSubject = map[string]string{"c1": "s.a.>", "c2": "s.b.>", "c3": "s.*"}[name]
	case n == 0:
		cfg.FilterSubject = g.one("s.a", "s.b", "s.*")
	case n == 1:
		cfg.FilterSubjects = []string{"s.b.*", "s.*.x"}
	case cfg.Deliver == config.DeliverLastPerSubject:
		cfg.FilterSubject = "s.>"
	}
	if existing == nil {
		switch cfg.Deliver {
		case config.DeliverByStartSequence:
			cfg.StartSequence = g.sequence() + uint64(g.rng.IntN(3))
		case config.DeliverByStartTime:
			at := time.Unix(0, g.clock-int64(g.rng.IntN(10))*int64(time.Second)).UTC()
			cfg.StartTime = &at
		}
	}
	cfg, err := cfg.Normalized(&g.model.cfg, config.Limits{}, false)
	if err != nil {
		panic(err)
	}
	return &command.ConsumerCreate{Time: g.clock, Config: cfg}
}

// failFirst applies the command with a body that fails at some read, and sees that nothing changes.
func (g *generator) failFirst(where func() string, c command.Command) {
	if !g.chance(20) {
		return
	}
	w := g.world
	before, body := w.stream.AppendSnapshot(nil), w.body.AppendSnapshot(nil)
	faulty := &failing{Memory: w.body, left: g.rng.IntN(6)}
	if _, err := w.stream.Apply(c, faulty); err == nil {
		// It needed fewer reads: that was the real one, so begin again from the copy.
		var err error
		if w.stream, err = jetlog.Restore(before); err != nil {
			w.t.Fatalf("%s: %v", where(), err)
		}
		if w.body, err = jetlog.RestoreMemory(body); err != nil {
			w.t.Fatalf("%s: %v", where(), err)
		}
	} else if !errors.Is(err, errRead) {
		w.t.Fatalf("%s: got %v, want the error of the body", where(), err)
	}
	if !bytes.Equal(before, w.stream.AppendSnapshot(nil)) || !bytes.Equal(body, w.body.AppendSnapshot(nil)) {
		w.t.Fatalf("%s: a read that failed has changed something", where())
	}
}

// follow lets the second replica apply the command too.
func (g *generator) follow(where func() string, c command.Command, want jetlog.Result) {
	w := g.world
	decoded, err := command.Decode(command.Append(nil, c))
	if err != nil {
		w.t.Fatalf("%s: %v", where(), err)
	}
	got, err := w.twin.Apply(decoded, w.other)
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		w.t.Fatalf("%s: the second replica says %+v, %v, the first %+v", where(), got, err, want)
	}
	w.compare(c)
	if g.chance(5) {
		w.snapshot()
	}
}

var errRead = errors.New("the disk is gone")

// failing is a body whose reads fail after some that succeed.
type failing struct {
	*jetlog.Memory
	left int
}

func (f *failing) fail() error {
	if f.left--; f.left < 0 {
		return errRead
	}
	return nil
}

func (f *failing) Meta(seq uint64) (jetlog.Meta, error) {
	if err := f.fail(); err != nil {
		return jetlog.Meta{}, err
	}
	return f.Memory.Meta(seq)
}

func (f *failing) Load(seq uint64) (jetlog.Message, error) {
	if err := f.fail(); err != nil {
		return jetlog.Message{}, err
	}
	return f.Memory.Load(seq)
}

func (f *failing) Next(seq uint64) (uint64, error) {
	if err := f.fail(); err != nil {
		return 0, err
	}
	return f.Memory.Next(seq)
}

func (f *failing) Subject(subject string) (jetlog.SubjectState, error) {
	if err := f.fail(); err != nil {
		return jetlog.SubjectState{}, err
	}
	return f.Memory.Subject(subject)
}

func (f *failing) NextOf(filter jetlog.Filter, seq uint64) (uint64, error) {
	if err := f.fail(); err != nil {
		return 0, err
	}
	return f.Memory.NextOf(filter, seq)
}

func (f *failing) LastOf(filter jetlog.Filter, upTo uint64) (uint64, error) {
	if err := f.fail(); err != nil {
		return 0, err
	}
	return f.Memory.LastOf(filter, upTo)
}

func (f *failing) Count(filter jetlog.Filter, from uint64) (uint64, error) {
	if err := f.fail(); err != nil {
		return 0, err
	}
	return f.Memory.Count(filter, from)
}

func (f *failing) Size(from, to uint64) (messages, bytes uint64, err error) {
	if err := f.fail(); err != nil {
		return 0, 0, err
	}
	return f.Memory.Size(from, to)
}

func (f *failing) Subjects(filter jetlog.Filter, yield func(string, jetlog.SubjectState) bool) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.Memory.Subjects(filter, yield)
}

func (f *failing) MessageID(id []byte) (seq uint64, time int64, err error) {
	if err := f.fail(); err != nil {
		return 0, 0, err
	}
	return f.Memory.MessageID(id)
}

func (f *failing) FirstAfter(time int64) (uint64, error) {
	if err := f.fail(); err != nil {
		return 0, err
	}
	return f.Memory.FirstAfter(time)
}
