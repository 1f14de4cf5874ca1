package api

import "time"

// ConsumerLag is how far a consumer is behind its stream, and how fast it comes nearer.
type ConsumerLag struct {
	Stream   string `json:"stream"`
	Consumer string `json:"consumer"`
	// Seconds is how long ago the oldest message was stored that is not delivered or not acknowledged yet, 0 for none.
	Seconds     float64 `json:"lag_seconds"`
	Messages    uint64  `json:"lag_messages"`
	Undelivered Backlog `json:"undelivered"`
	Unacked     Backlog `json:"unacked"`
	// Served are the messages that the consumer was through with each second, lately.
	Served float64 `json:"served_per_second"`
	// DrainSeconds is how long the consumer takes for the messages at that rate, if none come, nil if it has not been served.
	DrainSeconds *float64 `json:"drain_seconds,omitempty"`
	Stalled      *Stalled `json:"stalled,omitempty"`
	// Time is when all this was so.
	Time time.Time `json:"ts"`
}

// Backlog is a kind of messages that a consumer is not through with.
type Backlog struct {
	Messages uint64 `json:"messages"`
	// Seconds is the age of the oldest of them, 0 for none.
	Seconds float64 `json:"seconds"`
	// Oldest is when its age begins, and Since what that is: SinceStored or SinceDelivered.
	Oldest *time.Time `json:"oldest,omitempty"`
	Since  string     `json:"since,omitempty"`
}

// What the age of a message is counted from.
const (
	SinceStored    = "stored"    // it was stored then
	SinceDelivered = "delivered" // it was delivered then for the first time
)

// ConsumerLagAnswer is the lag of one consumer.
type ConsumerLagAnswer struct {
	Response
	*ConsumerLag
}

// LagRequest asks for the consumers of an account, or of one of its streams, that are furthest behind.
type LagRequest struct {
	Offset int    `json:"offset,omitempty"`
	Limit  int    `json:"limit,omitempty"` // of the page; 0, or too many, is ListPage
	Stream string `json:"stream,omitempty"`
}

// LagAnswer has consumers, the one that is furthest behind first. Missing are streams of which no leader has answered.
type LagAnswer struct {
	Response
	Paged
	Consumers []*ConsumerLag `json:"consumers"`
	Missing   []string       `json:"missing,omitempty"`
}

func (a *LagAnswer) complete() {
	if a.Consumers == nil {
		a.Consumers = []*ConsumerLag{}
	}
}
