// Package handover puts messages of the server's own into streams: by the name of the stream, whatever its subjects are,
// and on whichever server it is led. A message has a number that its producer never uses for another one, so that putting it
// again is safe for ever: the stream knows it then. So whoever hands something over keeps it until the outcome is known, and
// puts it again as often as it takes.
//
// Clients cannot do the same: there is no subject for it, between servers it is a question like others (package clustered), and
// names of producers here are others than those that clients give.
package handover

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"runnel/jetlog/command"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/clustered"
	"runnel/server/jetstream/ingest"
)

// Message is one that is put. Nothing of it must change any more.
type Message struct {
	Subject string
	// Header is a header block, nil for none. What it would ask of a stream is asked of nobody.
	Header, Payload []byte
	// Producer is in whose name it is put, and Number is larger than those of all before it. With number 0 it is not put: the
	// outcome says whether it would be refused for whom it is for.
	Producer string
	Number   uint64
}

// Outcome is what became of a message: it is in the stream, with its sequence unless that is not known any more, or it is
// refused, and then not in the stream.
type Outcome struct {
	Sequence  uint64     `json:"seq,omitempty"`
	Duplicate bool       `json:"duplicate,omitempty"` // it was there before
	Refusal   *api.Error `json:"error,omitempty"`     // why it is not there, nil if it is
}

// ErrUnknown is wrapped by the error of Put where messages may have been stored, and may not.
var ErrUnknown = errors.New("it is not known whether it was stored")

// callBytes bounds the messages that are put with one question to another server, unless one is larger by itself.
const callBytes = 1 << 20

// Putter puts messages. Its methods are safe for concurrent use.
type Putter struct {
	// Local returns how messages get into a stream, on a server alone; an error of the API if there is none that takes any.
	Local func(account, stream string) (*ingest.Stream, error)
	// Asker asks the other servers, nil on a server alone.
	Asker *clustered.Asker
}

// Put puts messages of one account into a stream, in their order, and returns an outcome for each. The context bounds how long it
// waits for somebody who leads the stream, and for the answer. A message of a producer that is behind a refused one in the list
// is refused too. With an error there is no outcome, and nothing is stored unless it wraps ErrUnknown: a *api.Error says that
// there is no such stream.
func (p *Putter) Put(ctx context.Context, account, stream string, list []Message) ([]Outcome, error) {
	out := make([]Outcome, 0, len(list))
	after := map[string]uint64{}
	for len(list) > 0 {
		n := some(list)
		outcomes, err := p.put(ctx, account, stream, list[:n], after)
		if err != nil {
			return nil, fmt.Errorf("put messages into stream %q: %w", stream, err)
		}
		out, list = append(out, outcomes...), list[n:]
	}
	return out, nil
}

// some returns how many messages go with one question.
func some(list []Message) int {
	bytes := 0
	for i := range list {
		if bytes += list[i].size(); bytes > callBytes && i > 0 {
			return i
		}
	}
	return len(list)
}

func (m *Message) size() int {
	return len(m.Subject) + len(m.Header) + len(m.Payload) + len(m.Producer)
}

// put puts some messages. After has the numbers that producers have used before, and gets those of these.
func (p *Putter) put(ctx context.Context, account, stream string, list []Message, after map[string]uint64) ([]Outcome, error) {
	puts := make([]ingest.Put, len(list))
	for i := range list {
		m := &list[i]
		puts[i] = ingest.Put{Subject: m.Subject, Header: m.Header, Payload: m.Payload, Mark: command.Put{
			Producer: m.Producer, Number: m.Number, After: after[m.Producer],
		}}
		after[m.Producer] = m.Number
	}
	if p.Asker == nil {
		t, err := p.Local(account, stream)
		if err != nil {
			return nil, err
		}
		return into(ctx, t, puts)
	}
	a, ok := p.Asker.Cluster.Stream(account, stream)
	if !ok {
		return nil, api.NewError(api.StreamNotFound)
	}
	r, err := p.Asker.Leader(ctx, a, &clustered.Question{Kind: clustered.KindPut, Body: encode(puts)})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	var outcomes []Outcome
	if err := json.Unmarshal(r.Part, &outcomes); err != nil || len(outcomes) != len(list) {
		return nil, fmt.Errorf("%w: the answer of another server has %d outcomes for %d messages: %w", ErrUnknown, len(outcomes), len(list), err)
	}
	return outcomes, nil
}

// Answer puts what another server has asked to be put into a stream that is led here. It is false where nobody can tell what
// has become of it: then another server may lead the stream, and is to be asked.
func Answer(ctx context.Context, t *ingest.Stream, question []byte) (answer []byte, known bool) {
	puts, err := decode(question)
	if err != nil {
		return nil, false
	}
	outcomes, err := into(ctx, t, puts)
	if err != nil {
		return nil, false
	}
	answer, err = json.Marshal(outcomes)
	return answer, err == nil
}

// into puts messages into a stream that is led here, and waits for all outcomes.
func into(ctx context.Context, t *ingest.Stream, puts []ingest.Put) ([]Outcome, error) {
	g := &gathered{out: make([]Outcome, len(puts)), missing: 1, all: make(chan struct{})}
	for i := range puts {
		asked := puts[i].Mark.Number == 0
		var err error
		if asked {
			err = t.Refusal(&puts[i])
		} else {
			g.expect()
			err = t.Put(&puts[i], func(o ingest.Outcome) { g.take(i, &o) })
		}
		if err == nil {
			continue
		}
		var refusal *api.Error
		switch {
		case errors.As(err, &refusal):
		case errors.Is(err, ingest.ErrFull):
			refusal = api.NewError(api.PutTooMany, t.Name())
		default:
			return nil, fmt.Errorf("%w: %w", ErrUnknown, err)
		}
		if asked {
			g.out[i].Refusal = refusal
		} else {
			g.take(i, &ingest.Outcome{Refusal: refusal})
		}
	}
	g.take(-1, nil)
	t.Flush()
	select {
	case <-g.all:
		return g.result()
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", ErrUnknown, ctx.Err())
	}
}

// gathered are the outcomes of messages, which come from other goroutines.
type gathered struct {
	mu      sync.Mutex // guards everything but all, until that is closed
	out     []Outcome
	err     error
	missing int // outcomes, and 1 until all messages are put
	all     chan struct{}
}

// expect tells that there will be another outcome.
func (g *gathered) expect() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.missing++
}

// take takes over the outcome of a message, nil for none.
func (g *gathered) take(i int, o *ingest.Outcome) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case o == nil:
	case o.Err != nil:
		g.err = o.Err
	default:
		g.out[i] = Outcome{Sequence: o.Sequence, Duplicate: o.Duplicate, Refusal: o.Refusal}
	}
	if g.missing--; g.missing == 0 {
		close(g.all)
	}
}

// result returns the outcomes once all are there.
func (g *gathered) result() ([]Outcome, error) {
	if g.err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnknown, g.err)
	}
	return g.out, nil
}
