package client

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
)

// DeadStream is a stream to which consumers give what they could not process (runnel.dead_letter).
type DeadStream struct {
	Stream   string     `json:"stream"`
	Messages uint64     `json:"messages"`
	Oldest   *time.Time `json:"oldest,omitempty"` // when the first of them was put there
	Seconds  float64    `json:"oldest_seconds,omitempty"`
	// Waiting is how many were given up and are not there yet: the stream is full, say.
	Waiting int `json:"waiting"`
	// Consumers are those that give up into it, as "stream.consumer".
	Consumers []string `json:"consumers,omitempty"`
}

// DeadStreams returns the streams of the account that have dead letters, or are to get some, and the names of streams of which no
// leader has answered. Errors are as with [Lag].
func DeadStreams(ctx context.Context, nc *nats.Conn) (streams []DeadStream, missing []string, err error) {
	var answer struct {
		Streams []DeadStream `json:"streams"`
		Missing []string     `json:"missing"`
	}
	if err := ask(ctx, nc, "DLQ.LIST", nil, &answer); err != nil {
		return nil, nil, err
	}
	return answer.Streams, answer.Missing, nil
}

// DLQ looks after the dead letters in a stream. Its methods are safe for concurrent use; their errors are as with [Lag].
type DLQ struct {
	Conn   *nats.Conn
	Stream string
}

// DeadInfo says how many dead letters a stream has, of which kind.
type DeadInfo struct {
	DeadStream
	Counts  []DeadCount `json:"counts"`
	Partial bool        `json:"partial,omitempty"` // there were more than were looked at
	// Redrive is the one that runs, or the last one that has ended as far as the server remembers; nil for none.
	Redrive *RedriveState `json:"redrive,omitempty"`
}

// DeadCount is how many dead letters have these in common.
type DeadCount struct {
	Stream   string `json:"stream"`
	Consumer string `json:"consumer"`
	Reason   string `json:"reason"`
	Messages uint64 `json:"messages"`
}

// Info says what there is.
func (d *DLQ) Info(ctx context.Context) (*DeadInfo, error) {
	info := &DeadInfo{}
	if err := ask(ctx, d.Conn, "DLQ.INFO."+d.Stream, nil, info); err != nil {
		return nil, err
	}
	return info, nil
}

// DeadFilter says which dead letters are meant; what is empty leaves nothing out.
type DeadFilter struct {
	Stream   string `json:"stream,omitempty"`   // that they were in
	Consumer string `json:"consumer,omitempty"` // that has given them up
	Reason   string `json:"reason,omitempty"`   // max_deliver, retry_limit, terminated, expired or filter
	Subject  string `json:"subject,omitempty"`  // a pattern
}

// DeadLetter is a message that was given up.
type DeadLetter struct {
	Sequence uint64      `json:"seq"`     // in the dead-letter stream
	Time     time.Time   `json:"time"`    // when it was put there
	Subject  string      `json:"subject"` // the one that it had
	Header   nats.Header `json:"header,omitempty"`
	Data     []byte      `json:"data,omitempty"`
	Origin   Origin      `json:"origin"`
}

// Origin is where a dead letter comes from, and why. It is read of the headers Runnel-Dead-*; what is not there is zero.
type Origin struct {
	Stream   string    `json:"stream"`
	Subject  string    `json:"subject"`
	Sequence uint64    `json:"seq"` // in Stream
	Consumer string    `json:"consumer"`
	Reason   string    `json:"reason"`
	Error    string    `json:"error,omitempty"` // what the handler has said, as with [Permanent]
	Attempts int       `json:"attempts"`        // how often it was delivered
	First    time.Time `json:"first,omitzero"`  // when it was first and last delivered
	Last     time.Time `json:"last,omitzero"`
	Given    time.Time `json:"given,omitzero"` // when it was given up
}

// Get returns some dead letters without consuming them: from a sequence on, at most 256, and the sequence where to go on, 0 at
// the end.
func (d *DLQ) Get(ctx context.Context, from uint64, filter DeadFilter) (list []DeadLetter, next uint64, err error) {
	request := struct {
		Sequence uint64     `json:"seq,omitempty"`
		Filter   DeadFilter `json:"filter,omitzero"`
	}{from, filter}
	var answer struct {
		Letters []struct {
			Sequence uint64    `json:"seq"`
			Subject  string    `json:"subject"`
			Time     time.Time `json:"time"`
			Headers  []byte    `json:"hdrs"`
			Data     []byte    `json:"data"`
		} `json:"letters"`
		Next uint64 `json:"next_seq"`
	}
	if err := ask(ctx, d.Conn, "DLQ.GET."+d.Stream, request, &answer); err != nil {
		return nil, 0, err
	}
	for _, l := range answer.Letters {
		letter := DeadLetter{Sequence: l.Sequence, Time: l.Time, Subject: l.Subject, Data: l.Data}
		if len(l.Headers) > 0 {
			if letter.Header, err = nats.DecodeHeadersMsg(l.Headers); err != nil {
				return nil, 0, fmt.Errorf("headers of dead letter %d: %w", l.Sequence, err)
			}
		}
		letter.Origin = originOf(letter.Header)
		list = append(list, letter)
	}
	return list, answer.Next, nil
}

// All yields all dead letters that a filter means, in their order, without consuming them. After an error there are no more.
func (d *DLQ) All(ctx context.Context, filter DeadFilter) iter.Seq2[*DeadLetter, error] {
	return func(yield func(*DeadLetter, error) bool) {
		for next, first := uint64(0), true; first || next != 0; first = false {
			list, after, err := d.Get(ctx, next, filter)
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

// Discard deletes dead letters: that of a sequence, or if that is 0 those that a filter means; with the zero filter all. It returns how many.
// In a dry run it only counts.
func (d *DLQ) Discard(ctx context.Context, sequence uint64, filter DeadFilter, dry bool) (discarded int, err error) {
	request := struct {
		Sequence uint64     `json:"seq,omitempty"`
		Filter   DeadFilter `json:"filter,omitzero"`
		All      bool       `json:"all,omitempty"`
		From     uint64     `json:"from,omitempty"`
		DryRun   bool       `json:"dry_run,omitempty"`
	}{sequence, filter, sequence == 0 && filter == DeadFilter{}, 0, dry}
	for {
		var answer struct {
			Discarded int    `json:"discarded"`
			Next      uint64 `json:"next_seq"`
		}
		if err := ask(ctx, d.Conn, "DLQ.DISCARD."+d.Stream, request, &answer); err != nil {
			return discarded, err
		}
		discarded += answer.Discarded
		if request.From = answer.Next; request.From == 0 {
			return discarded, nil
		}
	}
}

// originOf reads where a dead letter comes from.
func originOf(h nats.Header) Origin {
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
