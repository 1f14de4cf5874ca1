package meta

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"runnel/cluster/meta/state"
)

// form takes the server into a cluster, however long that takes.
func (m *Meta) form() {
	ticker := time.NewTicker(formEvery)
	defer ticker.Stop()
	said := m.begun
	for {
		s := m.step()
		if m.isFormed() {
			return
		}
		m.mu.Lock()
		changed := m.reason != s.why
		m.reason = s.why
		m.mu.Unlock()
		if since := time.Since(said); s.why != "" && (changed && s.verb == refused || since > 10*time.Second) {
			said = time.Now()
			m.logger.Warn("the cluster is not formed yet", "reason", s.why)
		}
		select {
		case <-ticker.C:
		case <-m.ctx.Done():
			return
		}
	}
}

// step asks the others and does what comes next.
func (m *Meta) step() step {
	answers := m.ask(m.cfg.Connected())
	me := m.hello()
	s := decide(me, answers, func() string { return draw(16) })
	var err error
	switch s.verb {
	case promise:
		err = m.settle(s.plan, false)
	case form:
		err = m.settle(s.plan, true)
	case join:
		if s.why = m.askToJoin(s.ask, s.plan.ClusterID); s.why == "" {
			err = m.settle(s.plan, true)
		}
	}
	if err != nil {
		m.halt(err)
	}
	return s
}

// settle makes it durable that the server has promised a plan or belongs to its cluster; then it takes part.
func (m *Meta) settle(p *plan, formed bool) error {
	m.mu.Lock()
	f := m.formation
	m.mu.Unlock()
	f.Plan, f.Formed = p, formed
	if err := f.save(m.cfg.FS, m.cfg.Dir); err != nil {
		return err
	}
	m.mu.Lock()
	m.formation = f
	m.mu.Unlock()
	if !formed {
		return nil
	}
	m.logger.Info("the server belongs to a cluster", "cluster_id", p.ClusterID)
	return m.start()
}

// hello is what this server has to say.
func (m *Meta) hello() *hello {
	sees := append(m.cfg.Connected(), m.self)
	slices.Sort(sees)
	leader, _, _ := m.leader.get()
	h := &hello{Size: m.cfg.Expected(), Sees: slices.Compact(sees), Leader: leader}
	m.mu.Lock()
	defer m.mu.Unlock()
	h.Member, h.Plan, h.Formed = m.describe, m.formation.Plan, m.formation.Formed
	return h
}

// ask says hello to others, and returns what they say.
func (m *Meta) ask(nodes []string) map[string]*hello {
	mine, err := json.Marshal(m.hello())
	if err != nil {
		m.logger.Error("encode what this server is", "error", err)
		return nil
	}
	ctx, cancel := context.WithTimeout(m.ctx, callTimeout)
	defer cancel()
	var mu sync.Mutex
	var asked sync.WaitGroup
	answers := make(map[string]*hello)
	for _, node := range nodes {
		asked.Go(func() {
			b, err := m.cfg.Calls.Call(ctx, node, serviceForm, mine)
			var h hello
			if err != nil || json.Unmarshal(b, &h) != nil || h.Member.Node != node {
				return // asked again soon
			}
			mu.Lock()
			defer mu.Unlock()
			answers[node] = &h
		})
	}
	asked.Wait()
	return answers
}

// serveHello answers ask. What the other says of itself is not used: this server asks for itself.
func (m *Meta) serveHello(_ context.Context, from string, _ []byte) ([]byte, error) {
	h := m.hello()
	h.Removed = m.View().Removed(from)
	return json.Marshal(h)
}

// errRemoved is why a server halts that does not belong to the cluster any more.
var errRemoved = errors.New("this server was removed from the cluster; to join again it needs an empty JetStream directory")

// lookForOthers complains of servers that belong to another cluster, and finds out whether this one was removed: raft does not tell.
func (m *Meta) lookForOthers() {
	view, id := m.View(), m.clusterID()
	if view.Removed(m.self) && !m.Leads() {
		m.halt(errRemoved)
		return
	}
	leader, _, _ := m.leader.get()
	others := m.cfg.Connected()
	if leader != "" {
		others = slices.DeleteFunc(others, func(node string) bool { return view.Member(node) != nil })
	}
	for node, h := range m.ask(others) {
		switch {
		case h.Plan == nil || !h.Formed:
		case h.Plan.ClusterID != id:
			m.logger.Error("a server belongs to another cluster: both have to keep apart, or one of them has to join with an empty directory",
				"server", h.Member.Name, "node", node, "its_cluster", h.Plan.ClusterID, "cluster", id)
		case h.Removed:
			m.halt(errRemoved)
		}
	}
}

// request is what a server asks the leader that wants to be let in, or is in and reports.
type request struct {
	ClusterID string       `json:"cluster_id"`
	Member    state.Member `json:"member"`
	Usage     Usage        `json:"usage"`
	// Applied is the last entry that it has applied, of any kind.
	Applied uint64 `json:"applied"`
}

// verdict is what the leader answers.
type verdict struct {
	// Leads is false if it does not lead; everything else is empty then.
	Leads bool `json:"leads"`
	// Removed says that the server was a member and is not any more.
	Removed bool `json:"removed,omitempty"`
	// Refused says what is wrong.
	Refused string `json:"refused,omitempty"`
}

// report is the last that a member has said.
type report struct {
	request
	at time.Time
}

// askToJoin asks to be let in, and tells why it was not; empty if it was.
func (m *Meta) askToJoin(node, clusterID string) string {
	ctx, cancel := context.WithTimeout(m.ctx, proposeTimeout)
	defer cancel()
	v, err := m.tell(ctx, node, serviceJoin, &request{ClusterID: clusterID, Member: m.description()})
	switch {
	case err != nil:
		return "the cluster's leader has not answered: " + err.Error()
	case v.Removed:
		return errRemoved.Error()
	case v.Refused != "":
		return "the cluster does not let this server in: " + v.Refused
	case !v.Leads:
		return "the cluster has no leader at the moment"
	}
	return ""
}

// tell sends a request to the leader.
func (m *Meta) tell(ctx context.Context, node, service string, q *request) (*verdict, error) {
	b, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	if b, err = m.cfg.Calls.Call(ctx, node, service, b); err != nil {
		return nil, err
	}
	var v verdict
	return &v, json.Unmarshal(b, &v)
}

// serveJoin lets a server in.
func (m *Meta) serveJoin(ctx context.Context, from string, b []byte) ([]byte, error) {
	var q request
	if err := json.Unmarshal(b, &q); err != nil {
		return nil, fmt.Errorf("read a request to join: %w", err)
	}
	g := m.current()
	if g == nil || !g.leading.Load() {
		return json.Marshal(&verdict{})
	}
	return json.Marshal(m.admit(ctx, g, from, &q))
}

// admit decides about a server that wants to be let in.
func (m *Meta) admit(ctx context.Context, g *group, from string, q *request) *verdict {
	view := m.View()
	v := &verdict{Leads: true}
	switch {
	case q.Member.Node != from:
		v.Refused = "it is another node than it says"
		return v
	case q.ClusterID != view.ClusterID():
		v.Refused = "it wants to join the cluster " + q.ClusterID + ", this is " + view.ClusterID()
		return v
	case view.Removed(from):
		v.Removed = true
		return v
	}
	q.Member.Replaces = ""
	if same := view.MemberByName(q.Member.Name); same != nil && same.Node != from {
		if same.Node == m.self || slices.Contains(m.cfg.Connected(), same.Node) {
			v.Refused = "there is a server of the name " + q.Member.Name
			return v
		}
		q.Member.Replaces = same.Node
	}
	r, err := m.apply(ctx, g, &state.Admit{Member: q.Member, Time: time.Now().UnixNano()})
	if err == nil {
		err = r.Err()
	}
	if err != nil {
		v.Refused = err.Error()
	}
	return v
}

// report tells the leader how this server is doing.
func (m *Meta) report() {
	g := m.current()
	leader, _, _ := m.leader.get()
	if g == nil || leader == "" {
		return
	}
	q := &request{ClusterID: m.clusterID(), Member: m.description(), Applied: g.raft.AppliedIndex()}
	if m.cfg.Usage != nil {
		q.Usage = m.cfg.Usage()
	}
	if leader == m.self {
		m.noteReport(m.self, q)
		return
	}
	ctx, cancel := context.WithTimeout(m.ctx, callTimeout)
	defer cancel()
	v, err := m.tell(ctx, leader, serviceReport, q)
	switch {
	case err != nil:
		m.logger.Debug("report to the leader of the meta group", "error", err)
	case v.Removed:
		m.halt(errRemoved)
	case v.Refused != "":
		m.logger.Error("the cluster does not know this server", "reason", v.Refused)
	}
}

// clusterID is the id of the cluster that the server belongs to.
func (m *Meta) clusterID() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.formation.Plan == nil {
		return ""
	}
	return m.formation.Plan.ClusterID
}

// serveReport takes a report.
func (m *Meta) serveReport(_ context.Context, from string, b []byte) ([]byte, error) {
	var q request
	if err := json.Unmarshal(b, &q); err != nil {
		return nil, fmt.Errorf("read a report: %w", err)
	}
	if !m.Leads() {
		return json.Marshal(&verdict{})
	}
	view := m.View()
	v := &verdict{Leads: true}
	member := view.Member(from)
	switch {
	case view.Removed(from):
		v.Removed = true
	case q.ClusterID != view.ClusterID():
		v.Refused = "it belongs to the cluster " + q.ClusterID + ", this is " + view.ClusterID()
	case member == nil:
		v.Refused = "it is not a member"
	case member.Instance != q.Member.Instance:
		v.Refused = "it has lost what it had of the cluster, and kept its id"
	default:
		m.noteReport(from, &q)
	}
	return json.Marshal(v)
}

// noteReport keeps a report.
func (m *Meta) noteReport(node string, q *request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reports[node] = report{*q, time.Now()}
}

// freshReport returns what a member has said lately.
func (m *Meta) freshReport(node string) (report, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.reports[node]
	return r, ok && time.Since(r.at) < reportFresh
}

// serve lets others call.
func (m *Meta) serve() {
	for service, handler := range map[string]func(context.Context, string, []byte) ([]byte, error){
		serviceForm: m.serveHello, serviceJoin: m.serveJoin, servicePropose: m.serveProposal, serviceReport: m.serveReport,
		servicePosition: m.servePosition, serviceRescue: m.serveRescue, serviceStepDown: m.serveStepDown,
	} {
		m.cfg.Calls.Handle(service, func(ctx context.Context, from string, payload []byte) ([]byte, error) {
			if m.ctx.Err() != nil {
				return nil, ErrClosed
			}
			return handler(ctx, from, payload)
		})
	}
}
