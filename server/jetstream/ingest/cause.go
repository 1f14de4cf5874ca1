package ingest

import (
	"runnel/headers"
	"runnel/jetlog/causes"
	"runnel/server/jetstream/api"
)

// A message that acknowledges another one has to wait until it is known whether that waits for it, unless that is known at
// once. Meanwhile it is in no queue; when it comes back it is stored behind what has come since.

// Found is told what was found out about an acknowledgement: the delivery that it is for, or why it cannot be followed.
type Found func(*causes.Cause, *api.Error)

// askedMost is how many messages of a stream may wait for what is found out.
const askedMost = 16384

// acknowledging lets a message be stored once it is known which delivery it acknowledges.
func (s *Stream) acknowledging(r *record, cfg *settings, m *marks) {
	ack := string(m.ack)
	r.header = headers.Delete(r.header, api.AckHeader)
	if s.ask(r, ack) {
		s.store(r, cfg, m)
	}
}

// ask finds out which delivery an acknowledgement is for. It is true if the message can go on; if not it is refused, or comes
// back later.
func (s *Stream) ask(r *record, ack string) bool {
	if s.hooks.Cause == nil || s.asked.Load() >= askedMost {
		s.refuse(r, api.NewError(api.AckUnreachable, s.log.Name()))
		return false
	}
	s.asked.Add(1)
	c, refusal, known := s.hooks.Cause(ack, func(c *causes.Cause, refusal *api.Error) {
		r.cause, r.refusal, r.task = c, refusal, resolved
		s.comeBack(r)
	})
	if !known {
		return false
	}
	s.asked.Add(-1)
	if refusal != nil {
		s.refuse(r, refusal)
		return false
	}
	r.cause = c
	return true
}

// settlesFirst reports whether a message that is a duplicate has something to acknowledge before that can be said: the stream knows it by
// its id, or by its producer's number, and not by the delivery that it was made from. Who published it hears of it later.
func (s *Stream) settlesFirst(r *record) bool {
	if r.cause == nil || !r.result.Duplicate || s.hooks.Settle == nil {
		return false
	}
	later := s.ingest.record(s)
	later.reply, later.result = r.reply, r.result
	s.unsettled.Add(1)
	if s.asked.Add(1) > askedMost {
		s.told(later, false)
		return true
	}
	if s.hooks.Settle(r.cause, func(settled bool) { s.told(later, settled) }) {
		s.asked.Add(-1)
		s.settle(later)
		return false
	}
	return true
}

// told answers a message of settlesFirst.
func (s *Stream) told(r *record, settled bool) {
	s.asked.Add(-1)
	if !settled {
		r.refusal = api.NewError(api.AckUnreachable, s.log.Name())
	}
	s.acker.push(r)
}

// comeBack puts a message into the queue again about which everything is known.
func (s *Stream) comeBack(r *record) {
	s.asked.Add(-1)
	if !s.enqueue(r) {
		s.ingest.release(r)
	}
	s.unsettled.Add(-1) // it was counted when it came first
}

// resolved lets a message that has come back be stored, or refuses it.
func (s *Stream) resolved(r *record, cfg *settings, m *marks) {
	r.task = storing
	switch {
	case r.refusal != nil:
		s.acker.push(r)
	case r.batch != nil:
		s.startBatch(r)
	default:
		s.store(r, cfg, m)
	}
}
