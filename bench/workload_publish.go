package bench

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"runnel/bench/verify"
)

const (
	// windowBytes bounds what is under way between publishers and subscribers,
	// so that a correct server never has to drop anything.
	windowBytes = 8 << 20
	// frameBytes is about what a message costs beside its payload.
	frameBytes = 64
	// batchMax is how many messages are sent between two looks at the window.
	batchMax = 512
	// windowPoll is how often a publisher looks whether a full window has room.
	windowPoll = 50 * time.Microsecond
)

// window is the flow control of a run: publishers reserve room in it before
// they send. Reservations are numbered, and the lowest one never waits for a
// higher, so publishers cannot block each other for good.
type window struct {
	session  *session
	limit    int64 // messages
	batch    int64
	reserved atomic.Int64
}

// newWindow sizes the window by what one message makes the server write.
func newWindow(s *session) window {
	cost := max(1, s.fan) * (s.params.SizeBytes + frameBytes)
	limit := int64(max(4, windowBytes/cost))
	return window{session: s, limit: limit, batch: min(batchMax, limit/4)}
}

// reserve waits until n more messages may be sent.
func (w *window) reserve(ctx context.Context, n int64) error {
	fan := int64(w.session.fan)
	last := w.reserved.Add(n)
	for fan > 0 && last*fan-w.session.delivered() > w.limit*fan {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		time.Sleep(windowPoll)
	}
	return context.Cause(ctx)
}

// publisher sends numbered messages on its own connection. It is used by one
// goroutine at a time.
type publisher struct {
	session  *session
	conn     *nats.Conn
	id       uint32
	subjects []string
	payload  *verify.Payload
	msg      *nats.Msg // set where the messages carry a header
	stamped  bool
	next     uint64 // sequence of the next message
}

// newPublisher prepares a publisher; all that it needs for a message is reused.
func newPublisher(s *session, nc *nats.Conn, id uint32, plan publisherPlan) *publisher {
	p := &publisher{
		session:  s,
		conn:     nc,
		id:       id,
		subjects: plan.subjects,
		payload:  verify.NewPayload(s.params.SizeBytes, id),
		stamped:  s.target.Verify || s.params.Rate > 0,
	}
	if plan.header != nil {
		p.msg = &nats.Msg{Header: plan.header}
	}
	return p
}

// sending is one phase as a publisher sees it.
type sending struct {
	count int64     // messages; 0 until the deadline
	until time.Time // deadline; zero for none
	start time.Time // when the phase began
	index int       // which of the publishers this is
}

// send publishes, and returns when the server has taken the last message.
func (p *publisher) send(ctx context.Context, f *flow, phase sending) error {
	var err error
	if p.session.params.Rate > 0 {
		err = p.sendPaced(ctx, phase)
	} else {
		err = p.sendFlat(ctx, &f.window, phase)
	}
	if err != nil {
		return err
	}
	return p.session.flush(ctx, p.conn)
}

// sendFlat publishes as fast as the window allows.
func (p *publisher) sendFlat(ctx context.Context, w *window, phase sending) error {
	for sent := int64(0); phase.count == 0 || sent < phase.count; {
		n := w.batch
		if phase.count > 0 {
			n = min(n, phase.count-sent)
		}
		if err := w.reserve(ctx, n); err != nil {
			return err
		}
		for range n {
			if err := p.publish(0); err != nil {
				return p.failed(ctx, err)
			}
		}
		sent += n
		p.session.published.Add(n)
		if !phase.until.IsZero() && !time.Now().Before(phase.until) {
			return nil
		}
	}
	return nil
}

// sendPaced publishes each message when it is due, however late the one before
// it was.
func (p *publisher) sendPaced(ctx context.Context, phase sending) error {
	lockPreciseTimer()
	plan := newSpread(phase.start, p.session.params.Rate, phase.index, p.session.params.Publishers)
	for i := uint64(0); phase.count == 0 || i < uint64(phase.count); i++ {
		due := plan.due(i)
		if !phase.until.IsZero() && due.After(phase.until) {
			return nil
		}
		if err := sleepUntil(ctx, due); err != nil {
			return context.Cause(ctx)
		}
		if err := p.publish(p.session.clock.ticks(due)); err != nil {
			return p.failed(ctx, err)
		}
		p.session.published.Add(1)
	}
	return nil
}

// publish sends the next message.
func (p *publisher) publish(due uint32) error {
	data := p.payload.Data()
	if p.stamped {
		data = p.payload.Stamped(p.next, due)
	}
	subject := p.subjects[0]
	if n := uint64(len(p.subjects)); n > 1 {
		subject = p.subjects[p.next%n]
	}
	p.next++
	if p.msg == nil {
		return p.conn.Publish(subject, data)
	}
	p.msg.Subject, p.msg.Data = subject, data
	return p.conn.PublishMsg(p.msg)
}

// failed explains an error of publish, by what ended the run if it has ended.
func (p *publisher) failed(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return fmt.Errorf("publisher %d: %w", p.id, err)
}
