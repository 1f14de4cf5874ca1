package handshake

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"runnel/server/wire"
)

// rate counts the handshakes begun in one second. A handshake costs far more than what follows, so a
// storm of reconnecting clients is spread over time where it is limited.
type rate struct {
	mu     sync.Mutex // guards what follows
	second int64
	begun  int
}

// Admit tells whether another handshake may begin this second.
func (t *Settings) Admit(now time.Time) bool {
	most := t.Conf.ConnectionRateLimit
	if most <= 0 {
		return true
	}
	t.begun.mu.Lock()
	defer t.begun.mu.Unlock()
	if second := now.Unix(); second != t.begun.second {
		t.begun.second, t.begun.begun = second, 0
	}
	t.begun.begun++
	return t.begun.begun <= most
}

// ErrNotTLS means that a client spoke in clear where TLS is required.
var ErrNotTLS = errors.New("client did not begin a TLS handshake")

// recordHandshake is the first byte of a TLS handshake.
const recordHandshake = 0x16

// Secure does the TLS side of accepting a client: INFO in clear first or last, the handshake, or none where
// a plain client is let in. It returns the connection to serve and whether INFO must still be sent.
func (t *Settings) Secure(nc net.Conn, info *wire.Info, plainAllowed bool) (out net.Conn, state *tls.ConnectionState, sendInfo bool, err error) {
	deadline := time.Now().Add(t.Conf.Timeout)
	first := t.Conf.HandshakeFirst
	peeked := &peekedConn{Conn: nc}
	infoSent := false
	if first.Enabled && first.Fallback > 0 && !peeked.waits(first.Fallback) || !first.Enabled {
		if _, err := nc.Write(info.Append(nil)); err != nil {
			return nil, nil, false, fmt.Errorf("send INFO: %w", err)
		}
		infoSent = true
	}
	begins, err := peeked.peek(deadline)
	if err != nil {
		return nil, nil, false, fmt.Errorf("wait for TLS handshake: %w", err)
	}
	if begins != recordHandshake {
		if plainAllowed {
			return peeked, nil, !infoSent, peeked.SetDeadline(time.Time{})
		}
		return nil, nil, false, ErrNotTLS
	}
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	tc := tls.Server(peeked, t.Config)
	if err := tc.HandshakeContext(ctx); err != nil {
		return nil, nil, false, fmt.Errorf("TLS handshake: %w", err)
	}
	cs := tc.ConnectionState()
	return tc, &cs, !infoSent, tc.SetDeadline(time.Time{})
}

// peekedConn is a connection of which one byte was read ahead: the first byte of a TLS handshake is one that no
// NATS command begins with, so it tells the two apart.
type peekedConn struct {
	net.Conn
	ahead  byte
	peeked bool
}

// waits tells whether the peer sends something within d.
func (p *peekedConn) waits(d time.Duration) bool {
	_, err := p.peek(time.Now().Add(d))
	return err == nil
}

// peek returns the first byte without consuming it.
func (p *peekedConn) peek(deadline time.Time) (byte, error) {
	if p.peeked {
		return p.ahead, nil
	}
	if err := p.SetReadDeadline(deadline); err != nil {
		return 0, err
	}
	var one [1]byte
	if _, err := p.Conn.Read(one[:]); err != nil {
		return 0, err
	}
	p.ahead, p.peeked = one[0], true
	return p.ahead, p.SetReadDeadline(time.Time{})
}

// Read gives the byte that was read ahead, then the rest.
func (p *peekedConn) Read(b []byte) (int, error) {
	if p.peeked && len(b) > 0 {
		b[0] = p.ahead
		p.peeked = false
		return 1, nil
	}
	return p.Conn.Read(b)
}
