package config

import "time"

// Stream is what a stream is asked to be. Numbers that limit something are -1 for no limit once
// normalised; durations are 0 for none.
type Stream struct {
	// Name is what clients call the stream; it has another, unique id for ever.
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Subjects are patterns, of which no two overlap. Mirrors have none.
	Subjects  []string  `json:"subjects,omitempty"`
	Retention Retention `json:"retention"`
	// MaxConsumers bounds the consumers; without it the server has a bound of its own.
	MaxConsumers int `json:"max_consumers"`
	// MaxMessages and MaxBytes bound the whole stream: the oldest message or the new one gives way.
	MaxMessages int64 `json:"max_msgs"`
	MaxBytes    int64 `json:"max_bytes"`
	// MaxAge is how long messages live, unless they are exempt by a TTL of `never`.
	MaxAge time.Duration `json:"max_age"`
	// MaxPerSubject bounds the messages of each subject: the oldest of that subject gives way.
	MaxPerSubject int64 `json:"max_msgs_per_subject"`
	// MaxMessageBytes bounds the sum of a message's header and payload.
	MaxMessageBytes int32 `json:"max_msg_size,omitempty"`
	// Discard says who gives way to MaxMessages and MaxBytes.
	Discard Discard `json:"discard"`
	// DiscardNewPerSubject refuses the new message at MaxPerSubject.
	DiscardNewPerSubject bool    `json:"discard_new_per_subject,omitempty"`
	Storage              Storage `json:"storage"`
	// Replicas is on how many servers the stream is, 1 to 5.
	Replicas int `json:"num_replicas"`
	// NoAck leaves publishers without an answer.
	NoAck bool `json:"no_ack,omitempty"`
	// DuplicateWindow is how long a message id is remembered.
	DuplicateWindow time.Duration `json:"duplicate_window,omitempty"`
	Placement       *Placement    `json:"placement,omitempty"`
	// Mirror and Sources are streams whose messages are copied into this one.
	Mirror      *Source     `json:"mirror,omitempty"`
	Sources     []*Source   `json:"sources,omitempty"`
	Compression Compression `json:"compression"`
	// FirstSequence is the sequence of the first message of a new stream, 0 for 1.
	FirstSequence uint64 `json:"first_seq,omitempty"`
	// SubjectTransform is applied before a message is stored, by whoever proposes it.
	SubjectTransform *Transform `json:"subject_transform,omitempty"`
	// Republish is what is published again once it is stored.
	Republish *Republish `json:"republish,omitempty"`
	// AllowDirect lets every replica answer reads; MirrorDirect lets a mirror answer for its origin.
	AllowDirect  bool `json:"allow_direct"`
	MirrorDirect bool `json:"mirror_direct"`
	// Sealed streams do not change any more.
	Sealed bool `json:"sealed"`
	// DenyDelete and DenyPurge refuse what clients ask for; limits go on.
	DenyDelete bool `json:"deny_delete"`
	DenyPurge  bool `json:"deny_purge"`
	// AllowRollup lets a message replace all before it, on its subject or in the stream.
	AllowRollup    bool           `json:"allow_rollup_hdrs"`
	ConsumerLimits ConsumerLimits `json:"consumer_limits"`
	// AllowTTL lets messages bring their own TTL.
	AllowTTL bool `json:"allow_msg_ttl"`
	// MarkerTTL is how long a marker stands for a subject whose last message has expired; 0 for none.
	MarkerTTL time.Duration `json:"subject_delete_marker_ttl,omitempty"`
	// AllowCounter makes every subject a counter.
	AllowCounter bool `json:"allow_msg_counter,omitempty"`
	// AllowAtomic and AllowBatched allow the two ways to publish in batches.
	AllowAtomic  bool `json:"allow_atomic,omitempty"`
	AllowBatched bool `json:"allow_batched,omitempty"`
	// AllowSchedules lets messages publish others later.
	AllowSchedules bool `json:"allow_msg_schedules,omitempty"`
	// Persist says whether publishers are answered before their message is safe.
	Persist  Persist           `json:"persist_mode,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

// Placement says where the replicas should be.
type Placement struct {
	Cluster   string   `json:"cluster,omitempty"`
	Tags      []string `json:"tags,omitempty"`
	Preferred string   `json:"preferred,omitempty"`
}

// Transform rewrites subjects that match Source.
type Transform struct {
	Source      string `json:"src"`
	Destination string `json:"dest"`
}

// Republish says what is published again once it is stored.
type Republish struct {
	Source      string `json:"src,omitempty"`
	Destination string `json:"dest"`
	HeadersOnly bool   `json:"headers_only,omitempty"`
}

// ConsumerLimits are defaults and ceilings for the consumers of a stream. Zero is none.
type ConsumerLimits struct {
	InactiveThreshold time.Duration `json:"inactive_threshold,omitempty"`
	MaxAckPending     int           `json:"max_ack_pending,omitempty"`
}

// Source is a stream that another one copies, as its mirror or among others.
type Source struct {
	Name          string          `json:"name"`
	StartSequence uint64          `json:"opt_start_seq,omitempty"`
	StartTime     *time.Time      `json:"opt_start_time,omitempty"`
	FilterSubject string          `json:"filter_subject,omitempty"`
	Transforms    []Transform     `json:"subject_transforms,omitempty"`
	External      *External       `json:"external,omitempty"`
	Consumer      *SourceConsumer `json:"consumer,omitempty"`
}

// External says how a stream of another account or domain is reached.
type External struct {
	API     string `json:"api"`
	Deliver string `json:"deliver"`
}

// SourceConsumer names the consumer that somebody made for a mirror or source.
type SourceConsumer struct {
	Name           string `json:"name"`
	DeliverSubject string `json:"deliver_subject"`
}

// Limits are what a server allows. Zero is no limit.
type Limits struct {
	DuplicateWindow   time.Duration
	MaxAckPending     int
	InactiveThreshold time.Duration
}
