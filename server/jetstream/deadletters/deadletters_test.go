package deadletters_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"runnel/headers"
	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/deadletters"
	"runnel/server/jetstream/handover"
)

// at is a time that no clock has come to: 2033-05-18T03:33:20Z.
const at = 2_000_000_000_000_000_000

// world is a stream with a consumer that gives up messages, and a dead-letter stream as a list.
type world struct {
	t   *testing.T
	log *store.Stream

	mu     sync.Mutex // guards everything below
	dead   []handover.Message
	last   map[string]uint64 // the number of the last of each producer
	room   int               // how many more are taken
	err    error             // what Put fails with after it has taken them
	handed chan struct{}
}

func newWorld(t *testing.T) *world {
	t.Helper()
	s, _, err := store.Open(store.Config{FS: vfs.NewMemory(), Dir: "/data", ScrubBytes: -1, ReserveBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, last: map[string]uint64{}, room: 1000, handed: make(chan struct{}, 1000)}
	w.log, err = s.Create("A", config.Stream{
		Name: "S", Subjects: []string{"s.>"}, MaxConsumers: -1, MaxMessages: -1, MaxBytes: -1, MaxPerSubject: -1, MaxMessageBytes: -1,
		Retention: config.WorkQueueRetention, Replicas: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(w.log.Check(), s.Close()); err != nil {
			t.Error(err)
		}
	})
	w.propose(&command.ConsumerCreate{Time: 1, Config: config.Consumer{
		Name: "c", Ack: config.AckExplicit, AckWait: time.Hour, Metadata: map[string]string{config.MetadataDeadLetter: "DEAD"},
	}})
	return w
}

func (w *world) propose(c command.Command) {
	w.t.Helper()
	if r, err := w.log.Propose(w.t.Context(), c); err != nil || r.Code != 0 {
		w.t.Fatalf("%T: %+v, %v", c, r, err)
	}
}

// giveUp publishes messages with these header blocks, and gives them up.
func (w *world) giveUp(blocks ...[]byte) {
	w.t.Helper()
	var messages []command.Delivery
	give := &command.GiveUp{Time: at + 1, Consumer: "c"}
	for _, block := range blocks {
		r, err := w.log.Propose(w.t.Context(), &command.Publish{Time: 5, Subject: "s.a", Header: block, Payload: []byte("x")})
		if err != nil || !r.Stored {
			w.t.Fatalf("publish: %+v, %v", r, err)
		}
		messages = append(messages, command.Delivery{Sequence: r.Sequence})
		give.Messages = append(give.Messages, command.GivenUp{Sequence: r.Sequence, Text: "no"})
	}
	var incarnation, from uint64
	err := w.log.View(func(s *jetlog.Stream, _ jetlog.Messages) error {
		incarnation, from = s.Consumer("c").Incarnation(), s.Consumer("c").Delivered().Consumer+1
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.propose(&command.Deliver{Time: at, Consumer: "c", Incarnation: incarnation, From: from, Messages: messages})
	w.propose(give)
}

// put is the dead-letter stream.
func (w *world) put(_ context.Context, account, stream string, list []handover.Message) ([]handover.Outcome, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if account != "A" || stream != "DEAD" {
		return nil, fmt.Errorf("put into %s of %s", stream, account)
	}
	out := make([]handover.Outcome, len(list))
	for i := range list {
		m := &list[i]
		switch {
		case m.Number <= w.last[m.Producer]:
			out[i].Duplicate = true
		case w.room == 0:
			for ; i < len(list); i++ {
				out[i].Refusal = api.NewError(config.StoreFailed, "maximum messages exceeded")
			}
			return out, nil
		default:
			w.room--
			w.last[m.Producer] = m.Number
			w.dead = append(w.dead, *m)
		}
	}
	if err := w.err; err != nil {
		w.err = nil
		return nil, err
	}
	return out, nil
}

// grant lets so many more be taken.
func (w *world) grant(room int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.room = room
}

func (w *world) open() *deadletters.Stream {
	return deadletters.Open(deadletters.Config{
		Account: "A", Log: w.log, Put: w.put, Now: func() int64 { return at + 2 }, Logger: slog.New(slog.DiscardHandler),
		Handed: func(string) { w.handed <- struct{}{} },
	})
}

// left returns how many letters wait.
func (w *world) left() (n int) {
	w.t.Helper()
	err := w.log.View(func(s *jetlog.Stream, _ jetlog.Messages) error {
		n = s.Consumer("c").Letters().Len()
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

// until waits until so many letters are left.
func (w *world) until(left int) {
	w.t.Helper()
	timeout := time.After(20 * time.Second)
	for w.left() != left {
		select {
		case <-w.handed:
		case <-timeout:
			w.t.Fatalf("%d letters wait, want %d", w.left(), left)
		}
	}
}

// troubled waits until letters could not be handed over.
func (w *world) troubled(s *deadletters.Stream) {
	w.t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range 20000 {
		if s.Trouble("c") != "" {
			return
		}
		<-tick.C
	}
	w.t.Fatal("nothing stands in the way")
}

// sequences returns which messages are in the dead-letter stream.
func (w *world) sequences() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []string
	for i := range w.dead {
		v, _ := headers.Get(w.dead[i].Header, api.DeadSequence)
		list = append(list, string(v))
	}
	return strings.Join(list, " ")
}

// What was given up before is handed over when the stream is opened, and what is given up later when that is told.
func TestHandOver(t *testing.T) {
	w := newWorld(t)
	w.giveUp(headers.Build(headers.Field{Name: "My", Value: "own"}), nil)
	s := w.open()
	defer s.Close()
	w.until(0)
	w.giveUp(nil)
	s.Wake()
	w.until(0)
	if got := w.sequences(); got != "1 2 3" {
		t.Errorf("handed over are %q", got)
	}
	want := "NATS/1.0\r\nMy: own\r\nRunnel-Dead-Stream: S\r\nRunnel-Dead-Subject: s.a\r\nRunnel-Dead-Sequence: 1\r\nRunnel-Dead-Consumer: c\r\n" +
		"Runnel-Dead-Reason: terminated\r\nRunnel-Dead-Attempts: 1\r\nRunnel-Dead-Time: 2033-05-18T03:33:20.000000001Z\r\nRunnel-Dead-Path: S\r\n" +
		"Runnel-Dead-Error: no\r\nRunnel-Dead-First: 2033-05-18T03:33:20Z\r\nRunnel-Dead-Last: 2033-05-18T03:33:20Z\r\n\r\n"
	if m := w.dead[0]; string(m.Header) != want || m.Subject != "s.a" || string(m.Payload) != "x" {
		t.Errorf("got %q", m.Header)
	}
	if st, err := w.log.Load(1); err != nil || st.Sequence != 0 {
		t.Errorf("what is handed over is still in the work queue: %+v, %v", st, err)
	}
}

// More letters than go together keep their order.
func TestManyLetters(t *testing.T) {
	w := newWorld(t)
	blocks := make([][]byte, 1300)
	w.grant(2000)
	w.giveUp(blocks...)
	s := w.open()
	defer s.Close()
	w.until(0)
	list := strings.Fields(w.sequences())
	if len(list) != len(blocks) || list[0] != "1" || list[1299] != "1300" {
		t.Errorf("%d are handed over, from %s to %s", len(list), list[0], list[len(list)-1])
	}
}

// A dead-letter stream that is full keeps what it has, and the others wait until there is room. Who hands over says why.
func TestFull(t *testing.T) {
	w := newWorld(t)
	w.grant(1)
	w.giveUp(nil, nil, nil)
	s := w.open()
	w.until(2)
	w.troubled(s)
	if why := s.Trouble("c"); !strings.Contains(why, `"DEAD" does not take message 2: `) || !strings.Contains(why, "maximum messages exceeded") {
		t.Errorf("got %q", why)
	}
	s.Close()
	w.grant(9)
	s = w.open() // as the next leader does
	defer s.Close()
	w.until(0)
	if got := w.sequences(); got != "1 2 3" {
		t.Errorf("handed over are %q", got)
	}
}

// Where it is not known whether letters were taken, they are put again, and are there once.
func TestUnknown(t *testing.T) {
	w := newWorld(t)
	w.err = handover.ErrUnknown
	w.giveUp(nil, nil)
	s := w.open()
	defer s.Close()
	w.until(0)
	if got := w.sequences(); got != "1 2" {
		t.Errorf("handed over are %q", got)
	}
}

// A message that comes from the stream that it is to go to stays where it is.
func TestLoop(t *testing.T) {
	w := newWorld(t)
	w.giveUp(headers.Build(headers.Field{Name: api.DeadPath, Value: "T,DEAD"}))
	s := w.open()
	defer s.Close()
	w.troubled(s)
	if why := s.Trouble("c"); !strings.Contains(why, "go round for ever") || w.left() != 1 {
		t.Errorf("got %q, %d left", why, w.left())
	}
}

// A header block that has no room for ours goes, rather than the message.
func TestLargeHeader(t *testing.T) {
	w := newWorld(t)
	w.giveUp(headers.Build(headers.Field{Name: "Large", Value: strings.Repeat("x", 65400)}))
	s := w.open()
	defer s.Close()
	w.until(0)
	block := string(w.dead[0].Header)
	if strings.Contains(block, "Large") || !strings.Contains(block, "Runnel-Dead-Omitted: headers\r\n") || !strings.Contains(block, "Runnel-Dead-Sequence: 1\r\n") {
		t.Errorf("got %.200q", block)
	}
}

func TestCheck(t *testing.T) {
	streams := map[string]*config.Stream{
		"DEAD": {Name: "DEAD"}, "MIRROR": {Name: "MIRROR", Mirror: &config.Source{Name: "S"}}, "SEALED": {Name: "SEALED", Sealed: true},
		"INTEREST": {Name: "INTEREST", Retention: config.InterestRetention}, "QUEUE": {Name: "QUEUE", Retention: config.WorkQueueRetention},
	}
	for name, want := range map[string]string{
		"": "", "DEAD": "", "QUEUE": "", "NONE": "create it first", "MIRROR": "a mirror", "SEALED": "sealed", "INTEREST": "only what its consumers want",
	} {
		c := &config.Consumer{Name: "c", Ack: config.AckExplicit}
		if name != "" {
			c.Metadata = map[string]string{config.MetadataDeadLetter: name}
		}
		err := deadletters.Check(c, func(stream string) *config.Stream { return streams[stream] })
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", name, err, want)
		}
	}
}

// TestCircle finds out whether dead letters would come back.
func TestCircle(t *testing.T) {
	known := []*api.DeadStreamInfo{
		{Stream: "B", Consumers: []string{"A.a", "AA.x"}},
		{Stream: "C", Consumers: []string{"A.b", "B.b"}},
		{Stream: "D", Consumers: []string{"C.c"}},
		{Stream: "E", Consumers: []string{"D.d", "E2.e"}},
		{Stream: "D", Consumers: []string{"E.e"}},
	}
	for _, c := range []struct{ stream, target, want string }{
		{"S", "A", ""},
		{"A", "B", ""},
		{"B", "C", ""},
		{"D", "S", ""},
		{"B", "A", "A.a into B"},
		{"AA", "A", ""},
		{"C", "A", "A.b into C"},
		{"D", "A", "A.b into C, C.c into D:"},
		{"D", "B", "B.b into C, C.c into D:"},
		{"E", "C", "C.c into D, D.d into E:"},
	} {
		err := deadletters.Circle(c.stream, &config.Consumer{Metadata: map[string]string{config.MetadataDeadLetter: c.target}}, known)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s into %s: got %v, want %q", c.stream, c.target, err, c.want)
		}
	}
}
