package server

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"time"

	"runnel/server/engine"
	"runnel/server/preamble"
)

// preambleTimeout is how long a client may say nothing where a load balancer may speak first.
const preambleTimeout = 5 * time.Second

// proxiedConn is a connection that may begin with a preamble of a load balancer, which Read takes off.
//
// Invariant: nothing behind the preamble is read before it is done with, so that the socket itself can be served then:
// only a client that comes without a preamble leaves something ahead, and is served through the proxiedConn for good.
type proxiedConn struct {
	net.Conn
	source netip.AddrPort // what the preamble says, not valid for nothing
	ahead  []byte         // what was read and is not used yet
	begun  bool           // the preamble is behind us, if there is one
}

// Read implements net.Conn.
func (p *proxiedConn) Read(b []byte) (int, error) {
	if err := p.begin(); err != nil {
		return 0, err
	}
	if len(p.ahead) > 0 {
		n := copy(b, p.ahead)
		p.ahead = p.ahead[n:]
		return n, nil
	}
	return p.Conn.Read(b)
}

// begin reads the preamble, and nothing behind it. After a time-out it goes on where it was.
func (p *proxiedConn) begin() error {
	for !p.begun {
		found, used, need, err := preamble.Parse(p.ahead)
		if err != nil {
			return err
		}
		if need == 0 {
			p.begun, p.source, p.ahead = true, found.Source, p.ahead[used:]
			return nil
		}
		have := len(p.ahead)
		p.ahead = slices.Grow(p.ahead, need)
		n, err := p.Conn.Read(p.ahead[have : have+need])
		p.ahead = p.ahead[:have+n]
		if err != nil {
			return err
		}
	}
	return nil
}

// place has m say where the client comes from.
func (p *proxiedConn) place(m *engine.Meta) {
	if p.source.IsValid() {
		m.IP, m.Port = p.source.Addr().String(), int(p.source.Port())
	}
}

// acceptProxied takes a client in clear that a load balancer may speak for. INFO goes first: a client that comes
// directly says nothing before it.
func (s *Server) acceptProxied(meta *engine.Meta, nc net.Conn) {
	defer s.closeAtEnd(nc)()
	c := s.engine.NewConn(meta)
	p := &proxiedConn{Conn: nc}
	info := s.Info(c)
	_ = nc.SetDeadline(time.Now().Add(preambleTimeout)) // a connection that is closed says so below
	_, err := nc.Write(info.Append(nil))
	if err == nil {
		err = p.begin()
	}
	if err == nil {
		err = nc.SetDeadline(time.Time{})
	}
	if err != nil {
		s.withoutPreamble(c, nc, err)
		return
	}
	p.place(meta)
	if len(p.ahead) > 0 {
		s.serve(c, p, nil)
		return
	}
	s.serve(c, nc, nil)
}

// withoutPreamble turns away who has said nothing, or what makes no sense.
func (s *Server) withoutPreamble(c *engine.Conn, nc net.Conn, err error) {
	reason := engine.ReasonProtocolViolation
	switch {
	case errors.Is(err, preamble.ErrMalformed):
		s.logger.Warn("connection refused", "cid", c.ID(), "from", nc.RemoteAddr().String(), "error", err)
	case errors.Is(err, io.EOF):
		reason = engine.ReasonClientClosed // as load balancers do to see whether the server is there
	}
	s.turnAway(c, nc, nil, reason, "")
}
