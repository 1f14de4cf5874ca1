package delivery_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/store"
	"runnel/server/jetstream/delivery"
)

// walk is a random walk: clients that do all sorts of things, and what must hold whatever they do.
type walk struct {
	*world
	*rand.Rand
	names   []string
	held    map[string][]message       // by consumer: what its clients got and have not answered
	settled map[string]map[uint64]bool // by consumer: what was acknowledged for sure
	asked   int
	// answered was acknowledged by a client of the consumer with keys.
	answered map[uint64]bool
	doubts   []doubt
}

// doubt is an acknowledgement whose confirmation may come.
type doubt struct {
	inbox, consumer string
	sequence        uint64
}

// TestRandom: whatever happens, what is confirmed does not come again, and in the end everything is delivered.
func TestRandom(t *testing.T) {
	seeds := uint64(20)
	if testing.Short() {
		seeds = 4
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			cfg := streamConfig()
			if seed%3 == 1 {
				cfg.Storage = config.MemoryStorage
			}
			bubble(t, cfg, func(_ *testing.T, w *world) {
				x := &walk{
					world: w, Rand: rand.New(rand.NewPCG(seed, 1)), held: make(map[string][]message),
					settled: make(map[string]map[uint64]bool), answered: make(map[uint64]bool),
				}
				x.begin()
				for range 300 {
					x.step()
					x.collect()
				}
				x.end()
			})
		})
	}
}

func (x *walk) begin() {
	few := explicit()
	few.Name, few.AckWait, few.MaxAckPending = "few", time.Second, 5
	all := config.Consumer{Name: "all", Ack: config.AckAll, AckWait: 2 * time.Second, FilterSubjects: []string{"s.a", "s.b.*"}}
	none := config.Consumer{Name: "none", Ack: config.AckNone, FilterSubject: "s.*"}
	push := pushing()
	push.Name, push.AckWait, push.Backoff = "push", 0, []time.Duration{100 * time.Millisecond, time.Second}
	for _, c := range []config.Consumer{few, all, none, keyed(), filtered(), push} {
		x.consumer(c)
		x.names = append(x.names, c.Name)
		x.settled[c.Name] = make(map[uint64]bool)
	}
}

// step does one thing.
func (x *walk) step() {
	subjects := []string{"s.a", "s.b.c", "s.c"}
	name := x.names[x.IntN(len(x.names)-1)]
	switch n := x.IntN(100); {
	case n < 25:
		for range x.IntN(4) + 1 {
			x.publish(subjects[x.IntN(3)], fmt.Sprint(x.Int()))
		}
	case n < 50:
		x.asked++
		inbox := fmt.Sprintf("inbox%d", x.IntN(3))
		bodies := []string{
			``, `3`, `{"batch":10,"expires":500000000}`, `{"batch":5,"no_wait":true}`, `{"batch":5,"max_bytes":120,"expires":300000000}`,
			`{"batch":2,"expires":1000000000,"idle_heartbeat":100000000}`, `{"batch":-1}`, `nonsense`,
		}
		x.pullOf(name, inbox, bodies[x.IntN(len(bodies))])
	case n < 75:
		for range x.IntN(6) {
			x.answer()
		}
	case n < 85:
		x.pass(time.Duration(x.IntN(800)) * time.Millisecond)
	case n < 89:
		x.log.fail([]error{store.ErrFull, nil, nil, nil}[x.IntN(4)])
	case n < 92:
		x.net.leave(fmt.Sprintf("inbox%d", x.IntN(3)))
	case n < 95:
		x.net.change("to", x.IntN(2) == 0)
	default:
		x.disturb(n)
	}
}

// disturb does what changes the stream behind the back of the consumers.
func (x *walk) disturb(n int) {
	s := x.log.State()
	switch n {
	case 95:
		x.propose(&command.Purge{Time: now(), Sequence: s.First + uint64(x.IntN(5))})
		x.stream.Changed()
	case 96, 97:
		x.propose(&command.Delete{Time: now(), Sequence: s.First + uint64(x.IntN(10))})
		x.stream.Changed()
	case 98:
		x.propose(&command.Reset{Time: now(), Consumer: "few"})
		clear(x.settled["few"]) // it goes back to the first that is missing
		x.stream.Update("few")
	default:
		x.pool.Close()
		x.open()
		x.wait()
	}
}

// answer says something about a message that somebody has.
func (x *walk) answer() {
	name := x.names[x.IntN(len(x.names))]
	held := x.held[name]
	if len(held) == 0 {
		return
	}
	i := x.IntN(len(held))
	m := held[i]
	a := m.ack(x.t)
	payloads := []string{"", "+ACK", "-NAK", "-NAK 300ms", "+WPI", "+TERM", "rubbish"}
	payload := payloads[x.IntN(len(payloads))]
	reply := ""
	if payload == "" || payload == "+ACK" || payload == "+TERM" {
		x.held[name] = slices.Delete(held, i, i+1)
		x.asked++
		reply = fmt.Sprintf("reply%d", x.asked)
		x.net.subscribe(reply)
		x.doubts = append(x.doubts, doubt{reply, name, a.StreamSequence})
		if name == "keys" {
			x.answered[a.StreamSequence] = true
		}
	}
	x.stream.Ack(name, delivery.Ack{Subject: a, Payload: []byte(payload), Reply: reply})
	x.wait()
}

// collect takes what has arrived, and checks it.
func (x *walk) collect() {
	x.wait()
	for _, inbox := range []string{"inbox0", "inbox1", "inbox2", "to"} {
		for _, m := range x.net.take(inbox) {
			if m.reply == "" {
				continue
			}
			a := m.ack(x.t)
			if x.settled[a.Consumer][a.StreamSequence] {
				x.t.Fatalf("consumer %q gets message %d again, whose acknowledgement was confirmed", a.Consumer, a.StreamSequence)
			}
			if a.Consumer == "filtered" && unwanted(m.subject) {
				x.t.Fatalf("message %d comes on %q, which is not wanted", a.StreamSequence, m.subject)
			}
			if a.Consumer == "keys" {
				x.checkKey(m)
			}
			x.held[a.Consumer] = append(x.held[a.Consumer], m)
		}
	}
	x.doubts = slices.DeleteFunc(x.doubts, func(d doubt) bool {
		if len(x.net.take(d.inbox)) == 0 {
			return false
		}
		x.settled[d.consumer][d.sequence] = true
		return true
	})
}

// checkKey checks that nobody has another message of the key of one that comes, unless that has gone.
func (x *walk) checkKey(m message) {
	for _, other := range x.held["keys"] {
		sequence := other.ack(x.t).StreamSequence
		if other.subject != m.subject || sequence == m.ack(x.t).StreamSequence || x.answered[sequence] {
			continue
		}
		if left, err := x.log.Load(sequence); err == nil && left.Sequence != 0 {
			x.t.Fatalf("message %d of %s comes while somebody has message %d", m.ack(x.t).StreamSequence, m.subject, sequence)
		}
	}
}

// end lets all trouble end, and everything be delivered and acknowledged.
func (x *walk) end() {
	x.log.fail(nil)
	x.net.subscribe("to")
	for round := 0; !x.done(); round++ {
		if round > 100 {
			for _, name := range x.names {
				s, _ := x.stream.State(name)
				x.t.Errorf("consumer %q: %+v", name, s)
			}
			x.t.Fatal("not everything was delivered")
		}
		for i, name := range x.names[:len(x.names)-1] {
			x.pullOf(name, fmt.Sprintf("inbox%d", i%3), `{"batch":100,"no_wait":true}`)
		}
		x.pass(300 * time.Millisecond)
		x.collect()
		for _, name := range x.names {
			for _, m := range x.held[name] {
				x.stream.Ack(name, ackOf(m.ack(x.t), ""))
			}
			x.held[name] = nil
		}
		x.wait()
	}
}

// done reports whether no consumer has anything left.
func (x *walk) done() bool {
	done := true
	err := x.log.View(func(s *jetlog.Stream, _ jetlog.Messages) error {
		for _, c := range s.Consumers() {
			done = done && c.Pending() == 0 && c.AckPending() == 0
		}
		return nil
	})
	return err == nil && done
}
