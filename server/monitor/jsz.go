package monitor

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// JszOptions are the parameters of the JetStream page.
type JszOptions struct {
	Account          string // only this account, whatever the window
	Accounts         bool   // list accounts
	Streams          bool   // list streams, implies Accounts
	Consumers        bool   // list consumers, implies Streams
	DirectConsumers  bool   // also those of mirrors and sources, of which this server has none
	Config           bool   // with their configuration
	LeaderOnly       bool   // only an answer from the meta leader
	StreamLeaderOnly bool   // only streams that this server leads
	RaftGroups       bool   // with raft groups
	Offset, Limit    int64  // window on the accounts, Limit 0 = 1024
}

func (o *JszOptions) parameters() []parameter {
	return []parameter{
		text("acc", "account", &o.Account),
		flag("accounts", "accounts", &o.Accounts),
		flag("streams", "streams", &o.Streams),
		flag("consumers", "consumer", &o.Consumers),
		flag("direct-consumers", "direct_consumer", &o.DirectConsumers),
		flag("config", "config", &o.Config),
		flag("leader-only", "leader_only", &o.LeaderOnly),
		flag("stream-leader-only", "stream_leader_only", &o.StreamLeaderOnly),
		flag("raft", "raft", &o.RaftGroups),
		count("offset", "offset", &o.Offset),
		count("limit", "limit", &o.Limit),
	}
}

// Jsz is the JetStream page; all figures are 0 while JetStream is off. Those outside of accounts are of the whole
// server, whatever a request is about.
type Jsz struct {
	JetStreamStats
	ServerID        string           `json:"server_id"`
	Now             time.Time        `json:"now"`
	Disabled        bool             `json:"disabled,omitempty"`
	Config          JetStreamConfig  `json:"config"`
	Limits          *JetStreamLimits `json:"limits,omitempty"`
	Streams         int              `json:"streams"`
	StreamsLeader   int              `json:"streams_leader,omitempty"` // that this server leads; with RaftGroups
	Consumers       int              `json:"consumers"`
	ConsumersLeader int              `json:"consumers_leader,omitempty"`
	Messages        uint64           `json:"messages"`
	Bytes           uint64           `json:"bytes"`
	Meta            *MetaCluster     `json:"meta_cluster,omitempty"`
	Problems        []Problem        `json:"problems,omitempty"` // what is wrong, the worst first
	Details         []JszAccount     `json:"account_details,omitempty"`
	Total           int              `json:"total"` // accounts that there are
}

// JszAccount is an account on the JetStream page.
type JszAccount struct {
	JetStreamAccount
	Streams []StreamDetail `json:"stream_detail,omitempty"` // ordered by name
}

// ErrNotLeader is given for what is asked of the leader of the meta group alone: the others stay silent.
var ErrNotLeader = &RequestError{Code: http.StatusServiceUnavailable, Text: "this server does not lead the meta group"}

// Jsz returns the JetStream page. A server alone leads everything and has no raft groups, so it answers requests that
// are for leaders. It is ErrNotLeader for those on a server of a cluster that does not lead.
func (p *Pages) Jsz(o JszOptions) (*Jsz, error) {
	page := &Jsz{ServerID: p.source.Identity().ID, Now: now()}
	js, on := p.source.JetStream()
	if o.LeaderOnly && on && js.Meta != nil && !js.Meta.Leads {
		return nil, ErrNotLeader
	}
	if !on {
		page.Disabled = true
		return page, nil
	}
	page.Meta = js.Meta
	page.JetStreamStats, page.Config, page.Limits = js.Stats, js.Config, &js.Limits
	page.Streams, page.Consumers, page.Messages, page.Bytes = js.Streams, js.Consumers, js.Messages, js.Bytes
	page.Problems = worstFirst(js.Problems)
	if o.RaftGroups {
		page.StreamsLeader, page.ConsumersLeader = js.LedStreams, js.LedConsumers
	}
	accounts := p.jetStreamAccounts()
	page.Total = len(accounts)
	switch {
	case o.Account != "":
		accounts = slices.DeleteFunc(accounts, func(a JetStreamAccount) bool { return a.ID != o.Account })
	case o.Accounts || o.Streams || o.Consumers:
		accounts = cut(accounts, window(o.Offset, o.Limit))
	default:
		return page, nil
	}
	for _, a := range accounts {
		page.Details = append(page.Details, JszAccount{a, p.jszStreams(a.ID, o)})
	}
	return page, nil
}

// JszAccount returns one account as the JetStream page shows it, with what the options ask for. It is an error if
// there is no such account, or if it may not use JetStream.
func (p *Pages) JszAccount(o JszOptions) (*JszAccount, error) {
	if _, on := p.source.JetStream(); !on {
		return nil, errors.New("jetstream not enabled")
	}
	for _, a := range p.source.JetStreamAccounts() {
		if a.ID == o.Account {
			return &JszAccount{a, p.jszStreams(a.ID, o)}, nil
		}
	}
	if _, ok := p.source.Account(o.Account); !ok {
		return nil, fmt.Errorf("account %q not found", o.Account)
	}
	return nil, fmt.Errorf("account %q not jetstream enabled", o.Account)
}

// jetStreamAccounts returns the accounts with JetStream, ordered by their ids.
func (p *Pages) jetStreamAccounts() []JetStreamAccount {
	accounts := p.source.JetStreamAccounts()
	slices.SortFunc(accounts, func(a, b JetStreamAccount) int { return cmp.Compare(a.ID, b.ID) })
	return accounts
}

// jszStreams returns the streams of an account if they are asked for, with their consumers ordered by name.
func (p *Pages) jszStreams(account string, o JszOptions) []StreamDetail {
	if !o.Streams && !o.Consumers {
		return nil
	}
	query := StreamQuery{Consumers: o.Consumers, Config: o.Config, Subjects: true, Dead: true}
	streams := slices.SortedFunc(p.source.JetStreamStreams(account, query), func(a, b StreamDetail) int {
		return cmp.Compare(a.Name, b.Name)
	})
	if name := p.source.Identity().Name; o.StreamLeaderOnly {
		streams = slices.DeleteFunc(streams, func(d StreamDetail) bool { return d.Cluster != nil && d.Cluster.Leader != name })
	}
	for i := range streams {
		slices.SortFunc(streams[i].Consumers, func(a, b ConsumerDetail) int { return cmp.Compare(a.Name, b.Name) })
	}
	return streams
}

// worstFirst orders problems: those that stop something, then by what they concern.
func worstFirst(problems []Problem) []Problem {
	rank := func(p *Problem) int {
		if p.Down {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(rank(&a), rank(&b)), cmp.Compare(a.Account, b.Account),
			cmp.Compare(a.Stream, b.Stream), cmp.Compare(a.Consumer, b.Consumer))
	})
	return problems
}
