package monitor

import (
	"iter"
	"time"

	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
)

// JetStreamSource is what the pages need to know about JetStream. What [Source] says about copies and about
// being called from many goroutines holds here too.
type JetStreamSource interface {
	// JetStream returns what JetStream as a whole may use, uses and suffers from, false while it is off. It
	// is called for every probe and must be cheap.
	JetStream() (JetStream, bool)

	// JetStreamAccounts returns the figures of all accounts that may use JetStream, in any order.
	JetStreamAccounts() []JetStreamAccount

	// JetStreamStreams yields streams of one account in any order, nothing when the account is not known. A
	// query names what is wanted; what it does not ask for need not be there. The consumer may stop early.
	JetStreamStreams(account string, q StreamQuery) iter.Seq[StreamDetail]
}

// StreamQuery says which streams are wanted, and how much of them.
type StreamQuery struct {
	Stream    string // only this one, all when empty
	Consumers bool   // with their consumers
	Consumer  string // of these only this one
	Config    bool   // with configurations
	Subjects  bool   // with the number of subjects, which may have to be counted
	Dead      bool   // with what dead-letter streams have, of which a message is looked at
}

// JetStream is the state of JetStream at one moment.
type JetStream struct {
	Config JetStreamConfig
	Limits JetStreamLimits
	Stats  JetStreamStats

	Streams   int
	Consumers int // of all streams
	Messages  uint64
	Bytes     uint64

	// Meta is the group of servers that agree on who has which stream, nil for a server alone.
	Meta *MetaCluster
	// LedStreams and LedConsumers are those that this server leads.
	LedStreams, LedConsumers int

	// Err is why JetStream as a whole cannot do its work, nil while it can: streams are still being loaded,
	// the disk refuses to be written.
	Err error
	// Problems is what is wrong with single streams and consumers, or hinders all without being their end.
	Problems []Problem
}

// MetaCluster is the meta group as a server sees it.
type MetaCluster struct {
	Name            string       `json:"name"`             // of the cluster
	Leader          string       `json:"leader,omitempty"` // name of the server that leads, empty if that is not known
	Peer            string       `json:"peer,omitempty"`   // its id
	Replicas        []*api.Peer  `json:"replicas,omitempty"`
	Size            int          `json:"cluster_size"`
	Quorum          int          `json:"quorum_needed"` // voters that have to agree
	Pending         int          `json:"pending"`
	PendingRequests int          `json:"pending_requests"`
	PendingInfos    int          `json:"pending_infos"`
	Snapshot        MetaSnapshot `json:"snapshot"`
	// Leads says that this server leads. Waiting is why there is no leader that it can reach, or why it has no part in the
	// group, in words; empty if all is well.
	Leads   bool   `json:"-"`
	Waiting string `json:"-"`
}

// MetaSnapshot is how much of the meta group's log is not in a snapshot. Snapshots are small and taken aside, so nothing
// ever waits for one.
type MetaSnapshot struct {
	PendingEntries int       `json:"pending_entries"`
	PendingBytes   int       `json:"pending_size"`
	LastTime       time.Time `json:"last_time,omitzero"`
}

// Problem is what is wrong with a stream or a consumer of it, or without a stream with all of the server.
type Problem struct {
	Account  string `json:"account"`
	Stream   string `json:"stream"`
	Consumer string `json:"consumer,omitempty"` // empty when it concerns the stream
	Text     string `json:"problem"`            // what is wrong, for a person
	// Down is whether it does not work at all, or a replica that was assigned to this server is not there or has not caught up:
	// to stop another server that has the stream may then be one too many. Otherwise it works, and something was lost or is at risk.
	Down bool `json:"down,omitempty"`
}

// JetStreamConfig is the limits of JetStream on this server, and how it stores.
type JetStreamConfig struct {
	MaxMemoryBytes  int64         `json:"max_memory"`
	MaxStorageBytes int64         `json:"max_storage"`
	StoreDir        string        `json:"store_dir,omitempty"`
	Sync            string        `json:"sync,omitempty"` // what acknowledgements wait for: always, interval or os
	SyncInterval    time.Duration `json:"sync_interval,omitempty"`
	SyncAlways      bool          `json:"sync_always,omitempty"`
	Domain          string        `json:"domain,omitempty"`
	CompressOK      bool          `json:"compress_ok,omitempty"`
	Encrypted       bool          `json:"encrypted,omitempty"` // whether new data is encrypted
	UniqueTag       string        `json:"unique_tag,omitempty"`
	Strict          bool          `json:"strict,omitempty"`
}

// JetStreamLimits is what requests may ask for; 0 is not configured.
type JetStreamLimits struct {
	MaxRequestBatch           int           `json:"max_request_batch,omitempty"`
	MaxAckPending             int           `json:"max_ack_pending,omitempty"`
	MaxHAAssets               int           `json:"max_ha_assets,omitempty"`
	MaxDuplicateWindow        time.Duration `json:"max_duplicate_window,omitempty"`
	MaxBatchInflightPerStream int           `json:"max_batch_inflight_per_stream,omitempty"`
	MaxBatchInflightTotal     int           `json:"max_batch_inflight_total,omitempty"`
	MaxBatchMessages          int           `json:"max_batch_size,omitempty"`
	MaxBatchTimeout           time.Duration `json:"max_batch_timeout,omitempty"`
	DefaultMaxConsumers       int           `json:"default_max_consumers,omitempty"`
}

// JetStreamStats says how much JetStream uses, on the server or in one account.
type JetStreamStats struct {
	MemoryBytes          uint64            `json:"memory"`
	StorageBytes         uint64            `json:"storage"`
	ReservedMemoryBytes  uint64            `json:"reserved_memory"` // that streams may grow to; of an account its limit
	ReservedStorageBytes uint64            `json:"reserved_storage"`
	Accounts             int               `json:"accounts"` // that may use JetStream; 0 in an account
	HAAssets             int               `json:"ha_assets"`
	API                  JetStreamAPIStats `json:"api"`
}

// JetStreamAPIStats counts requests to the JetStream API.
type JetStreamAPIStats struct {
	Level    int    `json:"level"`
	Total    uint64 `json:"total"`
	Errors   uint64 `json:"errors"`             // answers that were errors
	Inflight uint64 `json:"inflight,omitempty"` // being worked on
}

// JetStreamAccount is the figures of one account.
type JetStreamAccount struct {
	Name string `json:"name"` // for people
	ID   string `json:"id"`
	JetStreamStats
}

// StreamDetail is one stream, as far as a query asked for it.
type StreamDetail struct {
	Name      string            `json:"name"`
	Created   time.Time         `json:"created"`
	Cluster   *api.Cluster      `json:"cluster,omitempty"`
	Config    *config.Stream    `json:"config,omitempty"`
	State     api.StreamState   `json:"state"`
	Lost      uint64            `json:"lost_messages,omitempty"` // that the disk did not give back
	Consumers []ConsumerDetail  `json:"consumer_detail,omitempty"`
	Mirror    *api.SourceInfo   `json:"mirror,omitempty"`
	Sources   []*api.SourceInfo `json:"sources,omitempty"`
	Sync      string            `json:"sync,omitempty"` // what acknowledgements wait for
	// Dead is what a dead-letter stream has, and Owed are acknowledgements that the stream owes to others; nil for nothing.
	Dead *api.DeadStreamInfo `json:"dead_letters,omitempty"`
	Owed *api.Owed           `json:"owed,omitempty"`
}

// ConsumerDetail is one consumer. Its Config stands in the place of that of ConsumerInfo, and may be nil.
type ConsumerDetail struct {
	api.ConsumerInfo
	Config *config.Consumer `json:"config,omitempty"`
}

// JetStreamVarz is the JetStream block of /varz; empty while JetStream is off.
type JetStreamVarz struct {
	Config *JetStreamConfig `json:"config,omitempty"`
	Stats  *JetStreamStats  `json:"stats,omitempty"`
	Limits *JetStreamLimits `json:"limits,omitempty"`
	Meta   *MetaCluster     `json:"meta,omitempty"`
}

// jetStreamVarz returns the block of /varz.
func (p *Pages) jetStreamVarz() JetStreamVarz {
	js, on := p.source.JetStream()
	if !on {
		return JetStreamVarz{}
	}
	return JetStreamVarz{Config: &js.Config, Stats: &js.Stats, Limits: &js.Limits, Meta: js.Meta}
}
