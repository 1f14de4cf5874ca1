package meta

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"runnel/cluster/meta/state"
)

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
		if m.reachable(g, same.Node) {
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

// reachable tells whether a node is there, as far as this server or most voters see it.
func (m *Meta) reachable(g *group, node string) bool {
	if node == m.self || slices.Contains(m.cfg.Connected(), node) {
		return true
	}
	var voters []string
	for _, s := range g.raft.GetConfiguration().Configuration().Servers {
		if s.Suffrage == raft.Voter {
			voters = append(voters, string(s.ID))
		}
	}
	return m.cfg.Reached != nil && m.cfg.Reached(voters, node)
}
