package client

import (
	"context"
	"iter"
	"time"

	"github.com/nats-io/nats.go"
)

// Delayed looks after the messages that were published to a stream to be stored later (headers Runnel-Delay and Runnel-Deliver-At). Its
// methods are safe for concurrent use; their errors are as with [Lag].
type Delayed struct {
	Conn   *nats.Conn
	Stream string // the one that they are for
	// Due has Cancel and CancelAll mean also messages whose time has come and that the stream has not taken, since it is full, say. One that is
	// on its way at this moment may get there nevertheless.
	Due bool
}

// DelayFilter says which delayed messages are meant; what is empty leaves nothing out.
type DelayFilter struct {
	Subject string `json:"subject,omitempty"` // a pattern
	ID      string `json:"id,omitempty"`      // the Nats-Msg-Id that they were published with
}

// DelayedMessage is one that is to be stored later.
type DelayedMessage struct {
	// Sequence is the one that its publisher was told; once its time has come it has another one.
	Sequence uint64    `json:"seq"`
	Subject  string    `json:"subject"`
	ID       string    `json:"id,omitempty"` // its Nats-Msg-Id
	State    string    `json:"state"`        // "waiting" for its time, or "due": its stream has not taken it yet
	At       time.Time `json:"at"`           // when it is to be stored
	Time     time.Time `json:"time"`         // when it was published, or became due
	Size     int       `json:"size"`         // of its headers and its body, in bytes
}

// DelayedPage is a part of what is delayed for a stream.
type DelayedPage struct {
	Messages uint64           `json:"messages"`        // that are delayed in all, whatever the filter means
	First    *time.Time       `json:"first,omitempty"` // when the next of all is due
	Delayed  []DelayedMessage `json:"delayed"`
	Next     uint64           `json:"next_seq,omitempty"` // where to go on, 0 at the end
}

// List returns some of the messages that a filter means, in the order in which they were published: from a sequence on, at most 256.
func (d *Delayed) List(ctx context.Context, from uint64, filter DelayFilter) (*DelayedPage, error) {
	request := struct {
		Sequence uint64      `json:"seq,omitempty"`
		Filter   DelayFilter `json:"filter,omitzero"`
	}{from, filter}
	page := &DelayedPage{}
	if err := ask(ctx, d.Conn, "DELAY.LIST."+d.Stream, request, page); err != nil {
		return nil, err
	}
	return page, nil
}

// All yields all messages that a filter means. After an error there are no more.
func (d *Delayed) All(ctx context.Context, filter DelayFilter) iter.Seq2[*DelayedMessage, error] {
	return func(yield func(*DelayedMessage, error) bool) {
		for next, first := uint64(0), true; first || next != 0; first = false {
			page, err := d.List(ctx, next, filter)
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range page.Delayed {
				if !yield(&page.Delayed[i], nil) {
					return
				}
			}
			next = page.Next
		}
	}
}

// Cancel sees to it that the message with a sequence, as its publisher was told, is never stored in the stream. Otherwise there is an [Error] with code
// 11062: its time has come, or it was cancelled before, or there is none.
func (d *Delayed) Cancel(ctx context.Context, sequence uint64) error {
	_, _, err := d.cancel(ctx, cancelRequest{Sequence: sequence, Due: d.Due})
	return err
}

// CancelAll is Cancel for all messages that a filter means, with the zero filter for all that there are. It returns how many. In a dry run it only counts.
func (d *Delayed) CancelAll(ctx context.Context, filter DelayFilter, dry bool) (cancelled int, err error) {
	r := cancelRequest{Filter: filter, All: filter == DelayFilter{}, Due: d.Due, DryRun: dry}
	for {
		n, next, err := d.cancel(ctx, r)
		cancelled += n
		if err != nil || next == 0 {
			return cancelled, err
		}
		r.From = next
	}
}

// cancelRequest says what is to be cancelled.
type cancelRequest struct {
	Sequence uint64      `json:"seq,omitempty"`
	Filter   DelayFilter `json:"filter,omitzero"`
	All      bool        `json:"all,omitempty"`
	Due      bool        `json:"due,omitempty"`
	DryRun   bool        `json:"dry_run,omitempty"`
	From     uint64      `json:"from,omitempty"`
}

// cancel makes one request, and returns how many were cancelled and where to go on.
func (d *Delayed) cancel(ctx context.Context, r cancelRequest) (cancelled int, next uint64, err error) {
	var answer struct {
		Cancelled int    `json:"cancelled"`
		Next      uint64 `json:"next_seq"`
	}
	err = ask(ctx, d.Conn, "DELAY.CANCEL."+d.Stream, r, &answer)
	return answer.Cancelled, answer.Next, err
}
