package engine

import (
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"runnel/server/accounts"
	"runnel/server/engine/lines"
	"runnel/server/engine/outbound"
	"runnel/server/wire"
)

const (
	// stageTargets: with so many targets in a batch the worker flushes early, which bounds its memory.
	stageTargets = 256
	// sweepInterval is how often a worker looks for memory that it no longer needs.
	sweepInterval = int64(time.Second)
)

// totals are a worker's share of the server's counters. Written by the worker once a batch, read by all.
type totals struct {
	inMessages, inBytes, outMessages, outBytes atomic.Int64
}

// desk has the stages of a worker.
type desk struct {
	stages []*stage // by slot of the line
	dirty  []*stage // in the order in which they were begun
	free   []*stage
	widest int // most targets of one batch since the last sweep
}

// worker does the work of whoever holds it; see the package comment. One goroutine uses it at a time.
type worker struct {
	engine *Engine
	match  matchCache
	parser wire.Parser
	frame  wire.Frame
	random *rand.Rand

	desk

	// slow is a target that fell behind during this batch, and pressing the publisher of what it was sent last,
	// which may be parked for it.
	slow, pressing *lines.Line
	// pressed: an internal subscriber asked that the connection be parked whose input was processed last.
	pressed bool
	held    time.Duration // how long it is not to be read, as one asked

	ending []Flusher // internal subscribers who wait for the end of the batch

	serving       *Internal // whose handler runs
	answers       []answer  // of handlers, to the message that is being routed
	answersMemory []byte    // that they take

	far    abroad  // of messages from and to other servers
	traced *traced // the message that is being routed, if its way is told; else nil

	need int // how long the frame is at least that input has left the beginning of; 0 when not known

	letter  *letter       // scratch of messages that are not delivered as they came, and
	travels travels       // of those that go on into other accounts
	message Message       // scratch of internal deliveries
	scratch lines.Scratch // of the transport
	totals  totals

	// of the connection whose input is being processed, from:
	from                *lines.Line
	profile             *accounts.Profile
	flags               flag
	inMessages, inBytes int64

	swept      int64 // when the cache was swept, and
	sweptAfter int64 // how many connections had ended by then
}

func newWorker(e *Engine, cacheSize int) *worker {
	w := &worker{
		engine: e,
		match:  newMatchCache(cacheSize),
		random: rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())),
		letter: new(letter),
	}
	w.match.tooFar, w.match.routing = e.tooFar, e.routing
	return w
}

// input processes what a connection has sent so far and returns how much of it is used up. The rest is the
// beginning of a frame; keep it, and read on, to a length of at least w.need. The caller flushes.
// After lines.ErrSuspended the connection must not be read until it is woken; any other error has ended it.
func (w *worker) input(c *Conn, b []byte) (used int, err error) {
	w.adopt(c)
	w.pressed, w.held = false, 0
	for used < len(b) {
		n, err := w.parser.Next(b[used:], &w.frame)
		if err != nil {
			w.finish(c)
			return used, w.violation(c, err)
		}
		if n == 0 && w.profile == nil && w.parser.Need() > 0 {
			// A message has begun: nothing is kept of it for who may not send one.
			if err := w.identify(c, wire.Connect{}); err != nil {
				return used, err
			}
			continue
		}
		if n == 0 {
			break
		}
		used += n
		if w.flags&flagTrace != 0 {
			w.traceIn(c, &w.frame)
		}
		if w.frame.Verb <= wire.VerbHPub && w.profile != nil {
			err = w.publish(c, &w.frame)
		} else {
			err = w.control(c, &w.frame)
		}
		if err != nil {
			w.finish(c)
			return used, err
		}
	}
	w.finish(c)
	return used, nil
}

// adopt takes over who c is and what it may send: for a batch of its frames, and again after a change within one.
func (w *worker) adopt(c *Conn) {
	s := w.engine.settings.Load()
	w.parser = wire.Parser{Limits: wire.Limits{ControlLineBytes: s.MaxControlLineBytes, PayloadBytes: s.MaxPayloadBytes}}
	w.from = &c.line
	w.profile = c.profile.Load()
	w.flags = flag(c.flags.Load())
	if s.Trace {
		w.flags |= flagTrace
	}
	if w.profile == nil {
		return
	}
	limits := w.profile.Account().Limits()
	w.parser.PayloadBytes = limits.Payload(w.parser.PayloadBytes)
	if g := c.identity.Load().Grant; g != nil {
		w.parser.PayloadBytes = g.Limits.Payload(w.parser.PayloadBytes)
	}
}

// finish adds what was counted to the connection, its account and the server.
func (w *worker) finish(c *Conn) {
	w.need = w.parser.Need()
	c.line.Touch()
	w.engine.tell()
	if w.inMessages == 0 {
		return
	}
	c.line.InMessages.Add(w.inMessages)
	c.line.InBytes.Add(w.inBytes)
	w.totals.inMessages.Add(w.inMessages)
	w.totals.inBytes.Add(w.inBytes)
	if w.profile != nil {
		t := &w.profile.Account().Traffic
		t.InMsgs.Add(w.inMessages)
		t.InBytes.Add(w.inBytes)
	}
	w.inMessages, w.inBytes = 0, 0
}

// violation ends c for what it sent.
func (w *worker) violation(c *Conn, err error) error {
	e, ok := errors.AsType[*wire.Error](err)
	if !ok {
		e = wire.ErrUnknownOperation
	}
	reason := ReasonParseError
	switch e {
	case wire.ErrPayload:
		reason = ReasonMaxPayload
	case wire.ErrControlLine:
		reason = ReasonMaxControlLine
	}
	w.engine.logger.Error("protocol error", "cid", c.ID(), "error", e.Error())
	return w.refuse(c, reason, e.Text)
}

// refuse ends c with an error text; what it was owed before is written first.
func (w *worker) refuse(c *Conn, reason Reason, text string) error {
	w.flush()
	c.Close(reason, text)
	return errors.New(reason.String())
}

// rest makes w forget what the batch that was flushed is about: it is nothing to the next one.
func (w *worker) rest() {
	w.slow, w.pressing, w.from, w.pressed, w.held = nil, nil, nil, false, 0
	w.letter.header, w.letter.payload = nil, nil
}

// stageFor returns the stage of a line in this batch.
func (w *worker) stageFor(l *lines.Line) *stage {
	if int(l.Slot) >= len(w.stages) {
		w.stages = append(w.stages, make([]*stage, int(l.Slot)+64-len(w.stages))...)
	}
	s := w.stages[l.Slot]
	if s != nil && s.line == l {
		return s
	}
	if s != nil || len(w.dirty) >= stageTargets {
		// The slot's former connection is gone, or the batch has grown too wide.
		w.flush()
	}
	if n := len(w.free); n > 0 {
		s = w.free[n-1]
		w.free = w.free[:n-1]
	} else {
		s = &stage{}
	}
	s.line = l
	w.stages[l.Slot] = s
	w.dirty = append(w.dirty, s)
	return s
}

// reply is say to a client.
func (w *worker) reply(c *Conn, b []byte) { w.say(&c.line, b) }

// say stages bytes of the server's own for a line, behind what it was sent before.
func (w *worker) say(l *lines.Line, b []byte) {
	s := w.stageFor(l)
	if s.Full(len(b)) {
		w.flushStage(s)
	}
	s.Own = append(s.Own, b...)
}

// Say implements lines.Worker, as what follows.
func (w *worker) Say(l *lines.Line, b []byte) { w.say(l, b) }

// Flush is flush.
func (w *worker) Flush() { w.flush() }

// Need is how long the frame is that input has left the beginning of.
func (w *worker) Need() int { return w.need }

// Pressure says who is to be paused for whom.
func (w *worker) Pressure() lines.Pressure {
	return lines.Pressure{Slow: w.slow, Publisher: w.pressing, Hold: w.hold()}
}

// Ease forgets who is to be paused for whom.
func (w *worker) Ease() { w.slow, w.pressing = nil, nil }

// Sweep is maybeSweep.
func (w *worker) Sweep() { w.maybeSweep() }

// Scratch is the memory of a writer.
func (w *worker) Scratch() *lines.Scratch { return &w.scratch }

// flush writes all stages of the batch, and ends it for internal subscribers. Afterwards nothing points into the read
// buffer.
func (w *worker) flush() {
	for i := 0; i < len(w.dirty); i++ {
		s := w.dirty[i]
		w.flushStage(s)
		w.stages[s.line.Slot] = nil
		s.line = nil
		w.dirty[i] = nil
		w.free = append(w.free, s)
	}
	w.widest = max(w.widest, len(w.dirty))
	w.dirty = w.dirty[:0]
	if len(w.ending) > 0 {
		w.endBatch()
	}
}

// flushStage writes one stage or queues what the socket does not take, and empties it.
func (w *worker) flushStage(s *stage) {
	if s.Bytes() == 0 {
		return
	}
	l := s.line
	w.count(s)
	v, broken := l.Write(&s.Batch, &w.scratch)
	if broken {
		l.End(ReasonWriteError, nil, false)
	}
	switch v {
	case outbound.Park:
		w.slow, w.pressing = l, s.from
	case outbound.Slow:
		w.engine.slowConsumer(l, ReasonSlowPending, s.last)
	}
	s.reset()
}

// count adds a stage's deliveries to the counters.
func (w *worker) count(s *stage) {
	if s.messages == 0 {
		return
	}
	n, bytes := int64(s.messages), int64(s.payload)
	l := s.line
	l.OutMessages.Add(n)
	l.OutBytes.Add(bytes)
	w.totals.outMessages.Add(n)
	w.totals.outBytes.Add(bytes)
	l.Touch()
	if a := userOf(l).Account(); a != nil {
		a.Traffic.OutMsgs.Add(n)
		a.Traffic.OutBytes.Add(bytes)
	}
	s.messages, s.payload = 0, 0
}

// maybeSweep gives up, now and then, stages that the last batches did not need and match entries that no longer
// hold, which would keep closed connections alive.
func (w *worker) maybeSweep() {
	now := w.engine.env.Clock.Load()
	if now-w.swept < sweepInterval {
		return
	}
	w.swept = now
	if len(w.free) > w.widest {
		clear(w.free[w.widest:])
		w.free = w.free[:w.widest]
	}
	w.widest = 0
	if ended := w.engine.ended.Load(); ended != w.sweptAfter {
		w.sweptAfter = ended
		w.match.sweep()
	}
}
