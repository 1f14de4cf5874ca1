package redrive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/chore"
	"runnel/server/jetstream/handover"
)

// Log is a dead-letter stream as its leader has it; *store.Stream is one.
type Log interface {
	ID() uint64
	Name() string
	Config() config.Stream
	State() jetlog.State
	View(do func(*jetlog.Stream, jetlog.Messages) error) error
	Read(from uint64, filter jetlog.Filter, messages, bytes int, yield func(*jetlog.Message) bool) (next uint64, err error)
	Propose(context.Context, command.Command) (jetlog.Result, error)
	Start(ctx context.Context, c command.Command, done func(jetlog.Result, error)) error
}

// Config says what letters are put back with. All is required.
type Config struct {
	Account string // the name
	Log     Log
	// Put puts messages into a stream of the account; see [handover.Putter].
	Put func(ctx context.Context, account, stream string, list []handover.Message) ([]handover.Outcome, error)
	// Now is the time of the stream, Clock that of the machine.
	Now   func() int64
	Clock func() time.Time
	// Changed is told that letters have gone, Ended that a redrive has.
	Changed func()
	Ended   func(*api.RedriveEnded)
	Logger  *slog.Logger
}

// Stream is the redrives of a dead-letter stream, on the server that leads it: one at a time. Its methods are safe for concurrent use.
// It has a goroutine while one runs.
type Stream struct {
	cfg   Config
	chore *chore.Chore

	mu       sync.Mutex // guards everything below
	job      *job       // that runs, as far as it is; nil for none
	stopping bool       // it is to end
	trouble  string     // why it does not go on for the time being
	ended    chan struct{}
	last     *api.DeadRedrive // that has ended, nil for none
}

// Open goes on with what runs.
func Open(cfg Config) *Stream {
	s := &Stream{cfg: cfg}
	r := &runner{s: s}
	s.chore = chore.New(r.step)
	if err := r.open(); err != nil {
		cfg.Logger.Warn("what is being put back cannot be read; trying again", "account", cfg.Account, "stream", cfg.Log.Name(), "error", err)
	}
	s.chore.Wake()
	return s
}

// Close ends the work here. Whoever leads the stream next goes on. It does nothing of nil.
func (s *Stream) Close() {
	if s != nil {
		s.chore.Close()
	}
}

// Begin begins a redrive. It is an error of the API if one runs, unless it is of one letter and of the same: whoever asks for it again has it.
func (s *Stream) Begin(ctx context.Context, q *api.DeadRedriveRequest) (*api.DeadRedrive, error) {
	name := s.cfg.Log.Name()
	if j, _ := s.current(); j != nil {
		if j.asks(q) {
			return s.Shown(), nil
		}
		return nil, api.NewError(api.RedriveRuns, name)
	}
	if cfg := s.cfg.Log.Config(); cfg.Sealed || cfg.DenyDelete {
		return nil, api.NewError(api.RedriveInvalid, "what is put back is deleted here, and stream "+name+" lets nothing be deleted")
	}
	j := newJob(q, s.cfg.Log.State(), s.cfg.Now(), s.cfg.Clock())
	c, err := j.write(command.CreateOnly, s.cfg.Now())
	if err != nil {
		return nil, err
	}
	r, err := s.cfg.Log.Propose(ctx, c)
	switch {
	case err != nil:
		return nil, fmt.Errorf("begin to put back: %w", err)
	case r.Code == config.ConsumerExists || r.Code == 0 && !r.Created:
		return nil, api.NewError(api.RedriveRuns, name)
	case r.Code != 0:
		return nil, api.NewError(r.Code, r.Detail)
	}
	s.take(j)
	s.chore.Wake()
	return s.Shown(), nil
}

// askTime bounds how long it is asked whether letters would be taken.
const askTime = 2 * time.Second

// Ask returns why a letter cannot be put back as things are, nil if it can, or if its stream cannot be asked now: then it waits.
func (s *Stream) Ask(ctx context.Context, m *jetlog.Message, to string) *api.Error {
	stream, message, err := Back(m, to)
	if err != nil {
		return api.NewError(api.RedriveInvalid, err.Error())
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	outcomes, err := s.cfg.Put(ctx, s.cfg.Account, stream, []handover.Message{message})
	var refusal *api.Error
	switch {
	case err == nil:
		refusal = outcomes[0].Refusal
	case !errors.Is(err, handover.ErrUnknown):
		errors.As(err, &refusal)
	}
	if refusal != nil && passes(refusal) {
		return nil
	}
	return refusal
}

// take has a job be the one that runs.
func (s *Stream) take(j *job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.job == nil {
		s.job, s.stopping, s.ended = j, false, make(chan struct{})
	}
}

// stopTime is how long Stop waits for the end.
const stopTime = 2 * time.Second

// Stop has the redrive end that runs, and waits a moment for that; it is an error of the API if none runs. What was put back stays so, and
// what was not stays a dead letter.
func (s *Stream) Stop(ctx context.Context) (*api.DeadRedrive, error) {
	s.mu.Lock()
	runs, ended := s.job != nil, s.ended
	s.stopping = s.stopping || runs
	s.mu.Unlock()
	if !runs {
		return nil, api.NewError(api.RedriveNone, s.cfg.Log.Name())
	}
	s.chore.Wake()
	ctx, cancel := context.WithTimeout(ctx, stopTime)
	defer cancel()
	select {
	case <-ended:
	case <-ctx.Done():
	}
	return s.Shown(), nil
}

// Shown returns the redrive that runs, otherwise the last one that has ended here; nil for none, and of nil. What is left is for who
// looks.
func (s *Stream) Shown() *api.DeadRedrive {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.job == nil {
		if s.last == nil {
			return nil
		}
		last := *s.last
		return &last
	}
	shown := s.job.shown()
	shown.Stopping, shown.Error = s.stopping, cmp.Or(s.trouble, shown.Error)
	return shown
}

// Left reports whether a message is still to be put back. It may be called of nil.
func (s *Stream) Left(m *jetlog.Message) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.job != nil && m.Sequence > s.job.At && m.Sequence <= s.job.Last && s.job.means(m)
}

// current returns a copy of the job that runs, nil for none, and whether it is to end.
func (s *Stream) current() (*job, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.job == nil {
		return nil, false
	}
	j := *s.job
	return &j, s.stopping
}

// note notes how far the job is.
func (s *Stream) note(j *job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.job != nil {
		*s.job = *j
	}
}

// waits notes why the job does not go on for the time being, empty if it does.
func (s *Stream) waits(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trouble = why
}

// finish lets the job go, and tells what has come of it.
func (s *Stream) finish(j *job, stopped bool) {
	now := s.cfg.Clock().UTC()
	last := j.shown()
	last.Ended, last.Stopped = &now, stopped
	s.mu.Lock()
	s.last, s.job, s.stopping, s.trouble = last, nil, false, ""
	close(s.ended)
	s.mu.Unlock()
	s.cfg.Ended(&api.RedriveEnded{Stream: s.cfg.Log.Name(), DeadRedrive: *last})
}
