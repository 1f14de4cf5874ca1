package jetlog

import (
	"time"

	"runnel/jetlog/config"
	"runnel/jetlog/deliveries"
)

// wait returns how long the answer to the n-th delivery may take, 0 for ever.
func (c *Consumer) wait(n uint64) time.Duration {
	if steps := c.config.Backoff; len(steps) > 0 {
		return steps[min(n, uint64(len(steps)))-1]
	}
	if c.config.Ack == config.AckFlowControl {
		return 0
	}
	return c.config.AckWait
}

// expect sets when the answer to a delivery is due, and takes it out of the redelivery queue.
func (c *Consumer) expect(d *deliveries.Delivery, now int64) { c.acks.Expect(d, now, c.wait(d.Count)) }

// rest puts a delivery aside until it comes again. Without a retry policy it keeps its place among those that wait.
func (c *Consumer) rest(d *deliveries.Delivery, now int64, wait time.Duration) {
	if c.retry == nil {
		c.acks.Expect(d, now, wait)
		return
	}
	c.acks.Rest(d, now, wait)
}

// spent reports whether a delivery was the last that is allowed.
func (c *Consumer) spent(d *deliveries.Delivery, now int64) bool {
	if c.config.MaxDeliver > 0 && d.Count >= uint64(c.config.MaxDeliver) {
		return true
	}
	return c.retry != nil && c.retry.Exhausted(int(d.Count), time.Duration(now-c.acks.Noted(d.Sequence).First))
}

// retryLater takes up a delivery that failed: at once, or when the retry policy says so.
func (c *Consumer) retryLater(d *deliveries.Delivery, now int64, r *Result) {
	if c.retry == nil || c.spent(d, now) {
		c.again(d, now, r)
		return
	}
	c.rest(d, now, c.retry.Delay(int(d.Count), d.Sequence))
}

// lapse takes up a delivery whose time is over: it was not answered, or it has rested.
func (c *Consumer) lapse(d *deliveries.Delivery, now int64, r *Result) {
	if c.Rests(d.Sequence) {
		c.again(d, now, r)
	} else {
		c.retryLater(d, now, r)
	}
}

// again takes up a delivery that failed: into the redelivery queue, or out of it all when it was the
// last. The ack floor stays below an exhausted message until something else is settled.
func (c *Consumer) again(d *deliveries.Delivery, now int64, r *Result) {
	if !c.spent(d, now) {
		c.acks.Queue(d)
		return
	}
	r.Exhausted = append(r.Exhausted, Exhausted{Consumer: c.name, Sequence: d.Sequence, Deliveries: d.Count})
	c.exhaust(d, now)
}

// ackDeadline takes up what was not answered in time. What is more than one command may do stays due.
func (s *Stream) ackDeadline() Result {
	var r Result
	left := choreMax
	for _, c := range s.consumers {
		for ; left > 0; left-- {
			d := c.acks.Due(s.clock)
			if d == nil {
				break
			}
			c.lapse(d, s.clock, &r)
		}
	}
	return r
}

// NextAckDeadline returns when AckDeadline has something to do at the earliest, 0 for never.
func (s *Stream) NextAckDeadline() int64 {
	next := int64(0)
	for _, c := range s.consumers {
		if at := c.NextDeadline(); at > 0 && (next == 0 || at < next) {
			next = at
		}
	}
	return next
}
