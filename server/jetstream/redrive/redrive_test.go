package redrive_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"runnel/headers"
	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/handover"
	"runnel/server/jetstream/redrive"
	"runnel/server/servertest"
)

// at is a time that no clock has come to: 2033-05-18T03:33:20Z.
const at = 2_000_000_000_000_000_000

// world is a dead-letter stream, and the streams that its letters come from as a list of what was put into them.
type world struct {
	t     *testing.T
	log   *store.Stream
	clock atomic.Int64 // the time of the stream: with each look at it a nanosecond passes

	mu    sync.Mutex // guards everything below
	back  map[string]int
	last  map[string]uint64 // the last number of each stream and producer
	judge func(stream string, m *handover.Message) *api.Error
	lose  func() bool // the outcome of a put is not known
	puts  int
	ended []*api.RedriveEnded
}

func newWorld(t *testing.T) *world {
	t.Helper()
	s, _, err := store.Open(store.Config{FS: vfs.NewMemory(), Dir: "/data", ScrubBytes: -1, ReserveBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, back: map[string]int{}, last: map[string]uint64{}}
	w.clock.Store(at)
	w.log, err = s.Create("A", config.Stream{
		Name: "DEAD", Subjects: []string{"dead"}, MaxConsumers: -1, MaxMessages: -1, MaxBytes: -1, MaxPerSubject: -1, MaxMessageBytes: -1, Replicas: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(w.log.Check(), s.Close()); err != nil {
			t.Error(err)
		}
	})
	return w
}

// bury adds letters, of consumer c of the named streams, and returns the sequence of the last.
func (w *world) bury(streams ...string) (last uint64) {
	w.t.Helper()
	for i, stream := range streams {
		header := headers.Build(
			headers.Field{Name: api.DeadStream, Value: stream}, headers.Field{Name: api.DeadSubject, Value: "s.a"},
			headers.Field{Name: api.DeadConsumer, Value: "c"}, headers.Field{Name: api.DeadPath, Value: stream}, headers.Field{Name: "My", Value: "own"},
		)
		r, err := w.log.Propose(w.t.Context(), &command.Publish{
			Time: w.now(), Subject: "s.a", Header: header, Payload: fmt.Append(nil, w.log.State().Last+1),
		})
		if err != nil || !r.Stored {
			w.t.Fatalf("letter %d: %+v, %v", i, r, err)
		}
		last = r.Sequence
	}
	return last
}

// put is the streams that letters come from.
func (w *world) put(_ context.Context, account, stream string, list []handover.Message) ([]handover.Outcome, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if stream == "GONE" {
		return nil, fmt.Errorf("put: %w", api.NewError(api.StreamNotFound))
	}
	out := make([]handover.Outcome, len(list))
	for i := range list {
		m := &list[i]
		key := stream + " " + m.Producer
		switch refusal := w.judged(stream, m); {
		case m.Number == 0:
			out[i].Refusal = refusal
		case m.Number <= w.last[key]:
			out[i].Duplicate = true
		case refusal != nil:
			for ; i < len(list); i++ {
				out[i].Refusal = refusal
			}
			return out, nil
		default:
			w.last[key] = m.Number
			w.back[string(m.Payload)]++
			w.puts++
			if account != "A" || m.Subject != "s.a" || !strings.HasSuffix(string(m.Header), "My: own\r\n\r\n") && !strings.HasSuffix(string(m.Header), "My: own\r\nRunnel-Redrive-To: c\r\n\r\n") {
				w.t.Errorf("put into %s of %s: %q on %s", stream, account, m.Header, m.Subject)
			}
		}
	}
	if w.lose != nil && w.lose() {
		return nil, fmt.Errorf("the answer is lost: %w", handover.ErrUnknown)
	}
	return out, nil
}

func (w *world) judged(stream string, m *handover.Message) *api.Error {
	if w.judge == nil {
		return nil
	}
	return w.judge(stream, m)
}

// change changes how the streams behave.
func (w *world) change(do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	do()
}

func (w *world) now() int64 { return w.clock.Add(1) }

func (w *world) open() *redrive.Stream {
	return redrive.Open(redrive.Config{
		Account: "A", Log: w.log, Put: w.put, Now: w.now, Clock: time.Now, Changed: func() {},
		Ended: func(e *api.RedriveEnded) { w.change(func() { w.ended = append(w.ended, e) }) }, Logger: slog.New(slog.DiscardHandler),
	})
}

func (w *world) begin(s *redrive.Stream, q api.DeadRedriveRequest) *api.DeadRedrive {
	w.t.Helper()
	if q.To == "" {
		q.To = api.RedriveToConsumer
	}
	r, err := s.Begin(w.t.Context(), &q)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// waits waits until the redrive is as wanted.
func (w *world) waits(s *redrive.Stream, what string, is func(*api.DeadRedrive) bool) (r *api.DeadRedrive) {
	w.t.Helper()
	servertest.Eventually(w.t, what, func() bool {
		r = s.Shown()
		return r != nil && is(r)
	})
	return r
}

func over(r *api.DeadRedrive) bool { return r.Ended != nil }

// wants compares how many letters are left, and how many are back.
func (w *world) wants(what string, left, back int) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if got := int(w.log.State().Messages); got != left || len(w.back) != back {
		w.t.Errorf("%s: %d letters are left, and %d are back, want %d and %d", what, got, len(w.back), left, back)
	}
	for body, n := range w.back {
		if n != 1 {
			w.t.Errorf("%s: letter %s is back %d times", what, body, n)
		}
	}
}

// TestRedrive puts letters back, by filter, one, and all, to several streams, and leaves those whose stream has gone.
func TestRedrive(t *testing.T) {
	w := newWorld(t)
	s := w.open()
	defer s.Close()
	if s.Shown() != nil || redrive.Runs(w.log) {
		t.Errorf("something runs: %+v", s.Shown())
	}
	w.bury("S", "S", "T", "S", "GONE", "GONE", "T", "S")
	w.begin(s, api.DeadRedriveRequest{Filter: api.DeadFilter{Stream: "T"}})
	if r := w.waits(s, "the end", over); r.Done != 2 || r.Failed != 0 {
		t.Errorf("by filter: %+v", r)
	}
	w.wants("by filter", 6, 2)
	w.begin(s, api.DeadRedriveRequest{Sequence: 8, To: api.RedriveToSubject})
	w.waits(s, "the end", func(r *api.DeadRedrive) bool { return over(r) && r.Sequence == 8 })
	w.wants("one", 5, 3)
	w.begin(s, api.DeadRedriveRequest{All: true})
	r := w.waits(s, "the end", func(r *api.DeadRedrive) bool { return over(r) && r.Sequence == 0 && r.Filter.Stream == "" })
	if r.Done != 3 || r.Failed != 2 || !strings.Contains(r.Error, "no stream GONE") {
		t.Errorf("all: %+v", r)
	}
	w.wants("all", 2, 6)
	if redrive.Runs(w.log) || len(w.ended) != 3 || w.ended[2].Done != 3 || w.ended[2].Stream != "DEAD" {
		t.Errorf("it runs, or was told as %+v", w.ended)
	}
}

// TestRefused tries what is refused: a second redrive, the end of one that does not run, and a stream that lets nothing be deleted.
func TestRefused(t *testing.T) {
	w := newWorld(t)
	s := w.open()
	defer s.Close()
	w.bury("S", "S")
	refused := func(err error, code config.Code) {
		t.Helper()
		var e *api.Error
		if !errors.As(err, &e) || e.ErrCode != int(code) {
			t.Errorf("got %v, want error %d", err, code)
		}
	}
	_, err := s.Stop(t.Context())
	refused(err, api.RedriveNone)
	w.change(func() {
		w.judge = func(string, *handover.Message) *api.Error { return api.NewError(config.StoreFailed, "full") }
	})
	w.begin(s, api.DeadRedriveRequest{All: true})
	_, err = s.Begin(t.Context(), &api.DeadRedriveRequest{All: true, To: "consumer"})
	refused(err, api.RedriveRuns)
	other := w.open() // as another server that has not heard of it
	defer other.Close()
	_, err = other.Begin(t.Context(), &api.DeadRedriveRequest{All: true, To: "consumer"})
	refused(err, api.RedriveRuns)
	other.Close()
	w.waits(s, "it says why it waits", func(r *api.DeadRedrive) bool { return strings.Contains(r.Error, "full") })
	r, err := s.Stop(t.Context())
	if err != nil || !r.Stopped || r.Done != 0 || r.Ended == nil || r.Error != "" {
		t.Errorf("stopped as %+v, %v", r, err)
	}
	w.wants("stopped", 2, 0)
	w.propose(&command.Configure{Time: w.now(), Config: w.with(func(c *config.Stream) { c.DenyDelete = true })})
	_, err = s.Begin(t.Context(), &api.DeadRedriveRequest{All: true, To: "consumer"})
	refused(err, api.RedriveInvalid)
}

// TestAskedAgain asks for the same letter while it is being put back, and for another one.
func TestAskedAgain(t *testing.T) {
	w := newWorld(t)
	s := w.open()
	defer s.Close()
	w.bury("S", "S")
	w.change(func() {
		w.judge = func(string, *handover.Message) *api.Error { return api.NewError(config.StoreFailed, "full") }
	})
	w.begin(s, api.DeadRedriveRequest{Sequence: 1})
	again, err := s.Begin(t.Context(), &api.DeadRedriveRequest{Sequence: 1, To: "consumer"})
	if err != nil || again.Sequence != 1 || again.Ended != nil {
		t.Errorf("got %+v, %v, want what runs", again, err)
	}
	for _, q := range []api.DeadRedriveRequest{{Sequence: 2, To: "consumer"}, {Sequence: 1, To: "subject"}, {All: true, To: "consumer"}} {
		var e *api.Error
		if _, err := s.Begin(t.Context(), &q); !errors.As(err, &e) || e.ErrCode != int(api.RedriveRuns) {
			t.Errorf("%+v: got %v, want that one runs", q, err)
		}
	}
}

func (w *world) propose(c command.Command) {
	w.t.Helper()
	if r, err := w.log.Propose(w.t.Context(), c); err != nil || r.Code != 0 {
		w.t.Fatalf("%T: %+v, %v", c, r, err)
	}
}

func (w *world) with(change func(*config.Stream)) config.Stream {
	cfg := w.log.Config()
	change(&cfg)
	return cfg
}

// TestTakenAway deletes what a redrive is remembered by: it ends. A stream that lets nothing be deleted any more ends it, too.
func TestTakenAway(t *testing.T) {
	w := newWorld(t)
	s := w.open()
	defer s.Close()
	w.bury("S", "S", "S")
	w.begin(s, api.DeadRedriveRequest{All: true, Rate: 2})
	w.waits(s, "the first one", func(r *api.DeadRedrive) bool { return r.Done == 1 })
	w.propose(&command.ConsumerDelete{Time: w.now(), Consumer: config.RedriveConsumer})
	w.waits(s, "the end", over)
	w.wants("taken away", 2, 1)
	w.begin(s, api.DeadRedriveRequest{All: true, Rate: 2})
	w.waits(s, "the next one", func(r *api.DeadRedrive) bool { return r.Done == 1 })
	w.propose(&command.Configure{Time: w.now(), Config: w.with(func(c *config.Stream) { c.Sealed = true })})
	if r := w.waits(s, "the end", over); !r.Stopped || !strings.Contains(r.Error, "cannot be deleted") {
		t.Errorf("ended as %+v", r)
	}
}

// TestUnknown loses the answer of a put, and is asked to stop then: it ends when it is known what has come of it.
func TestUnknown(t *testing.T) {
	w := newWorld(t)
	s := w.open()
	w.bury("S", "S", "S")
	lost := true
	w.change(func() { w.lose = func() bool { return lost } })
	w.begin(s, api.DeadRedriveRequest{All: true})
	w.waits(s, "it says why it waits", func(r *api.DeadRedrive) bool { return strings.Contains(r.Error, "cannot be reached") })
	s.Close()
	s = w.open() // by somebody who has not put them
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.waits(s, "it goes on", func(r *api.DeadRedrive) bool { return strings.Contains(r.Error, "cannot be reached") })
	if r, err := s.Stop(ctx); err != nil || !r.Stopping || r.Ended != nil {
		t.Errorf("stop: %+v, %v", r, err)
	}
	w.change(func() { lost = false })
	w.waits(s, "the end", over)
	w.wants("in the end", 0, 3)
}

// TestLetters tries what is said of a message, and how it is put back.
func TestLetters(t *testing.T) {
	block := func(fields ...string) []byte {
		var list []headers.Field
		for i := 0; i < len(fields); i += 2 {
			list = append(list, headers.Field{Name: fields[i], Value: fields[i+1]})
		}
		return headers.Build(list...)
	}
	for _, c := range []struct {
		name, to, want, wrong string
		header                []byte
	}{
		{"to the consumer", "consumer", "NATS/1.0\r\nA: b\r\nRunnel-Redrive-To: c\r\n\r\n", "", block("A", "b", api.DeadStream, "S", api.DeadSubject, "s", api.DeadConsumer, "c", api.DeadError, "x")},
		{"to the subject", "subject", "NATS/1.0\r\nA: b\r\n\r\n", "", block("A", "b", api.DeadStream, "S", api.DeadSubject, "s", api.RedriveTo, "d")},
		{"no headers of its own", "subject", "", "", block(api.DeadStream, "S", api.DeadSubject, "s")},
		{"no stream", "subject", "", "from which stream", block(api.DeadStream, "", api.DeadSubject, "s")},
		{"a stream that cannot be", "subject", "", "from which stream", block(api.DeadStream, "S.*", api.DeadSubject, "s")},
		{"no subject", "subject", "", "which subject", block(api.DeadStream, "S")},
		{"no consumer", "consumer", "", "which consumer", block(api.DeadStream, "S", api.DeadSubject, "s")},
	} {
		stream, m, err := redrive.Back(&jetlog.Message{Header: c.header, Payload: []byte("x")}, c.to)
		switch {
		case c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)):
			t.Errorf("%s: got %v, want %q", c.name, err, c.wrong)
		case c.wrong == "" && (err != nil || stream != "S" || m.Subject != "s" || string(m.Header) != c.want || string(m.Payload) != "x"):
			t.Errorf("%s: got %v, %s, %q", c.name, err, stream, m.Header)
		}
	}
	m := &jetlog.Message{Subject: "s.a", Header: block(api.DeadStream, "S", api.DeadConsumer, "c", api.DeadReason, "filter", api.DeadPath, "S")}
	for f, want := range map[api.DeadFilter]bool{
		{}: true, {Stream: "S", Consumer: "c", Reason: "filter", Subject: "s.*"}: true, {Stream: "T"}: false, {Consumer: "d"}: false,
		{Reason: "expired"}: false, {Subject: "t.>"}: false,
	} {
		if got := redrive.Means(&f, m); got != want {
			t.Errorf("%+v: got %v", f, got)
		}
	}
	if redrive.Means(&api.DeadFilter{}, &jetlog.Message{Subject: "s"}) {
		t.Error("a message that is no letter is meant")
	}
}

// TestRandom lets answers get lost, streams be full or refuse letters, leaders come and go, and redrives be stopped: in the end each letter
// is back once, or still there, never both.
func TestRandom(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			random(t, rand.New(rand.NewPCG(seed, 1)))
		})
	}
}

func random(t *testing.T, rng *rand.Rand) {
	w := newWorld(t)
	const letters = 60
	for range letters {
		w.bury([]string{"S", "T"}[rng.IntN(2)])
	}
	trouble := true
	bad, chance := map[string]bool{}, rand.New(rand.NewPCG(rng.Uint64(), 2)) // used by who puts
	w.change(func() {
		w.lose = func() bool { return trouble && chance.IntN(4) == 0 }
		w.judge = func(_ string, m *handover.Message) *api.Error {
			switch {
			case !trouble:
				return nil
			case bad[string(m.Payload)]:
				return api.NewError(api.RedriveUnwanted, "c", "S", "gone")
			case chance.IntN(20) == 0:
				return api.NewError(config.StoreFailed, "full")
			case chance.IntN(20) == 0:
				bad[string(m.Payload)] = true
				return api.NewError(api.RedriveUnwanted, "c", "S", "gone")
			}
			return nil
		}
	})
	s := w.open()
	for range 12 {
		_, _ = s.Begin(t.Context(), &api.DeadRedriveRequest{All: true, To: "consumer", Rate: 100 + rng.IntN(1000)}) // one may run
		before := w.done()
		w.progress(s, before+rng.IntN(6))
		action := rng.IntN(4)
		if action < 2 {
			s.Close()
			s = w.open()
		}
		if action < 3 && action > 0 {
			_, _ = s.Stop(t.Context()) // it may have ended
		}
	}
	defer func() { s.Close() }()
	w.change(func() { trouble = false })
	for range 3 { // one to end, and one for what that has left behind
		_, _ = s.Begin(t.Context(), &api.DeadRedriveRequest{All: true, To: "consumer"})
		servertest.Eventually(t, "the end", func() bool { return !redrive.Runs(w.log) && (s.Shown() == nil || over(s.Shown())) })
	}
	w.wants("in the end", 0, letters)
}

// done is how many letters are back.
func (w *world) done() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.back)
}

// progress waits until so many letters are back, or nothing runs.
func (w *world) progress(s *redrive.Stream, want int) {
	servertest.Eventually(w.t, "progress", func() bool {
		r := s.Shown()
		return w.done() >= want || r != nil && over(r)
	})
}
