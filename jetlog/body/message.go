package body

import "runnel/jetlog/config"

// Message is a stored message.
type Message struct {
	Sequence uint64
	// Time is when it was stored, in nanoseconds since 1970. It never decreases with the sequence.
	Time    int64
	Subject string
	// Header is the header block, nil for none.
	Header  []byte
	Payload []byte
}

// Meta is what is known of a message without its content. The zero Meta stands for no message.
type Meta struct {
	Sequence uint64
	Time     int64
	Subject  string
	// Bytes is what the message counts for in limits and sizes.
	Bytes uint64
	// Expires is when its own TTL ends. Zero is no TTL; Never exempts it from the age of the stream
	// too.
	Expires int64
}

// Never is the Expires of a message that does not age.
const Never int64 = -1

// SubjectState describes the live messages of a subject. It is zero when there are none.
type SubjectState struct {
	First, Last, Count uint64
}

// Reason says why a message is no longer there. The numbers are part of the snapshot's format.
type Reason uint8

// The reasons. NoInterest counts messages that were given a sequence and not kept, Skipped sequences
// that were passed over since their messages are not in the stream of which this one is a copy, Lost
// those that a damaged disk did not give back.
const (
	LimitMessages Reason = iota
	LimitBytes
	LimitSubject
	LimitAge
	TTL
	Rollup
	Purged
	Deleted
	Acked
	NoInterest
	Skipped
	Lost
)

// Reasons is how many reasons there are.
const Reasons = int(Lost) + 1

// Limits reports whether it is an age or a limit that a message goes by, and nobody's will.
func (r Reason) Limits() bool {
	return r == TTL || r == LimitAge || r == LimitMessages || r == LimitBytes || r == LimitSubject
}

// String returns the name under which removals are counted.
func (r Reason) String() string {
	switch r {
	case LimitMessages:
		return "limit_messages"
	case LimitBytes:
		return "limit_bytes"
	case LimitSubject:
		return "limit_subject"
	case LimitAge:
		return "limit_age"
	case TTL:
		return "ttl"
	case Rollup:
		return "rollup"
	case Purged:
		return "purge"
	case Deleted:
		return "delete"
	case Acked:
		return "ack"
	case NoInterest:
		return "no_interest"
	case Skipped:
		return "skipped"
	case Lost:
		return "lost"
	}
	return "unknown"
}

// What a stored message counts for besides its bytes, as clients see it in sizes.
const (
	fileOverhead   = 30
	memoryOverhead = 16
	headerOverhead = 4
)

// SizeOf returns what a message counts for in limits and sizes.
func SizeOf(storage config.Storage, subject string, header, payload []byte) uint64 {
	n := len(subject) + len(header) + len(payload)
	if storage == config.MemoryStorage {
		return uint64(n + memoryOverhead)
	}
	if len(header) > 0 {
		n += headerOverhead
	}
	return uint64(n + fileOverhead)
}
