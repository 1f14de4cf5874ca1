package jetstream

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/clustered"
	"runnel/subjects"
)

// What the leader of the meta group answers is here: which streams there are is known by all servers of a cluster, what is in
// them only by those that lead them.

const (
	// leaderWait is how long a new stream may take to have a leader, or one that is about to be changed.
	leaderWait = 5 * time.Second
	// gatherWait is how long it is waited for what other servers have. What is missing then is said to be.
	gatherWait = 2 * time.Second
)

// clusterHandlerOf returns who answers an endpoint in a cluster, nil where it is the same as on a server alone.
func clusterHandlerOf(e api.Endpoint) handler {
	switch e {
	case api.CallAccountInfo:
		return (*Service).assignedInfo
	case api.CallStreamCreate:
		return (*Service).assign
	case api.CallStreamUpdate:
		return (*Service).reassign
	case api.CallStreamNames:
		return (*Service).assignedNames
	case api.CallStreamList:
		return (*Service).assignedList
	case api.CallStreamDelete:
		return (*Service).unassign
	case api.CallStreamRestore:
		return (*Service).restoreUnsupported
	case api.CallStreamPeerRemove, api.CallStreamPeerEvacuate:
		return (*Service).peerRemove
	case api.CallStreamCancelMove:
		return (*Service).cancelMove
	case api.CallStreamStepDown, api.CallConsumerStepDown:
		return (*Service).stepDown
	case api.CallConsumerPeerRemove, api.CallConsumerPeerEvacuate:
		return (*Service).consumerPeerRemove
	}
	return nil
}

// assignment returns the stream that a request names.
func (s *Service) assignment(r *request) (*clustered.Assignment, error) {
	a, ok := s.cluster.Stream(r.account.account.Name(), r.call.Stream)
	if !ok {
		return nil, api.NewError(api.StreamNotFound)
	}
	return a, nil
}

// limitsOf are what the account may have in the cluster.
func (a *account) limitsOf(cfg *config.Stream) (clustered.Limits, error) {
	l := a.limits.Load()
	if l == nil {
		return clustered.Limits{}, api.NewError(api.NotEnabledForAccount)
	}
	if err := l.checkStream(cfg); err != nil {
		return clustered.Limits{}, err
	}
	return clustered.Limits{MaxStreams: l.MaxStreams, MaxMemoryBytes: l.MaxMemoryBytes, MaxStoreBytes: l.MaxStoreBytes}, nil
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
	if err := s.checkPlacement(&cfg); err != nil {
		return nil, err
	}
	limits, err := r.account.limitsOf(&cfg)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(s.ctx, leaderWait)
	defer cancel()
	_, existed := s.cluster.Stream(r.account.account.Name(), cfg.Name)
	a, err := s.cluster.Create(ctx, r.account.account.Name(), cfg, limits)
	if err != nil {
		return nil, err
	}
	reply, err := s.cluster.asker.Leader(ctx, a, &clustered.Question{Kind: clustered.KindInfo})
	if err != nil {
		return nil, err
	}
	if !existed {
		s.sourcing.Appeared(r.account.account, cfg.Name)
		s.events.tell(r.account.account, &api.StreamAction{Stream: cfg.Name, Action: api.ActionCreate, Domain: s.cfg.Domain})
	}
	info, err := s.cluster.told(reply)
	if err != nil {
		return nil, err
	}
	return &api.StreamCreateAnswer{StreamInfo: info, DidCreate: true}, nil
}

// checkPlacement refuses what no cluster can do.
func (s *Service) checkPlacement(cfg *config.Stream) error {
	if cfg.Placement != nil && cfg.Placement.Preferred != "" {
		return api.NewError(config.StreamInvalidConfig, "preferred server not permitted in placement")
	}
	return nil
}

// told returns the info in a reply.
func (c *cluster) told(r *clustered.Reply) (*api.StreamInfo, error) {
	switch {
	case r.Error != nil:
		return nil, r.Error
	case len(r.Streams) != 1:
		return nil, api.NewError(api.ClusterUnavailable)
	}
	return r.Streams[0], nil
}

// reassign is streamUpdate in a cluster. Whether the stream takes the configuration only its leader can tell, whether
// there is room for it only the meta group: so the first is asked, the second decides, and the first carries it out.
func (s *Service) reassign(_ Outlet, r *request) (api.Answer, error) {
	cfg, err := s.streamRequest(r)
	if err != nil {
		return nil, err
	}
	a, err := s.assignment(r)
	if err != nil {
		return nil, err
	}
	if err := config.CheckUpdate(&a.Config, &cfg); err != nil {
		return nil, err
	}
	if err := s.checkPlacement(&cfg); err != nil {
		return nil, err
	}
	limits, err := r.account.limitsOf(&cfg)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(s.ctx, leaderWait)
	defer cancel()
	reply, err := s.cluster.asker.Leader(ctx, a, &clustered.Question{Kind: clustered.KindCheck, Config: &cfg})
	switch {
	case err != nil:
		return nil, err
	case reply.Error != nil:
		return nil, reply.Error
	}
	if a, err = s.cluster.Update(ctx, a.Account, cfg, limits); err != nil {
		return nil, err
	}
	reply, err = s.cluster.asker.Leader(ctx, a, &clustered.Question{Kind: clustered.KindConfigure, Config: &a.Config})
	if err != nil {
		return nil, err
	}
	info, err := s.cluster.told(reply)
	if err != nil {
		return nil, err
	}
	s.events.tell(r.account.account, &api.StreamAction{Stream: cfg.Name, Action: api.ActionModify, Domain: s.cfg.Domain})
	return &api.StreamAnswer{StreamInfo: info}, nil
}

// unassign is streamDelete in a cluster.
func (s *Service) unassign(_ Outlet, r *request) (api.Answer, error) {
	if err := s.decode(r, nil); err != nil {
		return nil, err
	}
	a, err := s.assignment(r)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(s.ctx, leaderWait)
	defer cancel()
	if err := s.cluster.Delete(ctx, a); err != nil {
		return nil, err
	}
	s.events.tell(r.account.account, &api.StreamAction{Stream: a.Config.Name, Action: api.ActionDelete, Domain: s.cfg.Domain})
	return &api.PlainAnswer{Success: true}, nil
}

// restoreUnsupported refuses to take a backup in: a stream is restored by the server that has it alone.
func (s *Service) restoreUnsupported(_ Outlet, _ *request) (api.Answer, error) {
	return nil, api.NewError(api.NotInCluster)
}

// assignedOf returns the streams of an account by name, only those with a subject that overlaps the pattern if it is not empty.
func (c *cluster) assignedOf(account, pattern string) []*clustered.Assignment {
	all := c.Streams(account)
	if pattern == "" {
		return all
	}
	var found []*clustered.Assignment
	for _, a := range all {
		if slices.ContainsFunc(a.Config.Subjects, func(s string) bool { return subjects.Overlap(s, pattern) }) {
			found = append(found, a)
		}
	}
	return found
}

// assignedNames is streamNames in a cluster.
func (s *Service) assignedNames(_ Outlet, r *request) (api.Answer, error) {
	var q api.StreamsRequest
	if err := s.decode(r, &q); err != nil {
		return nil, err
	}
	found := s.cluster.assignedOf(r.account.account.Name(), q.Subject)
	answer := &api.StreamNamesAnswer{}
	from, to, page := api.Page(len(found), q.Offset, api.NamesPage)
	answer.Paged = page
	for _, a := range found[from:to] {
		answer.Streams = append(answer.Streams, a.Config.Name)
	}
	return answer, nil
}

// assignedList is streamList in a cluster: each server tells of the streams that it leads.
func (s *Service) assignedList(_ Outlet, r *request) (api.Answer, error) {
	var q api.StreamsRequest
	if err := s.decode(r, &q); err != nil {
		return nil, err
	}
	account := r.account.account.Name()
	found := s.cluster.assignedOf(account, q.Subject)
	answer := &api.StreamListAnswer{}
	from, to, page := api.Page(len(found), q.Offset, api.ListPage)
	answer.Paged = page
	names := make([]string, 0, to-from)
	for _, a := range found[from:to] {
		names = append(names, a.Config.Name)
	}
	infos := s.cluster.gather(account, names)
	for _, name := range names {
		if info := infos[name]; info != nil {
			answer.Streams = append(answer.Streams, info)
		} else {
			answer.Missing = append(answer.Missing, name)
		}
	}
	return answer, nil
}

// gather asks all servers for the infos of streams.
func (c *cluster) gather(account string, names []string) map[string]*api.StreamInfo {
	infos := make(map[string]*api.StreamInfo, len(names))
	if len(names) == 0 {
		return infos
	}
	ctx, cancel := context.WithTimeout(c.service.ctx, gatherWait)
	defer cancel()
	q := &clustered.Question{Kind: clustered.KindStreams, Account: account, Names: names}
	for _, reply := range c.asker.All(ctx, c.asker.Online(), q) {
		for _, info := range reply.Streams {
			infos[info.Config.Name] = info
		}
	}
	return infos
}

// assignedInfo is accountInfo in a cluster: streams and what they reserve are those that are assigned, the rest is
// what the servers say that can be reached. What replicas have counts for each of them.
func (s *Service) assignedInfo(_ Outlet, r *request) (api.Answer, error) {
	a := r.account
	var u api.Usage
	for _, assigned := range s.cluster.Streams(a.account.Name()) {
		u.Streams++
		reserved := &u.ReservedStore
		if assigned.Config.Storage == config.MemoryStorage {
			reserved = &u.ReservedMemory
		}
		*reserved += uint64(max(assigned.Config.MaxBytes, 0)) * copies(&assigned.Config)
	}
	ctx, cancel := context.WithTimeout(s.ctx, gatherWait)
	defer cancel()
	q := &clustered.Question{Kind: clustered.KindUsage, Account: a.account.Name()}
	for _, reply := range s.cluster.asker.All(ctx, s.cluster.asker.Online(), q) {
		if reply.Usage != nil {
			u.Memory, u.Store = u.Memory+reply.Usage.Memory, u.Store+reply.Usage.Store
			u.Consumers += reply.Usage.Consumers
		}
	}
	u.Limits = shownLimits(a.limits.Load())
	return &api.AccountInfoAnswer{AccountInfo: &api.AccountInfo{
		Usage:  u,
		Domain: s.cfg.Domain,
		API:    api.APIStats{Level: api.Level, Total: uint64(a.calls.Load()), Errors: uint64(a.errors.Load())},
	}}, nil
}

// copies is how often what a stream has is kept.
func copies(cfg *config.Stream) uint64 { return uint64(max(cfg.Replicas, 1)) }

// reply answers a question of this or another server.
func (c *cluster) reply(ctx context.Context, q *clustered.Question) *clustered.Reply {
	switch q.Kind {
	case clustered.KindStreams:
		return c.replyStreams(q)
	case clustered.KindUsage:
		return c.replyUsage(q)
	}
	r := c.replica(q.ID)
	if r == nil {
		return &clustered.Reply{}
	}
	t := r.leader()
	if t == nil {
		return &clustered.Reply{}
	}
	reply := &clustered.Reply{Led: true}
	if q.Config != nil {
		reply.Error = c.service.ask(t, q)
	}
	if reply.Error == nil && q.Kind != clustered.KindCheck {
		reply.Error = c.tell(ctx, t, reply)
	}
	if !t.leads() { // whatever has gone wrong is not the last word
		return &clustered.Reply{}
	}
	return reply
}

// tell puts the stream's info into a reply.
func (c *cluster) tell(ctx context.Context, t *stream, reply *clustered.Reply) *api.Error {
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

// ask asks whether a stream takes a configuration, or has it take it.
func (s *Service) ask(t *stream, q *clustered.Question) *api.Error {
	if q.Kind == clustered.KindConfigure {
		refusal, err := t.configure(q.Config)
		if err != nil {
			return api.FromConfig(err)
		}
		return refusal
	}
	var refusal *api.Error
	err := t.log.View(func(state *jetlog.Stream, _ jetlog.Messages) error {
		code, detail := state.Refuses(q.Config)
		refusal = api.NewError(code, detail)
		return nil
	})
	if err != nil {
		return api.FromConfig(err)
	}
	return refusal
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
	u := &api.Usage{}
	for _, t := range c.led(q.Account) {
		u.Consumers += t.consumers()
		stored := &u.Store
		if t.config().Storage == config.MemoryStorage {
			stored = &u.Memory
		}
		*stored += t.log.State().Bytes * copies(t.config())
	}
	return &clustered.Reply{Usage: u}
}
