package jetstream

import (
	"context"

	"runnel/server/jetstream/api"
	"runnel/server/jetstream/clustered"
	"runnel/server/jetstream/dlq"
	"runnel/server/jetstream/explain"
	"runnel/server/jetstream/keys"
	"runnel/server/jetstream/lag"
	"runnel/server/jetstream/own"
)

// ownHandlers answer calls of our own about a stream, ownGatherers those about all streams of an account.
var (
	ownHandlers = map[api.Endpoint]own.Handler{
		api.CallConsumerLag:     lag.Consumer,
		api.CallConsumerExplain: explain.Consumer,
		api.CallConsumerKeys:    keys.Consumer,
		api.CallDeadInfo:        dlq.Info,
		api.CallDeadGet:         dlq.Get,
		api.CallDeadDiscard:     dlq.Discard,
	}
	ownGatherers = map[api.Endpoint]own.Gatherer{
		api.CallLag:      lag.Account(),
		api.CallDeadList: dlq.List(),
	}
)

// ownHandlerOf returns who answers a call of our own, nil for others.
func ownHandlerOf(e api.Endpoint) handler {
	switch {
	case ownHandlers[e] != nil:
		return (*Service).ownCall
	case ownGatherers[e].Part != nil:
		return (*Service).ownGathered
	}
	return nil
}

// ownCall answers a call about a stream.
func (s *Service) ownCall(_ Outlet, r *request) (api.Answer, error) {
	find := s.found
	if r.call.Consumer != "" {
		find = s.foundConsumer
	}
	t, err := find(r)
	if err != nil {
		return nil, err
	}
	c := s.newCall(s.ctx, r.account, r.call.Endpoint, r.message.Payload)
	c.Stream, c.Consumer = own.Stream{Log: t.log, Deliver: t.deliver}, r.call.Consumer
	return ownHandlers[r.call.Endpoint](c)
}

// newCall returns a call about no stream yet.
func (s *Service) newCall(ctx context.Context, a *account, e api.Endpoint, body []byte) *own.Call {
	return &own.Call{Context: ctx, Account: a.account, Now: s.cfg.Clock().UTC(), Decode: func(into any) error {
		d := api.Decoder{Lenient: s.cfg.Lenient}
		if err := d.Decode(e, body, into); err != nil {
			return err
		}
		return nil
	}}
}

// ownGathered answers a call about all streams of an account, by what all servers tell of those that they lead.
func (s *Service) ownGathered(_ Outlet, r *request) (api.Answer, error) {
	e, body := r.call.Endpoint, r.message.Payload
	g, q := ownGatherers[e], &clustered.Question{Kind: clustered.KindPart, Account: r.account.name(), Call: e.String(), Body: body}
	c := s.newCall(s.ctx, r.account, e, body)
	var names []string
	if s.cluster == nil {
		for _, t := range r.account.all() {
			names = append(names, t.log.Name())
		}
		return g.Answer(c, []*clustered.Reply{s.part(s.ctx, q)}, names)
	}
	for _, a := range s.cluster.Streams(q.Account) {
		names = append(names, a.Config.Name)
	}
	ctx, cancel := context.WithTimeout(s.ctx, settleTime)
	defer cancel()
	return g.Answer(c, s.cluster.asker.All(ctx, s.cluster.asker.Online(), q), names)
}

// part is what this server tells for a call about all streams of an account: of those that it leads.
func (s *Service) part(ctx context.Context, q *clustered.Question) *clustered.Reply {
	call, _ := api.ParseSubject(api.OwnPrefix + q.Call)
	a, g := s.named(q.Account), ownGatherers[call.Endpoint]
	if a == nil || g.Part == nil {
		return &clustered.Reply{}
	}
	c := s.newCall(ctx, a, call.Endpoint, q.Body)
	for _, t := range a.sorted("") {
		if t.leads() {
			c.Streams = append(c.Streams, own.Stream{Log: t.log, Deliver: t.deliver})
		}
	}
	reply, err := g.Reply(c)
	if err != nil {
		return &clustered.Reply{Error: api.FromConfig(err)}
	}
	return reply
}

// refuse answers a call that nobody can carry out now. Where it asks why, that is the answer.
func (s *Service) refuse(out Outlet, r *request, v clustered.Verdict) {
	if r.call.Endpoint == api.CallConsumerExplain {
		s.reply(out, r, explain.Leaderless(&r.call, v, s.cfg.Clock().UTC()), nil)
		return
	}
	s.reply(out, r, nil, v.Refusal())
}
