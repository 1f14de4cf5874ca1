package monitor

import (
	"net/http"
	"time"

	"runnel/cluster/survey"
)

// ClusterSource is what the pages need to know about what servers keep together. What [Source] says about copies and
// about being called from many goroutines holds here too.
type ClusterSource interface {
	// Survey asks the other servers of the cluster too, so it may take a few seconds. It is nil for a server that keeps its
	// streams alone.
	Survey() (*survey.Report, error)

	// RaftGroups returns the groups that this server has a part in, in any order, nothing for a server alone.
	RaftGroups() []RaftGroup
}

// RaftGroup is a raft group as one server sees it.
type RaftGroup struct {
	Account string `json:"-"`
	Name    string `json:"-"`

	ID             string              `json:"id"`    // of this server
	State          string              `json:"state"` // LEADER, FOLLOWER, OBSERVER (without a vote) or CLOSED
	Size           int                 `json:"size"`
	Quorum         int                 `json:"quorum_needed"`
	Committed      uint64              `json:"committed"`
	Applied        uint64              `json:"applied"`
	CatchingUp     bool                `json:"catching_up,omitempty"`
	Leader         string              `json:"leader,omitempty"`
	LeaderSince    *time.Time          `json:"leader_since,omitempty"`
	EverHadLeader  bool                `json:"ever_had_leader"`
	Term           uint64              `json:"term"`
	LastIndex      uint64              `json:"pindex"`
	SystemAccount  bool                `json:"system_account"`
	TrafficAccount string              `json:"traffic_account"`
	Failure        string              `json:"wal_error,omitempty"` // why it takes no part any more
	Peers          map[string]RaftPeer `json:"peers"`
}

// RaftPeer is another member of a group.
type RaftPeer struct {
	Name      string `json:"name"`
	Known     bool   `json:"known"`
	LastIndex uint64 `json:"last_replicated_index,omitempty"` // only the leader knows
	LastSeen  string `json:"last_seen,omitempty"`             // how long ago
}

// errAlone refuses what only a cluster that keeps streams has.
var errAlone = &RequestError{
	Code: http.StatusNotFound, Text: "this server keeps no streams together with others: it takes a cluster and jetstream in its configuration",
}

// Clusterz returns the state of the cluster: who leads what, who lags, which server can be stopped now.
func (p *Pages) Clusterz() (*survey.Report, error) {
	r, err := p.source.Survey()
	if err == nil && r == nil {
		return nil, errAlone
	}
	return r, err
}

// RaftzOptions are the parameters of the raft groups page.
type RaftzOptions struct {
	Account string // only groups of this account
	Group   string // only this group
}

func (o *RaftzOptions) parameters() []parameter {
	return []parameter{text("acc", "account", &o.Account), text("group", "group", &o.Group)}
}

// Raftz returns raft groups by account and name. A server alone has none.
func (p *Pages) Raftz(o RaftzOptions) (map[string]map[string]RaftGroup, error) {
	found := map[string]map[string]RaftGroup{}
	for _, g := range p.source.RaftGroups() {
		if o.Account != "" && o.Account != g.Account || o.Group != "" && o.Group != g.Name {
			continue
		}
		if found[g.Account] == nil {
			found[g.Account] = map[string]RaftGroup{}
		}
		found[g.Account][g.Name] = g
	}
	return found, nil
}
