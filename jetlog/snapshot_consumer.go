package jetlog

import (
	"fmt"
	"slices"

	"runnel/jetlog/codec"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
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
	out = c.acks.AppendSnapshot(out)
	out = codec.AppendUints(out, c.exhausted)
	out = codec.AppendUint(out, c.initial.Resume)
	out = codec.AppendUints(out, c.initial.Live())
	out = codec.AppendUint(out, uint64(len(c.pins)))
	for _, p := range c.pins {
		out = codec.AppendInt(codec.AppendBytes(out, p.id), p.since)
	}
	return out
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
		c.adopt(own, 0, 0)
	}
	c.incarnation, c.stray = r.Uint(), r.Bool()
	c.delivered = Position{Consumer: r.Uint(), Stream: r.Uint()}
	c.floor = Position{Consumer: r.Uint(), Stream: r.Uint()}
	c.lastDelivered, c.lastAcked = r.Int(), r.Int()
	c.pending, c.pausedUntil = r.Uint(), r.Int()
	sound := c.acks.Restore(r)
	c.exhausted = r.Uints()
	c.initial.Resume = r.Uint()
	lasts := r.Uints()
	c.initial.Renew(lasts)
	for range r.Count(2) {
		c.pins = append(c.pins, pin{id: r.String(), since: r.Int()})
	}
	if err := r.Err(); err != nil {
		return nil, fmt.Errorf("snapshot: consumer %q: %w", c.name, err)
	}
	sound = sound && slices.IsSorted(c.exhausted) && slices.IsSorted(lasts) &&
		len(c.pins) == len(c.config.PriorityGroups) && c.name != ""
	if !sound {
		return nil, fmt.Errorf("consumer %q: %w", c.name, errSnapshot)
	}
	return c, nil
}
