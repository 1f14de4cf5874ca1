package jetlog

import (
	"slices"

	"runnel/jetlog/config"
	"runnel/jetlog/deliveries"
	"runnel/jetlog/interest"
	"runnel/jetlog/lasts"
	"runnel/jetlog/letters"
	"runnel/jetlog/passed"
	"runnel/jetlog/retry"
)

// Position is a place in a stream as a consumer sees it: the number of the delivery, and the
// sequence of the message.
type Position struct {
	Consumer, Stream uint64
}

// Consumer is the state of a consumer: part of its stream, and changed by the stream's Apply alone.
//
// Invariants, which Check verifies: the ack floor is not above delivered; all deliveries that wait
// for an answer are above the floor and not above delivered, and so are those that were passed over; pending is exactly
// the number of these, and of live messages above delivered that the consumer is to get, as far as the filter tells.
type Consumer struct {
	name    string
	created int64
	// config is the configuration without what is this consumer's own. It never changes, and belongs to all
	// consumers beside this one that are configured alike.
	config *config.Consumer
	form   config.Form
	// stray is set when the filter has changed while there was something that the former one matched.
	stray bool
	// ahead is set when all messages are looked at before they are delivered, keyed when one waits for those of its key, and
	// blocks when one that has failed for good keeps its place.
	ahead, keyed, blocks bool
	filter               Filter
	member               interest.Member[*Consumer]
	// incarnation is changed when the consumer begins again, so that a Deliver that was on its way
	// can be told from a later one.
	incarnation uint64

	delivered, floor         Position
	lastDelivered, lastAcked int64
	pending                  uint64
	// acks are the deliveries that wait for an answer.
	acks deliveries.Table
	// retry says when what failed comes again, nil for at once.
	retry *retry.Policy
	// exhausted was delivered as often as allowed. It is still live.
	exhausted deliveries.Exhausted
	// passed are the messages up to delivered that are still to be delivered for the first time, nil for none.
	passed *passed.Set
	// letters has what is given up and to be handed over, in place of exhausted; nil for a consumer that hands nothing over.
	letters *letters.Box
	// initial is what a consumer of last messages gets first.
	initial lasts.List

	pausedUntil int64
	// pins are the clients that priority groups belong to, by the position of the group in the
	// configuration; empty for nobody.
	pins []pin
}

type pin struct {
	id    string
	since int64
}

// Name returns the name.
func (c *Consumer) Name() string { return c.name }

// Created returns when the consumer was made, in nanoseconds since 1970.
func (c *Consumer) Created() int64 { return c.created }

// Config returns the configuration. What its slices and pointers refer to must not be changed.
func (c *Consumer) Config() config.Consumer { return c.form.Of(c.config, c.name, c.filter) }

// Common returns the configuration without the name and the filters, the same for all consumers beside one another that
// are configured alike. It must not be changed, and is another one once the consumer is configured anew.
func (c *Consumer) Common() *config.Consumer { return c.config }

// configure takes over a configuration. What it has in common with one of the others is shared.
func (c *Consumer) configure(cfg *config.Consumer, others ...*Consumer) {
	common, form := cfg.Common()
	c.form, c.filter = form, cfg.Filters()
	for _, other := range others {
		if config.Alike(other.config, &common) {
			c.config = other.config
			return
		}
	}
	c.config = new(common) // takes memory only where it is kept
}

// beside returns the consumers between which a name is, or would be, in their order.
func (s *Stream) beside(name string) []*Consumer {
	i, _ := s.find(name)
	return s.consumers[max(i-1, 0):min(i+1, len(s.consumers))]
}

// Filter returns what the consumer wants. It must not be changed.
func (c *Consumer) Filter() Filter { return c.filter }

// Incarnation returns the number that a Deliver has to carry.
func (c *Consumer) Incarnation() uint64 { return c.incarnation }

// Delivered returns the number of deliveries and the last sequence that was delivered.
func (c *Consumer) Delivered() Position { return c.delivered }

// AckFloor returns up to where everything is settled.
func (c *Consumer) AckFloor() Position { return c.floor }

// LastDelivered and LastAcked return when that happened, in nanoseconds since 1970, 0 for never.
func (c *Consumer) LastDelivered() int64 { return c.lastDelivered }

// LastAcked returns when a message was last settled, in nanoseconds since 1970, 0 for never.
func (c *Consumer) LastAcked() int64 { return c.lastAcked }

// Pending returns how many messages are still to be delivered for the first time.
func (c *Consumer) Pending() uint64 { return c.pending }

// AckPending returns how many deliveries wait for an answer.
func (c *Consumer) AckPending() int { return c.acks.Len() }

// Retries reports whether what failed comes again when a policy says so, rather than at once.
func (c *Consumer) Retries() bool { return c.retry != nil }

// Resting returns how many of these rest: nobody has them, they come again by themselves at a time, and they take no
// place of those that may wait for an answer.
func (c *Consumer) Resting() int { return c.acks.Resting() }

// Rests reports whether a message is one of these.
func (c *Consumer) Rests(seq uint64) bool { return c.acks.Noted(seq).Resting }

// Redelivered returns how many live messages were delivered more than once and are not settled.
func (c *Consumer) Redelivered() int {
	n := len(c.exhausted)
	for d := range c.acks.All() {
		if d.Count > 1 {
			n++
		}
	}
	return n
}

// Deliveries returns how often a message was delivered that waits for an answer, 0 for others.
func (c *Consumer) Deliveries(seq uint64) uint64 {
	if d := c.acks.Find(seq); d != nil {
		return d.Count
	}
	return 0
}

// PausedUntil returns until when nothing is delivered, 0 when the consumer is not paused.
func (c *Consumer) PausedUntil() int64 { return c.pausedUntil }

// Pinned returns the client that a priority group belongs to and since when, empty for nobody.
func (c *Consumer) Pinned(group string) (id string, since int64) {
	i := slices.Index(c.config.PriorityGroups, group)
	if i < 0 || i >= len(c.pins) {
		return "", 0
	}
	return c.pins[i].id, c.pins[i].since
}

// Redelivery calls yield for the sequences that are to be delivered again, in their order, until it
// returns false.
func (c *Consumer) Redelivery(yield func(seq, deliveries uint64) bool) { c.acks.Queued(yield) }

// NextDeadline returns when the first answer is due, 0 when none is awaited.
func (c *Consumer) NextDeadline() int64 { return c.acks.NextDeadline() }

// Next returns the first message above a sequence that the consumer has not had, 0 for none.
func (c *Consumer) Next(above uint64, m Messages) (uint64, error) {
	if c.pending == 0 {
		return 0, nil
	}
	if seq := c.passed.Next(above + 1); seq != 0 {
		return seq, nil
	}
	return c.following(max(above, c.delivered.Stream), m)
}

// following returns the first message above a sequence, not below delivered, that the consumer is to get, 0 for none.
func (c *Consumer) following(above uint64, m Messages) (uint64, error) {
	if seq := c.initial.Next(above); seq != 0 {
		return seq, nil
	}
	return m.NextOf(c.filter, max(above, c.initial.Resume)+1)
}

// Listed returns the first message above a sequence of those that a consumer of last messages gets first, 0 if there
// are no more of them, and the sequence up to which it gets no others. It asks no body, unlike Next.
func (c *Consumer) Listed(above uint64) (seq, upTo uint64) {
	return c.initial.Next(max(above, c.delivered.Stream)), c.initial.Resume
}

// wants reports whether a message above delivered, which the filter matches, is to be delivered.
func (c *Consumer) wants(seq uint64) bool {
	if seq <= c.initial.Resume {
		return c.initial.Has(seq)
	}
	return true
}

// needs reports whether the consumer has not settled a message yet.
func (c *Consumer) needs(seq uint64, subject string) bool {
	if seq > c.delivered.Stream && !c.letters.Has(seq) {
		return c.filter.Matches(subject) && c.wants(seq)
	}
	return c.waits(seq) || c.passed.Has(seq) || c.letters.Has(seq)
}

// settleFloor moves the ack floor to where everything is settled. With keys messages are not delivered in the order of their
// sequences: then it says of deliveries only how many are settled.
func (c *Consumer) settleFloor() {
	c.floor = c.delivered
	if first := c.acks.First(); first != nil {
		c.floor = Position{Consumer: first.Consumer - 1, Stream: first.Sequence - 1}
	}
	if l := c.letters.Lowest(); l != nil && l.Sequence <= c.floor.Stream {
		c.floor = Position{Consumer: min(c.floor.Consumer, l.Consumer-1), Stream: l.Sequence - 1}
	}
	if seq := c.passed.Next(0); seq != 0 {
		c.floor.Stream = min(c.floor.Stream, seq-1)
	}
	if c.keyed {
		c.floor.Consumer = c.delivered.Consumer - min(c.delivered.Consumer, uint64(c.acks.Len()))
	}
}

// Consumer returns the consumer of this name, nil if there is none.
func (s *Stream) Consumer(name string) *Consumer {
	if i, found := s.find(name); found {
		return s.consumers[i]
	}
	return nil
}

// Consumers returns all consumers in the order of their names. The slice must not be changed.
func (s *Stream) Consumers() []*Consumer { return s.consumers }

func (s *Stream) find(name string) (int, bool) {
	return slices.BinarySearchFunc(s.consumers, name, func(c *Consumer, name string) int {
		switch {
		case c.name < name:
			return -1
		case c.name > name:
			return 1
		}
		return 0
	})
}
