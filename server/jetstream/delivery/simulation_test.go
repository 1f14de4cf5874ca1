package delivery_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/config"
	"runnel/server/jetstream/delivery"
)

// voyage is clients of a stream whose leader changes at any time, and what they may count on nevertheless. Of consumers
// that want each message acknowledged:
//
//   - a message is never sent twice with the same count of deliveries, the count only rises, and is never above max_deliver;
//   - never more messages wait for an answer than max_ack_pending;
//   - what was sent is not sent again before ack_wait is over, unless somebody wanted that;
//   - what is confirmed does not come again;
//   - with keys, a message is not sent while another one of its key is in somebody's hands, nor after a later one of it;
//
// And of all: neither the ack floor nor what was delivered goes back, and in the end everything was delivered.
type voyage struct {
	*world
	*rand.Rand
	names   []string
	configs map[string]config.Consumer
	sent    map[string]map[uint64]*sending // by consumer and sequence
	floors  map[string]jetlog.Position
	places  map[string]jetlog.Position
	held    []message // that clients have, and have not answered
	old     []former  // leaders that do not know that they are none
	asked   int
	doubts  []doubt
}

// sending is what clients have seen of a message.
type sending struct {
	deliveries uint64
	at         time.Time
	wanted     bool // again, or with another wait, by somebody at some time
	answered   bool // a client has acknowledged it
	subject    string
	confirmed  bool
}

// former is a leader that was cut off.
type former struct {
	replica *replica
	stream  *delivery.Stream
	pool    *delivery.Pool
}

// commitMost is how long a commit takes at most.
const commitMost = 40 * time.Millisecond

func TestLeaderChanges(t *testing.T) {
	seeds := uint64(20)
	if testing.Short() {
		seeds = 4
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := openCluster(t, streamConfig())
				defer w.close()
				v := &voyage{
					world: w, Rand: rand.New(rand.NewPCG(seed, 2)), configs: make(map[string]config.Consumer),
					sent: make(map[string]map[uint64]*sending), floors: make(map[string]jetlog.Position),
					places: make(map[string]jetlog.Position),
				}
				v.begin()
				for range 400 {
					v.step()
					v.collect()
				}
				v.end()
			})
		})
	}
}

func (v *voyage) begin() {
	few := explicit()
	few.Name, few.AckWait, few.MaxAckPending = "few", time.Second, 5
	twice := explicit()
	twice.Name, twice.AckWait, twice.MaxDeliver = "twice", 500*time.Millisecond, 2
	all := config.Consumer{Name: "all", Ack: config.AckAll, AckWait: 2 * time.Second, MaxAckPending: 20}
	push := pushing()
	push.Name, push.AckWait, push.MaxAckPending = "push", time.Second, 10
	for _, c := range []config.Consumer{few, twice, all, keyed(), filtered(), push} {
		v.consumer(c)
		v.names = append(v.names, c.Name)
		v.configs[c.Name] = c
		v.sent[c.Name] = make(map[uint64]*sending)
	}
	v.net.subscribe("to")
	v.wait()
	v.group.mu.Lock()
	chance := rand.New(rand.NewPCG(v.Uint64(), 3)) // of the goroutine that commits
	v.group.pause = func() time.Duration { return time.Duration(chance.Int64N(int64(commitMost))) }
	v.group.mu.Unlock()
}

// step does one thing.
func (v *voyage) step() {
	switch n := v.IntN(100); {
	case n < 25:
		for range v.IntN(4) + 1 {
			v.publish(fmt.Sprintf("s.k%d", v.IntN(4)), fmt.Sprint(v.Int()))
		}
	case n < 50:
		bodies := []string{
			``, `3`, `{"batch":10,"expires":500000000}`, `{"batch":5,"no_wait":true}`, `{"batch":5,"max_bytes":300,"expires":300000000}`,
			`{"batch":2,"expires":100000000,"idle_heartbeat":20000000}`,
		}
		v.requestFrom(v.someLeader(), v.pulling()[v.IntN(len(v.pulling()))], bodies[v.IntN(len(bodies))])
	case n < 72:
		for range v.IntN(6) {
			v.answer()
		}
	case n < 86:
		v.pass(time.Duration(v.IntN(300)) * time.Millisecond)
	case n < 90:
		v.change(fmt.Sprintf("inbox%d", v.IntN(3)), false)
	case n < 92:
		v.change("to", v.IntN(3) > 0)
	default:
		v.elect()
	}
}

// keyed is a consumer whose messages have the second token of their subjects as their keys.
func keyed() config.Consumer {
	cfg := explicit()
	cfg.Name, cfg.AckWait, cfg.MaxAckPending = "keys", time.Second, 5
	cfg.Metadata = map[string]string{config.MetadataKey: "token:2"}
	return cfg
}

// filtered is a consumer that does not want the messages on two subjects.
func filtered() config.Consumer {
	cfg := explicit()
	cfg.Name, cfg.AckWait, cfg.MaxAckPending = "filtered", time.Second, 100
	cfg.Metadata = map[string]string{config.MetadataFilter: `{"subject":[{"anything-but":["s.k0","s.a"]}]}`}
	return cfg
}

// unwanted reports whether filtered does not want a message.
func unwanted(subject string) bool { return subject == "s.k0" || subject == "s.a" }

// pulling are the names of the consumers that pull.
func (v *voyage) pulling() []string { return v.names[:len(v.names)-1] }

// someLeader is the leader, or sometimes one who believes to be.
func (v *voyage) someLeader() *delivery.Stream {
	if len(v.old) > 0 && v.IntN(3) == 0 {
		return v.old[v.IntN(len(v.old))].stream
	}
	return v.stream
}

// requestFrom asks a leader for messages.
func (v *voyage) requestFrom(s *delivery.Stream, consumer, body string) {
	inbox := fmt.Sprintf("inbox%d", v.IntN(3))
	v.net.mu.Lock()
	known := v.net.inboxes[inbox] != nil
	v.net.mu.Unlock()
	if !known {
		v.net.subscribe(inbox)
	}
	s.Pull(consumer, delivery.Request{Reply: inbox, Body: []byte(body)})
	if v.IntN(2) == 0 {
		v.wait()
	}
}

// change lets a client come or go. It has what arrived until then: an acknowledgement of all up to a message, by somebody else,
// may mean that too.
func (v *voyage) change(inbox string, is bool) {
	for _, m := range v.net.change(inbox, is) {
		if m.reply != "" {
			v.arrived(m)
		}
	}
}

// elect lets the leader change: with some of what waits committed, or behind the back of the old one.
func (v *voyage) elect() {
	if v.IntN(3) > 0 {
		v.failover(v.IntN(6), v.IntN(6), v.IntN(2) == 0)
		return
	}
	if len(v.old) > 0 { // who was cut off learns it
		f := v.old[0]
		v.old = v.old[1:]
		v.group.isolate(f.replica, false)
		f.stream.Resign()
		f.pool.Close()
		return
	}
	f := former{v.group.leader, v.stream, v.pool}
	v.group.isolate(f.replica, true)
	v.group.elect(v.next(), v.IntN(6), v.IntN(6))
	v.old = append(v.old, f)
	v.lead()
	v.wait()
}

// answer says something about a message that somebody has.
func (v *voyage) answer() {
	if len(v.held) == 0 {
		return
	}
	i := v.IntN(len(v.held))
	m := v.held[i]
	a := m.ack(v.t)
	s := v.sent[a.Consumer][a.StreamSequence]
	payload := []string{"", "+ACK", "+TERM", "-NAK", "-NAK 300ms", "+WPI"}[v.IntN(6)]
	reply := ""
	if payload == "" || payload == "+ACK" || payload == "+TERM" {
		v.held = slices.Delete(v.held, i, i+1)
		v.asked++
		reply = fmt.Sprintf("reply%d", v.asked)
		v.net.subscribe(reply)
		v.doubts = append(v.doubts, doubt{reply, a.Consumer, a.StreamSequence})
		v.answered(a.Consumer, a.StreamSequence, payload)
	} else {
		s.wanted = true
	}
	v.someLeader().Ack(a.Consumer, delivery.Ack{Subject: a, Payload: []byte(payload), Reply: reply})
	if v.IntN(2) == 0 {
		v.wait()
	}
}

// answered notes what a client has acknowledged.
func (v *voyage) answered(consumer string, sequence uint64, payload string) {
	v.sent[consumer][sequence].answered = true
	if v.configs[consumer].Ack == config.AckAll && payload != "+TERM" {
		for other, s := range v.sent[consumer] {
			s.answered = s.answered || other <= sequence
		}
	}
}

// collect takes what has arrived, and checks it.
func (v *voyage) collect() {
	for _, inbox := range []string{"inbox0", "inbox1", "inbox2", "to"} {
		for _, m := range v.net.take(inbox) {
			if m.reply != "" {
				v.arrived(m)
			}
		}
	}
	v.doubts = slices.DeleteFunc(v.doubts, func(d doubt) bool {
		if len(v.net.take(d.inbox)) == 0 {
			return false
		}
		v.sent[d.consumer][d.sequence].confirmed = true
		return true
	})
	v.checkWaiting()
	v.checkState()
}

// arrived checks a message that a client has got.
func (v *voyage) arrived(m message) {
	a := m.ack(v.t)
	cfg := v.configs[a.Consumer]
	s := v.sent[a.Consumer][a.StreamSequence]
	if s == nil {
		s = &sending{subject: m.subject}
		v.sent[a.Consumer][a.StreamSequence] = s
	}
	what := fmt.Sprintf("consumer %q gets message %d, delivery %d", a.Consumer, a.StreamSequence, a.Deliveries)
	switch {
	case cfg.Ack != config.AckExplicit:
	case a.Deliveries <= s.deliveries:
		v.t.Errorf("%s, after delivery %d", what, s.deliveries)
	case cfg.MaxDeliver > 0 && a.Deliveries > uint64(cfg.MaxDeliver):
		v.t.Errorf("%s, of at most %d", what, cfg.MaxDeliver)
	case s.confirmed:
		v.t.Errorf("%s, whose acknowledgement was confirmed", what)
	case s.deliveries > 0 && !s.wanted && m.at.Sub(s.at) < cfg.AckWait-2*commitMost:
		v.t.Errorf("%s, %v after the last one", what, m.at.Sub(s.at))
	}
	if a.Consumer == "keys" {
		v.checkKey(a.StreamSequence, m.subject, s.deliveries == 0)
	}
	if a.Consumer == "filtered" && unwanted(m.subject) {
		v.t.Errorf("%s, on %q, which it does not want", what, m.subject)
	}
	s.deliveries, s.at = a.Deliveries, m.at
	v.held = append(v.held, m)
}

// checkKey checks that nobody has another message of the key of one that comes, and if that comes for the first time that no later
// one has come.
func (v *voyage) checkKey(sequence uint64, key string, first bool) {
	for other, s := range v.sent["keys"] {
		switch {
		case other == sequence || s.subject != key || s.deliveries == 0:
		case !s.answered:
			v.t.Errorf("message %d of %s comes while somebody has message %d", sequence, key, other)
		case first && other > sequence:
			v.t.Errorf("message %d of %s comes after message %d", sequence, key, other)
		}
	}
}

// checkWaiting checks how many messages wait for an answer, as clients see it.
func (v *voyage) checkWaiting() {
	for _, name := range v.names {
		cfg := v.configs[name]
		waiting := 0
		for _, s := range v.sent[name] {
			if !s.answered {
				waiting++
			}
		}
		// With max_deliver clients cannot know: the last delivery may have been counted, and sent to nobody.
		if cfg.Ack == config.AckExplicit && cfg.MaxDeliver <= 0 && waiting > cfg.MaxAckPending {
			v.t.Errorf("consumer %q: %d messages wait for an answer, at most %d may", name, waiting, cfg.MaxAckPending)
		}
	}
}

// checkState checks that nothing goes back in the state of whoever leads.
func (v *voyage) checkState() {
	err := v.log.View(func(s *jetlog.Stream, _ jetlog.Messages) error {
		for _, c := range s.Consumers() {
			floor, place := c.AckFloor(), c.Delivered()
			if before := v.floors[c.Name()]; floor.Stream < before.Stream {
				v.t.Errorf("consumer %q: the ack floor is %d, after it was %d", c.Name(), floor.Stream, before.Stream)
			}
			if before := v.places[c.Name()]; place.Stream < before.Stream || place.Consumer < before.Consumer {
				v.t.Errorf("consumer %q: delivered is %v, after it was %v", c.Name(), place, before)
			}
			v.floors[c.Name()], v.places[c.Name()] = floor, place
		}
		return nil
	})
	if err != nil {
		v.t.Error(err)
	}
}

// end lets the leader stay, and everything be delivered and acknowledged.
func (v *voyage) end() {
	for _, f := range v.old {
		v.group.isolate(f.replica, false)
		f.stream.Resign()
		f.pool.Close()
	}
	v.change("to", true)
	for round := 0; !v.done(); round++ {
		if round > 100 {
			v.t.Fatal("not everything was delivered")
		}
		for _, name := range v.pulling() {
			v.requestFrom(v.stream, name, `{"batch":100,"expires":200000000}`)
		}
		v.pass(300 * time.Millisecond)
		v.collect()
		for _, m := range v.held {
			a := m.ack(v.t)
			v.answered(a.Consumer, a.StreamSequence, "")
			v.stream.Ack(a.Consumer, ackOf(a, ""))
		}
		v.held = nil
		v.pass(commitMost)
	}
	for _, name := range v.names {
		for sequence := uint64(1); sequence <= v.log.State().Last; sequence++ {
			m, err := v.log.Load(sequence)
			if err != nil {
				v.t.Fatal(err)
			}
			if v.sent[name][sequence] == nil && v.configs[name].MaxDeliver <= 0 && !(name == "filtered" && unwanted(m.Subject)) {
				v.t.Errorf("consumer %q never got message %d", name, sequence)
			}
		}
	}
}

// done reports whether no consumer has anything left.
func (v *voyage) done() bool {
	done := true
	err := v.log.View(func(s *jetlog.Stream, _ jetlog.Messages) error {
		for _, c := range s.Consumers() {
			done = done && c.Pending() == 0 && c.AckPending() == 0
		}
		return nil
	})
	return err == nil && done
}
