package delivery

// Sent returns the sequence up to which a consumer was sent messages for the first time, 0 if this server has sent it none:
// the state may not have the last of these yet. Incarnation is that of the consumer then.
func (s *Stream) Sent(consumer string) (upTo, incarnation uint64) {
	if c := s.consumer(consumer); c != nil && !c.takesNoAcks() {
		upTo = c.sent.Load()
		return upTo, c.sentAs.Load()
	}
	return 0, 0
}

// show lets others see up to where a consumer was sent messages.
func (c *consumer) show() {
	if c.sentAs.Load() != c.incarnation {
		c.sentAs.Store(c.incarnation)
	}
	c.sent.Store(c.at.Stream)
}

// Acked tells that messages were acknowledged in another way than by Ack, durably, so that a consumer may be sent others. They count as
// processed. The sequence is 0 of one of which the state may not know yet: then it is found there.
func (s *Stream) Acked(consumer string, sequences ...uint64) {
	if c := s.consumer(consumer); c != nil {
		c.post(func(b *mailbox) { b.news, b.acked = true, append(b.acked, sequences...) })
	}
}

// ackedElsewhere counts messages that receivers have acknowledged without an answer to their deliveries, and lets those behind them go.
func (t *turn) ackedElsewhere(list []uint64) {
	for _, seq := range list {
		t.processed()
		t.through()
		if o := t.c.lookout; o != nil {
			t.news = o.Done(seq) || t.news
		}
	}
}
