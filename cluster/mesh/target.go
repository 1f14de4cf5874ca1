package mesh

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"strings"
	"time"
)

const (
	// Pauses between attempts to dial somebody.
	retryMin = time.Second
	retryMax = 30 * time.Second
	// haste is the pause after something has broken that worked.
	haste = 100 * time.Millisecond
	// seedPort is taken for a seed that names none.
	seedPort = "6222"
)

// target is somebody to dial: a seed, or a server that was learned of and that there is no session with.
type target struct {
	addr, host string        // host:port, and the host alone
	user       *url.Userinfo // of its URL; nil if that has none
	cancel     context.CancelFunc

	// Used by its own goroutine only.
	many  bool     // the name stands for many servers
	tried string   // the address of it that was dialled last
	own   []string // those that have turned out to be this server

	// Guarded by the mesh's mutex.
	seed bool
	id   string // who was found there last
}

// parseSeeds turns URLs into targets. Errors do not show what may contain a password.
func parseSeeds(urls []string) ([]*target, error) {
	var list []*target
	for i, text := range urls {
		if !strings.Contains(text, "://") {
			text = "nats-route://" + text
		}
		u, err := url.Parse(text)
		if err != nil || u.Hostname() == "" {
			return nil, fmt.Errorf("seed %d of %d is not of the form nats-route://user:password@host:port", i+1, len(urls))
		}
		t := newTarget(u.Hostname(), u.Port())
		t.seed, t.user = true, u.User
		list = append(list, t)
	}
	return list, nil
}

func newTarget(host, port string) *target {
	if port == "" {
		port = seedPort
	}
	return &target{addr: net.JoinHostPort(host, port), host: host}
}

// setSeeds dials the seeds that are new. What is no seed any more goes the way of what was learned.
func (m *Mesh) setSeeds(seeds []*target) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range m.targets {
		t.seed = false
	}
	for _, t := range seeds {
		old := m.targets[t.addr]
		if old != nil && old.user.String() == t.user.String() {
			old.seed = true
			continue
		}
		if old != nil {
			m.dropTarget(old)
		}
		m.startTarget(t)
	}
}

// startTarget begins to dial t. The mutex must be held.
func (m *Mesh) startTarget(t *target) {
	if m.closing {
		return
	}
	ctx, cancel := context.WithCancel(m.ctx)
	t.cancel = cancel
	m.targets[t.addr] = t
	m.wg.Go(func() {
		defer cancel()
		m.pursue(ctx, t)
	})
}

// dropTarget stops dialling t. The mutex must be held.
func (m *Mesh) dropTarget(t *target) {
	t.cancel()
	if m.targets[t.addr] == t {
		delete(m.targets, t.addr)
	}
}

// learn begins to dial a server that somebody has a session with, or that there was one with, unless there is
// one or it is dialled already. The mutex must be held, and the caller be among those that Close waits for.
func (m *Mesh) learn(peer *Member) {
	if peer.RouteURL == "" || m.closing || m.sessions[peer.ID] != nil {
		return
	}
	host, port, err := net.SplitHostPort(peer.RouteURL)
	if err != nil {
		return
	}
	t := newTarget(host, port)
	t.id = peer.ID
	for addr, old := range m.targets {
		if addr == t.addr || old.id == peer.ID && !old.seed { // a seed may lead to another by now
			return
		}
	}
	m.startTarget(t)
}

// vouched reports whether somebody has a session with that server. The mutex must be held.
func (m *Mesh) vouched(id string) bool {
	for _, s := range m.sessions {
		for i := range s.known {
			if s.known[i].ID == id {
				return true
			}
		}
	}
	return false
}

// next says what to do about t after so many attempts in a row that have failed: wait for a session to end, dial
// (nil and true), or give up.
func (m *Mesh) next(t *target, attempts int) (s *session, goOn bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s = m.sessions[t.id]
	switch {
	case t.seed:
		return s, true
	case s != nil || attempts > m.cfg.ConnectRetries && !m.vouched(t.id):
		m.dropTarget(t)
		return nil, false
	}
	return nil, true
}

// pursue dials t whenever there is no session with who lives there, until that is pointless or ctx ends. While it has
// dialled a session, it carries it.
func (m *Mesh) pursue(ctx context.Context, t *target) {
	attempts := 0
	if !m.isSeed(t) && !pause(ctx, haste) { // whoever was learned of has learned of us and dials too
		return
	}
	for {
		s, goOn := m.next(t, attempts)
		if !goOn || ctx.Err() != nil {
			return
		}
		var err error
		if s != nil {
			select {
			case <-s.ctx.Done():
			case <-ctx.Done():
			}
		} else {
			err = m.call(ctx, t)
		}
		switch {
		case err == nil:
			attempts = 0
		case refused(err, codeDuplicate) == nil:
			attempts++
		}
		if err != nil && m.failed(t, err) || !pause(ctx, m.delay(t, attempts, err)) {
			return
		}
	}
}

// delay is the pause before t is dialled again.
func (m *Mesh) delay(t *target, attempts int, err error) time.Duration {
	if err == nil {
		return haste
	}
	// Who refuses will do so again unless somebody changes a configuration. Who was learned of is not as
	// important as a seed.
	if m.cfg.Backoff || !m.isSeed(t) || refused(err, "") != nil {
		return min(retryMax, retryMin<<min(max(attempts-1, 0), 10))
	}
	return retryMin
}

func (m *Mesh) isSeed(t *target) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return t.seed
}

// failed takes note of a failure to have a session with t. It is true if there is no use in trying again.
func (m *Mesh) failed(t *target, err error) (final bool) {
	r := refused(err, "")
	m.mu.Lock()
	if r != nil && r.theirs && r.ID != "" {
		t.id = r.ID
	}
	closing := m.closing
	self := refused(err, codeSelf) != nil
	if self && !t.many {
		m.dropTarget(t)
		final = true
	}
	if self && t.many && r.theirs {
		t.own = append(t.own, t.tried)
	}
	m.mu.Unlock()
	switch {
	case closing || errors.Is(err, context.Canceled):
	case final:
		m.log.Info("this server has found itself under an address that it has dialled: it is forgotten", "addr", t.addr)
	case self || refused(err, codeDuplicate) != nil:
		m.log.Debug("connected already", "addr", t.addr)
	default:
		if n, due := m.moans.due(t.addr + gist(err)); due {
			m.log.Warn("cannot connect with another server of the cluster", "addr", t.addr, "attempt", n, "reason", err)
		}
	}
	return final
}

// jitter varies d by a quarter, so that servers that begin together do not go on together.
func jitter(d time.Duration) time.Duration { return d*3/4 + rand.N(d/2+1) }
