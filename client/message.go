package client

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Message is a message of a stream while it is processed. It belongs to its handler, and is not to be used after that has
// returned.
type Message[T any] struct {
	// Value is what was decoded of Data.
	Value  T
	Data   []byte
	Header nats.Header

	Stream, Consumer, Subject string
	Sequence                  uint64    // in the stream
	Deliveries                uint64    // how often it has been delivered, this time included
	Stored                    time.Time // when

	results []*nats.Msg
}

// Publish has a message published in one step with the acknowledgement of this one, once the handler has returned nil: both
// happen or neither. So whatever is derived from a message is there once, also if the program dies anywhere in between. Of
// several, all are published or none: they must be for one stream, which must allow atomic batches (allow_atomic).
//
// It needs Runnel: with another server [Process] ends with [ErrNoAPI].
func (m *Message[T]) Publish(result *nats.Msg) { m.results = append(m.results, result) }

// ID names the message for those who remember which they have had, as [Inbox] does: by the id that its publisher gave it
// (Nats-Msg-Id), otherwise by its place in the stream and when it was stored, so that it is another one in a stream which is made
// anew.
func (m *Message[T]) ID() string {
	if id := m.Header.Get(jetstream.MsgIDHeader); id != "" {
		return m.Stream + "/" + id
	}
	return fmt.Sprintf("%s:%d:%d", m.Stream, m.Sequence, m.Stored.UnixNano())
}

// decodeJSON is how values are decoded that say nothing else. Bytes and texts are taken as they are.
func decodeJSON[T any](data []byte) (v T, err error) {
	switch into := any(&v).(type) {
	case *[]byte:
		*into = data
	case *string:
		*into = string(data)
	default:
		err = json.Unmarshal(data, &v)
	}
	return v, err
}
