package ahead_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/server/jetstream/delivery/ahead"
)

// world is a stream with one consumer, its leader, and workers.
type world struct {
	*testing.T
	rng      *rand.Rand
	stream   *jetlog.Stream
	body     *jetlog.Memory
	consumer *jetlog.Consumer
	rules    *ahead.Rules
	a        *ahead.Ahead
	at       jetlog.Position // the leader's cursor
	flights  []command.Command
	clock    int64
	broken   bool // reads fail

	keyed  bool
	keyOf  map[uint64]string
	wanted map[uint64]bool     // by sequence, of what is published
	hands  map[string]uint64   // what is in somebody's hands, by key
	order  map[string][]uint64 // what was acknowledged, by key
	seen   map[uint64]int      // deliveries
}

func newWorld(t *testing.T, seed uint64, retention config.Retention, metadata map[string]string) *world {
	t.Helper()
	scfg := config.Stream{Name: "S", Subjects: []string{"s.>"}, Retention: retention, MaxMessages: -1, MaxBytes: -1, MaxPerSubject: -1, MaxMessageBytes: -1, Replicas: 1}
	w := &world{
		T: t, rng: rand.New(rand.NewPCG(seed, 5)), stream: jetlog.New(1, scfg, 1), body: jetlog.NewMemory(), clock: 1, keyed: metadata[config.MetadataKey] != "",
		keyOf: map[uint64]string{}, wanted: map[uint64]bool{}, hands: map[string]uint64{}, order: map[string][]uint64{}, seen: map[uint64]int{},
	}
	cfg := config.Consumer{Name: "c", Ack: config.AckExplicit, AckWait: 50, MaxAckPending: 8, FilterSubject: "s.>", Metadata: metadata}
	w.apply(&command.ConsumerCreate{Time: 1, Config: cfg})
	w.consumer = w.stream.Consumer("c")
	w.rules = ahead.RulesOf(&cfg)
	w.lead()
	return w
}

func (w *world) apply(c command.Command) jetlog.Result {
	w.Helper()
	r, err := w.stream.Apply(c, w.body)
	if err != nil {
		w.Fatalf("%T: %v", c, err)
	}
	if err := w.stream.Check(w.body); err != nil {
		w.Fatalf("after %T %+v: %v", c, c, err)
	}
	return r
}

// lead makes somebody the leader, who knows the state and nothing else.
func (w *world) lead() {
	w.a, w.at, w.flights = ahead.New(w.rules, w.consumer), w.consumer.Delivered(), nil
}

func (w *world) publish(key string, value int) {
	w.Helper()
	r := w.apply(&command.Publish{Time: w.clock, Subject: "s." + key, Payload: fmt.Appendf(nil, `{"value":%d}`, value)})
	w.keyOf[r.Sequence] = key
	w.wanted[r.Sequence] = true
}

// The world is the Source of the leader.

var errBroken = errors.New("the disk is gone")

func (w *world) Read(from uint64, messages, bytes int, yield func(*jetlog.Message) bool) (uint64, error) {
	for ; messages > 0 && bytes > 0; messages-- {
		seq, _ := w.body.NextOf(jetlog.Filter{"s.>"}, from)
		if seq == 0 {
			return w.stream.State().Last + 1, nil
		}
		if w.broken && w.rng.IntN(4) == 0 {
			return from, errBroken
		}
		m, _ := w.body.Load(seq)
		from, bytes = seq+1, bytes-len(m.Payload)
		if !yield(&m) {
			break
		}
	}
	return from, nil
}

func (w *world) Load(seq uint64) (jetlog.Message, error) {
	if w.broken && w.rng.IntN(4) == 0 {
		return jetlog.Message{}, errBroken
	}
	return w.body.Load(seq)
}

func (w *world) Passed(from uint64, most int) ([]uint64, uint64, error) {
	var list []uint64
	for seq := range w.consumer.Passed().All {
		if seq >= from && len(list) < most {
			list = append(list, seq)
		}
	}
	return list, w.consumer.Delivered().Stream, nil
}

func (w *world) Waits(seq uint64) (bool, error) {
	_, exhausted := slices.BinarySearch(w.consumer.Exhausted(), seq)
	return exhausted || w.consumer.Deliveries(seq) > 0, nil
}

// look lets the leader deliver something. What it delivers first is applied, as where deliveries are committed first.
func (w *world) look() {
	w.Helper()
	if ready, err := w.a.Prepare(w); err != nil || !ready {
		return
	}
	var again []uint64
	w.consumer.Redelivery(func(seq, _ uint64) bool {
		if w.a.HasTurn(seq) {
			again = append(again, seq)
		}
		return true
	})
	d := &command.Deliver{Time: w.clock, Consumer: "c", Incarnation: w.consumer.Incarnation(), From: w.at.Consumer + 1}
	for _, seq := range again {
		d.Messages = append(d.Messages, command.Delivery{Sequence: seq, Again: true})
	}
	if room := 8 - w.consumer.AckPending(); room > 0 {
		l, err := w.a.Look(w, w.at.Stream, min(room, 1+w.rng.IntN(8)), 1+w.rng.IntN(200), true)
		if err != nil && !errors.Is(err, errBroken) {
			w.Fatal(err)
		}
		if l.UpTo > w.at.Stream {
			w.flights = append(w.flights, &command.Skip{
				Time: w.clock, Consumer: "c", Incarnation: w.consumer.Incarnation(), Above: w.at.Stream, UpTo: l.UpTo, Passed: l.Passed, Failed: l.Failed,
			})
			w.at.Stream = l.UpTo
		}
		sent := w.rng.IntN(len(l.Picks) + 1) // the requests may have gone
		for _, m := range l.Picks[:sent] {
			d.Messages = append(d.Messages, command.Delivery{Sequence: m.Sequence})
		}
		w.a.Sent(sent)
	}
	if len(d.Messages) > 0 {
		w.at.Consumer += uint64(len(d.Messages))
		w.flights = append(w.flights, d)
	}
}

// land applies what is under way.
func (w *world) land() {
	w.Helper()
	for _, c := range w.flights {
		if r := w.apply(c); r.Code != 0 {
			w.Fatalf("%T %+v was refused: %+v", c, c, r)
		}
		d, ok := c.(*command.Deliver)
		if !ok {
			continue
		}
		for _, m := range d.Messages {
			if w.consumer.Deliveries(m.Sequence) > 0 {
				w.handed(m.Sequence)
			}
		}
	}
	w.flights = nil
}

// handed gives a message to a worker.
func (w *world) handed(seq uint64) {
	w.Helper()
	w.seen[seq]++
	key := w.keyOf[seq]
	if !w.keyed {
		key = fmt.Sprint(seq)
	}
	if other := w.hands[key]; other != 0 && other != seq {
		w.Fatalf("key %s: %d is delivered while %d is in somebody's hands", key, seq, other)
	}
	w.hands[key] = seq
}

// work lets workers answer.
func (w *world) work() {
	w.Helper()
	for _, key := range slices.Sorted(keysOf(w.hands)) {
		seq := w.hands[key]
		r := command.Reply{Sequence: seq}
		switch w.rng.IntN(8) {
		case 0, 1, 2:
			r.Answer = command.Done
		case 3:
			r.Answer = command.Nak
		case 4:
			r.Answer, r.Delay = command.Nak, time.Duration(w.rng.IntN(30))
		case 5:
			r.Answer = command.Progress
		default:
			continue
		}
		w.apply(&command.Ack{Time: w.clock, Consumer: "c", Replies: []command.Reply{r}})
		if r.Answer == command.Done {
			w.a.Done(seq)
			delete(w.hands, key)
			w.order[key] = append(w.order[key], seq)
		}
	}
}

func keysOf(m map[string]uint64) func(func(string) bool) {
	return func(yield func(string) bool) {
		for key := range m {
			if !yield(key) {
				return
			}
		}
	}
}

// step does something.
func (w *world) step() {
	w.Helper()
	w.clock += int64(w.rng.IntN(20))
	switch n := w.rng.IntN(100); {
	case n < 30:
		w.look()
	case n < 50:
		w.land()
	case n < 70:
		w.work()
	case n < 80:
		w.apply(&command.AckDeadline{Time: w.clock})
	case n < 84:
		w.lead()
	case n < 86:
		if seq := 1 + w.rng.Uint64N(w.stream.State().Last); len(w.flights) == 0 && w.rng.IntN(3) == 0 {
			w.apply(&command.Delete{Time: w.clock, Sequence: seq})
			if delete(w.wanted, seq); w.hands[w.keyOf[seq]] == seq {
				delete(w.hands, w.keyOf[seq])
			}
		}
		w.a.Review(w.consumer)
	}
}

// TestKeys lets leaders come and go and workers do what they do: of each key one message is in somebody's hands at most, they
// come in the order of the stream, and none is left out.
func TestKeys(t *testing.T) {
	for seed := range uint64(16) {
		retention := []config.Retention{config.LimitsRetention, config.WorkQueueRetention}[seed%2]
		w := newWorld(t, seed, retention, map[string]string{config.MetadataKey: "token:2"})
		keys := 1 + w.rng.IntN(20)
		for range 100 {
			w.publish(fmt.Sprint(min(w.rng.IntN(keys), w.rng.IntN(keys))), 0)
		}
		w.broken = seed%4 == 3
		for range 400 {
			w.step()
		}
		w.broken = false
		for round := 0; w.consumer.Pending()+uint64(w.consumer.AckPending()) > 0; round++ {
			if round > 5000 {
				t.Fatalf("seed %d: no end: %d pending, %d wait, in hands %v", seed, w.consumer.Pending(), w.consumer.AckPending(), w.hands)
			}
			w.clock += 100
			w.look()
			w.land()
			w.work()
			w.a.Review(w.consumer)
			w.apply(&command.AckDeadline{Time: w.clock})
		}
		got := 0
		for key, list := range w.order {
			if !slices.IsSorted(list) {
				t.Errorf("seed %d: key %s was done in the order %v", seed, key, list)
			}
			got += len(list)
		}
		for seq := range w.wanted {
			if w.seen[seq] == 0 {
				t.Errorf("seed %d: message %d was never delivered", seed, seq)
			}
		}
		if got < len(w.wanted) {
			t.Errorf("seed %d: %d messages were done, want at least %d", seed, got, len(w.wanted))
		}
	}
}

// TestFilter: messages that the filter does not match are passed by, the others come in their order.
func TestFilter(t *testing.T) {
	for seed := range uint64(6) {
		w := newWorld(t, seed, config.WorkQueueRetention, map[string]string{config.MetadataFilter: `{"value":[{"numeric":["<",3]}]}`})
		want := []uint64{}
		for i := range uint64(300) {
			value := w.rng.IntN(30)
			if value < 3 {
				want = append(want, i+1)
			}
			w.publish("a", value)
		}
		var got []uint64
		for round := 0; w.consumer.Pending()+uint64(w.consumer.AckPending()) > 0; round++ {
			if round > 2000 {
				t.Fatalf("seed %d: no end: %d pending", seed, w.consumer.Pending())
			}
			if w.rng.IntN(10) == 0 {
				w.lead()
			}
			w.look()
			w.land()
			for seq := range w.consumer.Unanswered {
				got = append(got, seq)
			}
			if len(got) > 0 {
				w.a.Done(got[len(got)-1])
			}
			ack := &command.Ack{Time: w.clock, Consumer: "c"}
			for seq := range w.consumer.Unanswered {
				ack.Replies = append(ack.Replies, command.Reply{Sequence: seq})
			}
			w.apply(ack)
		}
		if !slices.Equal(got, want) {
			t.Errorf("seed %d: got %v, want %v", seed, got, want)
		}
		if w.stream.State().Messages != 0 || !w.a.Empty() {
			t.Errorf("seed %d: %d messages are left, and the leader knows of some: %v", seed, w.stream.State().Messages, !w.a.Empty())
		}
	}
}

// TestSteps is one look after the other, in words.
func TestSteps(t *testing.T) {
	w := newWorld(t, 1, config.LimitsRetention, map[string]string{config.MetadataKey: "token:2", config.MetadataKeyFailed: "block"})
	for _, key := range []string{"a", "a", "b", "a", "c", "b"} {
		w.publish(key, 0)
	}
	look := func(want int) string {
		t.Helper()
		if ready, err := w.a.Prepare(w); !ready || err != nil {
			t.Fatal(ready, err)
		}
		l, err := w.a.Look(w, w.at.Stream, want, 1<<20, true)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		for _, m := range l.Picks {
			fmt.Fprintf(&out, "%d ", m.Sequence)
		}
		fmt.Fprintf(&out, "up to %d, passed %v, end %v", l.UpTo, l.Passed, l.End)
		w.at.Stream = l.UpTo
		return out.String()
	}
	wants := func(step, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: got %q, want %q", step, got, want)
		}
	}
	wants("the first two", look(2), "1 3 up to 3, passed [1 2 3], end false")
	w.a.Sent(1)
	wants("what was not sent", look(1), "3 up to 3, passed [], end false")
	w.a.Sent(1)
	wants("all else", look(9), "5 up to 6, passed [4 5 6], end true")
	w.a.Sent(1)
	if w.a.HasTurn(2) || !w.a.HasTurn(1) || !w.a.Waiting() {
		t.Error("2 has the turn of its key, or 1 has not, or nothing waits")
	}
	if w.a.Done(2) || w.a.Done(77) || !w.a.Done(1) {
		t.Error("done: want that 1 has the turn of its key alone")
	}
	wants("a key is free", look(9), "2 up to 6, passed [], end true")
	w.a.Sent(1)
	w.a.Failed(2)
	wants("a key blocks", look(9), "up to 6, passed [], end true")
	w.a.Sent(0)
	w.a.Done(2)
	wants("it was acknowledged", look(9), "4 up to 6, passed [], end true")
}

// TestLater is about keys that are asked for when messages of one were delivered at once: they are in somebody's hands, come again
// one after the other, and what follows waits for all.
func TestLater(t *testing.T) {
	w := newWorld(t, 1, config.LimitsRetention, nil)
	for range 4 {
		w.publish("a", 0)
	}
	d := &command.Deliver{Time: 1, Consumer: "c", Incarnation: w.consumer.Incarnation(), From: 1}
	for seq := uint64(1); seq <= 3; seq++ {
		d.Messages = append(d.Messages, command.Delivery{Sequence: seq})
	}
	w.apply(d)
	cfg := w.consumer.Config()
	cfg.Metadata = map[string]string{config.MetadataKey: "token:2"}
	w.apply(&command.ConsumerCreate{Time: 1, Config: cfg})
	w.rules = ahead.RulesOf(&cfg)
	w.lead()
	ack := func(seq uint64) {
		t.Helper()
		w.apply(&command.Ack{Time: 1, Consumer: "c", Replies: []command.Reply{{Sequence: seq}}})
		w.a.Done(seq)
	}
	wants := func(step string, turn uint64, pick ...uint64) {
		t.Helper()
		if ready, err := w.a.Prepare(w); !ready || err != nil {
			t.Fatal(ready, err)
		}
		l, err := w.a.Look(w, w.at.Stream, 9, 1<<20, true)
		if err != nil {
			t.Fatal(err)
		}
		var got []uint64
		for _, m := range l.Picks {
			got = append(got, m.Sequence)
		}
		w.at.Stream = l.UpTo
		for seq := uint64(1); seq <= 3; seq++ {
			if w.a.HasTurn(seq) != (seq == turn) {
				t.Errorf("%s: message %d has the turn: %v", step, seq, w.a.HasTurn(seq))
			}
		}
		if !slices.Equal(got, pick) {
			t.Errorf("%s: got %v, want %v", step, got, pick)
		}
		w.a.Sent(len(got))
	}
	wants("all three are in hands", 1)
	ack(2)
	wants("the second is done", 1)
	ack(1)
	wants("the first is done", 3)
	ack(3)
	wants("all are done", 0, 4)
}

// TestRules: what a configuration asks for.
func TestRules(t *testing.T) {
	of := func(metadata map[string]string) *ahead.Rules {
		return ahead.RulesOf(&config.Consumer{Ack: config.AckExplicit, Metadata: metadata})
	}
	key, filter := of(map[string]string{config.MetadataKey: "header:Order"}), of(map[string]string{config.MetadataFilter: `{"a":[1]}`})
	if none := of(nil); none != nil || none.Keyed() || !none.Same(nil) || none.Same(key) {
		t.Error("no metadata: there are rules")
	}
	if of(map[string]string{config.MetadataKey: "what"}) != nil {
		t.Error("there are rules of what cannot be followed")
	}
	if !key.Keyed() || filter.Keyed() || key.Same(filter) || !key.Same(of(map[string]string{config.MetadataKey: "header:Order", "other": "x"})) {
		t.Error("keyed, or the same, or not")
	}
	m := &jetlog.Message{Header: []byte("NATS/1.0\r\nOrder: 7\r\n\r\n")}
	if got, ok := key.Key(m); !ok || string(got) != "7" {
		t.Errorf("key %q, %v, want 7", got, ok)
	}
	if _, ok := filter.Key(m); ok {
		t.Error("without keys a message has one")
	}
}

// TestOverflow: of a key with many messages only some are listed; all come, and another leader finds them too.
func TestOverflow(t *testing.T) {
	w := newWorld(t, 1, config.WorkQueueRetention, map[string]string{config.MetadataKey: "token:2"})
	const messages = 3000
	for i := range messages {
		key := "noisy"
		if i%1000 == 999 {
			key = fmt.Sprint("quiet", i)
		}
		w.stream.Apply(&command.Publish{Time: 1, Subject: "s." + key}, w.body)
		w.keyOf[uint64(i+1)] = key
	}
	var got []uint64
	for round := 0; w.consumer.Pending()+uint64(w.consumer.AckPending()) > 0; round++ {
		if round > 3*messages {
			t.Fatalf("no end: %d pending, %d done", w.consumer.Pending(), len(got))
		}
		if round == 500 || round == 1500 {
			w.lead()
		}
		w.a.Prepare(w)
		l, err := w.a.Look(w, w.at.Stream, 4, 1<<20, true)
		if err != nil {
			t.Fatal(err)
		}
		w.stream.Apply(&command.Skip{Consumer: "c", Incarnation: w.consumer.Incarnation(), Above: w.at.Stream, UpTo: l.UpTo, Passed: l.Passed}, w.body)
		w.at.Stream = l.UpTo
		d := &command.Deliver{Consumer: "c", Incarnation: w.consumer.Incarnation(), From: w.at.Consumer + 1}
		ack := &command.Ack{Consumer: "c"}
		for _, m := range l.Picks {
			w.at.Consumer++
			d.Messages = append(d.Messages, command.Delivery{Sequence: m.Sequence})
			ack.Replies = append(ack.Replies, command.Reply{Sequence: m.Sequence})
			got = append(got, m.Sequence)
		}
		w.a.Sent(len(l.Picks))
		w.stream.Apply(d, w.body)
		w.stream.Apply(ack, w.body)
		for _, m := range l.Picks {
			w.a.Done(m.Sequence)
		}
	}
	if place := slices.Index(got, messages); place > 300 {
		t.Errorf("the last quiet key came at %d, want before most of the noisy one", place)
	}
	noisy := slices.DeleteFunc(slices.Clone(got), func(seq uint64) bool { return w.keyOf[seq] != "noisy" })
	if len(got) != messages || !slices.IsSorted(noisy) {
		t.Errorf("%d were done, in order: %v, want %d", len(got), slices.IsSorted(noisy), messages)
	}
	if !w.a.Empty() {
		t.Error("the leader knows of something that is not there")
	}
}
