package replication

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"runnel/cluster/group"
	"runnel/cluster/meta"
	"runnel/cluster/meta/state"
	"runnel/cluster/replicas"
	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/clustered"
)

// Name implements clustered.Cluster.
func (r *Replication) Name() string { return r.cfg.ClusterName() }

// Self implements clustered.View.
func (r *Replication) Self() clustered.Node { return clustered.Node{ID: r.node, Name: r.cfg.Self.Name} }

// Leads implements clustered.View.
func (r *Replication) Leads() bool {
	m := r.meta.Load()
	return m != nil && m.Leads()
}

// MetaLeader implements clustered.View.
func (r *Replication) MetaLeader() string {
	m := r.meta.Load()
	if m == nil {
		return ""
	}
	if node, _ := m.Leader(); node != "" && r.Online(node) {
		return node
	}
	return ""
}

// LevelOfCommands is how much higher the feature level of a cluster is than that of the commands that its servers know: it began
// with the number of the API.
const LevelOfCommands = 4

// Level implements clustered.View.
func (r *Replication) Level() int { return r.view().Level() - LevelOfCommands }

// Speaks implements clustered.View.
func (r *Replication) Speaks() bool {
	if r.groups.Load() == nil {
		return false // another one does, or nobody can yet
	}
	for _, node := range r.reached() {
		if node < r.node {
			return false
		}
	}
	return true
}

// Stream implements clustered.View.
func (r *Replication) Stream(account, name string) (*clustered.Assignment, bool) {
	a := r.view().Stream(account, name)
	if a == nil {
		return nil, false
	}
	return r.shown.of(a), true
}

// StreamLeader implements clustered.View. What the group here says counts unless another server says of itself that it leads
// in a later term.
func (r *Replication) StreamLeader(a *clustered.Assignment) string {
	node, term := r.leaders.Leader(a.ID, r.node)
	if s, ok := r.group(a.ID); ok && s.Leader != "" && s.Term > term {
		return s.Leader
	}
	return node
}

// AwaitLeader implements clustered.Cluster.
func (r *Replication) AwaitLeader(ctx context.Context, a *clustered.Assignment) {
	led, stop := r.leaders.Wait(a.ID)
	defer stop()
	if r.StreamLeader(a) != "" {
		return
	}
	select {
	case <-led:
	case <-ctx.Done():
	}
}

// Majority implements clustered.View.
func (r *Replication) Majority(a *clustered.Assignment) bool {
	s, ok := r.group(a.ID)
	if !ok {
		return len(a.Peers) < 2
	}
	voters, reached := 0, 0
	if s.Voter {
		voters, reached = 1, 1
	}
	for i := range s.Peers {
		if p := &s.Peers[i]; p.Voter {
			voters++
			if r.Online(p.Node) {
				reached++
			}
		}
	}
	return voters == 0 || reached > voters/2
}

// Online implements clustered.View.
func (r *Replication) Online(node string) bool {
	return node == r.node || r.transport.Up(node)
}

// node is a node with its name.
func named(v *state.View, id string) clustered.Node {
	n := clustered.Node{ID: id, Name: id}
	if m := v.Member(id); m != nil {
		n.Name = m.Name
	}
	return n
}

// Meta implements clustered.Cluster.
func (r *Replication) Meta() clustered.Status {
	s, v := r.status(), r.view()
	out := clustered.Status{}
	if s.Leader != "" {
		out.Leader = named(v, s.Leader)
	}
	for _, p := range s.Peers {
		out.Replicas = append(out.Replicas, clustered.Replica{
			Node: clustered.Node{ID: p.Node, Name: p.Name}, Current: p.Current, Offline: !p.Online,
			Active: max(p.Active, 0), Lag: uint64(max(p.Lag, 0)),
		})
	}
	return out
}

// Members implements clustered.Cluster.
func (r *Replication) Members() []clustered.Member {
	reached := r.reached()
	var list []clustered.Member
	for m := range r.view().Members() {
		list = append(list, clustered.Member{
			Node: clustered.Node{ID: m.Node, Name: m.Name}, Tags: m.Tags,
			Online: m.Node == r.node || slices.Contains(reached, m.Node),
		})
	}
	return list
}

// Streams implements clustered.Cluster.
func (r *Replication) Streams(account string) []*clustered.Assignment {
	var list []*clustered.Assignment
	for a := range r.view().Streams(account) {
		list = append(list, r.shown.of(a))
	}
	return list
}

// Mirrors implements clustered.Cluster.
func (r *Replication) Mirrors(account, origin string) []*clustered.Assignment {
	var list []*clustered.Assignment
	for a := range r.view().Mirrors(account, origin) {
		list = append(list, r.shown.of(a))
	}
	return list
}

// Status implements clustered.Cluster.
func (r *Replication) Status(id uint64) (clustered.Status, bool) {
	s, ok := r.group(id)
	if !ok {
		return clustered.Status{}, false
	}
	v := r.view()
	out := clustered.Status{Since: s.LeaderSince}
	out.Step, out.Kind = r.step(id)
	if s.Leader != "" {
		out.Leader = named(v, s.Leader)
	}
	own := clustered.Replica{Node: r.Self(), Current: s.Current(), Lag: replicas.Lag(&s)}
	out.Replicas = append(out.Replicas, own)
	for i := range s.Peers {
		out.Replicas = append(out.Replicas, r.replica(v, &s.Peers[i]))
	}
	return out, true
}

// replica is a member of a group as the service sees it.
func (r *Replication) replica(v *state.View, p *group.Peer) clustered.Replica {
	return clustered.Replica{
		Node: named(v, p.Node), Current: p.Current, Offline: !p.Current && p.Offline || !r.Online(p.Node), Active: p.Active, Lag: p.Lag,
	}
}

// Position implements clustered.Cluster.
func (r *Replication) Position() uint64 { return r.view().Index() }

// Await implements clustered.Cluster.
func (r *Replication) Await(ctx context.Context, position uint64) error {
	m := r.meta.Load()
	if m == nil {
		return errStarting
	}
	return m.Await(ctx, position)
}

// Create implements clustered.Cluster.
func (r *Replication) Create(ctx context.Context, account string, cfg config.Stream, l clustered.Limits) (*clustered.Assignment, error) {
	return r.propose(ctx, &state.CreateStream{Account: account, Config: cfg, Limits: limits(l), Created: time.Now().UnixNano()})
}

// Update implements clustered.Cluster.
func (r *Replication) Update(ctx context.Context, account string, cfg config.Stream, l clustered.Limits) (*clustered.Assignment, error) {
	return r.propose(ctx, &state.UpdateStream{Account: account, Config: cfg, Limits: limits(l)})
}

// limits are those of an account for the meta group.
func limits(l clustered.Limits) *state.Limits {
	return &state.Limits{MaxStreams: l.MaxStreams, MaxStoreBytes: l.MaxStoreBytes, MaxMemoryBytes: l.MaxMemoryBytes, Tiered: l.Tiered}
}

// Delete implements clustered.Cluster.
func (r *Replication) Delete(ctx context.Context, a *clustered.Assignment) error {
	_, err := r.propose(ctx, &state.DeleteStream{Account: a.Account, Name: a.Config.Name, ID: a.ID})
	return err
}

// Move implements clustered.Cluster.
func (r *Replication) Move(ctx context.Context, a *clustered.Assignment, m clustered.Move) (*clustered.Assignment, error) {
	return r.propose(ctx, &state.MoveStream{Account: a.Account, Name: a.Config.Name, From: m.From, Drop: m.Drop, To: m.To})
}

// CancelMove implements clustered.Cluster.
func (r *Replication) CancelMove(ctx context.Context, a *clustered.Assignment) (*clustered.Assignment, error) {
	return r.propose(ctx, &state.CancelChange{Account: a.Account, Name: a.Config.Name})
}

// propose has the meta group decide, and returns the stream as it is then, nil if the command is not about one.
func (r *Replication) propose(ctx context.Context, c state.Command) (*clustered.Assignment, error) {
	m := r.meta.Load()
	if m == nil {
		return nil, api.NewError(api.ClusterUnavailable)
	}
	res, err := m.Propose(ctx, c)
	switch {
	case errors.Is(err, meta.ErrNoLeader), errors.Is(err, meta.ErrClosed):
		return nil, api.NewError(api.ClusterUnavailable)
	case err != nil:
		return nil, err
	}
	if err := res.Err(); err != nil {
		return nil, api.FromConfig(err)
	}
	if err := m.Await(ctx, res.Index); err != nil {
		return nil, err
	}
	if res.Stream == nil {
		return nil, nil
	}
	if now := r.view().StreamByID(res.Stream.ID); now != nil {
		return r.shown.of(now), nil
	}
	return show(res.Stream), nil
}

// resolve makes the name of a server, or its id, an id.
func (r *Replication) resolve(server string) (string, error) {
	v := r.view()
	if server == "" || v.Member(server) != nil {
		return server, nil
	}
	if m := v.MemberByName(server); m != nil {
		return m.Node, nil
	}
	return "", api.NewError(api.ServerNotMember)
}

// StepDown implements clustered.Cluster.
func (r *Replication) StepDown(ctx context.Context, id uint64, to string) error {
	node, err := r.resolve(to)
	if err != nil {
		return err
	}
	g := r.groups.Load()
	if g == nil {
		return api.NewError(api.ClusterUnavailable)
	}
	return (*g).StepDown(ctx, id, node)
}

// StepDownMeta implements clustered.Cluster.
func (r *Replication) StepDownMeta(ctx context.Context, to string) error {
	var p *config.Placement
	if to != "" {
		node, err := r.resolve(to)
		if err != nil {
			return err
		}
		p = &config.Placement{Preferred: named(r.view(), node).Name}
	}
	m := r.meta.Load()
	if m == nil {
		return api.NewError(api.ClusterUnavailable)
	}
	return m.StepDown(ctx, p)
}

// RemoveServer implements clustered.Cluster.
func (r *Replication) RemoveServer(ctx context.Context, node string, graceful bool) error {
	var c state.Command = &state.RemoveMember{Node: node, Time: time.Now().UnixNano()}
	if graceful {
		c = &state.Evacuate{Node: node}
	}
	_, err := r.propose(ctx, c)
	return err
}

// Rescue implements clustered.Cluster.
func (r *Replication) Rescue(ctx context.Context, quorum int) (before, after int, err error) {
	s := r.status()
	if s.Leader != "" && r.Online(s.Leader) {
		return s.Quorum, s.Quorum, fmt.Errorf("the meta group has a leader, %s: there is nothing to rescue", named(r.view(), s.Leader).Name)
	}
	if quorum > s.Quorum {
		return s.Quorum, s.Quorum, fmt.Errorf("%d servers have to agree now, %d would be more", s.Quorum, quorum)
	}
	m := r.meta.Load()
	if m == nil {
		return 0, 0, errStarting
	}
	if err := m.Rescue(ctx, meta.RescueWord); err != nil {
		return s.Quorum, s.Quorum, err
	}
	return s.Quorum, r.status().Quorum, nil
}

// Call implements clustered.Cluster.
func (r *Replication) Call(ctx context.Context, node string, question []byte) ([]byte, error) {
	return r.transport.Call(ctx, node, serviceCall, question)
}

// LedStreams is how many streams this server leads.
func (r *Replication) LedStreams() int { return r.leaders.Led() }

// Quorum is how many servers of the meta group have to agree.
func (r *Replication) Quorum() int { return r.status().Quorum }

// behindMost is how many entries a replica may lack and still count as one that has caught up: under load some are always on
// their way.
const behindMost = 1000

// Behind yields the streams that were given to this server and that it does not have as they are, with the reason.
func (r *Replication) Behind() iter.Seq2[*state.Assignment, string] {
	return func(yield func(*state.Assignment, string) bool) {
		for a := range r.view().All() {
			if !a.On(r.node) {
				continue
			}
			if text := r.behind(a); text != "" && !yield(a, text) {
				return
			}
		}
	}
}

// behind says what this server lacks of a stream, nothing if it has it.
func (r *Replication) behind(a *state.Assignment) string {
	s, ok := r.group(a.ID)
	switch {
	case !ok:
		return "this server has no replica of it yet"
	case s.Failed != nil:
		return "its replica here has failed: " + s.Failed.Error()
	case s.Leader == "":
		return "it has no leader"
	case replicas.Lag(&s) > behindMost:
		return fmt.Sprintf("its replica here lacks %d entries", replicas.Lag(&s))
	case !s.Voter && !a.Solo():
		return "its replica here is being filled"
	}
	return ""
}

// Err tells why this server has no part in the cluster: it was removed, or waits for others. It is nil if all is well.
func (r *Replication) Err() error {
	m := r.meta.Load()
	if m == nil {
		return errStarting
	}
	if err := m.Err(); err != nil {
		return err
	}
	if w := m.Waiting(); w != "" {
		return errors.New(w)
	}
	return m.Status().Votes
}
