package deadletters

import (
	"context"
	"log/slog"
	"sync"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/server/jetstream/chore"
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
	cfg   Config
	chore *chore.Chore

	mu      sync.Mutex // guards trouble
	trouble map[string]string
}

// Open begins to hand over what there is.
func Open(cfg Config) *Stream {
	s := &Stream{cfg: cfg, trouble: map[string]string{}}
	p := &postman{s: s}
	s.chore = chore.New(p.step)
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
func (s *Stream) Wake() { s.chore.Wake() }

// Close ends the hand-over. What is not handed over is found again by whoever leads the stream next.
func (s *Stream) Close() { s.chore.Close() }

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
