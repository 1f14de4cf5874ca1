package jetlog

import (
	"slices"
	"time"

	"runnel/jetlog/config"
	"runnel/jetlog/deadlines"
)

// redelivery is the queue of what is to be delivered again. A place in it holds while the delivery
// has its number; others are passed over and cleared out now and then.
type redelivery struct {
	tickets []ticket
	last    uint64
}

type ticket struct {
	seq, number uint64
}

// Entries that no longer hold may make up half of a queue or heap, and this many besides.
const staleMax = 64

// enqueue puts a delivery at the end of the redelivery queue, if it is not in it.
func (c *Consumer) enqueue(d *delivery) {
	if d.ticket != 0 {
		return
	}
	q := &c.queue
	if len(q.tickets) > 2*c.acks.live+staleMax {
		q.tickets = slices.DeleteFunc(q.tickets, func(t ticket) bool { return !c.holds(t) })
	}
	q.last++
	d.ticket = q.last
	q.tickets = append(q.tickets, ticket{d.seq, d.ticket})
}

// holds reports whether a place in the queue is still meant.
func (c *Consumer) holds(t ticket) bool {
	d := c.acks.find(t.seq)
	return d != nil && d.ticket == t.number
}

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
func (c *Consumer) expect(d *delivery, now int64, wait time.Duration) {
	c.acks.notes.Rest(d.seq, false)
	c.ring(d, now, wait)
}

// rest puts a delivery aside until it comes again.
func (c *Consumer) rest(d *delivery, now int64, wait time.Duration) {
	c.acks.notes.Rest(d.seq, true)
	c.ring(d, now, wait)
}

// ring sets when something is to happen to a delivery, and takes it out of the redelivery queue.
func (c *Consumer) ring(d *delivery, now int64, wait time.Duration) {
	d.ticket = 0
	d.deadline = 0
	if wait <= 0 {
		return
	}
	d.deadline = Later(now, wait)
	if len(c.timers) > 2*c.acks.live+staleMax {
		c.timers = slices.DeleteFunc(c.timers, func(t deadlines.Deadline) bool { return !c.runs(t) })
		c.timers.Rebuild()
	}
	c.timers.Push(deadlines.Deadline{At: d.deadline, Sequence: d.seq})
}

// runs reports whether a deadline still holds.
func (c *Consumer) runs(t deadlines.Deadline) bool {
	d := c.acks.find(t.Sequence)
	return d != nil && d.ticket == 0 && d.deadline == t.At
}

// dropTimers takes deadlines that hold no longer from the front.
func (c *Consumer) dropTimers() {
	for len(c.timers) > 0 && !c.runs(c.timers[0]) {
		c.timers.Pop()
	}
}

// spent reports whether a delivery was the last that is allowed.
func (c *Consumer) spent(d *delivery, now int64) bool {
	if c.config.MaxDeliver > 0 && d.count >= uint64(c.config.MaxDeliver) {
		return true
	}
	n, _ := c.acks.notes.Get(d.seq)
	return c.retry != nil && c.retry.Exhausted(int(d.count), time.Duration(now-n.First))
}

// retryLater takes up a delivery that failed: at once, or when the retry policy says so.
func (c *Consumer) retryLater(d *delivery, now int64, r *Result) {
	if c.retry == nil || c.spent(d, now) {
		c.again(d, now, r)
		return
	}
	c.rest(d, now, c.retry.Delay(int(d.count), d.seq))
}

// lapse takes up a delivery whose time is over: it was not answered, or it has rested.
func (c *Consumer) lapse(d *delivery, now int64, r *Result) {
	if c.Rests(d.seq) {
		c.again(d, now, r)
	} else {
		c.retryLater(d, now, r)
	}
}

// again takes up a delivery that failed: into the redelivery queue, or out of it all when it was the
// last. The ack floor stays below an exhausted message until something else is settled.
func (c *Consumer) again(d *delivery, now int64, r *Result) {
	if !c.spent(d, now) {
		c.enqueue(d)
		return
	}
	seq := d.seq
	r.Exhausted = append(r.Exhausted, Exhausted{Consumer: c.name, Sequence: seq, Deliveries: d.count})
	c.acks.settle(seq)
	i, _ := slices.BinarySearch(c.exhausted, seq)
	c.exhausted = slices.Insert(c.exhausted, i, seq)
}

// ackDeadline takes up what was not answered in time. What is more than one command may do stays due.
func (s *Stream) ackDeadline() Result {
	var r Result
	left := choreMax
	for _, c := range s.consumers {
		for c.dropTimers(); left > 0 && len(c.timers) > 0 && c.timers[0].At <= s.clock; c.dropTimers() {
			c.lapse(c.acks.find(c.timers.Pop().Sequence), s.clock, &r)
			left--
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
