package backup

import (
	"cmp"
	"fmt"
	"slices"

	"runnel/jetlog/command"
)

// ConsumerOf returns a consumer as a backup has it, at a time in nanoseconds since 1970. What has no place there is said
// as well as it can be: a message that was delivered as often as it may be is one that was redelivered and does not
// wait.
func ConsumerOf(c *command.ConsumerRestore, now int64) Consumer {
	out := Consumer{Config: c.Config}
	s := &out.State
	s.Delivered = Position{Consumer: c.DeliveredConsumer, Stream: c.DeliveredStream}
	s.AckFloor = Position{Consumer: c.FloorConsumer, Stream: c.FloorStream}
	s.Initial, s.Resume = c.Initial, c.Resume
	if len(c.Initial) == 0 {
		s.Resume = 0
	}
	if len(c.Pending) > 0 {
		s.Pending = make(map[uint64]Pending, len(c.Pending))
	}
	if len(c.Pending)+len(c.Exhausted) > 0 {
		s.Redelivered = make(map[uint64]uint64)
	}
	for _, d := range c.Pending {
		s.Pending[d.Sequence] = Pending{Sequence: d.Consumer, Timestamp: now}
		if d.Count > 1 {
			s.Redelivered[d.Sequence] = d.Count - 1
		}
	}
	for _, seq := range c.Exhausted {
		s.Redelivered[seq] = uint64(max(1, c.Config.MaxDeliver))
	}
	return out
}

// Restore returns the command that makes the consumer, but for its time and bound. It fails for a state that cannot be.
func (c *Consumer) Restore() (*command.ConsumerRestore, error) {
	s := &c.State
	out := &command.ConsumerRestore{
		Config:            c.Config,
		DeliveredConsumer: s.Delivered.Consumer, DeliveredStream: s.Delivered.Stream,
		FloorConsumer: s.AckFloor.Consumer, FloorStream: s.AckFloor.Stream,
		Initial: s.Initial, Resume: s.Resume,
	}
	for seq, p := range s.Pending {
		out.Pending = append(out.Pending, command.Restored{Sequence: seq, Consumer: p.Sequence, Count: 1 + s.Redelivered[seq]})
	}
	slices.SortFunc(out.Pending, func(a, b command.Restored) int { return cmp.Compare(a.Sequence, b.Sequence) })
	if err := number(out); err != nil {
		return nil, err
	}
	// nats-server counts on when it gives a message up, and keeps the count: that is how one is told.
	for seq, again := range s.Redelivered {
		_, waits := s.Pending[seq]
		spent := c.Config.MaxDeliver > 0 && again+1 >= uint64(c.Config.MaxDeliver)
		if !waits && spent && seq <= s.Delivered.Stream {
			out.Exhausted = append(out.Exhausted, seq)
		}
	}
	slices.Sort(out.Exhausted)
	return out, nil
}

// number sees to it that the numbers of deliveries rise with the sequences, which a backup of another server does
// not promise: they stay what they are as far as possible.
func number(c *command.ConsumerRestore) error {
	list := c.Pending
	if uint64(len(list)) > c.DeliveredConsumer-c.FloorConsumer {
		if uint64(len(list)) > c.DeliveredConsumer {
			return fmt.Errorf("%w: consumer %q has more messages pending than were delivered", ErrDamaged, c.Config.Name)
		}
		c.FloorConsumer = c.DeliveredConsumer - uint64(len(list))
	}
	last := c.FloorConsumer
	for i := range list {
		list[i].Consumer = max(list[i].Consumer, last+1)
		last = list[i].Consumer
	}
	most := c.DeliveredConsumer
	for i := len(list) - 1; i >= 0; i-- {
		list[i].Consumer = min(list[i].Consumer, most)
		most = list[i].Consumer - 1
	}
	return nil
}
