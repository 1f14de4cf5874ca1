package receipts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/causes"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/chore"
	"runnel/server/jetstream/clustered"
	"runnel/server/jetstream/ingest"
)

// Config says what a target stands on.
type Config struct {
	Account string // the name
	Domain  string // of the server, empty for none
	// Local returns a stream of the account that is led here, nil if it is not.
	Local func(stream string) *Origin
	// Exists tells whether there is a stream with this id, on a server alone, whether it works or not.
	Exists func(id uint64) bool
	// Asker asks the other servers, nil on a server alone.
	Asker *clustered.Asker
	// Now is the time of the target, and Propose carries a command of it out.
	Now     func() int64
	Propose func(context.Context, command.Command) (jetlog.Result, error)
	Logger  *slog.Logger     // default: nothing is logged
	Clock   func() time.Time // default time.Now
}

// Stream is a target, on the server that leads it. Its methods are safe for concurrent use.
type Stream struct {
	cfg    Config
	log    Log
	ctx    context.Context
	cancel context.CancelFunc
	paying *chore.Chore
	work   sync.WaitGroup
	asked  atomic.Uint64 // questions
	paid   atomic.Uint64 // what the target had paid when that was last looked at

	mu     sync.Mutex // guards everything below
	asking map[string]*asked
	closed bool
}

// Open begins to pay what a stream owes.
func Open(log Log, cfg Config) *Stream {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	s := &Stream{cfg: cfg, log: log, asking: map[string]*asked{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	p := &payer{s: s}
	s.paying = chore.New(p.step)
	_, paid, err := owes(log)
	if err != nil {
		cfg.Logger.Error("it is not known what a stream owes", "stream", log.Name(), "error", err)
	}
	s.paid.Store(paid)
	s.Owed()
	return s
}

// Owes reports whether a stream owes something, or that cannot be told.
func Owes(log Log) bool {
	is, _, err := owes(log)
	return is || err != nil
}

func owes(log Log) (is bool, paid uint64, err error) {
	err = log.View(func(state *jetlog.Stream, _ jetlog.Messages) error {
		is, paid = state.Causes().Owed() > 0, state.Causes().Paid()
		return nil
	})
	return is, paid, err
}

// Close ends the questions and the payments; what is owed is found again. Messages that wait for an answer get none. It does
// nothing of nil.
func (s *Stream) Close() {
	if s == nil {
		return
	}
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	s.paying.Close()
	s.work.Wait()
}

// start runs f in a goroutine, unless the stream is closed. The caller holds mu.
func (s *Stream) start(f func()) bool {
	if s.closed {
		return false
	}
	s.work.Go(f)
	return true
}

// begin is start for who does not hold mu.
func (s *Stream) begin(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.start(f)
}

// question is a delivery that is asked about, and who waits for the answer.
type question struct {
	ack   api.AckSubject
	paid  uint64 // what the target had paid before it was asked
	found ingest.Found
}

// Find finds out which delivery an acknowledgement is for; it is [ingest.Hooks.Cause].
func (s *Stream) Find(ack string, found ingest.Found) (c *causes.Cause, refusal *api.Error, known bool) {
	q := question{found: found}
	var ok bool
	if q.ack, ok = api.ParseAck(ack); !ok {
		return nil, api.NewError(api.AckInvalid, "it is not the subject on which a delivery is acknowledged"), true
	}
	if d := q.ack.Domain; d != "" && d != s.cfg.Domain {
		return nil, api.NewError(api.AckInvalid, "the delivery came from another domain, "+d), true
	}
	if s.cfg.Asker != nil && s.cfg.Asker.Cluster.Level() < command.KindSettle.Level() {
		return nil, api.NewError(api.LevelTooLow, "Runnel-Ack"), true
	}
	var err error
	if q.paid, err = s.paidBefore(); err != nil {
		return nil, s.unreachable(q.ack.Stream), true
	}
	if o := s.cfg.Local(q.ack.Stream); o != nil {
		if o.Log.ID() == s.log.ID() {
			// The stream decides that itself when the message is stored, if the delivery is one that there was.
			if incarnation := o.sent(delivery{q.ack.Consumer, q.ack.StreamSequence}); incarnation != 0 {
				return q.cause(s.log.ID(), incarnation), nil, true
			}
		}
		c, refusal = s.judge(o, &q)
		return c, refusal, true
	}
	if s.cfg.Asker == nil {
		return nil, s.missing(q.ack.Stream), true
	}
	a, exists := s.cfg.Asker.Cluster.Stream(s.cfg.Account, q.ack.Stream)
	if !exists {
		return nil, s.missing(q.ack.Stream), true
	}
	if !s.queue(a, q) {
		return nil, s.unreachable(q.ack.Stream), true
	}
	return nil, nil, false
}

// paidEvery is after how many questions it is looked how much the target has paid: an old number does no harm as long as it is
// far from causes.PaidMost behind.
const paidEvery = 256

// paidBefore returns how much the target had paid some questions ago, at most.
func (s *Stream) paidBefore() (paid uint64, err error) {
	if n := s.asked.Add(1); n%paidEvery != 0 {
		return s.paid.Load(), nil
	}
	err = s.log.View(func(state *jetlog.Stream, _ jetlog.Messages) error {
		paid = state.Causes().Paid()
		return nil
	})
	s.paid.Store(paid)
	return paid, err
}

// cause returns the delivery that a question is about.
func (q *question) cause(id, incarnation uint64) *causes.Cause {
	return &causes.Cause{
		Source:   causes.Source{ID: id, Stream: q.ack.Stream, Consumer: q.ack.Consumer, Incarnation: incarnation},
		Sequence: q.ack.StreamSequence, Paid: q.paid,
	}
}

func (s *Stream) missing(stream string) *api.Error {
	return api.NewError(config.CauseUnknown, "there is no stream "+stream+" in this account")
}

func (s *Stream) unreachable(stream string) *api.Error {
	return api.NewError(api.AckUnreachable, stream)
}

// judge asks a stream that is led here.
func (s *Stream) judge(o *Origin, q *question) (*causes.Cause, *api.Error) {
	findings, err := o.look([]delivery{{q.ack.Consumer, q.ack.StreamSequence}})
	if err != nil {
		return nil, s.unreachable(q.ack.Stream)
	}
	return s.conclude(o.Log.ID(), q, findings[0])
}

// conclude makes a cause of what was found out, or a refusal.
func (s *Stream) conclude(id uint64, q *question, f finding) (*causes.Cause, *api.Error) {
	c := q.cause(id, f.Incarnation)
	switch f.State {
	case waiting:
		return c, nil
	case unknown:
		return nil, api.NewError(config.CauseUnknown, "stream "+q.ack.Stream+" has no consumer "+q.ack.Consumer)
	case silent:
		return nil, api.NewError(api.AckInvalid, "consumer "+q.ack.Consumer+" wants no acknowledgements: ack_policy is none")
	case settled:
		if s.knows(c) { // so that who publishes again learns that all is well
			return c, nil
		}
	}
	return nil, api.NewError(config.CauseSettled)
}

// knows reports whether the target has what was made from a delivery.
func (s *Stream) knows(c *causes.Cause) (is bool) {
	err := s.log.View(func(state *jetlog.Stream, _ jetlog.Messages) error {
		_, is = state.Causes().Find(c)
		return nil
	})
	return err == nil && is
}

// asked are the questions for one stream, which another server leads. One call is under way at most; what comes meanwhile goes
// with the next.
type asked struct {
	assignment *clustered.Assignment
	questions  []question
}

// askTime bounds how long a message waits for what is found out about its acknowledgement.
const askTime = 3 * time.Second

// asksMost is how many questions go with one call.
const asksMost = 1024

// queue puts a question behind others for the same stream.
func (s *Stream) queue(a *clustered.Assignment, q question) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	if b := s.asking[q.ack.Stream]; b != nil {
		b.assignment, b.questions = a, append(b.questions, q)
		return true
	}
	b := &asked{a, []question{q}}
	s.asking[q.ack.Stream] = b
	return s.start(func() { s.askAll(q.ack.Stream, b) })
}

// askAll puts questions until there are none.
func (s *Stream) askAll(stream string, b *asked) {
	for {
		a, list := s.next(stream, b)
		if list == nil {
			return
		}
		s.put(a, list)
	}
}

// next returns what goes with the next call. When there is nothing it ends the questions for the stream.
func (s *Stream) next(stream string, b *asked) (*clustered.Assignment, []question) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(b.questions) == 0 {
		delete(s.asking, stream)
		return nil, nil
	}
	n := min(len(b.questions), asksMost)
	list := b.questions[:n:n]
	b.questions = b.questions[n:]
	return b.assignment, list
}

// put puts questions with one call, and tells those who wait.
func (s *Stream) put(a *clustered.Assignment, list []question) {
	i := inquiry{Deliveries: make([]delivery, len(list))}
	for n := range list {
		i.Deliveries[n] = delivery{list[n].ack.Consumer, list[n].ack.StreamSequence}
	}
	ctx, cancel := context.WithTimeout(s.ctx, askTime)
	defer cancel()
	r, err := s.call(ctx, a, &i)
	if err == nil && len(r.Findings) != len(list) {
		err = errAnswer
	}
	if err != nil {
		s.cfg.Logger.Debug("a stream cannot be asked whether it waits for acknowledgements", "stream", a.Config.Name, "error", err)
	}
	for n := range list {
		q := &list[n]
		if err != nil {
			q.found(nil, s.unreachable(q.ack.Stream))
			continue
		}
		q.found(s.conclude(a.ID, q, r.Findings[n]))
	}
}

// inquiry is what one server asks of another: one of both.
type inquiry struct {
	Deliveries []delivery `json:"deliveries,omitempty"`
	Payment    *payment   `json:"payment,omitempty"`
}

// answer is what it is told.
type answer struct {
	Findings []finding `json:"findings,omitempty"`
	Done     []uint64  `json:"done,omitempty"`
}

var errAnswer = errors.New("the answer does not fit the question")

// call asks whoever leads a stream.
func (s *Stream) call(ctx context.Context, a *clustered.Assignment, i *inquiry) (*answer, error) {
	body, err := json.Marshal(i)
	if err != nil {
		return nil, fmt.Errorf("ask stream %q: %w", a.Config.Name, err)
	}
	r, err := s.cfg.Asker.Leader(ctx, a, &clustered.Question{Kind: clustered.KindReceipts, Body: body})
	if err != nil {
		return nil, err
	}
	out := &answer{}
	if err := json.Unmarshal(r.Part, out); err != nil {
		return nil, fmt.Errorf("ask stream %q: %w", a.Config.Name, err)
	}
	return out, nil
}
