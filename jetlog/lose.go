package jetlog

import "slices"

// Lose lets the state be that of what the body still has: messages that are not there any more, since a disk
// has lost them, are counted as Lost, and consumers do not wait for them. It returns how many they are
// and what they counted for. It is for the repair of a stream that stands still, not for one of several
// replicas: these have lost nothing.
func (s *Stream) Lose(m Messages) (messages, bytes uint64, err error) {
	lives, err := livesOf(m)
	if err != nil {
		return 0, 0, err
	}
	for _, c := range s.consumers {
		c.lose(lives)
		s.unstray(c)
		if c.pending, err = c.count(c.delivered.Stream, m); err != nil {
			return 0, 0, err
		}
	}
	before := s.state
	s.state.Messages, s.state.Bytes = uint64(len(lives)), 0
	s.state.First, s.state.FirstTime = s.state.Last+1, 0
	s.ttl = expiries{}
	for i, meta := range lives {
		if i == 0 {
			s.state.First, s.state.FirstTime = meta.Sequence, meta.Time
		}
		s.state.Bytes += meta.Bytes
		if meta.Expires > 0 {
			s.ttl.add(meta.Expires, meta.Sequence)
		}
	}
	for _, t := range slices.Clone(s.schedules.heap) {
		if _, found := lives.find(t.seq); !found {
			s.schedules.drop(t.subject)
		}
	}
	messages, bytes = before.Messages-s.state.Messages, before.Bytes-s.state.Bytes
	s.removed[Lost] += messages
	s.lostBytes += bytes
	s.hash = mix(mix(s.hash, messages), bytes)
	return messages, bytes, nil
}

// Lost returns how many messages were lost, and what they counted for.
func (s *Stream) Lost() (messages, bytes uint64) { return s.removed[Lost], s.lostBytes }

// metas are what is known of live messages, by sequence.
type metas []Meta

func livesOf(m Messages) (lives metas, err error) {
	seq, err := m.Next(0)
	for ; err == nil && seq != 0; seq, err = m.Next(seq + 1) {
		meta, err := live(m, seq)
		if err != nil {
			return nil, err
		}
		lives = append(lives, meta)
	}
	return lives, err
}

func (l metas) find(seq uint64) (int, bool) {
	return slices.BinarySearchFunc(l, seq, func(meta Meta, seq uint64) int {
		switch {
		case meta.Sequence < seq:
			return -1
		case meta.Sequence > seq:
			return 1
		}
		return 0
	})
}

// lose forgets what is not among the live messages. What is pending is counted afterwards.
func (c *Consumer) lose(lives metas) {
	for _, d := range slices.Clone(c.acks.list) {
		if _, found := lives.find(d.seq); !found && d.count > 0 {
			c.withdrawDelivered(d.seq)
		}
	}
	c.exhausted = slices.DeleteFunc(c.exhausted, func(seq uint64) bool {
		_, found := lives.find(seq)
		return !found
	})
	for _, seq := range slices.Clone(c.initial.live()) {
		if _, found := lives.find(seq); !found {
			c.initial.remove(seq)
		}
	}
}
