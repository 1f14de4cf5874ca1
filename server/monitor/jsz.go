package monitor

import "time"

// JszOptions are the parameters of the JetStream page.
type JszOptions struct {
	Account          string // only this account, implies Accounts
	Accounts         bool   // list accounts
	Streams          bool   // list streams, implies Accounts
	Consumers        bool   // list consumers, implies Streams
	DirectConsumers  bool   // also those of mirrors and sources
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

// Jsz is the JetStream page of a server that has no JetStream: all figures are 0.
type Jsz struct {
	JetStreamStats
	ServerID  string          `json:"server_id"`
	Now       time.Time       `json:"now"`
	Disabled  bool            `json:"disabled,omitempty"`
	Config    JetStreamConfig `json:"config"`
	Streams   int             `json:"streams"`
	Consumers int             `json:"consumers"`
	Messages  uint64          `json:"messages"`
	Bytes     uint64          `json:"bytes"`
	Total     int             `json:"total"`
}

// JetStreamStats says how much JetStream uses.
type JetStreamStats struct {
	MemoryBytes          uint64            `json:"memory"`
	StorageBytes         uint64            `json:"storage"`
	ReservedMemoryBytes  uint64            `json:"reserved_memory"`
	ReservedStorageBytes uint64            `json:"reserved_storage"`
	Accounts             int               `json:"accounts"`
	HAAssets             int               `json:"ha_assets"`
	API                  JetStreamAPIStats `json:"api"`
}

// JetStreamAPIStats counts requests to the JetStream API.
type JetStreamAPIStats struct {
	Level  int    `json:"level"`
	Total  uint64 `json:"total"`
	Errors uint64 `json:"errors"`
}

// JetStreamConfig is the limits of JetStream on this server.
type JetStreamConfig struct {
	MaxMemoryBytes  int64 `json:"max_memory"`
	MaxStorageBytes int64 `json:"max_storage"`
}

// Jsz returns the JetStream page.
func (p *Pages) Jsz(JszOptions) (*Jsz, error) {
	return &Jsz{ServerID: p.source.Identity().ID, Now: now(), Disabled: true}, nil
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
func (p *Pages) Raftz(RaftzOptions) (map[string]map[string]struct{}, error) {
	return map[string]map[string]struct{}{}, nil
}
