package deadletters

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/server/jetstream/handover"
)

// Log is a stream as its leader has it; *store.Stream is one.
type Log interface {
	ID() uint64
	Name() string
	View(do func(*jetlog.Stream, jetlog.Messages) error) error
	Load(sequence uint64) (jetlog.Message, error)
	Propose(context.Context, command.Command) (jetlog.Result, error)
}

// Config says what letters are handed over with.
type Config struct {
	Account string // the name
	Log     Log
	// Put puts messages into a stream of the account; see [handover.Putter].
	Put func(ctx context.Context, account, stream string, list []handover.Message) ([]handover.Outcome, error)
	// Now is the time of the stream.
	Now func() int64
	// Handed is told that letters of a consumer are handed over.
	Handed func(consumer string)
	Logger *slog.Logger
}

// Stream is the letters of a stream, on the server that leads it. Its methods are safe for concurrent use.
type Stream struct {
	cfg    Config
	ctx    context.Context
	cancel context.CancelFunc
	kick   chan struct{} // there may be more letters
	work   sync.WaitGroup

	mu      sync.Mutex // guards everything below
	running bool       // the goroutine exists
	closed  bool
	trouble map[string]string
}

// Open begins to hand over what there is.
func Open(cfg Config) *Stream {
	s := &Stream{cfg: cfg, kick: make(chan struct{}, 1), trouble: map[string]string{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	waiting := true
	err := cfg.Log.View(func(state *jetlog.Stream, _ jetlog.Messages) error {
		waiting = false
		for _, c := range state.Consumers() {
			waiting = waiting || c.Letters().Len() > 0
		}
		return nil
	})
	if err != nil || waiting {
		s.Wake()
	}
	return s
}

// Wake tells that there may be letters. It is quick.
func (s *Stream) Wake() {
	select {
	case s.kick <- struct{}{}:
	default: // it is told already
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running || s.closed {
		return
	}
	s.running = true
	s.work.Go(s.run)
}

// Close ends the hand-over. What is not handed over is found again by whoever leads the stream next.
func (s *Stream) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	s.work.Wait()
}

// Trouble returns why the letters of a consumer are not handed over, empty if nothing is known that stands in the way.
func (s *Stream) Trouble(consumer string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trouble[consumer]
}

// note notes what stands in the way, empty for nothing, and reports whether that is new.
func (s *Stream) note(consumer, why string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if why == "" {
		delete(s.trouble, consumer)
		return false
	}
	before := s.trouble[consumer]
	s.trouble[consumer] = why
	return before == ""
}

// rest ends the goroutine unless there may be more letters.
func (s *Stream) rest() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = len(s.kick) > 0
	return !s.running
}

// sleep waits until there may be more letters, or the time has passed.
func (s *Stream) sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.kick:
	case <-s.ctx.Done():
	}
}
