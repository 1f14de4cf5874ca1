package sourcing

import (
	"strconv"
	"time"

	"runnel/headers"
	"runnel/jetlog"
	"runnel/jetlog/content"
	"runnel/server/engine"
	"runnel/server/jetstream/api"
)

// running is what the goroutine of a puller knows.
type running struct {
	sink  sink
	level int               // of the API that is asked for; see levelFull
	held  []*engine.Message // messages that wait for the answer, or for room in flight

	attempts int       // in vain, in a row
	rests    time.Time // until when nothing is tried; zero: not resting
	due      time.Time // by when the answer has to be there

	flights, flightBytes int        // commands that were started and not answered, and the bytes of their messages
	broken               bool       // one of them has failed: nothing more is started until all are answered
	refusal              *api.Error // why the last one was refused, nil if it was not
	started, settled     uint64     // commands in all
	applied              uint64     // sequence of the origin up to which everything is stored
	flows                []flow
}

// sink turns messages of an origin into commands. It belongs to the goroutine of its puller.
type sink interface {
	// start finds out where to go on, and returns what the state of the stream says. Nothing is in flight.
	start() (position, error)
	// add takes a message, which is stored with flush at the latest.
	add(m *incoming)
	// flush starts what was added.
	flush()
	// settled takes what became of a command; it is false if the puller has to begin anew.
	settled(o *outcome) bool
	// from notes the identity of the origin, empty if it has none, and is false if it is not the one that messages came
	// from before.
	from(identity string) bool
	// pass goes on behind a sequence of the origin, before which it has nothing more. Nothing was added yet.
	pass(sequence uint64)
	// forget lets the next start begin at the beginning, since the origin is another one.
	forget()
}

// position is where a puller goes on.
type position struct {
	last     uint64 // sequence of the origin that is here, 0 for none
	identity string // of the origin that it belongs to, empty if it is not known
}

// incoming is a message of the origin.
type incoming struct {
	subject         string // under which it is stored
	original        string // under which it came
	header, payload []byte
	sequence        uint64
	time            int64
}

// outcome is what became of a command.
type outcome struct {
	messages []jetlog.Message // that it has brought
	sequence uint64           // the last one's at the origin
	bytes    int
	result   jetlog.Result
	err      error
}

// flow is a request of flow control that is answered when the commands before it are settled.
type flow struct {
	subject string
	after   uint64 // commands
}

// turn looks at all that has come.
func (p *puller) turn(b *mailbox) {
	for _, o := range b.outcomes {
		p.settle(o)
	}
	if p.isClosed() {
		return
	}
	if b.renew {
		p.leave()
	}
	if b.hurry || b.renew {
		p.run.attempts, p.run.rests = 0, time.Time{}
	}
	if b.answer != nil {
		p.answered(b.answer)
	}
	if p.session != nil {
		p.run.held = append(p.run.held, b.messages...)
	}
	p.process()
	p.answerFlows()
	p.care()
}

// settle takes what became of a command.
func (p *puller) settle(o *outcome) {
	r := &p.run
	r.flights--
	r.flightBytes -= o.bytes
	r.settled++
	if w := o.result.Withdrawn; len(w) > 0 && p.stream.hooks.Withdrawn != nil {
		p.stream.hooks.Withdrawn(w)
	}
	switch ok := r.sink.settled(o); {
	case !ok:
		r.broken = true
	case !r.broken:
		r.applied = max(r.applied, o.sequence)
		r.attempts = 0
	}
}

// process looks at the messages that wait, as far as there is room for them.
func (p *puller) process() {
	r := &p.run
	done := 0
	for _, m := range r.held {
		s := p.session
		if s == nil || !s.answered || r.broken || r.flights >= flightsMost || r.flightBytes >= flightBytesMost {
			break
		}
		done++
		p.drop(m)
		p.look(s, m)
	}
	if p.session == nil {
		return // whatever failed has let go of the rest
	}
	r.sink.flush()
	r.held = r.held[:copy(r.held, r.held[done:])]
	if len(r.held) == 0 {
		r.held = nil
	}
}

// drop takes a message off the count of what waits.
func (p *puller) drop(m *engine.Message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bytes -= m.Bytes() + messageOverhead
}

// refuse notes and shows why something was not stored; nil when it was.
func (p *puller) refuse(why *api.Error) {
	p.run.refusal = why
	p.show(func(v *shown) { v.failed = why })
}

// sequenceMost is the largest sequence that a stream can have.
const sequenceMost = 1 << 62

// look takes one message of the origin's consumer.
func (p *puller) look(s *session, m *engine.Message) {
	if string(m.Subject) == s.deliver {
		if code, _ := headers.StatusOf(m.Header); code != 0 && len(m.Payload) == 0 {
			p.control(s, m, code)
		}
		return // else a client has published there: messages of the origin have subjects of their own
	}
	ack, ok := api.ParseAck(string(m.Reply))
	if !ok {
		return // somebody else speaks here
	}
	switch {
	case ack.ConsumerSequence < s.next || s.next == 1 && ack.ConsumerSequence != 1 && s.shared:
		return // from before
	case ack.ConsumerSequence > s.next, ack.StreamSequence > sequenceMost:
		p.fail(nil)
		return
	}
	s.next++
	p.show(func(v *shown) { v.lag = ack.Pending })
	in := incoming{
		original: string(m.Subject), header: expectNothing(m.Header), payload: m.Payload, sequence: ack.StreamSequence, time: ack.Time,
	}
	if p.filter != nil && p.filter.Match(in.original, in.header, in.payload) != content.Match {
		return // the next one that is taken over says where it was
	}
	if in.subject, ok = p.maps.apply(in.original); ok {
		p.run.sink.add(&in)
	}
}

// control takes a heartbeat or a request of flow control.
func (p *puller) control(s *session, m *engine.Message, code int) {
	if code != 100 {
		p.fail(nil)
		return
	}
	p.run.sink.flush()
	if len(m.Reply) > 0 {
		p.run.flows = append(p.run.flows, flow{subject: string(m.Reply), after: p.run.started})
		return
	}
	p.run.attempts = 0
	if stalled, ok := headers.Get(m.Header, "Nats-Consumer-Stalled"); ok {
		p.run.flows = append(p.run.flows, flow{subject: string(stalled), after: p.run.started})
	}
	last, ok := headers.Get(m.Header, "Nats-Last-Consumer")
	if !ok {
		return
	}
	if n, err := strconv.ParseUint(string(last), 10, 64); err == nil && n >= s.next {
		p.fail(nil)
	}
}

// answerFlows answers flow control as far as what came before is stored.
func (p *puller) answerFlows() {
	r := &p.run
	done := 0
	for _, f := range r.flows {
		s := p.session
		if s == nil || r.broken || f.after > r.settled {
			break
		}
		done++
		var header []byte
		if s.acknowledges {
			header = headers.Build(
				headers.Field{Name: "Nats-Last-Consumer", Value: strconv.FormatUint(s.next-1, 10)},
				headers.Field{Name: "Nats-Last-Stream", Value: strconv.FormatUint(max(r.applied, s.from), 10)},
			)
		}
		p.publish(f.subject, "", header, nil)
	}
	r.flows = r.flows[done:]
	if len(r.flows) == 0 {
		r.flows = nil
	}
}

// fail gives the consumer up, to try again after a pause. What is in flight still counts.
func (p *puller) fail(why *api.Error) {
	r := &p.run
	p.leave()
	p.show(func(v *shown) { v.failed = why })
	pause := min(retryLeast<<min(r.attempts, 10), retryMost)
	r.attempts++
	r.rests = time.Now().Add(pause)
}

// leave lets go of the session and of what came by it.
func (p *puller) leave() {
	p.run.held, p.run.flows = nil, nil
	p.mu.Lock()
	s := p.session
	p.session = nil
	p.drain()
	p.mu.Unlock()
	if s != nil {
		s.cancel()
		s.leave()
	}
}

// drain forgets the messages in the mailbox. The caller holds mu.
func (p *puller) drain() {
	p.box.messages, p.box.answer = nil, nil
	p.bytes, p.full = 0, false
}

// care sees to it that there is a session, or that there will be one, and when to look again.
func (p *puller) care() {
	r := &p.run
	now := time.Now()
	if s := p.session; s != nil {
		switch {
		case r.broken:
			p.fail(r.refusal)
		case p.overflown():
			p.fail(nil)
		case s.answered && len(r.held) == 0 && now.Sub(p.lastHeard()) >= silenceMost:
			p.fail(nil)
		case !s.answered && !now.Before(r.due):
			p.fail(nil)
		}
	}
	if p.session == nil && r.flights == 0 && !now.Before(r.rests) {
		r.broken = false
		p.connect()
	}
	switch s := p.session; {
	case s == nil && r.flights > 0:
		return // the last outcome wakes us
	case s == nil:
		p.alarm(r.rests)
	case !s.answered:
		p.alarm(r.due)
	case len(r.held) > 0:
		p.alarm(now.Add(silenceMost)) // the log is slow, not the origin
	default:
		p.alarm(p.lastHeard().Add(silenceMost))
	}
}
