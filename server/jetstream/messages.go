package jetstream

import (
	"runnel/headers"
	"runnel/jetlog"
	"runnel/jetlog/body"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
	"runnel/subjects"
)

// find returns the message that a request for one means, one with sequence 0 if there is none.
func (t *stream) find(q *api.GetRequest) (jetlog.Message, error) {
	var seq uint64
	var err error
	switch {
	case q.LastBySubject != "":
		seq, err = t.log.LastOf(body.Filter{q.LastBySubject}, ^uint64(0))
	case q.NextBySubject != "":
		from, err := t.from(q)
		if err != nil || from == 0 {
			return jetlog.Message{}, err
		}
		if seq, err = t.log.NextOf(body.Filter{q.NextBySubject}, from); err != nil {
			return jetlog.Message{}, err
		}
	case q.Sequence > 0:
		seq = q.Sequence
	default:
		seq, err = t.log.FirstAfter(jetlog.Nanoseconds(*q.StartTime))
	}
	if err != nil || seq == 0 {
		return jetlog.Message{}, err
	}
	return t.log.Load(seq)
}

// from is the sequence from which a request wants to look, 0 if that is beyond the end.
func (t *stream) from(q *api.GetRequest) (uint64, error) {
	if q.StartTime != nil {
		return t.log.FirstAfter(jetlog.Nanoseconds(*q.StartTime))
	}
	return max(q.Sequence, 1), nil
}

// messageGet returns a stored message.
func (s *Service) messageGet(_ Outlet, r *request) (api.Answer, error) {
	var q api.GetRequest
	if err := s.decode(r, &q); err != nil {
		return nil, err
	}
	if err := q.Check(); err != nil {
		return nil, err
	}
	t, err := s.found(r)
	if err != nil {
		return nil, err
	}
	m, err := t.find(&q)
	if err != nil {
		return nil, err
	}
	if m.Sequence == 0 {
		return nil, api.NewError(config.MessageNotFound)
	}
	stored := &api.StoredMessage{Subject: m.Subject, Sequence: m.Sequence, Data: m.Payload, Time: api.At(m.Time)}
	if !q.NoHeader {
		stored.Header = m.Header
	}
	return &api.MessageAnswer{Message: stored}, nil
}

// messageDelete starts to remove a message.
func (s *Service) messageDelete(out Outlet, r *request) (api.Answer, error) {
	var q api.MessageDeleteRequest
	if err := s.decode(r, &q); err != nil {
		return nil, err
	}
	t, err := s.found(r)
	if err != nil {
		return nil, err
	}
	wait, err := t.start(&command.Delete{Time: s.now(), Sequence: q.Sequence, Erase: !q.NoErase})
	if err != nil {
		return nil, err
	}
	r.finish = func() {
		answer, err := t.deleted(wait())
		s.reply(out, r, answer, err)
	}
	return nil, nil
}

// deleted is the answer to a message's deletion.
func (t *stream) deleted(result jetlog.Result, err error) (api.Answer, error) {
	if err != nil {
		return nil, err
	}
	switch result.Code {
	case 0:
	case config.SequenceNotFound:
		return nil, api.NewError(config.MessageDeleteRefused, "no message found")
	default:
		return nil, api.NewError(result.Code, result.Detail)
	}
	t.changed()
	return &api.PlainAnswer{Success: true}, nil
}

// direct tells whether direct gets are allowed.
func (t *stream) direct() bool {
	cfg := t.config()
	return cfg.AllowDirect || cfg.MirrorDirect && cfg.Mirror != nil
}

// directGet answers with stored messages as they are.
func (s *Service) directGet(out Outlet, r *request) (api.Answer, error) {
	t := r.stream
	if t == nil || t.offline() || !t.direct() {
		return s.noResponder(out, r)
	}
	d := &directReply{out: out, request: r, stream: t}
	if !api.LevelMet(r.message.Header) {
		d.status(api.StatusLevelRequired)
		return nil, nil
	}
	q, status := api.ParseDirectGet(r.call.Filter, r.message.Payload)
	if status != api.StatusNone {
		d.status(status)
		return nil, nil
	}
	var err error
	switch {
	case len(q.MultiLast) > 0:
		err = d.last(&q)
	case q.Several():
		err = d.batch(&q)
	default:
		err = d.one(&q)
	}
	if err != nil {
		s.logger.Error("direct get failed", "stream", t.log.Name(), "error", err)
		d.send(headers.Status(500, err.Error()), nil)
	}
	return nil, nil
}

// directReply answers one direct get: with a message, a status, or several messages and an end. When nobody listens for the
// answer any more the rest is left out.
type directReply struct {
	out     Outlet
	request *request
	stream  *stream
}

// send sends what answers the request.
func (d *directReply) send(header, payload []byte) bool {
	r := d.request
	return d.out.Publish(r.account.account, string(r.message.Reply), "", header, payload) > 0
}

// status answers with a status alone.
func (d *directReply) status(s api.Status) { d.send(s.Block(), nil) }

// describe returns a stored message as the answer to a direct get describes it.
func (t *stream) describe(m *jetlog.Message) *api.Direct {
	return &api.Direct{Stream: t.log.Name(), Subject: m.Subject, Header: m.Header, Sequence: m.Sequence, Time: m.Time}
}

// one answers with one message.
func (d *directReply) one(q *api.GetRequest) error {
	m, err := d.stream.find(q)
	switch {
	case err != nil:
		return err
	case m.Sequence == 0:
		d.status(api.StatusMessageNotFound)
	case q.NoHeader:
		d.send(nil, m.Payload)
	default:
		d.send(api.AppendDirectHeader(nil, d.stream.describe(&m)), m.Payload)
	}
	return nil
}

// batchBytes bounds the payloads of an answer with several messages if the request does not.
const batchBytes = 64 << 20

// batch answers with messages that follow each other.
func (d *directReply) batch(q *api.GetRequest) error {
	filter := body.Filter(nil)
	if q.NextBySubject != "" {
		filter = body.Filter{q.NextBySubject}
	}
	from, err := d.stream.from(q)
	if err != nil {
		return err
	}
	if from == 0 {
		from = d.stream.log.State().Last + 1
	}
	pending, err := d.stream.countFrom(filter, from)
	if err != nil {
		return err
	}
	if pending == 0 {
		d.status(api.StatusMessageNotFound)
		return nil
	}
	most := q.MaxBytes
	if most == 0 {
		most = batchBytes
	}
	var previous uint64
	_, err = d.stream.log.Read(from, filter, q.Batch, most, func(m *jetlog.Message) bool {
		pending = max(pending, 1) - 1
		ok := d.part(q, m, pending, previous)
		previous = m.Sequence
		return ok
	})
	if err != nil {
		return err
	}
	d.send(api.AppendBatchEnd(nil, pending, previous, 0), nil)
	return nil
}

// part sends one message of several, and is false when nobody is there for it.
func (d *directReply) part(q *api.GetRequest, m *jetlog.Message, pending, previous uint64) bool {
	if q.NoHeader {
		return d.send(nil, m.Payload)
	}
	return d.send(api.AppendBatchHeader(nil, d.stream.describe(m), pending, previous), m.Payload)
}

// countFrom is how many messages from a sequence on the filter matches.
func (t *stream) countFrom(filter body.Filter, from uint64) (n uint64, err error) {
	err = t.log.View(func(_ *jetlog.Stream, messages jetlog.Messages) (err error) {
		n, err = messages.Count(filter, from)
		return err
	})
	return n, err
}

// lastMost bounds the subjects of one answer.
const lastMost = 1024

// last answers with the last message of each subject that matches.
func (d *directReply) last(q *api.GetRequest) error {
	for _, pattern := range q.MultiLast {
		if !subjects.ValidPattern(pattern) {
			d.status(api.StatusBadRequest)
			return nil
		}
	}
	found, upTo, err := d.stream.lastOfEach(q)
	switch {
	case err != nil:
		return err
	case len(found) > lastMost:
		d.status(api.StatusTooManyResults)
		return nil
	case len(found) == 0:
		d.status(api.StatusNoResults)
		return nil
	}
	return d.sendLast(q, found, upTo)
}

// sendLast sends messages in the order of their sequences, as many as the request wants.
func (d *directReply) sendLast(q *api.GetRequest, found []uint64, upTo uint64) error {
	most, budget := len(found), q.MaxBytes
	if q.Batch > 0 {
		most = min(most, q.Batch)
	}
	if budget == 0 {
		budget = batchBytes
	}
	pending, previous := uint64(len(found)), uint64(0)
	for _, seq := range found[:most] {
		m, err := d.stream.log.Load(seq)
		if err != nil {
			return err
		}
		pending--
		if m.Sequence == 0 {
			continue // it has gone meanwhile
		}
		if !d.part(q, &m, pending, previous) {
			return nil
		}
		previous = seq
		if budget -= len(m.Header) + len(m.Payload); budget <= 0 {
			break
		}
	}
	d.send(api.AppendBatchEnd(nil, pending, previous, upTo), nil)
	return nil
}
