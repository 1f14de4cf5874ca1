package ingest

import (
	"time"

	"runnel/server/jetstream/api"
)

// fastBatch is a series of messages that are stored as they come. Its publisher hears of them in groups, and where
// a message was missing or refused; in the mode in which that must not be, the batch then ends.
//
// In that mode a message may only go to the log when it is certain that those before it are stored. So behind a
// message that the stream may refuse, those that follow are parked until its result has come.
type fastBatch struct {
	id    string
	gapOK bool
	flow  int // as many messages between acknowledgements as the publisher wants at most

	// These belong to drain.
	last   uint64    // sequence of the last message
	active time.Time // when it came
	held   bool      // the result of a message is waited for
	ended  bool
	parked []*record // messages behind it, and barriers

	// These belong to the acker, once the first message has come there.
	count   uint64 // sequence of the last message that was stored
	stored  uint64 // its sequence in the stream
	told    uint64 // of the last flow acknowledgement
	granted int    // messages until the next
	broken  bool   // it has ended with an error
}

// step is the part of a message in a fast batch.
type step struct {
	batch       *fastBatch // nil for other messages
	sequence    uint64
	operation   operation
	conditional bool   // the stream may refuse it
	opening     bool   // it has opened the batch
	ending      bool   // it ends the batch without being stored
	holding     bool   // messages behind it wait for its result
	expected    uint64 // sequence that should have come, 0 if there is no gap
}

// advance takes a message of a fast batch.
func (s *Stream) advance(r *record, cfg *settings, m *marks) {
	f, ok := parseFastReply(r.reply)
	b := s.drained.fast[f.batch]
	opens := f.operation == opStart || f.operation == opCommit && f.sequence == 1
	limits := &s.ingest.cfg.Batch
	var err *api.Error
	switch {
	case !cfg.batched:
		err = api.NewError(api.BatchDisabled)
	case !ok:
		err = api.NewError(api.BatchPatternInvalid)
	case len(f.batch) > batchIDMax:
		err = api.NewError(api.BatchIDInvalid)
	case m.level && !api.LevelMet(r.header):
		err = api.NewError(api.LevelRequired)
	case b == nil && !opens:
		err = api.NewError(api.BatchUnknown)
	case b == nil && (len(s.drained.fast) >= limits.FastPerStream || s.ingest.fasts.Load() >= int64(limits.FastTotal)):
		err = api.NewError(api.BatchTooMany)
	case f.operation.stores():
		err = cfg.oversize(r)
	}
	if err != nil {
		s.refuse(r, err)
		return
	}
	r.step = step{batch: b, sequence: f.sequence, operation: f.operation, conditional: cfg.conditional(m)}
	if b == nil {
		r.step.batch, r.step.opening = s.openFast(f), true
	}
	s.dropLevel(r, m)
	c := s.publish(r, m)
	r.command = &c
	s.step(r)
}

// step lets a message be the next of its batch, or parks it.
func (s *Stream) step(r *record) {
	b := r.step.batch
	b.active = s.ingest.cfg.Clock()
	if b.held {
		s.park(b, r)
		return
	}
	if !s.inPlace(r) {
		s.endFast(b)
		r.step.ending = true
	}
	if r.step.operation == opEnd || r.step.operation == opCommit {
		s.endFast(b)
		r.step.ending = r.step.ending || r.step.operation == opEnd
	}
	if r.step.ending || r.step.operation == opPing {
		r.task = stepping
		s.follow(r)
		return
	}
	s.storeStep(r)
}

// park lets a record wait, still on the queue's account.
func (s *Stream) park(b *fastBatch, r *record) {
	b.parked = append(b.parked, r)
	s.drained.parked++
	s.drained.left.remove(r)
}

// inPlace moves the batch to a message, and reports whether it may go on with it.
func (*Stream) inPlace(r *record) bool {
	b, seq := r.step.batch, r.step.sequence
	expected := b.last + 1
	if r.step.operation == opPing {
		if seq <= b.last {
			return true
		}
		seq++ // a ping names the last message, not itself
	}
	if seq != expected {
		r.step.expected = expected
		if !b.gapOK || seq < expected {
			return false
		}
	}
	b.last = seq
	if r.step.operation == opPing {
		b.last--
	}
	return true
}

// storeStep stores a message of a batch.
func (s *Stream) storeStep(r *record) {
	b, cfg := r.step.batch, s.settings.Load()
	strict := !b.gapOK
	if r.refusal = s.admit(r.size()); r.refusal != nil {
		s.follow(r)
		if strict {
			s.endFast(b)
		}
		return
	}
	r.step.holding = strict && !b.ended && (r.step.conditional || !s.roomy(cfg))
	b.held = r.step.holding
	s.add(r, *r.command)
}

// resume goes on with a batch when the result of a message has come.
func (s *Stream) resume(b *fastBatch, failed bool) {
	b.held = false
	if failed {
		s.endFast(b)
	}
	parked := b.parked
	b.parked = nil
	for i, r := range parked {
		if b.held {
			b.parked = parked[i:]
			return
		}
		s.drained.parked--
		s.drained.left.add(r)
		switch {
		case r.task == barring:
			s.passParked(r)
		case b.ended:
			r.step = step{}
			s.refuse(r, api.NewError(api.BatchUnknown))
		default:
			s.step(r)
		}
	}
}

// bar lets a barrier wait for what is parked, or pass.
func (s *Stream) bar(r *record) {
	r.waits = 1
	if s.drained.parked > 0 {
		for _, b := range s.drained.fast {
			if len(b.parked) > 0 {
				s.park(b, r)
				r.waits++
			}
		}
	}
	s.passParked(r)
}

// passParked lets a barrier pass when nothing is parked before it any more.
func (s *Stream) passParked(r *record) {
	if r.waits--; r.waits > 0 {
		return
	}
	s.follow(r)
}

func (s *Stream) openFast(f fastReply) *fastBatch {
	if s.drained.fast == nil {
		s.drained.fast = make(map[string]*fastBatch)
	}
	b := &fastBatch{id: f.batch, gapOK: f.gapOK, flow: f.flow}
	s.drained.fast[f.batch] = b
	s.ingest.fasts.Add(1)
	b.granted = 1
	if s.fastOpen.Add(1) == 1 {
		b.granted = s.share(b)
	}
	s.watch()
	return b
}

func (s *Stream) endFast(b *fastBatch) {
	if b.ended {
		return
	}
	b.ended = true
	delete(s.drained.fast, b.id)
	s.ingest.fasts.Add(-1)
	s.fastOpen.Add(-1)
}
