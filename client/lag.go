package client

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
)

// ConsumerLag is how far a consumer is behind its stream, as its leader sees it.
type ConsumerLag struct {
	Stream   string `json:"stream"`
	Consumer string `json:"consumer"`
	// Seconds is how long ago the oldest message was stored that is not delivered or not acknowledged yet, 0 for none.
	Seconds     float64 `json:"lag_seconds"`
	Messages    uint64  `json:"lag_messages"`
	Undelivered Backlog `json:"undelivered"`
	Unacked     Backlog `json:"unacked"`
	// Served are the messages that the consumer was through with each second, over the last 10 seconds.
	Served float64 `json:"served_per_second"`
	// DrainSeconds is how long it takes for Messages at that rate if none come, nil if it was not served.
	DrainSeconds *float64 `json:"drain_seconds,omitempty"`
	// Stalled says why nothing is delivered, nil if nothing stands in the way.
	Stalled *Stalled `json:"stalled,omitempty"`
	// Time is when the server has looked.
	Time time.Time `json:"ts"`
}

// Backlog is a kind of messages that a consumer is not through with.
type Backlog struct {
	Messages uint64 `json:"messages"`
	// Seconds is the age of the oldest of them, 0 for none: since it was stored, or delivered for the first time.
	Seconds float64    `json:"seconds"`
	Oldest  *time.Time `json:"oldest,omitempty"`
	Since   string     `json:"since,omitempty"` // "stored" or "delivered"
}

// Stalled is why a consumer delivers nothing.
type Stalled struct {
	Reason string     `json:"reason"` // such as "paused", "no_requests" or "max_ack_pending"
	Until  *time.Time `json:"until,omitempty"`
}

// Lag returns the lag of one consumer. The error wraps an [Error] if there is none of that name, and [ErrNoAPI] if the server
// is not Runnel. With a context that does not end it waits for 5 s.
func Lag(ctx context.Context, nc *nats.Conn, stream, consumer string) (*ConsumerLag, error) {
	l := &ConsumerLag{}
	if err := ask(ctx, nc, "CONSUMER.LAG."+stream+"."+consumer, nil, l); err != nil {
		return nil, err
	}
	return l, nil
}

// Lags is a page of the consumers of an account, the one that is furthest behind first.
type Lags struct {
	Total     int           `json:"total"`
	Offset    int           `json:"offset"`
	Consumers []ConsumerLag `json:"consumers"`
	// Missing are streams of which no leader has answered, so that their consumers are not among these.
	Missing []string `json:"missing,omitempty"`
}

// LagQuery says which consumers are wanted.
type LagQuery struct {
	Stream string `json:"stream,omitempty"` // of this one only; empty for all
	Offset int    `json:"offset,omitempty"`
	Limit  int    `json:"limit,omitempty"` // at most 256, which is the default
}

// AllLags returns the lags of consumers that are furthest behind. Errors are as with [Lag].
func AllLags(ctx context.Context, nc *nats.Conn, q LagQuery) (*Lags, error) {
	page := &Lags{}
	if err := ask(ctx, nc, "LAG", q, page); err != nil {
		return nil, err
	}
	return page, nil
}
