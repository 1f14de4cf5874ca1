package jetlog_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"runnel/jetlog"
	"runnel/jetlog/causes"
	"runnel/jetlog/command"
)

// modelCauses are what the model knows of deliveries from which messages were made.
type modelCauses struct {
	made map[causes.Cause]uint64 // the message
	owed map[causes.Cause]bool
	paid uint64
}

func newModelCauses() modelCauses {
	return modelCauses{made: map[causes.Cause]uint64{}, owed: map[causes.Cause]bool{}}
}

// plain is the cause as a key.
func plain(c *causes.Cause) causes.Cause { return causes.Cause{Source: c.Source, Sequence: c.Sequence} }

// streamID is that of the stream in the tests with the model.
const streamID = 3

// caused answers a message whose cause is known, or not one that waits for an answer; empty if it is to be stored.
func (m *model) caused(c *causes.Cause) string {
	if c == nil {
		return ""
	}
	if seq, known := m.causes.made[plain(c)]; known {
		return fmt.Sprintf("duplicate %d", seq)
	}
	if c.ID != streamID {
		return ""
	}
	consumer := m.consumers[c.Consumer]
	switch {
	case consumer == nil || consumer.incarnation != c.Incarnation:
		return "no 11052 consumer " + c.Consumer + " has begun again since, or has gone"
	case c.Sequence <= consumer.delivered.Stream && !consumer.answerable(c.Sequence):
		return "no 11051 "
	}
	return ""
}

// owned reports whether a cause is of a consumer of the stream that waits for the answer.
func (m *model) owned(c *causes.Cause) bool {
	if c == nil || c.ID != streamID || m.consumers[c.Consumer] == nil {
		return false
	}
	return m.consumers[c.Consumer].answerable(c.Sequence)
}

// answerable reports whether an answer would settle a message.
func (c *modelConsumer) answerable(seq uint64) bool {
	return c.waiting[seq] != nil || c.exhausted[seq] || c.passed[seq]
}

// answers says that a message is about to be stored which acknowledges a delivery.
func (m *model) answers(c *causes.Cause, owned bool) {
	for _, consumer := range m.consumers {
		consumer.answered = 0
	}
	if owned {
		m.consumers[c.Consumer].answered = c.Sequence
	}
}

// owe notes that the last message has a cause, which was owned before, and returns how many messages have gone for the
// acknowledgement.
func (m *model) owe(c *causes.Cause, owned bool) (gone int) {
	if c == nil {
		return 0
	}
	m.causes.made[plain(c)] = m.last
	if owned {
		m.causes.paid++
		return m.acknowledge(c.Consumer, c.Sequence)
	}
	m.causes.owed[plain(c)] = true
	return 0
}

// acknowledge lets a consumer be told, and returns how many messages have gone for it.
func (m *model) acknowledge(consumer string, sequences ...uint64) int {
	a := &command.Ack{Consumer: consumer}
	for _, seq := range sequences {
		a.Replies = append(a.Replies, command.Reply{Sequence: seq})
	}
	before := m.gone()
	m.consumers[consumer].ack(a)
	return m.gone() - before
}

// withCause is what becomes of a publish that may have a cause.
func (m *model) withCause(c *causes.Cause, publish func() string) string {
	if r := m.caused(c); r != "" {
		return r
	}
	owned := m.owned(c)
	m.answers(c, owned)
	r := publish()
	m.answers(nil, false)
	var seq uint64
	var removed int
	if c == nil || !strings.HasPrefix(r, "ok") {
		return r
	}
	if _, err := fmt.Sscanf(r, "ok %d -%d", &seq, &removed); err != nil {
		panic(err)
	}
	return fmt.Sprintf("ok %d -%d", seq, removed+m.owe(c, owned))
}

func (m *model) settle(c *command.Settle) string {
	consumer := m.consumers[c.Consumer]
	if consumer == nil || consumer.incarnation != c.Incarnation {
		return "no 10014 "
	}
	return fmt.Sprintf("ok 0 -%d", m.acknowledge(c.Consumer, c.Sequences...))
}

func (m *model) pay(c *command.Paid) string {
	for _, seq := range c.Sequences {
		key := causes.Cause{Source: c.Source, Sequence: seq}
		if m.causes.owed[key] {
			delete(m.causes.owed, key)
			m.causes.paid++
		}
	}
	return "ok 0 -0"
}

// differs says how the causes of a stream are others.
func (m *modelCauses) differs(s *jetlog.Stream) string {
	owed := map[causes.Cause]bool{}
	for d := range s.Causes().Debts {
		owed[causes.Cause{Source: *d.Source, Sequence: d.Sequence}] = true
	}
	if t := s.Causes(); !maps.Equal(owed, m.owed) || t.Len() != len(m.made) || t.Paid() != m.paid {
		return fmt.Sprintf("owed are %v, %d known, %d paid; want %v, %d, %d", owed, t.Len(), t.Paid(), m.owed, len(m.made), m.paid)
	}
	return ""
}

// cause returns the delivery that a message may have been made from, nil for most.
func (g *generator) cause() *causes.Cause {
	if !g.chance(12) {
		return nil
	}
	c := &causes.Cause{Source: causes.Source{ID: 9, Stream: "X", Consumer: g.one("c1", "c2"), Incarnation: 1}}
	c.Sequence, c.Paid = uint64(1+g.rng.IntN(20)), g.model.causes.paid
	if names := slices.Sorted(maps.Keys(g.model.consumers)); len(names) > 0 && g.chance(70) {
		consumer := g.world.stream.Consumer(g.one(names...))
		c.Source = causes.Source{ID: streamID, Stream: "S", Consumer: consumer.Name(), Incarnation: consumer.Incarnation()}
		c.Sequence = g.sequence()
		for seq := c.Sequence; seq <= g.model.last; seq++ {
			if consumer.Awaits(seq) {
				c.Sequence = seq
				break
			}
		}
	}
	if g.chance(5) {
		c.Incarnation++
	}
	return c
}

// repay returns a command that pays, or takes, what is owed.
func (g *generator) repay() command.Command {
	if name := g.one("c1", "c2", "c3"); g.chance(30) {
		c := &command.Settle{Time: g.clock, Consumer: name, Sequences: []uint64{g.sequence(), g.sequence()}}
		if consumer := g.world.stream.Consumer(name); consumer != nil && g.chance(90) {
			c.Incarnation = consumer.Incarnation()
		}
		return c
	}
	for d := range g.world.stream.Causes().Debts {
		if g.chance(60) {
			return &command.Paid{Time: g.clock, Source: *d.Source, Sequences: []uint64{d.Sequence, uint64(g.rng.IntN(20))}}
		}
	}
	return &command.Paid{Time: g.clock, Sequences: []uint64{1}}
}
