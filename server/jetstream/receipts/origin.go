package receipts

import (
	"context"
	"encoding/json"
	"fmt"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
)

// Log is a stream as its leader has it; *store.Stream is one.
type Log interface {
	ID() uint64
	Name() string
	View(do func(*jetlog.Stream, jetlog.Messages) error) error
}

// Origin is a stream whose deliveries are acknowledged, on the server that leads it.
type Origin struct {
	Log Log
	// Sent returns up to which sequence a consumer was sent messages, whose deliveries may not be in the state yet, and its
	// incarnation; 0 if that is not known.
	Sent func(consumer string) (upTo, incarnation uint64)
	// Now is the time of the stream.
	Now func() int64
	// Propose carries a command out, and returns when it is durable.
	Propose func(context.Context, command.Command) (jetlog.Result, error)
	// Settled is told which messages of a consumer were acknowledged.
	Settled func(consumer string, sequences []uint64)
}

// state is what an origin says about a delivery.
type state string

const (
	waiting     state = "waiting"     // for an answer
	settled     state = "settled"     // it has one
	undelivered state = "undelivered" // as far as is known
	unknown     state = "unknown"     // there is no such consumer, or it is another one by now
	silent      state = "silent"      // the consumer wants no answers
)

// delivery is one that is asked about.
type delivery struct {
	Consumer string `json:"consumer"`
	Sequence uint64 `json:"seq"`
}

// finding is what is found out about it.
type finding struct {
	State       state  `json:"state"`
	Incarnation uint64 `json:"incarnation,omitempty"` // of the consumer
}

// look finds out about deliveries. A message that was sent and whose delivery is not in the state yet waits for an answer too:
// whoever has it may be faster than the disk.
func (o *Origin) look(list []delivery) (findings []finding, err error) {
	err = o.Log.View(func(s *jetlog.Stream, _ jetlog.Messages) error {
		findings = findings[:0]
		for _, d := range list {
			c := s.Consumer(d.Consumer)
			f := finding{State: stateOf(c, d.Sequence)}
			if c != nil {
				f.Incarnation = c.Incarnation()
			}
			if f.State == undelivered && o.sent(d) == f.Incarnation {
				f.State = waiting
			}
			findings = append(findings, f)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look at deliveries of stream %q: %w", o.Log.Name(), err)
	}
	return findings, nil
}

// sent returns the incarnation of the consumer that was sent a message, 0 if it was not as far as is known.
func (o *Origin) sent(d delivery) uint64 {
	upTo, incarnation := o.Sent(d.Consumer)
	if d.Sequence == 0 || d.Sequence > upTo {
		return 0
	}
	return incarnation
}

// stateOf is what the state knows about a delivery.
func stateOf(c *jetlog.Consumer, seq uint64) state {
	switch {
	case c == nil:
		return unknown
	case c.Common().Ack == config.AckNone:
		return silent
	case c.Awaits(seq):
		return waiting
	case seq > c.Delivered().Stream:
		return undelivered
	}
	return settled
}

// payment are acknowledgements that are owed to a consumer.
type payment struct {
	Consumer    string   `json:"consumer"`
	Incarnation uint64   `json:"incarnation"`
	Sequences   []uint64 `json:"seqs"`
}

// take takes acknowledgements that are owed, and returns those of the messages of which is known that they are settled, durably, or
// never will be. The others are not delivered yet as far as is known, and come again.
func (o *Origin) take(ctx context.Context, p *payment) (done []uint64, err error) {
	var wait []uint64
	gone := false
	err = o.Log.View(func(s *jetlog.Stream, _ jetlog.Messages) error {
		done, wait = done[:0], wait[:0]
		c := s.Consumer(p.Consumer)
		if gone = c == nil || c.Incarnation() != p.Incarnation; gone {
			return nil
		}
		for _, seq := range p.Sequences {
			switch stateOf(c, seq) {
			case waiting:
				wait = append(wait, seq)
			case undelivered:
			default:
				done = append(done, seq)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("acknowledge messages of stream %q: %w", o.Log.Name(), err)
	}
	if gone {
		return p.Sequences, nil
	}
	if len(wait) == 0 {
		return done, nil
	}
	r, err := o.Propose(ctx, &command.Settle{Time: o.Now(), Consumer: p.Consumer, Incarnation: p.Incarnation, Sequences: wait})
	if err != nil {
		return nil, fmt.Errorf("acknowledge messages of stream %q: %w", o.Log.Name(), err)
	}
	if r.Code == 0 {
		o.Settled(p.Consumer, wait)
	}
	return append(done, wait...), nil // a refusal says that the consumer has gone
}

// Answer answers a question of another server; nil if nobody can tell.
func (o *Origin) Answer(ctx context.Context, question []byte) []byte {
	var q inquiry
	if json.Unmarshal(question, &q) != nil {
		return nil
	}
	var a answer
	var err error
	if q.Payment != nil {
		a.Done, err = o.take(ctx, q.Payment)
	} else {
		a.Findings, err = o.look(q.Deliveries)
	}
	if err != nil {
		return nil
	}
	out, err := json.Marshal(&a)
	if err != nil {
		return nil
	}
	return out
}
