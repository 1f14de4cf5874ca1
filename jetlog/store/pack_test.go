package store_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
)

// answers collects what became of a pack.
type answers struct {
	results []jetlog.Result
	errs    []error
	ended   chan struct{}
	flushed chan struct{} // nil: nobody is to be flushed
}

func newAnswers() *answers { return &answers{ended: make(chan struct{})} }

// Answer implements store.Answers.
func (a *answers) Answer(i int, r jetlog.Result, err error) {
	if i != len(a.results) {
		err = errors.Join(err, fmt.Errorf("answer %d came in place of %d", i, len(a.results)))
	}
	a.results, a.errs = append(a.results, r), append(a.errs, err)
}

// Answered implements store.Answers.
func (a *answers) Answered() store.Flusher {
	defer close(a.ended)
	if a.flushed == nil {
		return nil
	}
	return a
}

// Flush implements store.Flusher.
func (a *answers) Flush() { close(a.flushed) }

// proposeAll carries out a pack and returns the results.
func proposeAll(t testing.TB, s *store.Stream, publishes []command.Publish) *answers {
	t.Helper()
	a := newAnswers()
	if err := s.StartAll(context.Background(), publishes, a); err != nil {
		t.Fatal(err)
	}
	<-a.ended
	return a
}

// pack carries out some publishes at once, with a flush meanwhile, and compares each result.
func (w *twin) pack() {
	w.t.Helper()
	var publishes []command.Publish
	var want []jetlog.Result
	for range 1 + w.g.rng.IntN(20) {
		c, ok := w.g.publish().(*command.Publish)
		if !ok {
			w.t.Fatal("no publish")
		}
		r, err := w.g.state.Apply(c, w.g.body)
		if err != nil {
			w.t.Fatal(err)
		}
		publishes, want = append(publishes, *c), append(want, r)
	}
	flushed := make(chan error, 1)
	go func() { flushed <- w.store.Flush() }()
	a := proposeAll(w.t, w.stream, publishes)
	if err := errors.Join(append(a.errs, <-flushed)...); err != nil {
		w.t.Fatal(err)
	}
	if !reflect.DeepEqual(a.results, want) {
		w.t.Fatalf("pack of %d: got %+v, want %+v", len(publishes), a.results, want)
	}
}

// TestPack: what is started together is carried out one by one, and whoever wants to be is flushed afterwards; in
// files and in memory.
func TestPack(t *testing.T) {
	for _, storage := range []config.Storage{config.FileStorage, config.MemoryStorage} {
		t.Run(fmt.Sprint(storage), func(t *testing.T) {
			fs := vfs.NewMemory()
			s := open(t, small(fs))
			cfg := unlimited("S")
			cfg.Storage, cfg.MaxMessageBytes = storage, 10
			stream := create(t, s, cfg)
			a := newAnswers()
			a.flushed = make(chan struct{})
			if err := stream.StartAll(context.Background(), []command.Publish{
				{Time: 1, Subject: "S.a", Payload: []byte("one")},
				{Time: 2, Subject: "S.b", Payload: []byte("much too long")},
				{Time: 3, Subject: "S.c", Payload: []byte("two")},
			}, a); err != nil {
				t.Fatal(err)
			}
			<-a.flushed
			if err := errors.Join(a.errs...); err != nil {
				t.Fatal(err)
			}
			for i, want := range []jetlog.Result{
				{Sequence: 1, Stored: true}, {Code: config.MessageTooLarge}, {Sequence: 2, Stored: true},
			} {
				if !reflect.DeepEqual(a.results[i], want) {
					t.Errorf("result %d: got %+v, want %+v", i, a.results[i], want)
				}
			}
			if err := stream.StartAll(context.Background(), nil, newAnswers()); err == nil {
				t.Error("nothing was started")
			}
			hash := hashOf(stream)
			closeStore(t, s)
			if storage == config.MemoryStorage {
				return
			}
			s = open(t, small(fs))
			if got := hashOf(s.Stream("A", "S")); got != hash {
				t.Errorf("hash after a restart %x, want %x", got, hash)
			}
			closeStore(t, s)
		})
	}
}

// TestPackDoesNotWait: with a context that has ended, what would wait for memory is not started.
func TestPackDoesNotWait(t *testing.T) {
	fs := vfs.NewMemory()
	fault := vfs.NewFault(fs)
	cfg := small(fault)
	cfg.FlushBytes, cfg.MemoryBytes = 1<<10, 4<<10
	s := open(t, cfg)
	stream := create(t, s, unlimited("S"))
	fault.Fail(vfs.Rule{Kinds: vfs.OpCreate, Name: "*.segment.tmp", Times: -1}) // so nothing is flushed
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	var err error
	for range 100 {
		a := newAnswers()
		if err = stream.StartAll(ended, []command.Publish{{Time: 1, Subject: "S.a", Payload: make([]byte, 500)}}, a); err != nil {
			break
		}
		<-a.ended
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	fault.Heal()
	closeStore(t, s)
}

// TestReadErrorWithinPack: a disk that fails in the middle of a pack halts the stream there; a restart goes on with
// what is left of it.
func TestReadErrorWithinPack(t *testing.T) {
	memory := vfs.NewMemory()
	fault := vfs.NewFault(memory)
	s := open(t, small(fault))
	cfg := unlimited("S")
	cfg.MaxMessages = 22
	stream := create(t, s, cfg)
	publish(t, stream, 20)
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	fault.Fail(vfs.Rule{Kinds: vfs.OpReadAt, Name: "*.segment", Times: -1})
	a := proposeAll(t, stream, make5("S.x"))
	for i, err := range a.errs {
		if halted := errors.Is(err, store.ErrHalted); halted != (i >= 2) {
			t.Errorf("publish %d: %v", i, err)
		}
	}
	fault.Heal()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, small(memory.PowerCut(vfs.Lose)))
	if got := s.Stream("A", "S").State(); got.Last != 25 || got.Messages != 22 {
		t.Errorf("after a restart: %+v", got)
	}
	closeStore(t, s)
}

// make5 returns five publishes.
func make5(subject string) (all []command.Publish) {
	for range 5 {
		all = append(all, command.Publish{Time: 1, Subject: subject, Payload: []byte("x")})
	}
	return all
}
