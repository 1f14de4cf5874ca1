package delivery

// Sent returns the sequence up to which a consumer was sent messages for the first time, 0 if this server has sent it none:
// the state may not have the last of these yet.
func (s *Stream) Sent(consumer string) uint64 {
	if c := s.consumer(consumer); c != nil {
		return c.sent.Load()
	}
	return 0
}

// Acked tells that messages were acknowledged in another way than by Ack, so that a consumer may be sent others.
func (s *Stream) Acked(consumer string) {
	if c := s.consumer(consumer); c != nil {
		c.Wake()
	}
}
