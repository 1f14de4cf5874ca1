package meta

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"runnel/cluster/meta/state"
)

const (
	// nearEnough is how many entries a server may lack that gets a vote: it has them before anybody needs it.
	nearEnough = 64
	// movesAtOnce bounds the streams that are given other servers in one go, so that proposals of clients come in between.
	movesAtOnce = 64
	// tidyEvery is how often all streams are looked at if nothing has changed: a server may have come back that one can move to.
	tidyEvery = 5 * time.Second
)

// tidied is the state in which no stream was to be moved, and when that was so.
type tidied struct {
	view *state.View
	at   time.Time
}

// chores proposes what mends what is not as it should be. Whatever fails is tried again the next time.
func (m *Meta) chores(ctx context.Context, g *group, last *tidied) {
	view := m.View()
	m.forget(view)
	for _, c := range m.due(view) {
		m.propose(ctx, g, c)
	}
	if err := m.mendVotes(ctx, g, m.View()); err != nil && ctx.Err() == nil {
		m.logger.Debug("change who votes in the meta group", "error", err)
	}
	if view = m.View(); view == last.view && time.Since(last.at) < tidyEvery {
		return
	}
	moves := m.moves(view)
	for _, c := range moves {
		m.propose(ctx, g, c)
	}
	if len(moves) == 0 {
		*last = tidied{view, time.Now()}
	}
}

// forget drops what servers have said that are no members any more.
func (m *Meta) forget(view *state.View) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for node := range m.reports {
		if view.Member(node) == nil {
			delete(m.reports, node)
		}
	}
}

// propose proposes one thing of the leader's own.
func (m *Meta) propose(ctx context.Context, g *group, c state.Command) {
	if ctx.Err() != nil {
		return
	}
	r, err := m.apply(ctx, g, c)
	if err == nil {
		err = r.Err()
	}
	if err != nil && ctx.Err() == nil {
		m.logger.Debug("a chore of the leader of the meta group", "command", c, "error", err)
	}
}

// due lists what has to be proposed about members: what they say of themselves anew, who has been evacuated, a higher level.
func (m *Meta) due(view *state.View) []state.Command {
	var due []state.Command
	now := time.Now().UnixNano()
	level, known := 0, true
	for member := range view.Members() {
		r, ok := m.freshReport(member.Node)
		if ok && !member.Describes(&r.Member) {
			due = append(due, &state.Admit{Member: r.Member, Time: now})
		}
		known = known && ok
		if level == 0 || member.Level < level {
			level = member.Level
		}
		if member.Evacuating && view.Load(member.Node).Streams == 0 && view.Size() > 1 {
			due = append(due, &state.RemoveMember{Node: member.Node, Time: now})
		}
	}
	if known && level > view.Level() {
		due = append(due, &state.Raise{Level: level})
	}
	return due
}

// changing tells whether raft's configuration has still to follow the members.
func (m *Meta) changing(g *group, view *state.View) bool {
	f := g.raft.GetConfiguration()
	if f.Error() != nil {
		return true
	}
	servers := f.Configuration().Servers
	return len(servers) != view.Size() || slices.ContainsFunc(servers, func(s raft.Server) bool { return view.Member(string(s.ID)) == nil })
}

// mendVotes takes one step towards a raft configuration that has all members and nobody else, and as many voters as there should be. Each step
// is committed before the next.
func (m *Meta) mendVotes(ctx context.Context, g *group, view *state.View) error {
	f := g.raft.GetConfiguration()
	if err := f.Error(); err != nil {
		return err
	}
	change, node := m.nextVote(view, f.Configuration(), g.raft.AppliedIndex())
	if change == nil {
		return nil
	}
	m.logger.Info("who votes in the meta group changes", "node", node)
	return await(ctx, change(g.raft, f.Index()))
}

// change is a change of raft's configuration, given the index of the last one.
type change func(r *raft.Raft, index uint64) raft.Future

// nextVote returns the next change of who votes, nil for none.
func (m *Meta) nextVote(view *state.View, c raft.Configuration, applied uint64) (change, string) {
	voters := 0
	for _, s := range c.Servers {
		if s.Suffrage == raft.Voter {
			voters++
		}
	}
	for member := range view.Members() {
		if !slices.ContainsFunc(c.Servers, func(s raft.Server) bool { return string(s.ID) == member.Node }) {
			return addNonvoter(member.Node), member.Node
		}
	}
	ready := m.readyToVote(view, c, applied)
	for _, s := range c.Servers {
		if view.Member(string(s.ID)) != nil {
			continue
		}
		heir := slices.IndexFunc(ready, func(n *state.Member) bool { return n.Replaces == string(s.ID) })
		switch {
		case s.Suffrage == raft.Voter && heir >= 0:
			return addVoter(ready[heir].Node), ready[heir].Node // first, so that there are never fewer voters
		case s.Suffrage == raft.Voter && m.expectsHeir(view, c, string(s.ID)):
			continue // it will have caught up soon
		}
		return removeServer(string(s.ID)), string(s.ID)
	}
	want := votersOf(view.Size())
	switch {
	case voters < want && len(ready) > 0:
		return addVoter(ready[0].Node), ready[0].Node
	case voters > want:
		node := m.superfluous(c)
		return demoteVoter(node), node
	}
	return nil, ""
}

func addNonvoter(node string) change {
	return func(r *raft.Raft, index uint64) raft.Future {
		return r.AddNonvoter(raft.ServerID(node), raft.ServerAddress(node), index, proposeTimeout)
	}
}

func addVoter(node string) change {
	return func(r *raft.Raft, index uint64) raft.Future {
		return r.AddVoter(raft.ServerID(node), raft.ServerAddress(node), index, proposeTimeout)
	}
}

func removeServer(node string) change {
	return func(r *raft.Raft, index uint64) raft.Future {
		return r.RemoveServer(raft.ServerID(node), index, proposeTimeout)
	}
}

func demoteVoter(node string) change {
	return func(r *raft.Raft, index uint64) raft.Future {
		return r.DemoteVoter(raft.ServerID(node), index, proposeTimeout)
	}
}

// readyToVote lists the members without a vote that have caught up and can be reached.
func (m *Meta) readyToVote(view *state.View, c raft.Configuration, applied uint64) []*state.Member {
	connected := m.cfg.Connected()
	var ready []*state.Member
	for _, s := range c.Servers {
		member := view.Member(string(s.ID))
		if s.Suffrage == raft.Voter || member == nil || member.Evacuating || !slices.Contains(connected, member.Node) {
			continue
		}
		if r, ok := m.freshReport(member.Node); ok && r.Applied+nearEnough >= applied {
			ready = append(ready, member)
		}
	}
	slices.SortFunc(ready, func(a, b *state.Member) int { return cmp.Compare(a.Node, b.Node) })
	return ready
}

// expectsHeir tells whether a member without a vote is to take the place of a node and can be reached.
func (m *Meta) expectsHeir(view *state.View, c raft.Configuration, node string) bool {
	for _, s := range c.Servers {
		member := view.Member(string(s.ID))
		if member != nil && member.Replaces == node && s.Suffrage != raft.Voter && slices.Contains(m.cfg.Connected(), member.Node) {
			return true
		}
	}
	return false
}

// superfluous returns the voter to be done without: not this server; one that cannot be reached rather than others.
func (m *Meta) superfluous(c raft.Configuration) string {
	connected := m.cfg.Connected()
	var worst string
	for _, s := range c.Servers {
		node := string(s.ID)
		if s.Suffrage != raft.Voter || node == m.self {
			continue
		}
		off, worstOff := !slices.Contains(connected, node), worst != "" && !slices.Contains(connected, worst)
		if worst == "" || off && !worstOff || off == worstOff && node > worst {
			worst = node
		}
	}
	return worst
}

// moves lists the streams that have to get other servers, since some of theirs have left, are being left, or are too few.
func (m *Meta) moves(view *state.View) []state.Command {
	var moves []state.Command
	var servers []state.Server
	for a := range view.All() {
		gone, bad := astray(view, a)
		if len(gone)+len(bad) == 0 && len(a.Target()) >= a.Config.Replicas {
			continue
		}
		if servers == nil {
			servers = m.servers(view)
		}
		if c := m.move(a, gone, bad, servers); c != nil {
			moves = append(moves, c)
		}
		if len(moves) == movesAtOnce {
			break
		}
	}
	return moves
}

// astray returns the servers of a stream that have left the cluster, and those of its target that are being left.
func astray(view *state.View, a *state.Assignment) (gone, bad []string) {
	for _, node := range a.Peers {
		member := view.Member(node)
		switch {
		case member == nil:
			gone = append(gone, node)
		case member.Evacuating && slices.Contains(a.Target(), node):
			bad = append(bad, node)
		}
	}
	return gone, bad
}

// move returns the command that gives a stream other servers, nil if there is nothing better. A server that has left is dropped at
// once, if others have the stream; one that is being left keeps its replica until another one has it.
func (m *Meta) move(a *state.Assignment, gone, bad []string, servers []state.Server) state.Command {
	need := state.NeedOf(&a.Config)
	need.Keep, need.UniqueTag, need.Without = keep(a), m.cfg.UniqueTag, append(slices.Clone(gone), bad...)
	peers := state.PlaceSome(need, servers)
	c := &state.MoveStream{Account: a.Account, Name: a.Config.Name, Version: a.Version, Peers: peers, Time: time.Now().UnixNano(), Upkeep: true}
	if len(gone) > 0 {
		c.From, c.Drop = gone[0], true
		if !slices.ContainsFunc(a.Source(), func(n string) bool { return !slices.Contains(gone, n) }) {
			return nil // nobody else has the whole stream: it waits for being deleted
		}
	}
	same := len(gone) == 0 && len(peers) <= len(a.Target()) && !slices.ContainsFunc(peers, func(n string) bool { return !slices.Contains(a.Target(), n) })
	if len(peers) == 0 || same || len(peers) < len(a.Target())-len(gone) {
		return nil
	}
	return c
}
