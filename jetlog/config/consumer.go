package config

import "time"

// Consumer is what a consumer is asked to be.
type Consumer struct {
	// Name and Durable are the same if both are set; a durable consumer does not go by itself.
	Name        string  `json:"name,omitempty"`
	Durable     string  `json:"durable_name,omitempty"`
	Description string  `json:"description,omitempty"`
	Deliver     Deliver `json:"deliver_policy"`
	// StartSequence and StartTime belong to the deliver policies that are named after them.
	StartSequence uint64     `json:"opt_start_seq,omitempty"`
	StartTime     *time.Time `json:"opt_start_time,omitempty"`
	Ack           Ack        `json:"ack_policy"`
	// AckWait is how long an answer may take. Backoff overrides it, by the number of the delivery;
	// its last value repeats.
	AckWait time.Duration `json:"ack_wait,omitempty"`
	// MaxDeliver is how often a message is delivered, -1 for no limit.
	MaxDeliver int             `json:"max_deliver,omitempty"`
	Backoff    []time.Duration `json:"backoff,omitempty"`
	// FilterSubject or FilterSubjects are patterns of what is delivered, none for all.
	FilterSubject  string   `json:"filter_subject,omitempty"`
	FilterSubjects []string `json:"filter_subjects,omitempty"`
	Replay         Replay   `json:"replay_policy"`
	// RateLimit is in bits a second, 0 for none.
	RateLimit uint64 `json:"rate_limit_bps,omitempty"`
	// Sampling is of how many percent of the acks a metric is published.
	Sampling string `json:"sample_freq,omitempty"`
	// MaxWaiting bounds the pull requests that wait; MaxAckPending the deliveries that wait for an
	// answer, -1 for no limit.
	MaxWaiting    int `json:"max_waiting,omitempty"`
	MaxAckPending int `json:"max_ack_pending,omitempty"`
	// FlowControl and Heartbeat are of push consumers.
	FlowControl bool `json:"flow_control,omitempty"`
	// HeadersOnly leaves payloads away.
	HeadersOnly bool `json:"headers_only,omitempty"`
	// MaxBatch, MaxExpires and MaxBytes are ceilings of what a pull request asks for, 0 for none.
	MaxBatch   int           `json:"max_batch,omitempty"`
	MaxExpires time.Duration `json:"max_expires,omitempty"`
	MaxBytes   int           `json:"max_bytes,omitempty"`
	// DeliverSubject makes this a push consumer; DeliverGroup is the queue group that gets it.
	DeliverSubject string        `json:"deliver_subject,omitempty"`
	DeliverGroup   string        `json:"deliver_group,omitempty"`
	Heartbeat      time.Duration `json:"idle_heartbeat,omitempty"`
	// Inactive is after which idle time the consumer goes, 0 for never.
	Inactive time.Duration `json:"inactive_threshold,omitempty"`
	// Replicas is 0 for as many as the stream has.
	Replicas int `json:"num_replicas"`
	// Memory keeps the state of the consumer off the disk.
	Memory bool `json:"mem_storage,omitempty"`
	// Direct and Sourcing are of consumers that mirrors and sources have.
	Direct   bool              `json:"direct,omitempty"`
	Sourcing bool              `json:"sourcing,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
	// PauseUntil is until when a new consumer rests.
	PauseUntil *time.Time `json:"pause_until,omitempty"`
	// PriorityPolicy says whom of PriorityGroups is served; PriorityTimeout is how long a pin holds.
	PriorityPolicy  Priority      `json:"priority_policy,omitempty"`
	PriorityGroups  []string      `json:"priority_groups,omitempty"`
	PriorityTimeout time.Duration `json:"priority_timeout,omitempty"`
}

// Filters returns the patterns of subjects that the consumer wants, none for all.
func (c *Consumer) Filters() []string {
	if c.FilterSubject != "" {
		return []string{c.FilterSubject}
	}
	return c.FilterSubjects
}

// Push reports whether messages are sent to a subject, rather than asked for.
func (c *Consumer) Push() bool { return c.DeliverSubject != "" }
