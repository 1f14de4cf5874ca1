package jetlog

import "runnel/jetlog/body"

// What a stream has its messages in is package body. Its names are part of this package's language.
type (
	// Message is a stored message.
	Message = body.Message
	// Meta is what is known of a message without its content.
	Meta = body.Meta
	// SubjectState describes the live messages of a subject.
	SubjectState = body.SubjectState
	// Reason says why a message is no longer there.
	Reason = body.Reason
	// Filter is a list of patterns, one of which a message has to match.
	Filter = body.Filter
	// Messages is the body of a stream.
	Messages = body.Messages
	// Memory is a body that is nothing but memory.
	Memory = body.Memory
)

// The reasons for which a message goes.
const (
	LimitMessages = body.LimitMessages
	LimitBytes    = body.LimitBytes
	LimitSubject  = body.LimitSubject
	LimitAge      = body.LimitAge
	TTL           = body.TTL
	Rollup        = body.Rollup
	Purged        = body.Purged
	Deleted       = body.Deleted
	Acked         = body.Acked
	NoInterest    = body.NoInterest
	Skipped       = body.Skipped
	Lost          = body.Lost
)

// Never is the Expires of a message that does not age.
const Never = body.Never

// ErrBody is wrapped by the error for a body that does not fit the state of the stream.
var ErrBody = body.ErrMissing

// NewMemory returns an empty body.
func NewMemory() *Memory { return body.NewMemory() }

// RestoreMemory returns the body of a snapshot.
func RestoreMemory(data []byte) (*Memory, error) { return body.RestoreMemory(data) }

// live returns what is known of a message that has to be live.
func live(m Messages, seq uint64) (Meta, error) { return body.Live(m, seq) }
