package client

import (
	"errors"
	"fmt"
	"time"
)

// Permanent marks an error that another attempt would not mend: the message is terminated with the error's text, and the
// consumer does not deliver it again. With dead letters it goes there, with that text. It is nil for nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanent{err}
}

type permanent struct{ error }

func (p *permanent) Unwrap() error { return p.error }

// RetryIn marks an error after which the message is to come again after exactly that time, whatever the consumer's policy says.
// It is nil for nil.
func RetryIn(d time.Duration, err error) error {
	if err == nil {
		return nil
	}
	return &retryIn{err, d}
}

type retryIn struct {
	error
	after time.Duration
}

func (r *retryIn) Unwrap() error { return r.error }

// Panic is the error of a handler that has panicked.
type Panic struct {
	Value any    // what it has panicked with
	Stack []byte // where
}

// Error says what the handler has panicked with.
func (p *Panic) Error() string { return fmt.Sprintf("the handler panicked: %v", p.Value) }

// Failure is told of each message that was not processed.
type Failure struct {
	Stream, Consumer, Subject string
	Sequence                  uint64
	Deliveries                uint64 // how often it has been delivered, this time included
	// Err is what went wrong: what the handler has returned, a [Panic], or why the answer could not be given.
	Err error
	// Permanent says that the message does not come again.
	Permanent bool
}

// isPermanent tells whether an error says that the message is not to come again.
func isPermanent(err error) bool {
	var p *permanent
	return errors.As(err, &p)
}
