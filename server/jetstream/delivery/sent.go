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

// Acked tells that messages were acknowledged in another way than by Ack, so that a consumer may be sent others.
func (s *Stream) Acked(consumer string) {
	if c := s.consumer(consumer); c != nil {
		c.Wake()
	}
}
