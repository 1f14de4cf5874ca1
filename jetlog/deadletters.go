package jetlog

import (
	"slices"

	"runnel/jetlog/codec"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/deliveries"
	"runnel/jetlog/letters"
)

// Letters returns what the consumer has given up and is not handed over yet, nil for a consumer that hands nothing over. It
// must not be changed.
func (c *Consumer) Letters() *letters.Box { return c.letters }

// DeadLetter returns the name of the stream that gets what the consumer gives up, empty for none.
func (c *Consumer) DeadLetter() string {
	if c.letters == nil {
		return ""
	}
	return c.config.Metadata[config.MetadataDeadLetter]
}

// keepLetters begins to keep letters, or ends that. What was exhausted before becomes a letter too, and the other way
// round.
func (c *Consumer) keepLetters(asked bool, now int64, box uint64) {
	switch {
	case asked && c.letters == nil:
		c.letters = letters.New(box)
		c.acks.Once() // last deliveries are in snapshots with letters only: a replica that was restored does not know them
		for _, seq := range c.exhausted {
			c.letters.Add(letters.Letter{Sequence: seq, Consumer: c.delivered.Consumer + 1, Reason: letters.MaxDeliver, Time: now})
		}
		c.exhausted = nil
	case !asked && c.letters != nil:
		c.exhausted, c.letters = c.givenUp(), nil
		c.settleFloor()
	}
}

// lettered is 1 for a consumer that keeps letters, otherwise 0.
func (c *Consumer) lettered() int {
	if c.letters == nil {
		return 0
	}
	return 1
}

// exhaust gives up a message that was delivered as often as allowed.
func (c *Consumer) exhaust(d *deliveries.Delivery, now int64) {
	if c.letters == nil {
		c.exhausted.Add(d.Sequence)
		c.acks.Settle(d.Sequence)
		return
	}
	reason := letters.RetryLimit
	if c.config.MaxDeliver > 0 && d.Count >= uint64(c.config.MaxDeliver) {
		reason = letters.MaxDeliver
	}
	c.bury(d.Sequence, reason, "", now)
}

// bury makes a letter of a message that the consumer does not get any more, whether or not it was delivered.
func (c *Consumer) bury(seq uint64, reason letters.Reason, text string, now int64) {
	l := letters.Letter{Sequence: seq, Consumer: c.delivered.Consumer + 1, Reason: reason, Text: text, Time: now}
	if d := c.acks.Find(seq); d != nil {
		n := c.acks.Noted(seq)
		l.Consumer, l.Deliveries, l.First, l.Last = d.Consumer, d.Count, n.First, n.Last
		c.acks.Settle(seq)
	}
	c.letters.Add(l)
}

// buryFailed gives up messages that the content filter could not decide about.
func (c *Consumer) buryFailed(list []uint64, now int64) {
	for _, seq := range list {
		c.bury(seq, letters.Filter, "", now)
	}
}

// givenUp returns the sequences of what is not delivered any more, exhausted or with a letter.
func (c *Consumer) givenUp() []uint64 {
	list := slices.Concat(c.exhausted, c.letters.Sequences())
	return slices.DeleteFunc(list, func(seq uint64) bool { return seq > c.delivered.Stream || c.acks.Find(seq) != nil })
}

// terminate gives up a message that its receiver does not want again.
func (c *Consumer) terminate(seq uint64, text string, now int64) {
	if c.acks.Find(seq) != nil || c.unpass(seq) {
		c.bury(seq, letters.Terminated, text, now)
		c.lastAcked = now
		c.settleFloor()
	}
}

// ack takes answers without a text.
func (s *Stream) ack(a *command.Ack, m Messages) (Result, error) {
	return s.answered(a, func(int) string { return "" }, m)
}

// giveUp takes what receivers have said of messages that are not to come again.
func (s *Stream) giveUp(g *command.GiveUp, m Messages) (Result, error) {
	a := &command.Ack{Time: g.Time, Consumer: g.Consumer, Replies: make([]command.Reply, len(g.Messages))}
	for i, message := range g.Messages {
		a.Replies[i] = command.Reply{Answer: command.Terminate, Sequence: message.Sequence}
	}
	return s.answered(a, func(i int) string { return g.Messages[i].Text }, m)
}

// handed takes out the letters that are in the dead-letter stream.
func (s *Stream) handed(h *command.Handed, m Messages) (Result, error) {
	c := s.Consumer(h.Consumer)
	if c == nil {
		return refused(config.ConsumerNotFound), nil
	}
	if c.letters.ID() != h.Box {
		return refusedWith(config.BadRequest, "the letters are of another time"), nil
	}
	for _, l := range c.letters.UpTo(h.UpTo) {
		if s.kept.Has(l.Sequence) {
			if err := s.planKept(l.Sequence, c, m); err != nil {
				return Result{}, err
			}
		} else if s.config.Retention != config.LimitsRetention {
			if err := s.planIfUnneeded(l.Sequence, c, m); err != nil {
				return Result{}, err
			}
		}
	}
	if err := s.settle(m, nil); err != nil {
		return Result{}, err
	}
	c.letters.Handed(h.UpTo)
	c.settleFloor()
	s.unstray(c)
	return Result{Removed: s.remove(m)}, nil
}

// planKept plans that a message goes that is only kept, as far as a consumer is concerned.
func (s *Stream) planKept(seq uint64, but *Consumer, m Messages) error {
	r, kept := s.kept.Get(seq)
	if !kept {
		return nil
	}
	meta, err := live(m, seq)
	if err == nil {
		s.scratch.removals = append(s.scratch.removals, removal{Meta: meta, reason: Reason(r.Why), but: but})
	}
	return err
}

// planReleased plans that the messages go that are kept only for letters of a consumer that it is about to lose.
func (s *Stream) planReleased(c *Consumer, m Messages) error {
	if s.kept.Len() == 0 {
		return nil
	}
	for _, seq := range c.letters.Sequences() {
		if err := s.planKept(seq, c, m); err != nil {
			return err
		}
	}
	return nil
}

// hold takes out of a plan what ages and limits remove although a consumer has a letter of it, or will have one: an answer
// to its delivery was awaited. The plan is in order.
func (s *Stream) hold() {
	p := &s.scratch
	p.removals = slices.DeleteFunc(p.removals, func(r removal) bool {
		if !r.reason.Limits() {
			return false
		}
		held := false
		s.concerned(r.Subject, func(c *Consumer) {
			switch {
			case c == r.but:
			case c.letters.Has(r.Sequence):
				held = true
			case c.letters != nil && c.acks.Find(r.Sequence) != nil && p.answered != dying{c, r.Sequence}:
				held = true
				p.dying = append(p.dying, dying{c, r.Sequence})
			}
		})
		if held {
			p.held = append(p.held, r)
		}
		return held
	})
}

// concerned calls do for the consumers that may wait for an answer about a message on the subject.
func (s *Stream) concerned(subject string, do func(*Consumer)) {
	s.matching(subject, func(c *Consumer) bool {
		do(c)
		return true
	})
	for i := 0; s.strays > 0 && i < len(s.consumers); i++ {
		if s.consumers[i].stray {
			do(s.consumers[i])
		}
	}
}

// dying is a message that becomes a letter of a consumer.
type dying struct {
	consumer *Consumer
	seq      uint64
}

// keep commits what hold has found.
func (s *Stream) keep() {
	p := &s.scratch
	for _, r := range p.held {
		before, _ := s.kept.Get(r.Sequence)
		reserve := letters.Reserve{Bytes: r.Bytes, Why: uint8(r.reason), Ended: r.reason == TTL}
		if reserve.Ended && !before.Ended {
			s.ttl.Cancel(r.Expires, r.Sequence)
		}
		s.kept.Add(r.Sequence, reserve)
	}
	for _, d := range p.dying {
		if was := d.consumer.acks.Find(d.seq); was != nil { // once, however often its filter has matched
			p.withdrawn = append(p.withdrawn, Withdrawn{d.consumer.name, d.seq, was.Consumer, was.Count, true})
			d.consumer.bury(d.seq, letters.Expired, "", s.clock)
			d.consumer.settleFloor()
		}
	}
}

// dropLetters takes out the letters from a sequence on, whose messages come again. Those of messages that are only kept
// for a letter stay.
func (s *Stream) dropLetters(b *letters.Box, from uint64) *letters.Box {
	b = b.Clone()
	b.Retain(func(seq uint64) bool { return seq < from || s.kept.Has(seq) })
	return b
}

// appendLetters appends the letters of all consumers that keep some, by name, when messages were last delivered that they
// wait for, and what is kept.
func (s *Stream) appendLetters(out []byte) []byte {
	out = codec.AppendUint(out, uint64(s.lettering))
	for _, c := range s.consumers {
		if c.letters == nil {
			continue
		}
		out = c.letters.AppendSnapshot(codec.AppendBytes(out, c.name))
		for d := range c.acks.All() {
			out = codec.AppendInt(out, c.acks.Noted(d.Sequence).Last)
		}
	}
	return s.kept.AppendSnapshot(out)
}

// readLetters reads what appendLetters has written, and reports whether it fits the consumers.
func (s *Stream) readLetters(r *codec.Reader) bool {
	if n := r.Count(4); n != s.lettering {
		return false
	}
	for _, c := range s.consumers {
		if c.letters == nil {
			continue
		}
		if r.String() != c.name || !c.letters.Restore(r) {
			return false
		}
		for d := range c.acks.All() {
			c.acks.Again(d, r.Int())
		}
	}
	return s.kept.Restore(r)
}

// checkLetters verifies the letters, and what is kept for them.
func (s *Stream) checkLetters(lives []Meta, wrong func(string, ...any)) {
	live, lettering := map[uint64]bool{}, 0
	for _, meta := range lives {
		live[meta.Sequence] = true
	}
	has := map[uint64]bool{}
	for _, c := range s.consumers {
		if c.letters == nil {
			continue
		}
		lettering++
		c.letters.Check(wrong)
		for _, seq := range c.letters.Sequences() {
			has[seq] = true
			if !live[seq] || seq <= c.delivered.Stream && c.acks.Find(seq) != nil && !s.kept.Has(seq) {
				wrong("consumer %q: a letter of message %d", c.name, seq)
			}
		}
		if len(c.exhausted) > 0 {
			wrong("consumer %q: %d exhausted besides letters", c.name, len(c.exhausted))
		}
	}
	if lettering != s.lettering {
		wrong("%d consumers keep letters, counted %d", s.lettering, lettering)
	}
	for seq, r := range s.kept.All {
		if !live[seq] || !has[seq] || !Reason(r.Why).Limits() {
			wrong("message %d is kept as %+v", seq, r)
		}
	}
}

// stays reports whether limits do not count a message any more, since it is only kept.
func (s *Stream) stays(seq uint64) bool { return s.kept.Has(seq) || s.scratch.staged.Has(seq) }

// counted returns what limits count of messages and bytes that the stream has besides what is planned to go.
func (s *Stream) counted(messages, bytes uint64) (uint64, uint64) {
	p := &s.scratch
	n, size := p.staged.Count(&s.kept)
	for i := range p.removals {
		if r := &p.removals[i]; n > 0 && s.stays(r.Sequence) {
			n--
			size -= r.Bytes
		}
	}
	return messages - n, bytes - size
}

// stageKept notes for what a batch plans next what the removals of a member mean for what is kept.
func (s *Stream) stageKept() {
	p := &s.scratch
	for i := range p.held {
		if r := &p.held[i]; !s.kept.Has(r.Sequence) {
			p.staged.Spare(r.Sequence, r.Bytes)
		}
	}
	for i := range p.removals {
		if r := &p.removals[i]; s.stays(r.Sequence) {
			p.staged.Go(r.Bytes)
		}
	}
}
