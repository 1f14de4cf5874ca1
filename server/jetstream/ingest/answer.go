package ingest

import (
	"context"
	"errors"

	"runnel/headers"
	"runnel/jetlog"
	"runnel/jetlog/config"
	"runnel/jetlog/store"
	"runnel/server/jetstream/api"
)

// answer does what there is to do when it is known what became of a record. It runs on the stream's acker.
func (s *Stream) answer(a *acker, r *record) {
	switch r.task {
	case storing:
		s.conclude(a, r)
	case overflowing:
		a.reply(s, r.reply, tooManyRequests(), nil)
	case barring:
		if r.target <= s.acked.answered {
			a.reached = append(a.reached, r)
			return
		}
		s.acked.barriers = append(s.acked.barriers, r)
	}
}

// tooManyRequests is what is sent instead of an acknowledgement to whom there was no room for.
func tooManyRequests() []byte { return headers.Status(429, "Too Many Requests") }

// conclude acknowledges or refuses a message, and tells those who care that it is stored.
func (s *Stream) conclude(a *acker, r *record) {
	if r.started {
		s.acked.answered++
		defer s.pass(a)
	}
	cfg := s.settings.Load()
	if r.err == nil && r.result.Code == 0 && r.result.Stored {
		s.stored(a, cfg, r)
	}
	if r.reply == "" || cfg.noAck {
		return
	}
	start := len(a.buffer)
	if a.buffer = s.appendAck(a.buffer, cfg, r); len(a.buffer) > start {
		a.reply(s, r.reply, nil, a.buffer[start:])
	}
}

// stored tells those who care that a message is stored.
func (s *Stream) stored(a *acker, cfg *settings, r *record) {
	if s.hooks.Stored != nil {
		s.hooks.Stored(r.subject, r.result.Sequence)
	}
	s.republish(a, cfg, jetlog.Message{
		Sequence: r.result.Sequence, Time: r.at, Subject: r.subject, Header: r.header, Payload: r.payload,
	}, r.result.Previous, r.result.Total)
}

// pass lets barriers go that waited for the answers until now.
func (s *Stream) pass(a *acker) {
	waiting := s.acked.barriers
	for len(waiting) > 0 && waiting[0].target <= s.acked.answered {
		a.reached = append(a.reached, waiting[0])
		waiting = waiting[1:]
	}
	s.acked.barriers = waiting
}

// appendAck appends what the publisher is told; nothing when it is not known what became of the message.
func (s *Stream) appendAck(out []byte, cfg *settings, r *record) []byte {
	ack := api.PubAck{Stream: cfg.name}
	switch {
	case r.refusal != nil:
		ack.Error = r.refusal
	case r.err != nil:
		if ack.Error = failure(r.err); ack.Error == nil {
			return out
		}
	case r.result.Code != 0:
		ack.Error = api.NewError(r.result.Code, r.result.Detail)
	default:
		ack.Domain = s.ingest.cfg.Domain
		ack.Sequence, ack.Duplicate, ack.Value = r.result.Sequence, r.result.Duplicate, r.result.Total
	}
	return api.AppendPubAck(out, &ack)
}

// failure returns what is told about an error of the log. It is nil when nothing can be told: the stream is closed,
// and whoever serves it next may have the message.
func failure(err error) *api.Error {
	if errors.Is(err, store.ErrClosed) || errors.Is(err, store.ErrNotFound) || errors.Is(err, context.Canceled) {
		return nil
	}
	return api.NewError(config.StoreFailed, err.Error())
}
