package jetlog

import (
	"slices"

	"runnel/jetlog/deadlines"
	"runnel/jetlog/sum"
)

// Lose lets the state be that of what the body still has: messages that are not there any more, since a disk
// has lost them, are counted as Lost, and consumers do not wait for them. It returns how many they are
// and what they counted for. It is for the repair of a stream that stands still, not for one of several
// replicas: these have lost nothing.
func (s *Stream) Lose(m Messages) (messages, bytes uint64, err error) {
	lives, have, err := livesOf(m)
	if err != nil {
		return 0, 0, err
	}
	for _, c := range s.consumers {
		c.lose(have)
		s.unstray(c)
		if c.pending, err = c.count(c.delivered.Stream, m); err != nil {
			return 0, 0, err
		}
		c.pending += c.passed.Len()
	}
	s.kept.Retain(func(seq uint64) bool { return have[seq] })
	before := s.state
	s.state.Messages, s.state.Bytes = uint64(len(lives)), 0
	s.state.First, s.state.FirstTime = s.state.Last+1, 0
	s.ttl = deadlines.Expiries{}
	for i, meta := range lives {
		if i == 0 {
			s.state.First, s.state.FirstTime = meta.Sequence, meta.Time
		}
		s.state.Bytes += meta.Bytes
		if reserve, _ := s.kept.Get(meta.Sequence); meta.Expires > 0 && !reserve.Ended {
			s.ttl.Add(meta.Expires, meta.Sequence)
		}
	}
	for _, d := range slices.Collect(s.schedules.All) {
		if !have[d.Sequence] {
			s.schedules.Drop(d.Subject)
		}
	}
	messages, bytes = before.Messages-s.state.Messages, before.Bytes-s.state.Bytes
	s.removed[Lost] += messages
	s.lostBytes += bytes
	s.hash = sum.Mix(sum.Mix(s.hash, messages), bytes)
	return messages, bytes, nil
}

// Lost returns how many messages were lost, and what they counted for.
func (s *Stream) Lost() (messages, bytes uint64) { return s.removed[Lost], s.lostBytes }

// livesOf returns what is known of the live messages, in order, and the set of their sequences.
func livesOf(m Messages) (lives []Meta, have map[uint64]bool, err error) {
	have = map[uint64]bool{}
	seq, err := m.Next(0)
	for ; err == nil && seq != 0; seq, err = m.Next(seq + 1) {
		meta, err := live(m, seq)
		if err != nil {
			return nil, nil, err
		}
		lives, have[seq] = append(lives, meta), true
	}
	return lives, have, err
}

// lose forgets what is not live. What is pending is counted afterwards.
func (c *Consumer) lose(have map[uint64]bool) {
	before := uint64(c.acks.Len()+c.letters.Len()) + c.passed.Len()
	c.letters.Retain(func(seq uint64) bool { return have[seq] })
	c.acks.Retain(func(seq uint64) bool { return have[seq] })
	for _, seq := range slices.Collect(c.passed.All) {
		if !have[seq] {
			c.passed.Remove(seq)
		}
	}
	if uint64(c.acks.Len()+c.letters.Len())+c.passed.Len() < before {
		c.settleFloor()
	}
	c.exhausted = slices.DeleteFunc(c.exhausted, func(seq uint64) bool { return !have[seq] })
	for _, seq := range slices.Clone(c.initial.Live()) {
		if !have[seq] {
			c.initial.Remove(seq)
		}
	}
}
