package ingest

import (
	"context"
	"errors"

	"runnel/jetlog"
	"runnel/jetlog/config"
	"runnel/jetlog/store"
	"runnel/server/jetstream/api"
)

// arrive takes a record that has come to the acker, and keeps it as long as the log has to answer others first.
func (s *Stream) arrive(a *acker, r *record) {
	if r.target > s.acked.count {
		s.acked.waiting = append(s.acked.waiting, r)
		return
	}
	s.turn(a, r)
	for len(s.acked.waiting) > 0 && s.acked.waiting[0].target <= s.acked.count {
		s.turn(a, s.acked.waiting[0])
		s.acked.waiting = s.acked.waiting[1:]
	}
}

// turn answers a record, and counts it if others may wait for it.
func (s *Stream) turn(a *acker, r *record) {
	s.answer(a, r)
	if r.started {
		s.acked.count++
	}
}

// answer does what there is to do when it is known what became of a record.
func (s *Stream) answer(a *acker, r *record) {
	a.answered = append(a.answered, r)
	cfg := s.settings.Load()
	switch r.task {
	case storing:
		s.conclude(a, cfg, r)
	case gathering:
		if r.reply != "" && !cfg.noAck {
			a.reply(s, r.reply, nil, nil)
		}
	case stepping:
		s.answerStep(a, cfg, r)
	case announcing:
		s.stored(a, cfg, r)
	case overflowing:
		if r.reply != "" {
			a.reply(s, r.reply, api.StatusTooManyRequests.Block(), nil)
		}
		if r.first {
			s.ingest.cfg.Logger.Warn("stream does not keep up with its publishers: messages are refused, and lost if they ask for no answer",
				"stream", s.log.Name())
		}
	}
}

// conclude acknowledges or refuses a message, and tells those who care that it is stored.
func (s *Stream) conclude(a *acker, cfg *settings, r *record) {
	if r.started && r.err == nil && r.result.Code == 0 && r.result.Stored {
		s.stored(a, cfg, r)
	}
	if len(r.result.Withdrawn) > 0 && s.hooks.Withdrawn != nil {
		s.hooks.Withdrawn(r.result.Withdrawn)
	}
	if r.cause != nil && r.started && r.err == nil && r.result.Code == 0 && !r.result.Duplicate && s.hooks.Owed != nil {
		s.hooks.Owed(r.cause)
	}
	if s.settlesFirst(r) {
		return
	}
	if r.told != nil {
		r.tellPut()
	} else if r.step.batch != nil {
		s.concludeStep(a, cfg, r)
	} else if r.reply != "" && !cfg.noAck {
		s.acknowledgeResult(a, cfg, r)
	}
}

// stored tells those who care that a message, or a batch, is stored.
func (s *Stream) stored(a *acker, cfg *settings, r *record) {
	if r.batch == nil {
		s.storedOne(a, cfg, jetlog.Message{
			Sequence: r.result.Sequence, Time: r.at, Subject: r.subject, Header: r.header, Payload: r.payload,
		}, &r.result)
		return
	}
	first := r.result.Sequence - uint64(len(r.batch.members)) + 1
	for i := range r.batch.members {
		m, result := &r.batch.members[i], &jetlog.Result{Stored: true}
		if i < len(r.result.Members) {
			result = &r.result.Members[i]
		}
		if result.Stored {
			s.storedOne(a, cfg, jetlog.Message{
				Sequence: first + uint64(i), Time: r.at, Subject: m.Subject, Header: m.Header, Payload: m.Payload,
			}, result)
		}
	}
}

func (s *Stream) storedOne(a *acker, cfg *settings, m jetlog.Message, result *jetlog.Result) {
	if s.hooks.Stored != nil {
		s.hooks.Stored(m.Subject, m.Sequence)
	}
	s.republish(a, cfg, m, result)
}

// acknowledgeResult tells the publisher what became of its message; nothing if that is not known. It is asked to publish again
// where nothing did.
func (s *Stream) acknowledgeResult(a *acker, cfg *settings, r *record) {
	err, known := outcome(r)
	if !known {
		s.undone(r)
		return
	}
	ack := api.PubAck{Error: err, Stream: cfg.name}
	if err == nil {
		ack.Domain = s.ingest.cfg.Domain
		ack.Sequence, ack.Duplicate, ack.Value = r.result.Sequence, r.result.Duplicate, r.result.Total
	}
	if r.batch != nil && err == nil {
		ack.Batch, ack.Count = r.batch.id, len(r.batch.members)
	}
	s.acknowledge(a, r.reply, &ack)
}

// outcome returns what a message is refused with, nil if it is not. It is not known when the stream was closed,
// or its leadership has ended: whoever serves it next may have the message. Of what was surely not done undone tells.
func outcome(r *record) (err *api.Error, known bool) {
	switch {
	case r.refusal != nil:
		return r.refusal, true
	case r.err == nil:
		return api.NewError(r.result.Code, r.result.Detail), true
	case errors.Is(r.err, store.ErrClosed), errors.Is(r.err, store.ErrNotFound), errors.Is(r.err, context.Canceled),
		errors.Is(r.err, store.ErrNotLeader), errors.Is(r.err, store.ErrLeadershipLost):
		return nil, false
	}
	return api.NewError(config.StoreFailed, r.err.Error()), true
}
