package config

import "time"

// Consumer is what a consumer is asked to be.
type Consumer struct {
	Name            string            `json:"name,omitempty"`
	Durable         string            `json:"durable_name,omitempty"`
	Description     string            `json:"description,omitempty"`
	Deliver         Deliver           `json:"deliver_policy"`
	StartSequence   uint64            `json:"opt_start_seq,omitempty"`
	StartTime       *time.Time        `json:"opt_start_time,omitempty"`
	Ack             Ack               `json:"ack_policy"`
	AckWait         time.Duration     `json:"ack_wait,omitempty"`
	MaxDeliver      int               `json:"max_deliver,omitempty"`
	Backoff         []time.Duration   `json:"backoff,omitempty"`
	FilterSubject   string            `json:"filter_subject,omitempty"`
	FilterSubjects  []string          `json:"filter_subjects,omitempty"`
	Replay          Replay            `json:"replay_policy"`
	RateLimit       uint64            `json:"rate_limit_bps,omitempty"`
	Sampling        string            `json:"sample_freq,omitempty"`
	MaxWaiting      int               `json:"max_waiting,omitempty"`
	MaxAckPending   int               `json:"max_ack_pending,omitempty"`
	FlowControl     bool              `json:"flow_control,omitempty"`
	HeadersOnly     bool              `json:"headers_only,omitempty"`
	MaxBatch        int               `json:"max_batch,omitempty"`
	MaxExpires      time.Duration     `json:"max_expires,omitempty"`
	MaxBytes        int               `json:"max_bytes,omitempty"`
	DeliverSubject  string            `json:"deliver_subject,omitempty"`
	DeliverGroup    string            `json:"deliver_group,omitempty"`
	Heartbeat       time.Duration     `json:"idle_heartbeat,omitempty"`
	Inactive        time.Duration     `json:"inactive_threshold,omitempty"`
	Replicas        int               `json:"num_replicas"`
	Memory          bool              `json:"mem_storage,omitempty"`
	Direct          bool              `json:"direct,omitempty"`
	Sourcing        bool              `json:"sourcing,omitempty"`
	Metadata        map[string]string `json:"metadata,omitempty"`
	PauseUntil      *time.Time        `json:"pause_until,omitempty"`
	PriorityPolicy  Priority          `json:"priority_policy,omitempty"`
	PriorityGroups  []string          `json:"priority_groups,omitempty"`
	PriorityTimeout time.Duration     `json:"priority_timeout,omitempty"`
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
