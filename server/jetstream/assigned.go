package jetstream

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"runnel/jetlog"
	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/clustered"
	"runnel/server/jetstream/delays"
	"runnel/server/jetstream/handover"
	"runnel/server/jetstream/quota"
)

// clusterHandlerOf returns who answers an endpoint in a cluster, nil where it is the same as on a server alone. What is asked is
// whether this server leads; the rest is the directory's.
func clusterHandlerOf(e api.Endpoint) handler {
	switch e {
	case api.CallAccountInfo:
		return (*Service).assignedInfo
	case api.CallStreamCreate:
		return (*Service).assign
	case api.CallStreamUpdate:
		return (*Service).reassign
	case api.CallStreamNames, api.CallStreamList:
		return (*Service).assignedStreams
	case api.CallStreamDelete:
		return (*Service).unassign
	case api.CallStreamRestore:
		return (*Service).restoreAssigned
	case api.CallStreamPeerRemove, api.CallStreamPeerEvacuate, api.CallConsumerPeerRemove, api.CallConsumerPeerEvacuate:
		return (*Service).removePeer
	case api.CallStreamCancelMove:
		return (*Service).cancelMove
	case api.CallStreamStepDown, api.CallConsumerStepDown:
		return (*Service).stepDown
	}
	return nil
}

// name is the account's, under which the cluster knows it.
func (a *account) name() string { return a.account.Name() }

// limitsOf are what the account may have in the cluster of streams like this one, unless they refuse it whatever others there
// are.
func (a *account) limitsOf(cfg *config.Stream) (clustered.Limits, error) {
	l := a.limits.Load()
	if l == nil {
		return clustered.Limits{}, api.NewError(api.NotEnabledForAccount)
	}
	own, err := l.Of(cfg.Replicas)
	if err != nil {
		return clustered.Limits{}, err
	}
	limits := clustered.Limits{
		MaxStreams: own.MaxStreams, MaxMemoryBytes: own.MaxMemoryBytes, MaxStoreBytes: own.MaxStoreBytes, Tiered: l.Tiered(),
	}
	return limits, own.CheckStream(cfg)
}

// action tells that a stream of the account was created, changed or deleted.
func (a *account) action(stream, action string) {
	a.service.events.StreamAction(a.account, stream, action)
}

// assign is streamCreate in a cluster.
func (s *Service) assign(_ Outlet, r *request) (api.Answer, error) {
	cfg, err := s.streamRequest(r)
	if err != nil {
		return nil, err
	}
	if cfg.Sealed {
		return nil, api.NewError(config.StreamInvalidConfig, "stream configuration for create can not be sealed")
	}
	limits, err := r.account.limitsOf(&cfg)
	if err != nil {
		return nil, err
	}
	info, created, err := s.cluster.directory.Create(r.account.name(), cfg, limits)
	if err != nil {
		return nil, err
	}
	if created {
		s.sourcing.Appeared(r.account.account, cfg.Name)
		r.account.action(cfg.Name, api.ActionCreate)
	}
	return &api.StreamCreateAnswer{StreamInfo: info, DidCreate: true}, nil
}

// reassign is streamUpdate in a cluster.
func (s *Service) reassign(_ Outlet, r *request) (api.Answer, error) {
	cfg, err := s.streamRequest(r)
	if err != nil {
		return nil, err
	}
	limits, err := r.account.limitsOf(&cfg)
	if err != nil {
		return nil, err
	}
	info, err := s.cluster.directory.Update(r.account.name(), cfg, limits)
	if err != nil {
		return nil, err
	}
	r.account.follow(&cfg, limits)
	r.account.action(cfg.Name, api.ActionModify)
	return &api.StreamAnswer{StreamInfo: info}, nil
}

// follow lets what is delayed for a stream be kept as the stream is, wherever that has been changed.
func (a *account) follow(target *config.Stream, limits clustered.Limits) {
	cfg, differs := delays.Follow(a.configOf(delays.Companion(target.Name)), target)
	if !differs {
		return
	}
	if _, err := a.service.cluster.directory.Update(a.name(), cfg, limits); err != nil {
		a.service.logger.Warn("what is delayed for a stream is not kept as the stream is", "stream", cfg.Name, "error", err)
	}
}

// unassign is streamDelete in a cluster.
func (s *Service) unassign(_ Outlet, r *request) (api.Answer, error) {
	if err := s.decode(r, nil); err != nil {
		return nil, err
	}
	if err := s.cluster.directory.Delete(r.account.name(), r.call.Stream); err != nil {
		return nil, err
	}
	r.account.action(r.call.Stream, api.ActionDelete)
	return &api.PlainAnswer{Success: true}, nil
}

// assignedStreams is streamNames and streamList in a cluster.
func (s *Service) assignedStreams(_ Outlet, r *request) (api.Answer, error) {
	var q api.StreamsRequest
	if err := s.decode(r, &q); err != nil {
		return nil, err
	}
	if r.call.Endpoint == api.CallStreamNames {
		return s.cluster.directory.Names(r.account.name(), &q), nil
	}
	return s.cluster.directory.List(r.account.name(), &q), nil
}

// assignedInfo is accountInfo in a cluster.
func (s *Service) assignedInfo(_ Outlet, r *request) (api.Answer, error) {
	return r.account.about(s.cluster.directory.Usage(r.account.name())), nil
}

// stepDown lets another server lead a stream, and with it its consumers.
func (s *Service) stepDown(_ Outlet, r *request) (api.Answer, error) {
	var q api.StepDownRequest
	a, err := s.assignment(r, &q)
	if err != nil {
		return nil, err
	}
	return succeeded(s.cluster.directory.StepDown(a, q.Placement))
}

// assignment reads the body of a request about a stream and its servers, and returns the stream. If a consumer is named, it has to
// be one of the stream.
func (s *Service) assignment(r *request, body any) (*clustered.Assignment, error) {
	if err := s.decode(r, body); err != nil {
		return nil, err
	}
	a, err := s.cluster.directory.Stream(r.account.name(), r.call.Stream)
	if err != nil {
		return nil, err
	}
	if name := r.call.Consumer; name != "" && (r.stream == nil || !r.stream.hasConsumer(name)) {
		return nil, api.NewError(config.ConsumerNotFound)
	}
	return a, nil
}

// succeeded is the answer to what has no other.
func succeeded(err error) (api.Answer, error) {
	if err != nil {
		return nil, err
	}
	return &api.PlainAnswer{Success: true}, nil
}

// removePeer takes a stream from one of its servers.
func (s *Service) removePeer(_ Outlet, r *request) (api.Answer, error) {
	var q api.PeerRequest
	a, err := s.assignment(r, &q)
	if err != nil {
		return nil, err
	}
	if r.call.Consumer != "" {
		return succeeded(s.cluster.directory.RemoveConsumerPeer(a, q.Peer))
	}
	return succeeded(s.cluster.directory.RemovePeer(a, q.Peer, r.call.Endpoint == api.CallStreamPeerRemove))
}

// cancelMove lets a stream be where it was before a move that is under way.
func (s *Service) cancelMove(_ Outlet, r *request) (api.Answer, error) {
	a, err := s.assignment(r, nil)
	if err != nil {
		return nil, err
	}
	info, err := s.cluster.directory.CancelMove(a)
	if err != nil {
		return nil, err
	}
	return &api.StreamAnswer{StreamInfo: info}, nil
}

// operate answers what only the system account may ask.
func (c *cluster) operate(r *request) (api.Answer, error) {
	if !api.LevelMet(r.message.Header) {
		return nil, api.NewError(api.LevelRequired)
	}
	return c.directory.Operate(&r.call, func(into any) error { return c.service.decode(r, into) })
}

// reply answers a question of this or another server.
func (c *cluster) reply(ctx context.Context, q *clustered.Question) *clustered.Reply {
	if err := c.Await(ctx, q.Position); err != nil && ctx.Err() != nil {
		return &clustered.Reply{} // a server that will hear of no decision any more goes by what it knows
	}
	switch q.Kind {
	case clustered.KindKnown:
		c.known(ctx, q)
		return &clustered.Reply{}
	case clustered.KindStored:
		return &clustered.Reply{Stored: c.service.quotas.Since(q.Mark)}
	case clustered.KindStreams:
		return c.replyStreams(q)
	case clustered.KindUsage:
		return c.replyUsage(q)
	case clustered.KindPart:
		return c.service.part(ctx, q)
	}
	r := c.replica(q.ID)
	if r == nil {
		return &clustered.Reply{}
	}
	if q.Kind == clustered.KindRestore {
		return r.takeBackup(q)
	}
	r.settle() // it may be about to lead
	t := r.leader()
	if t == nil {
		return &clustered.Reply{}
	}
	switch q.Kind {
	case clustered.KindPut:
		part, known := handover.Answer(ctx, t.ingest, q.Body)
		return &clustered.Reply{Led: known, Part: part}
	case clustered.KindReceipts:
		return t.aboutReceipts(ctx, q)
	}
	reply := &clustered.Reply{Led: true}
	if q.Config != nil {
		reply.Error = t.ask(q)
	}
	if reply.Error == nil && q.Kind != clustered.KindCheck {
		reply.Error = t.tell(ctx, reply)
	}
	if !t.leads() { // whatever has gone wrong is not the last word
		return &clustered.Reply{}
	}
	return reply
}

// ask asks whether a stream takes a configuration, or has it take it.
func (t *stream) ask(q *clustered.Question) (refusal *api.Error) {
	var err error
	if q.Kind == clustered.KindConfigure {
		refusal, err = t.configure(q.Config)
	} else {
		err = t.log.View(func(state *jetlog.Stream, _ jetlog.Messages) error {
			refusal = api.NewError(state.Refuses(q.Config))
			return nil
		})
	}
	if err != nil {
		return api.FromConfig(err)
	}
	return refusal
}

// tell puts the stream's info into a reply.
func (t *stream) tell(ctx context.Context, reply *clustered.Reply) *api.Error {
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	if err := t.settle(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return api.FromConfig(err)
	}
	info, _, err := t.info(detail{cluster: true})
	if err != nil {
		return api.FromConfig(err)
	}
	reply.Streams = []*api.StreamInfo{info}
	return nil
}

// leader returns the stream if it is led here, nil if not.
func (r *replica) leader() *stream {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stream.leads() {
		return r.stream
	}
	return nil
}

// led returns the streams of an account that are led here, by name.
func (c *cluster) led(account string) []*stream {
	a := c.service.named(account)
	if a == nil {
		return nil
	}
	found := slices.DeleteFunc(a.all(), func(t *stream) bool { return !t.leads() })
	slices.SortFunc(found, func(x, y *stream) int { return cmp.Compare(x.log.Name(), y.log.Name()) })
	return found
}

// replyStreams tells of the streams that are asked for.
func (c *cluster) replyStreams(q *clustered.Question) *clustered.Reply {
	reply := &clustered.Reply{}
	wanted := make(map[string]bool, len(q.Names))
	for _, name := range q.Names {
		wanted[name] = true
	}
	for _, t := range c.led(q.Account) {
		if !wanted[t.log.Name()] {
			continue
		}
		if info, _, err := t.info(detail{listed: true, cluster: true}); err == nil { // otherwise it is missing
			reply.Streams = append(reply.Streams, info)
		}
	}
	return reply
}

// replyUsage tells what the streams have that are led here.
func (c *cluster) replyUsage(q *clustered.Question) *clustered.Reply {
	all := make(quota.ByTier)
	for _, t := range c.led(q.Account) {
		t.addConsumers(all)
		cfg := t.config()
		u := all.Of(cfg.Replicas)
		stored := &u.Store
		if cfg.Storage == config.MemoryStorage {
			stored = &u.Memory
		}
		*stored += t.log.State().Bytes * uint64(max(cfg.Replicas, 1))
	}
	return &clustered.Reply{Usage: all}
}

// known returns when this server has done what was decided about a stream, or the context ends. Whoever asked for it is told
// only then that it is done: with what he does next he may reach any server.
func (c *cluster) known(ctx context.Context, q *clustered.Question) {
	if r := c.replica(q.ID); r != nil && r.deleted() {
		select {
		case <-r.gone:
		case <-ctx.Done():
		}
		return
	}
	c.counts.Forget(q)
	for _, name := range q.Names {
		a, ok := c.Stream(q.Account, name)
		ac := c.service.named(q.Account)
		if ok && a.ID == q.ID && ac != nil && !ac.stream(name).leads() {
			clustered.AwaitReach(ctx, a, func(subject string, tell func(bool)) func() {
				return c.service.cfg.Engine.WatchInterest(ac.account, subject, "", tell)
			})
		}
	}
}
