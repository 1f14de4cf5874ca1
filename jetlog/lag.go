package jetlog

// OldestPending returns what is known of the oldest message that is still to be delivered for the first
// time, the zero Meta if there is none.
func (c *Consumer) OldestPending(m Messages) (Meta, error) {
	seq, err := c.Next(0, m)
	if err != nil || seq == 0 {
		return Meta{}, err
	}
	return live(m, seq)
}

// OldestUnacked returns what is known of the oldest message that was delivered and not settled, one that was
// delivered as often as allowed included. It is the zero Meta if there is none.
func (c *Consumer) OldestUnacked(m Messages) (Meta, error) {
	seq := uint64(0)
	if first := c.acks.First(); first != nil {
		seq = first.Sequence
	}
	if len(c.exhausted) > 0 && (seq == 0 || c.exhausted[0] < seq) {
		seq = c.exhausted[0]
	}
	if seq == 0 {
		return Meta{}, nil
	}
	return live(m, seq)
}

// FirstUnacked returns the oldest message that waits for an answer, 0 for none, and when it was first delivered, 0 if that is not noted.
func (c *Consumer) FirstUnacked() (seq uint64, delivered int64) {
	d := c.acks.First()
	if d == nil {
		return 0, 0
	}
	return d.Sequence, c.acks.Noted(d.Sequence).First
}
