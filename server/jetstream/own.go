package jetstream

import (
	"context"

	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/clustered"
	"runnel/server/jetstream/deadletters"
	"runnel/server/jetstream/delays"
	"runnel/server/jetstream/dlq"
	"runnel/server/jetstream/explain"
	"runnel/server/jetstream/keys"
	"runnel/server/jetstream/lag"
	"runnel/server/jetstream/own"
	"runnel/server/jetstream/producers"
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
		api.CallDeadRedrive:     dlq.Redrive,
		api.CallDeadStop:        dlq.Stop,
		api.CallDelayList:       delays.List,
		api.CallDelayCancel:     delays.Cancel,
		api.CallProducerList:    producers.List,
		api.CallProducerForget:  producers.Forget,
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
	c := s.newCall(s.ctx, r.account, r.call.Endpoint, r.message.Payload)
	switch t, err := find(r); {
	case err == nil:
		c.Stream, c.Consumer = t.own(), r.call.Consumer
	case r.stream != nil || !r.call.Endpoint.Delayed() || r.account.configOf(delays.Target(r.call.Stream)) == nil:
		return nil, err // otherwise nothing was delayed yet
	}
	return ownHandlers[r.call.Endpoint](c)
}

// newCall returns a call about no stream yet.
func (s *Service) newCall(ctx context.Context, a *account, e api.Endpoint, body []byte) *own.Call {
	return &own.Call{Context: ctx, Account: a.account, Now: s.cfg.Clock().UTC(), Level: s.level(), Decode: func(into any) error {
		d := api.Decoder{Lenient: s.cfg.Lenient}
		if err := d.Decode(e, body, into); err != nil {
			return err
		}
		return nil
	}}
}

// ownGathered answers a call about all streams of an account.
func (s *Service) ownGathered(_ Outlet, r *request) (api.Answer, error) {
	return s.gather(s.ctx, r.account, r.call.Endpoint, r.message.Payload)
}

// gather makes the answer to a call about all streams of an account of what all servers tell of those that they lead.
func (s *Service) gather(ctx context.Context, a *account, e api.Endpoint, body []byte) (api.Answer, error) {
	g, q := ownGatherers[e], &clustered.Question{Kind: clustered.KindPart, Account: a.name(), Call: e.String(), Body: body}
	c := s.newCall(s.ctx, a, e, body)
	var names []string
	if s.cluster == nil {
		for _, t := range a.all() {
			names = append(names, t.log.Name())
		}
		return g.Answer(c, []*clustered.Reply{s.part(ctx, q)}, names)
	}
	for _, as := range s.cluster.Streams(q.Account) {
		names = append(names, as.Config.Name)
	}
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	return g.Answer(c, s.cluster.asker.All(ctx, s.cluster.asker.Online(), q), names)
}

// checkDeadLetter refuses a consumer of which the dead letters cannot go where it says. Whether that would be a circle all servers
// are asked, but only if it is new that the consumer has it.
func (s *Service) checkDeadLetter(r *request, t *stream, cfg *config.Consumer) error {
	if err := deadletters.Check(cfg, r.account.configOf); err != nil {
		return err
	}
	if !deadletters.IsNew(t.log, cfg) {
		return nil
	}
	known, err := s.gather(s.ctx, r.account, api.CallDeadList, []byte(`{"consumers_only":true}`))
	if err != nil {
		return err
	}
	return deadletters.Circle(t.log.Name(), cfg, known.(*api.DeadListAnswer).Streams)
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
			c.Streams = append(c.Streams, t.own())
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
