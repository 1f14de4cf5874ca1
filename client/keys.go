package client

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// Keys is what a consumer with keys has out (metadata runnel.key), and what waits.
type Keys struct {
	Stream   string `json:"stream"`
	Consumer string `json:"consumer"`
	// Key is the expression that says what the key of a message is, Failed what becomes of a key whose message has failed for
	// good: "skip" or "block".
	Key    string `json:"key"`
	Failed string `json:"key_failed"`
	// InFlight are the keys whose message was delivered and is not settled, Blocked those whose message has failed for good and
	// keeps its place.
	InFlight int `json:"in_flight"`
	Blocked  int `json:"blocked"`
	// Waiting are the messages that were looked at and wait for one of their key, Undelivered all that are to be delivered for
	// the first time.
	Waiting     uint64    `json:"waiting"`
	Undelivered uint64    `json:"undelivered"`
	Keys        []KeyHold `json:"keys"`
	Time        time.Time `json:"ts"`
}

// KeyHold is a key with the message that is out.
type KeyHold struct {
	Key        string     `json:"key"`
	Alone      bool       `json:"alone,omitempty"` // the message has no key, and nothing waits for it
	State      string     `json:"state"`           // "in_flight", "rests", "due" or "blocked"
	Sequence   uint64     `json:"seq"`
	Subject    string     `json:"subject"`
	Deliveries uint64     `json:"deliveries,omitempty"` // 0 if it was given up
	Until      *time.Time `json:"until,omitempty"`      // when the answer is due, or the message comes again
	Behind     int        `json:"behind"`               // messages that are known to wait behind it
	More       bool       `json:"more,omitempty"`       // there are others
}

// AskKeys asks for the keys of a consumer that have a message out, at most so many, those that are blocked first; 0 is as many as
// the server tells at once, which is 256. The error wraps an [Error] if there is no such consumer, or it has no keys; otherwise
// errors are as with [Lag].
func AskKeys(ctx context.Context, nc *nats.Conn, stream, consumer string, limit int) (*Keys, error) {
	k := &Keys{}
	q := struct {
		Limit int `json:"limit,omitempty"`
	}{limit}
	if err := ask(ctx, nc, "CONSUMER.KEYS."+stream+"."+consumer, q, k); err != nil {
		return nil, err
	}
	return k, nil
}

// SettleKey acknowledges, in the place of a worker, the message that a key has out, so that the next one of its key is delivered:
// for a message that has failed for good and blocks its key. It returns when that is stored.
func SettleKey(ctx context.Context, nc *nats.Conn, stream, consumer string, sequence uint64) error {
	subject := fmt.Sprintf("$JS.ACK.%s.%s.1.%d.1.0.0", stream, consumer, sequence)
	if _, err := nc.RequestWithContext(ctx, subject, []byte("+ACK")); err != nil {
		return fmt.Errorf("acknowledge message %d of %s for %s: %w", sequence, stream, consumer, err)
	}
	return nil
}
