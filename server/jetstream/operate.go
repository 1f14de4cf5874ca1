package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/clustered"
)

// operateWait is how long a change of leaders or servers may take.
const operateWait = 4 * time.Second

// group is what infos say about the servers that have the stream.
func (t *stream) group() *api.Cluster {
	s := t.account.service
	c := s.cluster
	if c == nil {
		return &api.Cluster{Leader: s.cfg.ServerName}
	}
	a, ok := c.Stream(t.log.Account(), t.log.Name())
	status, known := c.Status(t.log.ID())
	if !ok || a.ID != t.log.ID() || !known {
		return &api.Cluster{Name: c.Name()}
	}
	return clustered.Show(c.Name(), a, &status)
}

// alternates are the stream and its mirrors, each of which can be read in the place of the other, this server's in front.
func (t *stream) alternates(d detail) []api.Alternate {
	c := t.account.service.cluster
	if c == nil || d.listed {
		return nil
	}
	origin := t.log.Name()
	if m := t.config().Mirror; m != nil && m.External == nil {
		origin = m.Name
	}
	var list []api.Alternate
	for _, a := range c.Streams(t.log.Account()) {
		m := a.Config.Mirror
		if a.Config.Name == origin || m != nil && m.External == nil && m.Name == origin {
			list = append(list, api.Alternate{Name: a.Config.Name, Domain: t.account.service.cfg.Domain, Cluster: c.Name()})
		}
	}
	if len(list) < 2 {
		return nil
	}
	return list
}

// node returns the member that an operator means by its name or its id.
func (c *cluster) node(name string) (clustered.Member, bool) {
	for _, m := range c.Members() {
		if m.ID == name || m.Name == name {
			return m, true
		}
	}
	return clustered.Member{}, false
}

// successor returns the id of the server that is to lead, of those that might, empty if it does not matter. leader is who leads now.
func (c *cluster) successor(p *config.Placement, leader string, might []string) (string, error) {
	if p == nil {
		return "", nil
	}
	if p.Preferred != "" {
		m, ok := c.node(p.Preferred)
		switch {
		case !ok || !slices.Contains(might, m.ID):
			return "", api.NewError(api.NoSuitablePeers, fmt.Sprintf("preferred server %q not known", p.Preferred))
		case m.ID == leader:
			return "", api.NewError(api.NoSuitablePeers, fmt.Sprintf("preferred server %q is already leader", p.Preferred))
		}
		return m.ID, nil
	}
	if p.Cluster == "" && len(p.Tags) == 0 {
		return "", nil
	}
	for _, m := range c.Members() {
		if m.ID != leader && m.Online && slices.Contains(might, m.ID) && (p.Cluster == "" || p.Cluster == c.Name()) && hasAll(m.Tags, p.Tags) {
			return m.ID, nil
		}
	}
	return "", api.NewError(api.NoSuitablePeers, "no replacement peer connected")
}

// hasAll tells whether a server has all tags.
func hasAll(tags, wanted []string) bool {
	return !slices.ContainsFunc(wanted, func(tag string) bool { return !slices.Contains(tags, tag) })
}

// stepDown lets another server lead a stream, and with it its consumers.
func (s *Service) stepDown(_ Outlet, r *request) (api.Answer, error) {
	var q api.StepDownRequest
	if err := s.decode(r, &q); err != nil {
		return nil, err
	}
	a, err := s.assignment(r)
	if err != nil {
		return nil, err
	}
	if name := r.call.Consumer; name != "" && !r.stream.hasConsumer(name) {
		return nil, api.NewError(config.ConsumerNotFound)
	}
	to, err := s.cluster.successor(q.Placement, s.cluster.Self().ID, a.Peers)
	if err != nil {
		return nil, err
	}
	if len(a.Peers) > 1 {
		ctx, cancel := context.WithTimeout(s.ctx, operateWait)
		defer cancel()
		if err := s.cluster.StepDown(ctx, a.ID, to); err != nil {
			return nil, err
		}
	}
	return &api.PlainAnswer{Success: true}, nil
}

// peerRemove takes a stream from one of its servers.
func (s *Service) peerRemove(_ Outlet, r *request) (api.Answer, error) {
	var q api.PeerRequest
	if err := s.decode(r, &q); err != nil {
		return nil, err
	}
	a, err := s.assignment(r)
	if err != nil {
		return nil, err
	}
	id := q.Peer
	if m, ok := s.cluster.node(q.Peer); ok {
		id = m.ID
	}
	switch {
	case q.Peer == "":
		return nil, api.NewError(config.BadRequest)
	case !slices.Contains(a.Peers, id):
		return nil, api.NewError(api.PeerNotMember)
	}
	ctx, cancel := context.WithTimeout(s.ctx, operateWait)
	defer cancel()
	_, err = s.cluster.Move(ctx, a, clustered.Move{From: id, Drop: r.call.Endpoint == api.CallStreamPeerRemove})
	if err != nil {
		return nil, remap(err)
	}
	return &api.PlainAnswer{Success: true}, nil
}

// remap says of a move for which there is no server what it means where one was to be left.
func remap(err error) error {
	var wrong *config.Error
	var known *api.Error
	if errors.As(err, &wrong) && wrong.Code == api.NoSuitablePeers || errors.As(err, &known) && known.ErrCode == int(api.NoSuitablePeers) {
		return api.NewError(api.PeerRemapFailed)
	}
	return err
}

// consumerPeerRemove answers who wants a consumer on other servers than its stream: it has to be where that is.
func (s *Service) consumerPeerRemove(_ Outlet, r *request) (api.Answer, error) {
	var q api.PeerRequest
	if err := s.decode(r, &q); err != nil {
		return nil, err
	}
	a, err := s.assignment(r)
	if err != nil {
		return nil, err
	}
	m, ok := s.cluster.node(q.Peer)
	switch {
	case !r.stream.hasConsumer(r.call.Consumer):
		return nil, api.NewError(config.ConsumerNotFound)
	case !ok || !slices.Contains(a.Peers, m.ID):
		return nil, api.NewError(api.PeerNotMember)
	}
	return nil, api.NewError(api.PeerRemapFailed)
}

// cancelMove lets a stream be where it was before a move that is under way.
func (s *Service) cancelMove(_ Outlet, r *request) (api.Answer, error) {
	a, err := s.assignment(r)
	if err != nil {
		return nil, err
	}
	return s.cancelMoveOf(a)
}

func (s *Service) cancelMoveOf(a *clustered.Assignment) (api.Answer, error) {
	if a.Moving == nil {
		return nil, api.NewError(api.NoReconfiguration)
	}
	ctx, cancel := context.WithTimeout(s.ctx, leaderWait)
	defer cancel()
	a, err := s.cluster.CancelMove(ctx, a)
	if err != nil {
		return nil, err
	}
	return s.reconfigured(ctx, a)
}

// reconfigured has a stream's leader take what is assigned, and answers with the stream's info.
func (s *Service) reconfigured(ctx context.Context, a *clustered.Assignment) (api.Answer, error) {
	reply, err := s.cluster.asker.Leader(ctx, a, &clustered.Question{Kind: clustered.KindConfigure, Config: &a.Config})
	if err != nil {
		return nil, err
	}
	info, err := s.cluster.told(reply)
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
	ctx, cancel := context.WithTimeout(c.service.ctx, operateWait)
	defer cancel()
	switch r.call.Endpoint {
	case api.CallMetaStepDown:
		return c.metaStepDown(ctx, r)
	case api.CallMetaRescue:
		return c.metaRescue(ctx, r)
	case api.CallServerRemove, api.CallServerEvacuate:
		return c.serverRemove(ctx, r)
	case api.CallAccountPurge:
		return c.accountPurge(ctx, r)
	}
	return c.accountStream(ctx, r)
}

// metaStepDown lets another server lead the meta group.
func (c *cluster) metaStepDown(ctx context.Context, r *request) (api.Answer, error) {
	var q api.StepDownRequest
	if err := c.service.decode(r, &q); err != nil {
		return nil, err
	}
	var might []string
	for _, m := range c.Meta().Replicas {
		might = append(might, m.ID)
	}
	to, err := c.successor(q.Placement, c.Self().ID, might)
	if err != nil {
		return nil, err
	}
	if err := c.StepDownMeta(ctx, to); err != nil {
		return nil, err
	}
	return &api.PlainAnswer{Success: true}, nil
}

// metaRescue lets fewer servers decide than there should be, after most are lost for good.
func (c *cluster) metaRescue(ctx context.Context, r *request) (api.Answer, error) {
	answer := &api.RescueAnswer{Server: c.service.cfg.ServerName, ServerID: c.service.cfg.ServerID}
	// Who is refused has to know as well which server has refused.
	var q api.RescueRequest
	err := c.service.decode(r, &q)
	if err == nil && q.QuorumNeeded < 1 {
		err = api.NewError(config.BadRequest)
	}
	if err != nil {
		answer.Error = api.FromConfig(err)
		return answer, nil
	}
	before, after, err := c.Rescue(ctx, q.QuorumNeeded)
	if err != nil {
		answer.Error = api.NewError(api.RescueRefused, err.Error())
		return answer, nil
	}
	answer.PreviousQuorum, answer.NewQuorum = before, after
	c.service.events.system(&api.MetaRescued{
		Server: answer.Server, ServerID: answer.ServerID, PreviousQuorum: before, NewQuorum: after, Cluster: c.Name(), Domain: c.service.cfg.Domain,
	})
	return answer, nil
}

// serverRemove takes a server out of the cluster, by its name or its id.
func (c *cluster) serverRemove(ctx context.Context, r *request) (api.Answer, error) {
	var q api.ServerRequest
	if err := c.service.decode(r, &q); err != nil {
		return nil, err
	}
	if q.Peer == "" && q.PeerID == "" {
		return nil, api.NewError(config.BadRequest)
	}
	for _, m := range c.Members() {
		if q.PeerID != "" && m.ID != q.PeerID || q.Peer != "" && m.Name != q.Peer && m.ID != q.Peer {
			continue
		}
		if err := c.RemoveServer(ctx, m.ID, r.call.Endpoint == api.CallServerEvacuate); err != nil {
			return nil, err
		}
		if r.call.Endpoint == api.CallServerRemove {
			c.service.events.system(&api.ServerRemoved{Server: m.Name, ServerID: m.ID, Cluster: c.Name(), Domain: c.service.cfg.Domain})
		}
		return &api.PlainAnswer{Success: true}, nil
	}
	return nil, api.NewError(api.ServerNotMember)
}

// accountPurge removes all streams of an account.
func (c *cluster) accountPurge(ctx context.Context, r *request) (api.Answer, error) {
	for _, a := range c.Streams(r.call.Account) {
		if err := c.Delete(ctx, a); err != nil {
			return nil, err
		}
	}
	return &api.AccountPurgeAnswer{Initiated: true}, nil
}

// accountStream moves a stream of another account, or ends that.
func (c *cluster) accountStream(ctx context.Context, r *request) (api.Answer, error) {
	var q api.MoveRequest
	if err := c.service.decode(r, &q); err != nil {
		return nil, err
	}
	if c.service.named(r.call.Account) == nil && len(c.Streams(r.call.Account)) == 0 {
		return nil, api.NewError(api.AccountNotFound)
	}
	a, ok := c.Stream(r.call.Account, r.call.Stream)
	if !ok {
		return nil, api.NewError(api.StreamNotFound)
	}
	if r.call.Endpoint == api.CallAccountStreamCancelMove {
		return c.service.cancelMoveOf(a)
	}
	m := clustered.Move{}
	if q.Server != "" {
		from, ok := c.node(q.Server)
		if !ok || !slices.Contains(a.Peers, from.ID) {
			return nil, api.NewError(api.PeerNotMember)
		}
		m.From = from.ID
	}
	if q.Cluster != "" || len(q.Tags) > 0 {
		m.To = &config.Placement{Cluster: q.Cluster, Tags: q.Tags}
	}
	if _, err := c.Move(ctx, a, m); err != nil {
		return nil, err
	}
	return c.service.reconfigured(ctx, a)
}
