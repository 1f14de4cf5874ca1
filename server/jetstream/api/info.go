package api

import (
	"time"

	"runnel/jetlog/config"
)

// At returns a time of nanoseconds since 1970 as it is shown: in UTC, and 0 as the zero time, which reads
// `0001-01-01T00:00:00Z`.
func At(nanoseconds int64) time.Time {
	if nanoseconds == 0 {
		return time.Time{}
	}
	return time.Unix(0, nanoseconds).UTC()
}

// StreamInfo is all that is known about a stream.
type StreamInfo struct {
	// Config has the metadata that Shown or Listed give it.
	Config  *config.Stream `json:"config"`
	Created time.Time      `json:"created"`
	State   StreamState    `json:"state"`
	Domain  string         `json:"domain,omitempty"`
	// Cluster is left away in the answer to a create and in lists.
	Cluster    *Cluster      `json:"cluster,omitempty"`
	Mirror     *SourceInfo   `json:"mirror,omitempty"`
	Sources    []*SourceInfo `json:"sources,omitempty"`
	Alternates []Alternate   `json:"alternates,omitempty"`
	// Sync is when what is acknowledged is on disk: the policy in force, empty when it is not told.
	Sync string `json:"sync,omitempty"`
	// Owed is what the stream owes to others, nil for nothing.
	Owed *Owed `json:"owed,omitempty"`
	// Now is when this was found.
	Now time.Time `json:"ts"`
}

// StreamState is what is in a stream. Subjects and Deleted are there only if asked for.
type StreamState struct {
	Messages      uint64            `json:"messages"`
	Bytes         uint64            `json:"bytes"`
	FirstSequence uint64            `json:"first_seq"`
	FirstTime     time.Time         `json:"first_ts"`
	LastSequence  uint64            `json:"last_seq"`
	LastTime      time.Time         `json:"last_ts"`
	SubjectCount  int               `json:"num_subjects,omitempty"`
	Subjects      map[string]uint64 `json:"subjects,omitempty"`
	DeletedCount  int               `json:"num_deleted,omitempty"`
	Deleted       []uint64          `json:"deleted,omitempty"`
	Lost          *Lost             `json:"lost,omitempty"`
	Consumers     int               `json:"consumer_count"`
}

// Lost are the messages that the disk did not give back.
type Lost struct {
	Sequences []uint64 `json:"msgs"`
	Bytes     uint64   `json:"bytes"`
}

// Cluster says which servers have a stream or consumer. A server alone shows itself as the leader.
type Cluster struct {
	Name           string     `json:"name,omitempty"`
	Group          string     `json:"raft_group,omitempty"`
	Leader         string     `json:"leader,omitempty"`
	LeaderSince    *time.Time `json:"leader_since,omitempty"`
	SystemAccount  bool       `json:"system_account,omitempty"`
	TrafficAccount string     `json:"traffic_account,omitempty"`
	Replicas       []*Peer    `json:"replicas,omitempty"`
	// Desired is set while the stream is on its way to other servers, or to more or fewer of them.
	Desired *Desired `json:"desired,omitempty"`
}

// Desired is where a stream is to be, where it was, and what is waited for.
type Desired struct {
	Created time.Time      `json:"created"`
	Name    string         `json:"name,omitempty"`
	Origin  Origin         `json:"origin"`
	Status  *DesiredStatus `json:"status,omitempty"`
}

// Origin is how a stream was spread before it was to be spread otherwise.
type Origin struct {
	Replicas  int               `json:"replicas"`
	Placement *config.Placement `json:"placement,omitempty"`
}

// DesiredStatus is what is waited for: in words, and as a word.
type DesiredStatus struct {
	Description string `json:"description"`
	Type        string `json:"type"`
}

// Peer is a server with a replica, other than the leader.
type Peer struct {
	Name    string        `json:"name"`
	Current bool          `json:"current"`
	Offline bool          `json:"offline,omitempty"`
	Active  time.Duration `json:"active"` // since it was last heard of
	Lag     uint64        `json:"lag,omitempty"`
	ID      string        `json:"peer"`
	Pending uint64        `json:"pending,omitempty"`
}

// SourceInfo is how far a stream is with one that it copies.
type SourceInfo struct {
	Name     string           `json:"name"`
	External *config.External `json:"external,omitempty"`
	Lag      uint64           `json:"lag"`
	Sequence uint64           `json:"seq,omitempty"` // the last that was copied
	// Active is for how long nothing came, Never when nothing ever did.
	Active        time.Duration      `json:"active"`
	Error         *Error             `json:"error,omitempty"`
	FilterSubject string             `json:"filter_subject,omitempty"`
	Transforms    []config.Transform `json:"subject_transforms,omitempty"`
}

// Never is a source's Active before anything came from it.
const Never time.Duration = -1

// Alternate is a stream that can be read in the place of another.
type Alternate struct {
	Name    string `json:"name"`
	Domain  string `json:"domain,omitempty"`
	Cluster string `json:"cluster"`
}

// ConsumerInfo is all that is known about a consumer.
type ConsumerInfo struct {
	Stream  string    `json:"stream_name"`
	Name    string    `json:"name"`
	Created time.Time `json:"created"`
	// Config has the metadata that Shown or Listed give it.
	Config    *config.Consumer `json:"config"`
	Delivered Position         `json:"delivered"`
	AckFloor  Position         `json:"ack_floor"`
	// AckPending are deliveries that wait for an answer, Redelivered those of them that were repeated. Waiting are
	// pull requests. Pending are messages that are still to be delivered.
	AckPending  int      `json:"num_ack_pending"`
	Redelivered int      `json:"num_redelivered"`
	Waiting     int      `json:"num_waiting"`
	Pending     uint64   `json:"num_pending"`
	Cluster     *Cluster `json:"cluster,omitempty"`
	// PushBound is whether somebody listens to the deliver subject.
	PushBound      bool            `json:"push_bound,omitempty"`
	Paused         bool            `json:"paused,omitempty"`
	PauseRemaining time.Duration   `json:"pause_remaining,omitempty"`
	Now            time.Time       `json:"ts"`
	PriorityGroups []PriorityGroup `json:"priority_groups,omitempty"`
	Lag            *Lag            `json:"lag,omitempty"`
	Stalled        *Stalled        `json:"stalled,omitempty"`
	// Letters is what waits for the dead-letter stream, nil for nothing.
	Letters *Letters `json:"dead_letters,omitempty"`
}

// Letters are messages that a consumer has given up and that are not in its dead-letter stream yet.
type Letters struct {
	Waiting int       `json:"waiting"`
	Oldest  time.Time `json:"oldest"` // when the first of them was given up
}

// Owed are acknowledgements of other streams' messages that were published together with those of a stream (Runnel-Ack), and that the
// other streams have not taken yet.
type Owed struct {
	Acks int `json:"acks"`
	// Stream and Consumer are to whom the oldest is owed.
	Stream   string `json:"stream"`
	Consumer string `json:"consumer"`
	// Oldest is when the message was stored that came with it, nil if that has gone, and Seconds how long ago that was.
	Oldest  *time.Time `json:"oldest,omitempty"`
	Seconds float64    `json:"oldest_seconds,omitempty"`
}

// Position is how far a consumer is: in its own sequence and in the stream's. LastActive is when it came there.
type Position struct {
	Consumer   uint64     `json:"consumer_seq"`
	Stream     uint64     `json:"stream_seq"`
	LastActive *time.Time `json:"last_active,omitempty"`
}

// PriorityGroup says who is pinned. PinnedAt is the zero time when nobody is.
type PriorityGroup struct {
	Group    string    `json:"group"`
	PinnedID string    `json:"pinned_client_id,omitempty"`
	PinnedAt time.Time `json:"pinned_ts"`
}

// Lag is how far a consumer is behind its stream.
type Lag struct {
	// Messages are those not delivered yet or not acknowledged yet.
	Messages uint64 `json:"messages"`
	// OldestUndelivered and OldestUnacked are when the oldest of either kind was stored, nil for none.
	OldestUndelivered *time.Time `json:"oldest_undelivered,omitempty"`
	OldestUnacked     *time.Time `json:"oldest_unacked,omitempty"`
	// Age is how long ago the older of the two was stored, in nanoseconds.
	Age time.Duration `json:"age"`
	// Served are the messages that the consumer was through with each second, lately.
	Served float64 `json:"served_per_second,omitempty"`
}

// Stalled says why nothing is delivered although something could be.
type Stalled struct {
	Reason string `json:"reason"` // one of the Stalled constants
	// Until is when that ends by itself, nil for never.
	Until *time.Time `json:"until,omitempty"`
	// Detail says more, empty for nothing.
	Detail string `json:"detail,omitempty"`
}

// Why a consumer delivers nothing.
const (
	StalledAckPending  = "max_ack_pending" // as many deliveries as may be wait for an answer
	StalledPaused      = "paused"
	StalledNoRequests  = "no_requests" // nobody has asked
	StalledNoInterest  = "no_interest" // nobody listens to the deliver subject
	StalledRateLimit   = "rate_limit"
	StalledFlowControl = "flow_control" // the subscriber has not answered yet
	StalledBackoff     = "backoff"      // all that is left waits to be delivered again
	StalledDeadLetter  = "dead_letter"  // what was given up cannot be handed over
	StalledReplay      = "replay"       // the next message comes as late as it once did
)

// AccountInfo is what an account has and may have.
type AccountInfo struct {
	Usage
	Domain string          `json:"domain,omitempty"`
	API    APIStats        `json:"api"`
	Tiers  map[string]Tier `json:"tiers,omitempty"` // by R and the number of replicas
}

// Tier is what an account has and may have of streams with one number of replicas.
type Tier struct{ Usage }

// Usage is what is used, in bytes and numbers, next to what is allowed. Reserved are the bytes that streams with a
// limit may grow to.
type Usage struct {
	Memory         uint64        `json:"memory"`
	Store          uint64        `json:"storage"`
	ReservedMemory uint64        `json:"reserved_memory"`
	ReservedStore  uint64        `json:"reserved_storage"`
	Streams        int           `json:"streams"`
	Consumers      int           `json:"consumers"`
	Limits         AccountLimits `json:"limits"`
}

// AccountLimits are what an account is allowed; -1 is no limit.
type AccountLimits struct {
	MaxMemory         int64 `json:"max_memory"`
	MaxStore          int64 `json:"max_storage"`
	MaxStreams        int   `json:"max_streams"`
	MaxConsumers      int   `json:"max_consumers"`
	MaxAckPending     int   `json:"max_ack_pending"`
	MemoryStreamBytes int64 `json:"memory_max_stream_bytes"` // of one stream
	StoreStreamBytes  int64 `json:"storage_max_stream_bytes"`
	MaxBytesRequired  bool  `json:"max_bytes_required"`
}

// Unlimited are the limits of an account that has none.
func Unlimited() AccountLimits {
	return AccountLimits{
		MaxMemory: -1, MaxStore: -1, MaxStreams: -1, MaxConsumers: -1, MaxAckPending: -1,
		MemoryStreamBytes: -1, StoreStreamBytes: -1,
	}
}

// APIStats counts the account's requests. Inflight are those that are being worked on.
type APIStats struct {
	Level    int    `json:"level"`
	Total    uint64 `json:"total"`
	Errors   uint64 `json:"errors"`
	Inflight uint64 `json:"inflight,omitempty"`
}
