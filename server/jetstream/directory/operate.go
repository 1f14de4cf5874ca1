package directory

import (
	"context"
	"slices"

	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/clustered"
)

// node returns the member that an operator means by its name or its id.
func (d *Directory) node(name string) (clustered.Member, bool) {
	for _, m := range d.Cluster.Members() {
		if m.ID == name || m.Name == name {
			return m, true
		}
	}
	return clustered.Member{}, false
}

// successor returns the id of the server that is to lead instead of this one, of those that might, empty if it does not matter.
func (d *Directory) successor(p *config.Placement, might []string) (string, error) {
	leader := d.Cluster.Self().ID
	switch {
	case p == nil || p.Preferred == "" && p.Cluster == "" && len(p.Tags) == 0:
		return "", nil
	case p.Preferred != "":
		// A name counts before all other wishes, as it leaves nothing to choose.
		m, ok := d.node(p.Preferred)
		switch {
		case !ok || !slices.Contains(might, m.ID):
			return "", unsuitable("preferred server %q not known", p.Preferred)
		case m.ID == leader:
			return "", unsuitable("preferred server %q is already leader", p.Preferred)
		}
		return m.ID, nil
	}
	for _, m := range d.Cluster.Members() {
		if m.ID != leader && m.Online && slices.Contains(might, m.ID) && (p.Cluster == "" || p.Cluster == d.Cluster.Name()) &&
			!slices.ContainsFunc(p.Tags, func(tag string) bool { return !slices.Contains(m.Tags, tag) }) {
			return m.ID, nil
		}
	}
	return "", unsuitable("no replacement peer connected")
}

// StepDown lets another server lead a stream that this one leads, and with it its consumers.
func (d *Directory) StepDown(a *clustered.Assignment, p *config.Placement) error {
	to, err := d.successor(p, a.Peers)
	if err != nil || len(a.Peers) < 2 {
		return err
	}
	ctx, cancel := context.WithTimeout(d.Context, operateWait)
	defer cancel()
	return d.Cluster.StepDown(ctx, a.ID, to)
}

// peer returns the id of one of a stream's servers, by its name or id.
func (d *Directory) peer(a *clustered.Assignment, name string) (string, error) {
	id := name
	if m, ok := d.node(name); ok {
		id = m.ID
	}
	if !slices.Contains(a.Peers, id) {
		return "", api.NewError(api.PeerNotMember)
	}
	return id, nil
}

// RemovePeer takes a stream from one of its servers, which helps another one to take its place unless drop is set.
func (d *Directory) RemovePeer(a *clustered.Assignment, peer string, drop bool) error {
	if peer == "" {
		return api.NewError(config.BadRequest)
	}
	id, err := d.peer(a, peer)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(d.Context, operateWait)
	defer cancel()
	if _, err = d.Cluster.Move(ctx, a, clustered.Move{From: id, Drop: drop}); noPeers(err) {
		return api.NewError(api.PeerRemapFailed)
	}
	return err
}

// RemoveConsumerPeer refuses to have a consumer elsewhere than its stream, where it has to be.
func (d *Directory) RemoveConsumerPeer(a *clustered.Assignment, peer string) error {
	if _, err := d.peer(a, peer); err != nil {
		return err
	}
	return api.NewError(api.PeerRemapFailed)
}

// CancelMove lets a stream be where it was before a move that is under way.
func (d *Directory) CancelMove(a *clustered.Assignment) (*api.StreamInfo, error) {
	if a.Moving == nil {
		return nil, api.NewError(api.NoReconfiguration)
	}
	ctx, cancel := context.WithTimeout(d.Context, LeaderWait)
	defer cancel()
	a, err := d.Cluster.CancelMove(ctx, a)
	if err != nil {
		return nil, err
	}
	return d.reconfigured(ctx, a)
}

// Operate answers a call that only the system account may make. decode reads its body.
func (d *Directory) Operate(call *api.Call, decode func(into any) error) (api.Answer, error) {
	ctx, cancel := context.WithTimeout(d.Context, operateWait)
	defer cancel()
	switch call.Endpoint {
	case api.CallMetaStepDown:
		return d.stepDownMeta(ctx, decode)
	case api.CallMetaRescue:
		return d.rescue(ctx, decode)
	case api.CallServerRemove, api.CallServerEvacuate:
		return d.removeServer(ctx, call.Endpoint == api.CallServerEvacuate, decode)
	case api.CallAccountPurge:
		return d.purge(ctx, call.Account)
	}
	return d.move(ctx, call, decode)
}

// stepDownMeta lets another server lead the meta group.
func (d *Directory) stepDownMeta(ctx context.Context, decode func(any) error) (api.Answer, error) {
	var q api.StepDownRequest
	if err := decode(&q); err != nil {
		return nil, err
	}
	var might []string
	for _, m := range d.Cluster.Meta().Replicas {
		might = append(might, m.ID)
	}
	to, err := d.successor(q.Placement, might)
	if err != nil {
		return nil, err
	}
	if err := d.Cluster.StepDownMeta(ctx, to); err != nil {
		return nil, err
	}
	return &api.PlainAnswer{Success: true}, nil
}

// rescue lets fewer servers decide than there should be, after most are lost for good. Who is refused has to know as well
// which server has refused.
func (d *Directory) rescue(ctx context.Context, decode func(any) error) (api.Answer, error) {
	answer := &api.RescueAnswer{Server: d.ServerName, ServerID: d.ServerID}
	var q api.RescueRequest
	err := decode(&q)
	if err == nil && q.QuorumNeeded < 1 {
		err = api.NewError(config.BadRequest)
	}
	if err != nil {
		answer.Error = api.FromConfig(err)
		return answer, nil
	}
	before, after, err := d.Cluster.Rescue(ctx, q.QuorumNeeded)
	if err != nil {
		answer.Error = api.NewError(api.RescueRefused, err.Error())
		return answer, nil
	}
	answer.PreviousQuorum, answer.NewQuorum = before, after
	d.Tell(&api.MetaRescued{
		Server: d.ServerName, ServerID: d.ServerID, PreviousQuorum: before, NewQuorum: after, Cluster: d.Cluster.Name(), Domain: d.Domain,
	})
	return answer, nil
}

// removeServer takes a server out of the cluster, by its name or its id.
func (d *Directory) removeServer(ctx context.Context, graceful bool, decode func(any) error) (api.Answer, error) {
	var q api.ServerRequest
	if err := decode(&q); err != nil {
		return nil, err
	}
	if q.Peer == "" && q.PeerID == "" {
		return nil, api.NewError(config.BadRequest)
	}
	// Both may be given; then they have to be of the same server, so that a slip removes none.
	for _, m := range d.Cluster.Members() {
		if q.PeerID != "" && m.ID != q.PeerID || q.Peer != "" && m.Name != q.Peer && m.ID != q.Peer {
			continue
		}
		if err := d.Cluster.RemoveServer(ctx, m.ID, graceful); err != nil {
			return nil, err
		}
		if !graceful {
			d.Tell(&api.ServerRemoved{Server: m.Name, ServerID: m.ID, Cluster: d.Cluster.Name(), Domain: d.Domain})
		}
		return &api.PlainAnswer{Success: true}, nil
	}
	return nil, api.NewError(api.ServerNotMember)
}

// purge removes all streams of an account.
func (d *Directory) purge(ctx context.Context, account string) (api.Answer, error) {
	for _, a := range d.Cluster.Streams(account) {
		if err := d.Cluster.Delete(ctx, a); err != nil {
			return nil, err
		}
	}
	return &api.AccountPurgeAnswer{Initiated: true}, nil
}

// move moves a stream of another account, or ends that.
func (d *Directory) move(ctx context.Context, call *api.Call, decode func(any) error) (api.Answer, error) {
	var q api.MoveRequest
	if err := decode(&q); err != nil {
		return nil, err
	}
	// An account that has nothing to be moved might as well not be there.
	if len(d.Cluster.Streams(call.Account)) == 0 {
		return nil, api.NewError(api.AccountNotFound)
	}
	a, err := d.Stream(call.Account, call.Stream)
	if err != nil {
		return nil, err
	}
	var info *api.StreamInfo
	if call.Endpoint == api.CallAccountStreamCancelMove {
		info, err = d.CancelMove(a)
	} else {
		info, err = d.moveTo(ctx, a, &q)
	}
	if err != nil {
		return nil, err
	}
	return &api.StreamAnswer{StreamInfo: info}, nil
}

func (d *Directory) moveTo(ctx context.Context, a *clustered.Assignment, q *api.MoveRequest) (*api.StreamInfo, error) {
	var m clustered.Move
	var err error
	if q.Server != "" {
		if m.From, err = d.peer(a, q.Server); err != nil {
			return nil, err
		}
	}
	if q.Cluster != "" || len(q.Tags) > 0 {
		m.To = &config.Placement{Cluster: q.Cluster, Tags: q.Tags}
	}
	if a, err = d.Cluster.Move(ctx, a, m); err != nil {
		return nil, err
	}
	return d.reconfigured(ctx, a)
}
