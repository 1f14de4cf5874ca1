package jetstream

import (
	"runnel/headers"
	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/reads"
)

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
	m, err := reads.Find(t.log, &q)
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
	d := &reads.Direct{Log: t.log, Send: func(header, payload []byte) bool {
		return out.Publish(r.account.account, string(r.message.Reply), "", header, payload) > 0
	}}
	if !api.LevelMet(r.message.Header) {
		d.Send(api.StatusLevelRequired.Block(), nil)
		return nil, nil
	}
	q, status := api.ParseDirectGet(r.call.Filter, r.message.Payload)
	if status != api.StatusNone {
		d.Send(status.Block(), nil)
		return nil, nil
	}
	if err := d.Answer(&q); err != nil {
		s.logger.Error("direct get failed", "stream", t.log.Name(), "error", err)
		d.Send(headers.Status(500, err.Error()), nil)
	}
	return nil, nil
}
