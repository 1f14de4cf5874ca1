package ingest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"runnel/jetlog"
	"runnel/server/accounts"
)

// Stream takes in what is published on the subjects of one stream. Its methods are safe for concurrent use.
type Stream struct {
	ingest   *Ingest
	account  *accounts.Account
	log      Log
	hooks    Hooks
	acker    *acker
	settings atomic.Pointer[settings]

	// ctx ends when Close does not wait any longer for the log.
	ctx    context.Context
	cancel context.CancelFunc
	ending sync.Once

	asked     atomic.Int64   // messages that wait for what is found out
	unsettled atomic.Int64   // records that were taken and not released
	crowded   atomic.Bool    // a message was refused since the queue was empty
	fastOpen  atomic.Int64   // fast batches
	draining  sync.WaitGroup // for drain

	mu     sync.Mutex // guards everything below
	room   room       // that is taken by the queue, with what drain has and has not handed on
	queue  []*record
	active bool // somebody drains
	memory slab // where small messages are put
	// subject is that of the last message: the next one has it often, too.
	subject string
	closed  bool // no more messages
	ended   bool // nothing more

	drained drained // belongs to drain
	acked   acked   // belongs to the acker
}

// drained is what drain knows of a stream.
type drained struct {
	batch   []*record // what was taken from the queue, from next on still to be handled
	next    int
	left    room   // what has left the queue since it was last told
	pack    *pack  // what is about to go to the log, nil for nothing
	started uint64 // commands that the log took, or will have in pack
	largest int    // message, in bytes
	atomic  map[string]*atomicBatch
	fast    map[string]*fastBatch
	parked  int         // in fast batches
	timer   *time.Timer // while a batch is open
}

// acked is what the acker knows of a stream.
type acked struct {
	count   uint64    // commands that the log answered
	waiting []*record // for more answers, in the order of their targets
}

// closeGrace is how long Close waits for a log that takes or answers nothing: one that is replicated answers within 4 s.
const closeGrace = 4500 * time.Millisecond

// spareMax is how much empty queue an idle stream keeps.
const spareMax = 2 * packMessages

func newStream(g *Ingest, a *accounts.Account, log Log, h Hooks) *Stream {
	s := &Stream{ingest: g, account: a, log: log, hooks: h}
	s.acker = g.ackers[int(g.next.Add(1))%len(g.ackers)]
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.Configure()
	return s
}

// Name returns the name of the stream.
func (s *Stream) Name() string { return s.log.Name() }

// Configure takes the log's configuration over. It is to be called after a new one was applied.
func (s *Stream) Configure() {
	cfg := s.log.Config()
	s.settings.Store(newSettings(&cfg, s.ingest.cfg.Logger))
}

// Take takes a message over that was published on one of the stream's subjects: it copies it and returns. Flush is to
// be called then, once for many. It is false when there was no room, and the publisher is told so with a 429 status,
// or when the stream is closed, and it is told that a second later.
func (s *Stream) Take(subject, reply, header, payload []byte) bool {
	r := s.ingest.record(s)
	taken, full := s.takeIn(r, subject, reply, header, payload)
	if !taken {
		s.ingest.release(r)
	}
	if full {
		s.overflow(reply)
	}
	return taken
}

func (s *Stream) takeIn(r *record, subject, reply, header, payload []byte) (taken, full bool) {
	cfg := s.settings.Load()
	keep := cfg.memory
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		if len(reply) > 0 && !cfg.noAck {
			s.ingest.Refuse(s.account, reply)
		}
		return false, false
	}
	bytes := len(subject) + len(reply) + len(header) + len(payload)
	if s.full(bytes) || !s.ingest.charge(r, bytes) {
		return false, true
	}
	if string(subject) != s.subject {
		s.subject = string(subject)
	}
	header, payload = s.memory.put(header, payload, keep)
	r.fill(s.subject, reply, header, payload)
	s.append(r)
	return true, false
}

// full reports whether the queue has no room for a message. The caller holds mu.
func (s *Stream) full(bytes int) bool {
	cfg := &s.ingest.cfg
	return s.room.messages >= cfg.QueueMessages || s.room.bytes+bytes > cfg.QueueBytes
}

// append puts a record behind all others. The caller holds mu.
func (s *Stream) append(r *record) {
	s.room.add(r)
	s.unsettled.Add(1)
	s.queue = append(s.queue, r)
}

// overflow lets the acker refuse a message, and log it if it is the first of many.
func (s *Stream) overflow(reply []byte) {
	if s.settings.Load().noAck {
		reply = nil
	}
	first := s.crowded.CompareAndSwap(false, true)
	if len(reply) == 0 && !first {
		return
	}
	r := s.ingest.record(s)
	r.task, r.reply, r.first = overflowing, string(reply), first
	s.unsettled.Add(1)
	if !s.acker.offer(r) {
		s.settle(r)
	}
}

// Announce tells of a message that somebody else had stored, with the result of that: it is republished, and given
// to Hooks.Stored, behind what was taken before. The message must not change any more. It is for what the server
// itself stores, and waits while much is to be told.
func (s *Stream) Announce(m jetlog.Message, result jetlog.Result) {
	r := s.ingest.record(s)
	r.task, r.result = announcing, result
	r.subject, r.header, r.payload, r.at = m.Subject, m.Header, m.Payload, m.Time
	r.result.Sequence = m.Sequence
	s.acker.admit(s.ctx, true)
	if !s.enqueue(r) {
		s.ingest.release(r)
	}
}

// enqueue puts a record behind all others, and sees to it that it is handled. It is false when the stream is closed.
func (s *Stream) enqueue(r *record) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || s.closed && r.task == idling {
		return false
	}
	s.append(r)
	if !s.active {
		s.active = true
		s.draining.Go(s.drain)
	}
	return true
}

// room is what the queue has.
type room struct{ messages, bytes int }

func (o *room) add(r *record) {
	o.messages++
	o.bytes += r.bytes()
}

func (o *room) remove(r *record) {
	o.messages--
	o.bytes -= r.bytes()
}

// settle ends a record.
func (s *Stream) settle(r *record) {
	s.ingest.release(r)
	s.unsettled.Add(-1)
}

// Barrier waits until everything that was taken before the call is stored or refused, and the publishers are told
// so.
func (s *Stream) Barrier(ctx context.Context) error {
	if s.unsettled.Load() == 0 {
		return nil
	}
	r := s.ingest.record(s)
	reached := make(chan struct{})
	r.task, r.reached = barring, reached
	if !s.enqueue(r) {
		s.ingest.release(r)
		return nil
	}
	select {
	case <-reached:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for what was published to stream %q: %w", s.log.Name(), ctx.Err())
	}
}

// now is the time of the stream in the form of commands.
func (s *Stream) now() int64 {
	if s.hooks.Now == nil {
		return s.ingest.cfg.Clock().UnixNano()
	}
	return s.hooks.Now()
}

// Close ends the stream: it takes no more, and returns when what was taken is carried out and answered. It does
// not wait for more than five seconds for a log that takes or answers nothing; what is left then gets no answer.
// Calling it again does nothing.
func (s *Stream) Close() { s.ending.Do(s.end) }

func (s *Stream) end() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), closeGrace)
	defer cancel()
	if err := s.Barrier(ctx); err != nil {
		s.ingest.cfg.Logger.Warn("some messages get no answer", "stream", s.log.Name(), "error", err)
	}
	s.cancel()
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.draining.Wait()
	s.forgetBatches()
	s.ingest.forget(s)
}
