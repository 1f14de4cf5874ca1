package meta

import (
	"errors"
	"slices"
	"time"

	"runnel/cluster/meta/state"
	"runnel/jetlog/config"
)

// prepare fills in what only the leader knows: times, and servers for streams. If it returns a result, the command is not to be
// proposed. done has to be called when the command was applied or not: until then its servers count as used.
func (m *Meta) prepare(g *group, view *state.View, c state.Command) (done func(), refused *state.Result) {
	done = func() {}
	now := time.Now().UnixNano()
	var err error
	switch c := c.(type) {
	case *state.CreateStream:
		if c.Created == 0 {
			c.Created = now
		}
		if len(c.Peers) == 0 && view.Stream(c.Account, c.Config.Name) == nil {
			c.Peers, done, err = m.place(view, state.NeedOf(&c.Config))
		}
	case *state.UpdateStream:
		c.Time = now
		err = m.prepareUpdate(view, c)
	case *state.MoveStream:
		c.Time = now
		err = m.prepareMove(view, c)
	case *state.CancelChange:
		c.Time = now
	case *state.Admit:
		c.Time = now
	case *state.Evacuate:
		c.Node = nodeOf(view, c.Node)
	case *state.RemoveMember:
		c.Time, c.Node = now, nodeOf(view, c.Node)
		if m.changing(g, view) {
			err = &config.Error{Code: state.MemberChangeInProgress}
		}
	}
	var e *config.Error
	if errors.As(err, &e) {
		return done, &state.Result{Code: e.Code, Detail: e.Detail}
	}
	return done, nil
}

// prepareUpdate finds servers for a stream that is to have others, or more, or fewer.
func (m *Meta) prepareUpdate(view *state.View, c *state.UpdateStream) error {
	old := view.Stream(c.Account, c.Config.Name)
	if old == nil || old.Desired != nil || len(c.Peers) > 0 || !state.Relocates(&old.Config, &c.Config) {
		return nil
	}
	need := state.NeedOf(&c.Config)
	need.Keep, need.UniqueTag = keep(old), m.cfg.UniqueTag
	var err error
	c.Version = old.Version
	c.Peers, err = state.Place(need, m.servers(view))
	return err
}

// prepareMove finds servers for a stream that is to move.
func (m *Meta) prepareMove(view *state.View, c *state.MoveStream) error {
	c.From = nodeOf(view, c.From)
	old := view.Stream(c.Account, c.Name)
	if old == nil || len(c.Peers) > 0 || c.From != "" && !old.On(c.From) {
		return nil
	}
	c.Version = old.Version
	if old.Desired != nil && !c.Upkeep {
		return nil
	}
	need := state.NeedOf(&old.Config)
	need.Keep, need.UniqueTag = keep(old), m.cfg.UniqueTag
	if c.To != nil {
		need.Placement = c.To
	}
	if c.From != "" {
		need.Without = []string{c.From}
	}
	peers, err := state.Place(need, m.servers(view))
	if err != nil && c.From != "" {
		return &config.Error{Code: state.PeerRemapFailed}
	}
	c.Peers = peers
	return err
}

// keep lists where a stream is or is going to be, who should lead in front.
func keep(a *state.Assignment) []string {
	nodes := slices.Clone(a.Target())
	if i := slices.Index(nodes, a.Preferred); i > 0 {
		nodes[0], nodes[i] = nodes[i], nodes[0]
	}
	return nodes
}

// place finds servers for a new stream, and counts it as theirs until done is called: others are placed at the same time.
func (m *Meta) place(view *state.View, need state.Request) (peers []string, done func(), err error) {
	need.UniqueTag = m.cfg.UniqueTag
	connected := m.cfg.Connected()
	m.mu.Lock()
	defer m.mu.Unlock()
	peers, err = state.Place(need, m.serversLocked(view, connected))
	if err != nil {
		return nil, func() {}, err
	}
	m.countLocked(peers, &need, 1)
	return peers, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.countLocked(peers, &need, -1)
	}, nil
}

// countLocked counts a stream that is being placed. The caller holds mu.
func (m *Meta) countLocked(peers []string, need *state.Request, sign int) {
	for i, node := range peers {
		l := m.placing[node]
		l.Count(need, i == 0, sign)
		if l.Streams == 0 {
			delete(m.placing, node)
		} else {
			m.placing[node] = l
		}
	}
}

// servers are the members as placement sees them now.
func (m *Meta) servers(view *state.View) []state.Server {
	connected := m.cfg.Connected()
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.serversLocked(view, connected)
}

// serversLocked is servers for who holds mu and has asked who can be reached.
func (m *Meta) serversLocked(view *state.View, connected []string) []state.Server {
	var all []state.Server
	for member := range view.Members() {
		s := state.Server{Member: member, Online: member.Node == m.self || slices.Contains(connected, member.Node)}
		s.Load = view.Load(member.Node)
		s.Load.Add(m.placing[member.Node])
		if r, ok := m.reports[member.Node]; ok {
			s.FreeBytes, s.Full = r.Usage.FreeBytes, r.Usage.Full
		}
		all = append(all, s)
	}
	return all
}

// nodeOf returns the node of a member that is given by name or node.
func nodeOf(view *state.View, given string) string {
	if view.Member(given) == nil {
		if member := view.MemberByName(given); member != nil {
			return member.Node
		}
	}
	return given
}
