package client

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
)

// DeadStream is a stream that has dead letters, or is to get some.
type DeadStream struct {
	Stream string `json:"stream"`
	// Messages is how many the stream has, and Oldest when the first of them was put there, nil if it has none.
	Messages uint64     `json:"messages"`
	Oldest   *time.Time `json:"oldest"`
	// Waiting is how many were given up and are not there yet, since they cannot be handed over or are just about to be.
	Waiting int `json:"waiting"`
	// Consumers are those that give up into it, as "stream.consumer".
	Consumers []string `json:"consumers"`
}

// DeadFilter says which dead letters are meant. What is empty leaves nothing out.
type DeadFilter struct {
	Stream   string `json:"stream,omitempty"`   // that they were in
	Consumer string `json:"consumer,omitempty"` // that has given them up
	Reason   string `json:"reason,omitempty"`   // max_deliver, retry_limit, terminated, expired or filter
	Subject  string `json:"subject,omitempty"`  // a pattern
}

// DeadLetter is a message that was given up. Its header says why: see the Runnel-Dead headers.
type DeadLetter struct {
	Sequence uint64    `json:"seq"` // in the dead-letter stream
	Subject  string    `json:"subject"`
	Time     time.Time `json:"time"` // when it was put there
	Block    []byte    `json:"hdrs"` // the header block
	Data     []byte    `json:"data"`
}

// Header returns the headers.
func (l *DeadLetter) Header() nats.Header {
	h, err := nats.DecodeHeadersMsg(l.Block)
	if err != nil {
		return nats.Header{}
	}
	return h
}

// DeadStreams lists the dead-letter streams of the account.
func DeadStreams(ctx context.Context, nc *nats.Conn) ([]DeadStream, error) {
	var a struct {
		Streams []DeadStream `json:"streams"`
	}
	if err := ask(ctx, nc, "DLQ.LIST", nil, &a); err != nil {
		return nil, err
	}
	return a.Streams, nil
}

// DeadLetters returns dead letters of a stream from a sequence on, at most so many, without consuming them. Next is where to go on, 0
// at the end; a call may return none and still not be at the end.
func DeadLetters(ctx context.Context, nc *nats.Conn, stream string, f DeadFilter, from uint64, most int) (list []DeadLetter, next uint64, err error) {
	q := struct {
		Sequence uint64     `json:"seq,omitempty"`
		Limit    int        `json:"limit,omitempty"`
		Filter   DeadFilter `json:"filter"`
	}{from, most, f}
	var a struct {
		Letters []DeadLetter `json:"letters"`
		Next    uint64       `json:"next_seq"`
	}
	if err := ask(ctx, nc, "DLQ.GET."+stream, q, &a); err != nil {
		return nil, 0, err
	}
	return a.Letters, a.Next, nil
}

// DiscardDead deletes dead letters: the one with a sequence, or with 0 all that the filter means. With dry it only counts them. It
// returns how many there were, with an error as far as it came.
func DiscardDead(ctx context.Context, nc *nats.Conn, stream string, f DeadFilter, sequence uint64, dry bool) (n int, err error) {
	q := struct {
		Sequence uint64     `json:"seq,omitempty"`
		Filter   DeadFilter `json:"filter"`
		All      bool       `json:"all"`
		DryRun   bool       `json:"dry_run"`
	}{sequence, f, sequence == 0 && f == DeadFilter{}, dry}
	for {
		var a struct {
			Discarded int  `json:"discarded"`
			More      bool `json:"more"`
		}
		if err := ask(ctx, nc, "DLQ.DISCARD."+stream, q, &a); err != nil {
			return n, err
		}
		if n += a.Discarded; !a.More || dry {
			return n, nil
		}
	}
}
