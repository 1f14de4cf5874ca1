package body

import (
	"errors"
	"fmt"
)

// ErrMissing is wrapped by the error for a body that does not have a message of which it said before,
// or the state of the stream says, that it is live. It is damage, like a read that fails.
var ErrMissing = errors.New("the body and the state of the stream do not fit")

// Live returns what is known of a message that has to be live.
func Live(m Messages, seq uint64) (Meta, error) {
	meta, err := m.Meta(seq)
	if err == nil && meta.Sequence != seq {
		err = fmt.Errorf("message %d is not there: %w", seq, ErrMissing)
	}
	return meta, err
}

// Messages is the body of a stream as Apply sees it. Sequences are at least 1; 0 stands for none.
//
// The first group of methods reads. It may have to go to a disk and may fail; an error means that
// the answer is not known, and is never turned into a verdict. The second group changes memory and
// cannot fail: what it needs was read while the command was planned.
//
// A body is as dumb as possible: it decides nothing, removes nothing by itself, and gives the same
// answers whatever its implementation.
type Messages interface {
	// Meta returns what is known of a live message, the zero Meta if seq is not live.
	Meta(seq uint64) (Meta, error)
	// Load returns a live message, one with sequence 0 if seq is not live. Its slices must not be
	// changed.
	Load(seq uint64) (Message, error)
	// Next returns the first live sequence >= seq.
	Next(seq uint64) (uint64, error)
	// Subject returns the state of exactly this subject.
	Subject(subject string) (SubjectState, error)
	// NextOf returns the first live sequence >= seq that the filter matches.
	NextOf(filter Filter, seq uint64) (uint64, error)
	// LastOf returns the last live sequence <= upTo that the filter matches.
	LastOf(filter Filter, upTo uint64) (uint64, error)
	// Count returns how many live messages >= from the filter matches, each once.
	Count(filter Filter, from uint64) (uint64, error)
	// Size returns the number and the bytes of the live messages from..to, both included.
	Size(from, to uint64) (messages, bytes uint64, err error)
	// Subjects calls yield for every subject with live messages that the filter matches, in the
	// order of the subjects, until it returns false.
	Subjects(filter Filter, yield func(subject string, state SubjectState) bool) error
	// MessageID returns the sequence and time that were remembered for id, 0 if none was, or if it
	// was forgotten.
	MessageID(id []byte) (seq uint64, time int64, err error)
	// FirstAfter returns the first live sequence with a time >= time.
	FirstAfter(time int64) (uint64, error)

	// Append adds a message behind all others. The body keeps the message's slices but not the
	// pointers.
	Append(message *Message, meta *Meta)
	// Remove removes a live message.
	Remove(meta *Meta, reason Reason)
	// RemoveRange removes all live messages from..to, both included. From is the first live
	// sequence or below.
	RemoveRange(from, to uint64, reason Reason)
	// Remember notes a message id, replacing what was noted for it. Times never decrease. The bytes
	// of id are not kept.
	Remember(id []byte, seq uint64, time int64)
	// Forget drops all ids with a time < before.
	Forget(before int64)
}
