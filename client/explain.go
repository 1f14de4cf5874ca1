package client

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
)

// Explanation says why a consumer delivers nothing, or that nothing stands in its way.
type Explanation struct {
	Stream   string `json:"stream"`
	Consumer string `json:"consumer"`
	// Delivers is whether nothing stands in the way of messages: those that there are, and those to come.
	Delivers bool `json:"delivers"`
	// Reasons are what there is to say, what weighs most first.
	Reasons []Reason     `json:"reasons"`
	Lag     *ConsumerLag `json:"lag,omitempty"`
	Time    time.Time    `json:"ts"`
}

// Reason is one thing that keeps messages from being delivered, or what is as it should be.
type Reason struct {
	Code  string     `json:"code"` // for programs, such as "no_requests", "caught_up" or "no_leader"
	Text  string     `json:"text"` // a sentence
	Next  string     `json:"next,omitempty"`
	Until *time.Time `json:"until,omitempty"` // when it ends by itself
}

// Explain asks why a consumer delivers nothing. Errors are as with [Lag].
func Explain(ctx context.Context, nc *nats.Conn, stream, consumer string) (*Explanation, error) {
	e := &Explanation{}
	if err := ask(ctx, nc, "CONSUMER.EXPLAIN."+stream+"."+consumer, nil, e); err != nil {
		return nil, err
	}
	return e, nil
}
