package mesh

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"slices"
)

// maxStrangers is how many connections may be in their handshake at a time. What comes then waits.
const maxStrangers = 256

// accept takes connections until the listener is closed.
func (m *Mesh) accept() {
	strangers := make(chan struct{}, maxStrangers)
	for {
		conn, err := m.cfg.Listener.Accept()
		if errors.Is(err, net.ErrClosed) || m.ctx.Err() != nil {
			return
		}
		if err != nil {
			if n, due := m.moans.due(gist(err)); due {
				m.log.Error("cannot accept connections of other servers", "count", n, "reason", err)
			}
			if !pause(m.ctx, retryMin) {
				return
			}
			continue
		}
		select {
		case strangers <- struct{}{}:
		case <-m.ctx.Done():
			conn.Close()
			return
		}
		m.wg.Go(func() { m.serve(conn, func() { <-strangers }) })
	}
}

// serve takes one connection through its handshake, and carries it if it has become a session. known is called
// when the handshake is over.
func (m *Mesh) serve(conn net.Conn, known func()) {
	undo := m.limit(m.ctx, conn)
	t := &talk{conn: conn, accepted: true}
	s, link, err := m.receiveCall(t)
	if err != nil {
		m.turnAway(t, err)
		m.abandon(s, err)
	}
	undo()
	known()
	switch {
	case err != nil:
	case link == nil:
		m.run(s)
	default:
		if _, err := m.hand(s, link.Slot, t.conn); err != nil {
			m.log.Debug("a link has come too late", "from", conn.RemoteAddr().String(), "reason", err)
		}
	}
}

// receiveCall is the acceptor's side of all handshakes. It returns a session that is established, or one that a link
// wants to be part of.
func (m *Mesh) receiveCall(t *talk) (*session, *linkage, error) {
	if err := m.encrypt(t); err != nil {
		return nil, nil, err
	}
	f, err := t.receive(wantOpening)
	switch {
	case err != nil:
		return nil, nil, err
	case f.Link != nil:
		s, r := m.sessionOf(f.Link)
		if r != nil {
			return nil, nil, r
		}
		if err := t.send(&frame{Ready: true}); err != nil {
			return nil, nil, err
		}
		return s, f.Link, nil
	}
	s, err := m.greet(t, f.Hello)
	return s, nil, err
}

// encrypt is the acceptor's side of TLS, if it is used.
func (m *Mesh) encrypt(t *talk) error {
	cfg := m.security.Load().TLS
	if cfg == nil {
		return nil
	}
	c := tls.Server(t.conn, cfg)
	err := c.HandshakeContext(m.ctx)
	switch {
	case timedOut(err) || errors.Is(err, io.EOF):
		return strangeCaller(nil, err)
	case err != nil:
		return tlsError(err) // if the other side speaks no TLS, it is told so without
	}
	t.conn = c
	return nil
}

// greet is the acceptor's side of the handshake of a control link. With an error it returns a session that is to be
// abandoned, or nil.
func (m *Mesh) greet(t *talk, h *hello) (*session, error) {
	if !m.security.Load().Authorize(h.Username, h.Password) {
		return nil, refuse(codeAuthorization, "wrong credentials: cluster.authorization and the user:password in cluster.routes must fit together")
	}
	if err := h.check(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	r := m.vet(&h.Member)
	m.mu.Unlock()
	if r != nil {
		return nil, r
	}
	s := m.newSession(t.conn, h, nil)
	if err := t.send(&frame{Hello: &hello{Member: m.Self(), Offer: m.offer}}); err != nil {
		return s, err
	}
	return s, m.agree(t, s)
}

// turnAway ends a handshake that has failed, and says so once in a while.
func (m *Mesh) turnAway(t *talk, err error) {
	t.part(err)
	from := hostOf(t.conn.RemoteAddr())
	r := refused(err, "")
	switch {
	case m.ctx.Err() != nil || errors.Is(err, net.ErrClosed):
	case r != nil && slices.Contains([]string{codeSilent, codeDuplicate, codeSelf, codeClosing}, r.Code):
		m.log.Debug("a connection to the cluster port has ended", "from", from, "reason", err)
	default:
		if n, due := m.moans.due(from + gist(err)); due {
			m.log.Warn("a connection to the cluster port was refused", "from", from, "count", n, "reason", err)
		}
	}
}

// hostOf is the host of an address, or all of it.
func hostOf(a net.Addr) string {
	if host, _, err := net.SplitHostPort(a.String()); err == nil {
		return host
	}
	return a.String()
}
