package engine

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"runnel/server/engine/lines"
	"runnel/server/wire"
)

const (
	// firstPing: a new connection is pinged early, to measure its round trip.
	firstPing = 2 * time.Second
	// rttMaxAge: a measurement so old is renewed even on a busy connection.
	rttMaxAge = time.Hour
	// checkGrace is what is added to the authentication timeout where credentials are being checked: who checks them
	// keeps to the timeout too, and has the better reason to refuse.
	checkGrace = time.Second
	tickMin    = 10 * time.Millisecond
	tickMax    = 500 * time.Millisecond
)

// liveness is what is known about a peer being there. next, seen and measured are owned by housekeeping.
type liveness struct {
	next     int64 // when to ping, unix nanoseconds; 0 before the first look
	seen     int64 // inMessages when the last ping was due
	measured int64 // when the round trip was measured

	unanswered atomic.Int32
	sentAt     atomic.Int64
	rtt        atomic.Int64
}

// pong takes an answer of the peer.
func (l *liveness) pong(now time.Time) {
	l.unanswered.Store(0)
	if sent := l.sentAt.Swap(0); sent != 0 {
		l.rtt.Store(now.UnixNano() - sent)
	}
}

// introduced takes what a client took to answer the first INFO for its round trip, until a PING measures that.
func (l *liveness) introduced(took time.Duration) { l.rtt.CompareAndSwap(0, int64(took)) }

// tick is how often housekeeping looks: often enough for the shortest of the time-outs.
func (s *Settings) tick() time.Duration {
	shortest := min(s.PingInterval, s.WriteDeadline, s.AuthTimeout)
	return min(max(shortest/4, tickMin), tickMax)
}

// housekeeping does what is due by the clock for all connections, in one goroutine and without timers.
func (e *Engine) housekeeping(ctx context.Context) {
	timer := time.NewTimer(e.settings.Load().tick())
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-timer.C:
			e.env.Clock.Store(now.UnixNano())
			s := e.settings.Load()
			for _, l := range e.open() {
				e.check(l, s, now)
			}
			e.sweepIdle()
			e.expire(now)
			e.announcer.Refresh()
			e.refreshDemand()
			timer.Reset(e.settings.Load().tick())
		}
	}
}

// sweepIdle sweeps the workers that nobody uses just now: nobody else would, and they keep closed connections alive.
func (e *Engine) sweepIdle() {
	e.mu.Lock()
	publishers := slices.Clone(e.publishers)
	e.mu.Unlock()
	for _, p := range publishers {
		p.sweep()
	}
	for range len(e.idle) {
		select {
		case w := <-e.idle:
			e.giveBack(w)
		default:
			return
		}
	}
}

// check does what is due for one line. It takes no lock unless something is.
func (e *Engine) check(l *lines.Line, s *Settings, now time.Time) {
	stuck := time.Duration(0)
	if since := l.StuckSince(); since != 0 {
		stuck = now.Sub(time.Unix(0, since))
	}
	switch {
	case l.Closing():
		if stuck > min(lines.ClosingTime, l.WriteDeadline()) {
			l.End(l.Reason(), nil, false)
		}
	case stuck > l.WriteDeadline():
		e.slowConsumer(l, ReasonSlowDeadline, nil)
	default:
		if c, ok := l.User().(*client); ok {
			e.checkClient(c.conn(), s, now)
		}
	}
}

// checkClient is check for a client that is neither closing nor slow.
func (e *Engine) checkClient(c *Conn, s *Settings, now time.Time) {
	switch {
	case !c.has(flagIdentified) && e.handler.AuthRequired(c):
		limit := cmp.Or(c.meta.AuthTimeout, s.AuthTimeout)
		if c.has(flagSuspended) {
			limit += checkGrace
		}
		if now.Sub(c.meta.Start) > limit {
			c.Close(ReasonAuthTimeout, "Authentication Timeout")
		}
	default:
		e.checkPing(c, s, now)
	}
}

// checkPing pings c when that is due, or ends it when it has left too many unanswered.
func (e *Engine) checkPing(c *Conn, s *Settings, now time.Time) {
	l := &c.liveness
	interval := cmp.Or(c.meta.PingInterval, s.PingInterval)
	if l.next == 0 {
		first := min(firstPing, interval)
		l.next = c.meta.Start.Add(first + rand.N(first/5+1)).UnixNano()
	}
	if now.UnixNano() < l.next {
		return
	}
	if int(l.unanswered.Load()) >= s.PingMax && l.unanswered.Load() > 0 {
		c.Close(ReasonStale, "Stale Connection")
		return
	}
	l.next = now.Add(interval).UnixNano()
	seen := c.line.InMessages.Load()
	busy := seen != l.seen && l.rtt.Load() != 0 && now.Sub(time.Unix(0, l.measured)) < rttMaxAge
	l.seen = seen
	if busy {
		l.unanswered.Store(0)
		return
	}
	l.measured = now.UnixNano()
	l.unanswered.Add(1)
	l.sentAt.Store(now.UnixNano())
	c.Send(pingLine)
}

// SendErr tells c about something that does not end the connection.
func (c *Conn) SendErr(text string) { c.Send(wire.AppendErr(nil, text)) }
