package engine

import (
	"errors"
	"fmt"
	"time"

	"runnel/server/accounts"
	"runnel/server/engine/lines"
)

// host is what the lines of an engine see of it.
type host struct{ *Engine }

func (h host) Borrow() lines.Worker { return h.borrow() }

func (h host) GiveBack(w lines.Worker) { h.giveBack(w.(*worker)) }

func (h host) Register(l *lines.Line) bool { return h.register(l) }

func (h host) Forget(l *lines.Line) { h.forget(l) }

func (h host) Slow(l *lines.Line) { h.slowConsumer(l, ReasonSlowDeadline, nil) }

func (h host) WriteDeadline() time.Duration { return h.settings.Load().WriteDeadline }

func (h host) Parked() { h.stalled.Add(1) }

func (h host) Go(f func()) { h.running.Go(f) }

// user is whose line it is, as the engine sees it.
type user interface {
	lines.User
	// Account is what deliveries count for, nil for none.
	Account() *accounts.Account
	// describe is how the log names the user.
	describe() []any
}

// userOf is whose line it is.
func userOf(l *lines.Line) user { return l.User().(user) }

func (e *Engine) startPollers(n int) error {
	for range n {
		p, err := lines.NewPoller(host{e}, &e.env, e.makeWorker(pollerCache), e.logger)
		if errors.Is(err, errors.ErrUnsupported) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("start epoll poller: %w", err)
		}
		e.pollers = append(e.pollers, p)
		e.running.Go(p.Run)
	}
	return nil
}

// closePollers closes the pollers, once nobody is left who might wake them.
func (e *Engine) closePollers() {
	for _, p := range e.pollers {
		if err := p.Close(); err != nil {
			e.logger.Error("close epoll poller", "error", err)
		}
	}
	e.pollers = nil
}
