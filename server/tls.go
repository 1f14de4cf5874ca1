package server

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"runnel/conf"
	"runnel/server/wire"
)

// newTLSSettings reads the files that c names. It returns nil for nil.
func newTLSSettings(c *conf.TLS) (*tlsSettings, error) {
	if c == nil {
		return nil, nil
	}
	t := &tlsSettings{conf: c, config: &tls.Config{
		MinVersion:       c.MinVersion,
		CipherSuites:     c.CipherSuites,
		CurvePreferences: c.CurvePreferences,
	}}
	pairs := c.Certificates
	if c.CertFile != "" {
		pairs = append([]conf.CertificatePair{{CertFile: c.CertFile, KeyFile: c.KeyFile}}, pairs...)
	}
	for _, p := range pairs {
		cert, err := tls.LoadX509KeyPair(p.CertFile, p.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("load certificate %q with key %q: %w", p.CertFile, p.KeyFile, err)
		}
		t.config.Certificates = append(t.config.Certificates, cert)
	}
	if len(t.config.Certificates) == 0 {
		return nil, errors.New("tls: no certificate: set cert_file and key_file")
	}
	if c.CAFile != "" {
		pool, err := loadPool(c.CAFile)
		if err != nil {
			return nil, err
		}
		t.config.ClientCAs = pool
	}
	if c.Verify || c.VerifyAndMap {
		t.config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	if len(c.PinnedCerts) > 0 {
		t.pinned = make(map[string]bool)
		for _, p := range c.PinnedCerts {
			t.pinned[p] = true
		}
		t.config.VerifyPeerCertificate = t.verifyPinned
	}
	return t, nil
}

// loadPool reads the roots of a ca_file. A file without any is an error, or it would admit nobody.
func loadPool(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read ca_file: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("ca_file %q holds no certificate", file)
	}
	return pool, nil
}

// verifyPinned admits only client certificates whose key is listed. It compares the key and not the whole, so
// that a certificate may be renewed.
func (t *tlsSettings) verifyPinned(raw [][]byte, _ [][]*x509.Certificate) error {
	if len(raw) == 0 {
		return errors.New("no client certificate, and pinned_certs asks for one")
	}
	cert, err := x509.ParseCertificate(raw[0])
	if err != nil {
		return fmt.Errorf("client certificate: %w", err)
	}
	sum := sha256.Sum256(cert.RawSubjectPublicKeyInfo)
	if !t.pinned[hex.EncodeToString(sum[:])] {
		return errors.New("client certificate is not among pinned_certs")
	}
	return nil
}

// handshakeRate counts the handshakes begun in one second. A handshake costs far more than what follows, so a
// storm of reconnecting clients is spread over time where it is limited.
type handshakeRate struct {
	mu     sync.Mutex // guards what follows
	second int64
	begun  int
}

// errNotTLS: a client spoke in clear where TLS is required.
var errNotTLS = errors.New("client did not begin a TLS handshake")

// recordHandshake is the first byte of a TLS handshake.
const recordHandshake = 0x16

// secure does the TLS side of accepting a client: INFO in clear first or last, the handshake, or none where
// a plain client is let in. It returns the connection to serve and whether INFO must still be sent.
func (t *tlsSettings) secure(nc net.Conn, info *wire.Info, plainAllowed bool) (out net.Conn, state *tls.ConnectionState, sendInfo bool, err error) {
	deadline := time.Now().Add(t.conf.Timeout)
	first := t.conf.HandshakeFirst
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
		return nil, nil, false, errNotTLS
	}
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	tc := tls.Server(peeked, t.config)
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

// admit tells whether another handshake may begin this second.
func (t *tlsSettings) admit(now time.Time) bool {
	most := t.conf.ConnectionRateLimit
	if most <= 0 {
		return true
	}
	t.rate.mu.Lock()
	defer t.rate.mu.Unlock()
	if second := now.Unix(); second != t.rate.second {
		t.rate.second, t.rate.begun = second, 0
	}
	t.rate.begun++
	return t.rate.begun <= most
}

// notAfter is when the server's certificate ends.
func (t *tlsSettings) notAfter() time.Time {
	if leaf := t.config.Certificates[0].Leaf; leaf != nil {
		return leaf.NotAfter
	}
	return time.Time{}
}
