package client

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// ackHeader has a message stored in one step with the acknowledgement that it names.
const ackHeader = "Runnel-Ack"

// The headers of a batch that is stored as a whole or not at all.
const (
	batchIDHeader       = "Nats-Batch-Id"
	batchSequenceHeader = "Nats-Batch-Sequence"
	batchCommitHeader   = "Nats-Batch-Commit"
)

// codeSettled is the error of a message that is acknowledged already: by an earlier attempt, or by somebody else.
const codeSettled = 11051

const (
	answerTime = 5 * time.Second // how long one attempt to publish waits
	attempts   = 5
)

// errUnknown is that nobody knows whether a message was stored.
var errUnknown = errors.New("no answer to what was published with the acknowledgement; if it was not stored, the message comes again")

// settle acknowledges a message, in one step with what its handler has published.
func (p *processor[T]) settle(ctx context.Context, raw jetstream.Msg, m *Message[T]) error {
	if len(m.results) == 0 {
		return raw.Ack()
	}
	if !p.own.Load() {
		if _, err := Lag(ctx, p.nc, p.Stream, p.Consumer); err != nil {
			return fmt.Errorf("publish with an acknowledgement: %w", err)
		}
		p.own.Store(true)
	}
	var err error
	for range attempts { // again is safe: the server knows what it has stored for this acknowledgement
		if err = p.publish(ctx, m.results, raw.Reply()); !errors.Is(err, errUnknown) || ctx.Err() != nil {
			break
		}
	}
	return err
}

// publish publishes messages together with an acknowledgement, once.
func (p *processor[T]) publish(ctx context.Context, list []*nats.Msg, ack string) error {
	batch := ""
	if len(list) > 1 {
		batch = rand.Text()
	}
	for i, m := range list {
		last := i == len(list)-1
		out := nats.NewMsg(m.Subject)
		out.Data = m.Data
		maps.Copy(out.Header, m.Header)
		if batch != "" {
			out.Header.Set(batchIDHeader, batch)
			out.Header.Set(batchSequenceHeader, strconv.Itoa(i+1))
		}
		if last {
			out.Header.Set(ackHeader, ack)
			if batch != "" {
				out.Header.Set(batchCommitHeader, "1")
			}
		}
		if err := p.request(ctx, out); err != nil {
			return err
		}
	}
	return nil
}

// request publishes a message and waits for the answer of its stream.
func (p *processor[T]) request(ctx context.Context, m *nats.Msg) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	r, err := p.nc.RequestMsgWithContext(ctx, m)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return fmt.Errorf("publish to %s: no stream takes it: %w", m.Subject, err)
	case err != nil:
		return fmt.Errorf("publish to %s: %w (%w)", m.Subject, errUnknown, err)
	case len(r.Data) == 0:
		return nil // of a batch that goes on
	}
	var answer struct {
		Error *Error `json:"error"`
	}
	if err := json.Unmarshal(r.Data, &answer); err != nil {
		return fmt.Errorf("publish to %s: what answered is no stream: %w", m.Subject, err)
	}
	if answer.Error != nil && answer.Error.Code != codeSettled {
		return fmt.Errorf("publish to %s: %w", m.Subject, answer.Error)
	}
	return nil
}
