package delivery

import (
	"context"
	"errors"
	"sync"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/command"
)

// deadlines sees to it that what was not acknowledged in time is taken up again: a command for all consumers of a
// stream, at the time that its state says. There is a timer only while an answer is awaited.
type deadlines struct {
	stream *Stream

	mu      sync.Mutex // guards everything below
	timer   *time.Timer
	rings   int64 // when the timer does, 0 when it is not set
	working bool  // a command is under way
	lapsed  bool  // something was taken up, and its consumers do not know yet
	closed  bool
}

const (
	// deadlinePause is the least time between two looks at what is overdue.
	deadlinePause = 2 * time.Millisecond
	// deadlineBusy is how long a look waits when the log is busy, deadlineRetry when the log refuses.
	deadlineBusy  = 10 * time.Millisecond
	deadlineRetry = time.Second
)

// expect makes sure that somebody looks at a time, 0 for never.
func (d *deadlines) expect(at int64) {
	if at == 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || d.rings != 0 && d.rings <= at {
		return
	}
	d.rings = at
	wait := max(time.Duration(at-d.stream.now()), deadlinePause)
	if d.timer == nil {
		d.timer = time.AfterFunc(wait, d.ring)
		return
	}
	d.timer.Reset(wait)
}

// close ends it.
func (d *deadlines) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	if d.timer != nil {
		d.timer.Stop()
	}
}

// ring is what the timer calls.
func (d *deadlines) ring() {
	if d.quiet() {
		d.look()
	}
}

// quiet notes that the timer is not set, and reports whether there is something to do.
func (d *deadlines) quiet() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rings = 0
	return !d.closed && !d.working
}

// work says whether a command is under way.
func (d *deadlines) work(working bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.working = working
	d.lapsed = d.lapsed || !working
}

// takeLapsed reports whether consumers have to be told.
func (d *deadlines) takeLapsed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	lapsed := d.lapsed
	d.lapsed = false
	return lapsed
}

// look finds out when something is overdue. If that has come, a command takes it up; otherwise the timer is set.
func (d *deadlines) look() {
	s := d.stream
	var next int64
	var failed []string
	lapsed := d.takeLapsed()
	err := s.log.View(func(state *jetlog.Stream, _ jetlog.Messages) error {
		s.reach(state)
		next = state.NextAckDeadline()
		if lapsed {
			failed = withRedelivery(state)
		}
		return nil
	})
	for _, name := range failed {
		if c := s.consumer(name); c != nil {
			c.wakeIfWanting()
		}
	}
	now := s.now()
	if err != nil || next == 0 || next > now {
		d.expect(next)
		return
	}
	d.work(true)
	if err := s.log.Start(s.pool.never, &command.AckDeadline{Time: now}, d.done); err != nil {
		d.work(false)
		pause := deadlineRetry
		if errors.Is(err, context.Canceled) {
			pause = deadlineBusy
		}
		d.expect(now + int64(pause))
	}
}

// withRedelivery returns the consumers that have something to deliver again.
func withRedelivery(state *jetlog.Stream) (names []string) {
	for _, c := range state.Consumers() {
		c.Redelivery(func(uint64, uint64) bool {
			names = append(names, c.Name())
			return false
		})
	}
	return names
}

// done takes the result of a command, from the goroutine that applied it.
func (d *deadlines) done(r jetlog.Result, err error) {
	s := d.stream
	d.work(false)
	if err != nil {
		if !unled(err) {
			s.pool.cfg.Logger.Error("what was not acknowledged in time cannot be taken up", "stream", s.Name(), "error", err)
		}
		d.expect(s.now() + int64(pauseMax))
		return
	}
	for _, e := range r.Exhausted {
		s.pool.cfg.Events.MaxDeliveries(s, e.Consumer, e.Sequence, e.Deliveries)
		if c := s.consumer(e.Consumer); c != nil {
			c.unanswered(e.Sequence)
			c.wakeIfWanting()
		}
	}
	if len(r.Exhausted) > 0 {
		s.letters.Wake()
	}
	d.expect(s.now()) // look again soon, but not from here
}
