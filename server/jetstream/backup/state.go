package backup

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"runnel/jetlog/config"
	"runnel/jetlog/producers"
)

// State is what a stream says of itself in a backup, and in the requests and answers around it.
// The messages decide; the state is what they are compared with, and where an empty stream goes on.
type State struct {
	Messages uint64 `json:"messages"`
	Bytes    uint64 `json:"bytes"`
	// FirstSequence is LastSequence+1 in a stream whose messages have all gone, and both are 0 in a
	// new one.
	FirstSequence uint64    `json:"first_seq"`
	FirstTime     time.Time `json:"first_ts"`
	LastSequence  uint64    `json:"last_seq"`
	LastTime      time.Time `json:"last_ts"`
	Subjects      int       `json:"num_subjects,omitempty"`
	// Deleted counts the sequences between first and last that are missing.
	Deleted   int `json:"num_deleted,omitempty"`
	Consumers int `json:"consumer_count"`
	// Producers are those who number what they publish. nats-server neither writes nor reads them.
	Producers []Producer `json:"producers,omitempty"`
}

// Producer is how far somebody is who numbers what it publishes: the number of its last message, and the sequence of that.
type Producer struct {
	Name     string `json:"name"`
	Number   uint64 `json:"producer_seq"`
	Sequence uint64 `json:"seq"`
}

// ProducersOf returns the producers of a stream that are clients. In whose name a server puts messages means nothing elsewhere: another
// one could use the same name.
func ProducersOf(known *producers.Table) (list []Producer) {
	for name, m := range known.All {
		if !strings.HasPrefix(name, "\n") {
			list = append(list, Producer{Name: name, Number: m.Number, Sequence: m.Sequence})
		}
	}
	return list
}

// Consumer is a consumer in a backup: what it is asked to be and how far it has come.
type Consumer struct {
	Config config.Consumer `json:"config"`
	State  ConsumerState   `json:"state"`
}

// ConsumerState is how far a consumer has come.
type ConsumerState struct {
	Delivered Position `json:"delivered"`
	AckFloor  Position `json:"ack_floor"`
	// Pending are the deliveries that wait for an answer, by the sequence of the message.
	Pending map[uint64]Pending `json:"pending,omitempty"`
	// Redelivered tells how often a message was delivered again, by its sequence. It may name
	// messages that are not pending, when they have been delivered as often as they may be.
	Redelivered map[uint64]uint64 `json:"redelivered,omitempty"`
	// Initial are the sequences that a consumer of the last message of each subject is still to get before
	// it goes on like any other behind Resume. nats-server neither writes nor reads them.
	Initial []uint64 `json:"initial,omitempty"`
	Resume  uint64   `json:"resume,omitempty"`
}

// Position is a place in a stream as a consumer sees it: the number of the delivery, and the
// sequence of the message.
type Position struct {
	Consumer uint64 `json:"consumer_seq"`
	Stream   uint64 `json:"stream_seq"`
}

// Pending is a delivery that waits for an answer.
type Pending struct {
	// Sequence is the number of the delivery.
	Sequence uint64
	// Timestamp is in nanoseconds since 1970. Of nats-server it is when the message was stored, and
	// not when it was delivered.
	Timestamp int64
}

// decodeState reads `state.json`.
func decodeState(data []byte) (*State, error) {
	s := new(State)
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrDamaged, stateName, err)
	}
	if s.FirstSequence > s.LastSequence && s.FirstSequence-s.LastSequence > 1 {
		return nil, fmt.Errorf("%w: %s: first sequence %d is beyond the last, %d", ErrDamaged, stateName, s.FirstSequence, s.LastSequence)
	}
	return s, nil
}

// decodeConsumer reads `consumers/<name>`.
func decodeConsumer(name string, data []byte) (*Consumer, error) {
	c := new(Consumer)
	if err := json.Unmarshal(data, c); err != nil {
		return nil, fmt.Errorf("%w: consumer %q: %w", ErrDamaged, name, err)
	}
	return c, c.settle(name)
}

// settle fills in what the writer left open, and takes away what contradicts the ack floor and what
// was delivered: an answer to a message at or below the floor was given, and one beyond the last
// delivered comes to be delivered anyway.
func (c *Consumer) settle(name string) error {
	if p := c.Config.PauseUntil; p != nil && p.IsZero() {
		c.Config.PauseUntil = nil
	}
	if c.Config.Name == "" {
		c.Config.Name = c.Config.Durable
	}
	if c.Config.Name != name || name == "" {
		return fmt.Errorf("%w: consumer %q has the name %q in its configuration", ErrDamaged, name, c.Config.Name)
	}
	s := &c.State
	s.Delivered.Stream = max(s.Delivered.Stream, s.AckFloor.Stream)
	s.Delivered.Consumer = max(s.Delivered.Consumer, s.AckFloor.Consumer)
	maps.DeleteFunc(s.Pending, func(seq uint64, p Pending) bool {
		return seq <= s.AckFloor.Stream || seq > s.Delivered.Stream || p.Sequence > s.Delivered.Consumer
	})
	return nil
}
