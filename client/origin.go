package client

import (
	"context"
	"iter"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
)

// Origin is where a dead letter comes from, and why. It is read of the headers Runnel-Dead-*; what is not there is zero.
type Origin struct {
	Stream, Subject, Consumer string
	Sequence                  uint64 // in Stream
	Reason                    string
	Error                     string    // what the handler has said, as with [Permanent]
	Attempts                  int       // how often it was delivered
	First, Last               time.Time // when it was first and last delivered
	Given                     time.Time // when it was given up
}

// Origin reads where the letter comes from.
func (l *DeadLetter) Origin() Origin {
	h := l.Header()
	get := func(name string) string { return h.Get("Runnel-Dead-" + name) }
	at := func(name string) time.Time {
		t, _ := time.Parse(time.RFC3339Nano, get(name)) // zero for what is not there
		return t
	}
	o := Origin{
		Stream: get("Stream"), Subject: get("Subject"), Consumer: get("Consumer"), Reason: get("Reason"), Error: get("Error"),
		First: at("First"), Last: at("Last"), Given: at("Time"),
	}
	o.Sequence, _ = strconv.ParseUint(get("Sequence"), 10, 64)
	o.Attempts, _ = strconv.Atoi(get("Attempts"))
	return o
}

// AllDead yields all dead letters of a stream that a filter means, in their order, without consuming them. After an error there are
// no more.
func AllDead(ctx context.Context, nc *nats.Conn, stream string, f DeadFilter) iter.Seq2[*DeadLetter, error] {
	return func(yield func(*DeadLetter, error) bool) {
		for next, first := uint64(0), true; first || next != 0; first = false {
			list, after, err := DeadLetters(ctx, nc, stream, f, next, 0)
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range list {
				if !yield(&list[i], nil) {
					return
				}
			}
			next = after
		}
	}
}

// DeadInfo says how many dead letters a stream has, of which kind.
type DeadInfo struct {
	DeadStream
	Counts  []DeadCount `json:"counts"`
	Partial bool        `json:"partial"` // there were more than were looked at
}

// DeadCount is how many dead letters have these in common.
type DeadCount struct {
	Stream   string `json:"stream"`
	Consumer string `json:"consumer"`
	Reason   string `json:"reason"`
	Messages uint64 `json:"messages"`
}

// CountDead counts the dead letters of a stream. Errors are as with [Lag].
func CountDead(ctx context.Context, nc *nats.Conn, stream string) (*DeadInfo, error) {
	info := &DeadInfo{}
	if err := ask(ctx, nc, "DLQ.INFO."+stream, nil, info); err != nil {
		return nil, err
	}
	return info, nil
}
