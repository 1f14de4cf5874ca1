package engine

import (
	"cmp"
	"context"
	"slices"
	"time"

	"runnel/server/engine/lines"
	"runnel/server/engine/pulse"
	"runnel/server/wire"
)

const (
	// checkGrace is what is added to the authentication timeout where credentials are being checked: who checks them
	// keeps to the timeout too, and has the better reason to refuse.
	checkGrace = time.Second
	tickMin    = 10 * time.Millisecond
	tickMax    = 500 * time.Millisecond
)

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
	switch c.pulse.Beat(now, c.meta.Start, cmp.Or(c.meta.PingInterval, s.PingInterval), s.PingMax, c.line.InMessages.Load()) {
	case pulse.Stale:
		c.Close(ReasonStale, "Stale Connection")
	case pulse.Ping:
		c.Send(pingLine)
	}
}

// SendErr tells c about something that does not end the connection.
func (c *Conn) SendErr(text string) { c.Send(wire.AppendErr(nil, text)) }
