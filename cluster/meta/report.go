package meta

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

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
