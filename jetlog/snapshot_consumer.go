package jetlog

import (
	"fmt"
	"slices"

	"runnel/jetlog/codec"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/deadlines"
)

// minConsumerBytes is the least that a consumer takes in a snapshot.
const minConsumerBytes = 18

func (c *Consumer) appendSnapshot(out []byte) []byte {
	out = codec.AppendBytes(out, c.name)
	out = codec.AppendInt(out, c.created)
	cfg := c.Config()
	out = command.AppendConfig(out, &cfg)
	out = codec.AppendUint(out, c.incarnation)
	out = codec.AppendBool(out, c.stray)
	for _, p := range [...]Position{c.delivered, c.floor} {
		out = codec.AppendUint(codec.AppendUint(out, p.Consumer), p.Stream)
	}
	out = codec.AppendInt(out, c.lastDelivered)
	out = codec.AppendInt(out, c.lastAcked)
	out = codec.AppendUint(out, c.pending)
	out = codec.AppendInt(out, c.pausedUntil)
	out = c.appendDeliveries(out)
	out = appendSequences(out, c.queued())
	out = appendSequences(out, c.exhausted)
	out = codec.AppendUint(out, c.initial.resume)
	out = appendSequences(out, c.initial.live())
	out = codec.AppendUint(out, uint64(len(c.pins)))
	for _, p := range c.pins {
		out = codec.AppendInt(codec.AppendBytes(out, p.id), p.since)
	}
	return out
}

// appendDeliveries appends what waits for an answer, sequences as differences.
func (c *Consumer) appendDeliveries(out []byte) []byte {
	out = codec.AppendUint(out, uint64(c.acks.live))
	last := Position{}
	for _, d := range c.acks.list {
		if d.count == 0 {
			continue
		}
		out = codec.AppendUint(out, d.seq-last.Stream)
		out = codec.AppendUint(out, d.consumer-last.Consumer)
		out = codec.AppendUint(out, d.count)
		out = codec.AppendInt(out, d.deadline)
		last = Position{d.consumer, d.seq}
	}
	return out
}

// queued returns the redelivery queue as sequences.
func (c *Consumer) queued() []uint64 {
	var out []uint64
	c.Redelivery(func(seq, _ uint64) bool {
		out = append(out, seq)
		return true
	})
	return out
}

func appendSequences(out []byte, list []uint64) []byte {
	out = codec.AppendUint(out, uint64(len(list)))
	for _, seq := range list {
		out = codec.AppendUint(out, seq)
	}
	return out
}

func readSequences(r *codec.Reader) []uint64 {
	var list []uint64
	for range r.Count(1) {
		list = append(list, r.Uint())
	}
	return list
}

// readConsumer reads a consumer; others are those that it may have a configuration in common with.
func readConsumer(r *codec.Reader, others ...*Consumer) (*Consumer, error) {
	c := &Consumer{name: r.String(), created: r.Int()}
	var cfg config.Consumer
	command.ReadConfig(r, &cfg)
	c.configure(&cfg, others...)
	if r.Err() == nil {
		own, err := cfg.Own()
		if err != nil {
			return nil, fmt.Errorf("snapshot: consumer %q: %w", c.name, err)
		}
		c.adopt(own, 0)
	}
	c.incarnation, c.stray = r.Uint(), r.Bool()
	c.delivered = Position{Consumer: r.Uint(), Stream: r.Uint()}
	c.floor = Position{Consumer: r.Uint(), Stream: r.Uint()}
	c.lastDelivered, c.lastAcked = r.Int(), r.Int()
	c.pending, c.pausedUntil = r.Uint(), r.Int()
	sound := c.readDeliveries(r)
	for _, seq := range readSequences(r) {
		d := c.acks.find(seq)
		if d == nil || d.ticket != 0 {
			sound = false
			break
		}
		c.enqueue(d)
	}
	c.startTimers()
	c.exhausted = readSequences(r)
	c.initial.resume = r.Uint()
	for _, seq := range readSequences(r) {
		c.initial.list = append(c.initial.list, seq<<1)
	}
	for range r.Count(2) {
		c.pins = append(c.pins, pin{id: r.String(), since: r.Int()})
	}
	if err := r.Err(); err != nil {
		return nil, fmt.Errorf("snapshot: consumer %q: %w", c.name, err)
	}
	sound = sound && slices.IsSorted(c.exhausted) && slices.IsSorted(c.initial.list) &&
		len(c.pins) == len(c.config.PriorityGroups) && c.name != ""
	if !sound {
		return nil, fmt.Errorf("consumer %q: %w", c.name, errSnapshot)
	}
	return c, nil
}

// readDeliveries reads what waits for an answer and reports whether it is in order.
func (c *Consumer) readDeliveries(r *codec.Reader) bool {
	last := Position{}
	for range r.Count(4) {
		d := delivery{seq: last.Stream + r.Uint(), consumer: last.Consumer + r.Uint(), count: r.Uint(), deadline: r.Int()}
		if r.Err() != nil {
			return true
		}
		if d.seq <= last.Stream || d.consumer <= last.Consumer || d.count == 0 {
			return false
		}
		last = Position{d.consumer, d.seq}
		c.acks.add(d)
	}
	return true
}

// startTimers makes the deadlines anew.
func (c *Consumer) startTimers() {
	for _, d := range c.acks.list {
		if d.ticket == 0 && d.deadline != 0 {
			c.timers.Push(deadlines.Deadline{At: d.deadline, Sequence: d.seq})
		}
	}
}
