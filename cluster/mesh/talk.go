package mesh

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"time"
)

// talk is a handshake under way.
type talk struct {
	conn        net.Conn
	accepted    bool // the other side has dialled
	wrote, read bool // that direction has begun
}

// send writes a frame, after the magic bytes if it is the first.
func (t *talk) send(f *frame) error {
	first := !t.wrote
	t.wrote = true
	return writeFrame(t.conn, f, first)
}

// receive reads a frame. What it returns has what want asks for; a refusal of the other side is an error.
func (t *talk) receive(want func(*frame) bool) (*frame, error) {
	if !t.read {
		t.read = true
		var b [len(magic)]byte
		n, err := io.ReadFull(t.conn, b[:])
		ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		switch {
		case err == nil && string(b[:]) == magic:
		case err != nil && !ended && !timedOut(err):
			return nil, fmt.Errorf("wait for the first bytes: %w", err)
		case t.accepted:
			return nil, strangeCaller(b[:n], err)
		default:
			return nil, strangeAnswer(b[:n], err)
		}
	}
	f, err := readFrame(t.conn, handshakeBytes)
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errors.New("it ended the connection during the handshake")
	case timedOut(err):
		return nil, fmt.Errorf("it did not answer in time during the handshake: %w", err)
	case err != nil:
		return nil, err
	}
	if f.Refused != nil {
		f.Refused.theirs = true
		return nil, f.Refused
	}
	if !want(f) {
		return nil, refuse(codeProtocol, "an unexpected frame in the handshake")
	}
	return f, nil
}

// What handshakes wait for.
func wantHello(f *frame) bool    { return f.Hello != nil }
func wantOpening(f *frame) bool  { return f.Hello != nil || f.Link != nil }
func wantHave(f *frame) bool     { return f.Have != nil }
func wantDecision(f *frame) bool { return f.Decision != nil }
func wantReady(f *frame) bool    { return f.Ready }

// part ends a handshake that has failed. If it is this side that refuses, the other is told why.
func (t *talk) part(err error) {
	defer t.conn.Close()
	r := refused(err, "")
	if r == nil || r.theirs || r.Code == codeSilent || r.Code == codeStranger && !t.accepted {
		return
	}
	t.conn.SetDeadline(time.Now().Add(lingerTimeout)) // the time for the handshake may be up
	if r.Code == codeStranger {
		if _, err := io.WriteString(t.conn, clientAnswer); err != nil {
			return
		}
	} else if err := t.send(&frame{Refused: r}); err != nil {
		return
	}
	// To close a connection that has bytes to read would take back what is on the way to the other side.
	if c, ok := t.conn.(interface{ CloseWrite() error }); ok && c.CloseWrite() == nil {
		io.CopyN(io.Discard, t.conn, handshakeBytes)
	}
}

// lingerTimeout bounds how long one who is refused may take to read why.
const lingerTimeout = time.Second

// limit makes a handshake end when its time is up or ctx ends. The caller undoes it.
func (m *Mesh) limit(ctx context.Context, conn net.Conn) (undo func()) {
	conn.SetDeadline(time.Now().Add(m.cfg.HandshakeTimeout))
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	return func() {
		if stop() {
			conn.SetDeadline(time.Time{})
		}
	}
}

// dial connects to host:port and sets up TLS for a name, if it is used.
func (m *Mesh) dial(ctx context.Context, addr, name string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, m.cfg.HandshakeTimeout)
	defer cancel()
	conn, err := m.cfg.Dial(ctx, addr)
	cfg := m.security.Load().DialTLS
	if err != nil || cfg == nil {
		return conn, err
	}
	if cfg.ServerName == "" {
		cfg = cfg.Clone()
		cfg.ServerName = name
	}
	c := tls.Client(conn, cfg)
	if err := c.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, tlsError(err)
	}
	return c, nil
}

// seek dials a target. A name may stand for many servers and this one among them: any other will do.
func (m *Mesh) seek(ctx context.Context, to *target) (net.Conn, error) {
	host, port, err := net.SplitHostPort(to.addr)
	if err != nil || net.ParseIP(host) != nil || m.cfg.Lookup == nil {
		return m.dial(ctx, to.addr, to.host)
	}
	lookup, cancel := context.WithTimeout(ctx, m.cfg.HandshakeTimeout)
	defer cancel()
	hosts, err := m.cfg.Lookup(lookup, host)
	if err != nil {
		return nil, fmt.Errorf("look up %s: %w", host, err)
	}
	to.many = len(hosts) > 1
	hosts = slices.DeleteFunc(slices.Clone(hosts), func(h string) bool { return slices.Contains(to.own, h) })
	if len(hosts) == 0 {
		to.own = nil // addresses change hands
		return nil, refuse(codeSelf, "there is nobody else behind this name")
	}
	rand.Shuffle(len(hosts), func(i, j int) { hosts[i], hosts[j] = hosts[j], hosts[i] })
	var failures []error
	for _, h := range hosts {
		to.tried = h
		conn, err := m.dial(ctx, net.JoinHostPort(h, port), to.host)
		if err == nil {
			return conn, nil
		}
		failures = append(failures, err)
	}
	return nil, errors.Join(failures...)
}

// tlsError says what to do about a side that does not speak TLS.
func tlsError(err error) error {
	var plain tls.RecordHeaderError
	if errors.As(err, &plain) {
		return refuse(codeTLS, "it does not speak TLS (%q): %s", clip(string(plain.RecordHeader[:])), adviceTLS)
	}
	return fmt.Errorf("TLS: %w", err)
}

// call dials a target, and carries the session that comes of it until it ends. An error means that none came of it.
func (m *Mesh) call(ctx context.Context, to *target) error {
	conn, err := m.seek(ctx, to)
	if err != nil {
		return err
	}
	undo := m.limit(ctx, conn)
	t := &talk{conn: conn}
	s, err := m.introduce(t, to)
	if err != nil {
		t.part(err)
		undo()
		m.abandon(s, err)
		return err
	}
	undo()
	m.run(s)
	return nil
}

// credentials are what a target is shown: those of its URL, or else this server's own.
func (m *Mesh) credentials(to *target) (username, password string) {
	if to.user != nil {
		password, _ = to.user.Password()
		return to.user.Username(), password
	}
	s := m.security.Load()
	return s.Username, s.Password
}

// introduce is the dialler's side of the handshake of a control link. With an error it returns a session that is
// to be abandoned, or nil.
func (m *Mesh) introduce(t *talk, to *target) (*session, error) {
	h := &hello{Member: m.Self(), Offer: m.offer}
	h.Username, h.Password = m.credentials(to)
	unsent := t.send(&frame{Hello: h})
	f, err := t.receive(wantHello)
	if err = cmp.Or(err, unsent); err != nil { // what the other side has said before it went says more than that it went
		return nil, err
	}
	if err := f.Hello.check(); err != nil {
		return nil, err
	}
	s := m.newSession(t.conn, f.Hello, to)
	return s, m.agree(t, s)
}

// agree is the part of the handshake that is the same on both sides: whoever has the smaller id decides.
func (m *Mesh) agree(t *talk, s *session) error {
	self, have := m.standpoint(s)
	if self < s.peer.ID {
		f, err := t.receive(wantHave)
		if err != nil {
			return err
		}
		if r := m.decide(s, *f.Have); r != nil {
			return r
		}
		if err := t.send(&frame{Decision: &decision{Session: s.number, Token: s.token}}); err != nil {
			return err
		}
		if _, err := t.receive(wantReady); err != nil {
			return err
		}
	} else {
		if err := t.send(&frame{Have: &have}); err != nil {
			return err
		}
		f, err := t.receive(wantDecision)
		if err != nil {
			return err
		}
		if r := m.follow(s, f.Decision); r != nil {
			return r
		}
		if err := t.send(&frame{Ready: true}); err != nil {
			return err
		}
	}
	if !m.establish(s) {
		return context.Cause(s.ctx)
	}
	return nil
}

// standpoint is what this side brings into the decision about s: its id, and the last session that it had with
// the peer and has no more. While it has one, it has nothing to say: whether that one stands is for the decider to know.
func (m *Mesh) standpoint(s *session) (self string, have uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.to != nil {
		s.to.id, s.configured = s.peer.ID, s.to.seed
	}
	if m.sessions[s.peer.ID] == nil {
		have = m.past[s.peer.ID]
	}
	return m.self.ID, have
}
