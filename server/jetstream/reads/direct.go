package reads

import (
	"runnel/jetlog"
	"runnel/jetlog/body"
	"runnel/server/jetstream/api"
	"runnel/subjects"
)

// Direct answers one direct get: with a message, a status, or several messages and an end. When nobody listens for the
// answer any more the rest is left out.
type Direct struct {
	Log Log
	// Send sends what answers the request, and is false when nobody listens.
	Send func(header, payload []byte) bool
}

// Answer answers a request. With an error nothing, or not all, was sent.
func (d *Direct) Answer(q *api.GetRequest) error {
	switch {
	case len(q.MultiLast) > 0:
		return d.last(q)
	case q.Several():
		return d.batch(q)
	}
	return d.one(q)
}

// status answers with a status alone.
func (d *Direct) status(s api.Status) { d.Send(s.Block(), nil) }

// Describe returns a stored message as the answer to a direct get describes it.
func Describe(log Log, m *jetlog.Message) *api.Direct {
	return &api.Direct{Stream: log.Name(), Subject: m.Subject, Header: m.Header, Sequence: m.Sequence, Time: m.Time}
}

// one answers with one message.
func (d *Direct) one(q *api.GetRequest) error {
	m, err := Find(d.Log, q)
	switch {
	case err != nil:
		return err
	case m.Sequence == 0:
		d.status(api.StatusMessageNotFound)
	case q.NoHeader:
		d.Send(nil, m.Payload)
	default:
		d.Send(api.AppendDirectHeader(nil, Describe(d.Log, &m)), m.Payload)
	}
	return nil
}

// batchBytes bounds the payloads of an answer with several messages if the request does not.
const batchBytes = 64 << 20

// batch answers with messages that follow each other.
func (d *Direct) batch(q *api.GetRequest) error {
	filter := body.Filter(nil)
	if q.NextBySubject != "" {
		filter = body.Filter{q.NextBySubject}
	}
	first, err := from(d.Log, q)
	if err != nil {
		return err
	}
	if first == 0 {
		first = d.Log.State().Last + 1
	}
	pending, err := countFrom(d.Log, filter, first)
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
	_, err = d.Log.Read(first, filter, q.Batch, most, func(m *jetlog.Message) bool {
		pending = max(pending, 1) - 1
		ok := d.part(q, m, pending, previous)
		previous = m.Sequence
		return ok
	})
	if err != nil {
		return err
	}
	d.Send(api.AppendBatchEnd(nil, pending, previous, 0), nil)
	return nil
}

// part sends one message of several, and is false when nobody is there for it.
func (d *Direct) part(q *api.GetRequest, m *jetlog.Message, pending, previous uint64) bool {
	if q.NoHeader {
		return d.Send(nil, m.Payload)
	}
	return d.Send(api.AppendBatchHeader(nil, Describe(d.Log, m), pending, previous), m.Payload)
}

// countFrom is how many messages from a sequence on the filter matches.
func countFrom(log Log, filter body.Filter, from uint64) (n uint64, err error) {
	err = log.View(func(_ *jetlog.Stream, messages jetlog.Messages) (err error) {
		n, err = messages.Count(filter, from)
		return err
	})
	return n, err
}

// lastMost bounds the subjects of one answer.
const lastMost = 1024

// last answers with the last message of each subject that matches.
func (d *Direct) last(q *api.GetRequest) error {
	for _, pattern := range q.MultiLast {
		if !subjects.ValidPattern(pattern) {
			d.status(api.StatusBadRequest)
			return nil
		}
	}
	found, upTo, err := lastOfEach(d.Log, q)
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
func (d *Direct) sendLast(q *api.GetRequest, found []uint64, upTo uint64) error {
	most, budget := len(found), q.MaxBytes
	if q.Batch > 0 {
		most = min(most, q.Batch)
	}
	if budget == 0 {
		budget = batchBytes
	}
	pending, previous := uint64(len(found)), uint64(0)
	for _, seq := range found[:most] {
		m, err := d.Log.Load(seq)
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
	d.Send(api.AppendBatchEnd(nil, pending, previous, upTo), nil)
	return nil
}
