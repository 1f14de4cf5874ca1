package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"syscall"
	"time"

	"runnel/conf"
	"runnel/server/accounts"
	"runnel/server/engine"
	"runnel/server/handshake"
	"runnel/server/wire"
)

// The names of the listeners, as the ports file knows them.
const (
	listenerClients    = "nats"
	listenerMonitor    = "monitoring"
	listenerWebSocket  = "websocket"
	listenerProfile    = "profile"
	listenerCluster    = "cluster"
	acceptBackoff      = 10 * time.Millisecond
	acceptBackoffLimit = time.Second
)

// listeners are the server's open listeners by name, with what else must end for them to be closed. Addresses
// stay known after the end, since monitoring and the ports file ask for them then too.
type listeners struct {
	mu      sync.Mutex // guards what follows
	open    map[string]net.Listener
	closers []func()
}

// listen binds a listener, host and port as configured: port -1 takes a free one.
func (l *listeners) listen(name, host string, port int) (net.Listener, error) {
	ln, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(max(port, 0))))
	if err != nil {
		if errors.Is(err, syscall.EADDRINUSE) {
			return nil, fmt.Errorf("listen for %s: %w (another program listens there, maybe another server; stop it or choose another port)", name, err)
		}
		return nil, fmt.Errorf("listen for %s: %w", name, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		l.open = make(map[string]net.Listener)
	}
	l.open[name] = ln
	return ln, nil
}

// addr is where a listener was bound, nil if it never was.
func (l *listeners) addr(name string) net.Addr {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ln := l.open[name]; ln != nil {
		return ln.Addr()
	}
	return nil
}

// closeOne closes one listener; its address stays known.
func (l *listeners) closeOne(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ln := l.open[name]; ln != nil {
		_ = ln.Close() // closing twice is an error that means nothing
	}
}

// close closes all of them. It is idempotent.
func (l *listeners) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, ln := range l.open {
		_ = ln.Close() // likewise
	}
	for _, c := range l.closers {
		c()
	}
}

// onClose has f called when the listeners are closed.
func (l *listeners) onClose(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closers = append(l.closers, f)
}

// listenClients opens the listener for clients over TCP. It is the last one to open: a client that gets in
// finds everything else running.
func (s *Server) listenClients(o *conf.Options) error {
	ln, err := s.listeners.listen(listenerClients, o.Host, o.Port)
	if err != nil {
		return err
	}
	st := *s.state.Load()
	if a, ok := ln.Addr().(*net.TCPAddr); ok && o.ClientAdvertise == "" {
		st.info.Port = a.Port
		s.state.Store(&st)
	}
	s.logger.Info("Listening for client connections on " + displayAddr(o.Host, ln))
	s.advertise() // before the first client asks where else it could go
	s.acceptLoop(ln, s.accept)
	return nil
}

// displayAddr is the address as configured, with the port that was bound.
func displayAddr(host string, ln net.Listener) string {
	a, ok := ln.Addr().(*net.TCPAddr)
	if !ok {
		return ln.Addr().String()
	}
	return net.JoinHostPort(host, strconv.Itoa(a.Port))
}

// acceptLoop accepts until the listener is closed. Failures that pass, such as running out of descriptors,
// are waited out.
func (s *Server) acceptLoop(ln net.Listener, accept func(net.Conn)) {
	s.running.Go(func() {
		backoff := acceptBackoff
		for {
			nc, err := ln.Accept()
			if err == nil {
				backoff = acceptBackoff
				accept(nc)
				continue
			}
			if errors.Is(err, net.ErrClosed) {
				return
			}
			s.logger.Error("accept connection", "error", err, "again_in", backoff.String())
			timer := time.NewTimer(backoff)
			select {
			case <-timer.C:
			case <-s.end.done:
				timer.Stop()
				return
			}
			backoff = min(2*backoff, acceptBackoffLimit)
		}
	})
}

// accept takes a client of the plain listener. It must return soon, or it holds up the others: the engine
// begins with a connection on its own time, and a TLS handshake has a goroutine.
func (s *Server) accept(nc net.Conn) {
	st := s.state.Load()
	meta := s.newMeta(st, accounts.Standard, nc.RemoteAddr().String())
	proxied := st.options.ProxyProtocol
	if st.tls == nil && !proxied {
		c := s.engine.NewConn(meta)
		info := s.Info(c)
		s.serve(c, nc, &info)
		return
	}
	if st.tls != nil && !st.tls.Admit(time.Now()) {
		s.throttle(st, meta, nc, "Connection throttling is active. Please try again later.")
		return
	}
	if most := int64(st.options.Limits.MaxConnections); most > 0 && s.counts.handshaking.Load() >= most {
		s.throttle(st, meta, nc, "maximum connections exceeded")
		return
	}
	s.counts.handshaking.Add(1)
	s.running.Go(func() {
		defer s.counts.handshaking.Add(-1)
		if st.tls == nil {
			s.acceptProxied(meta, nc)
			return
		}
		s.acceptTLS(st, meta, nc)
	})
}

// throttle turns away a client that comes when there are too many handshakes. Whoever expects TLS first could
// not read what it is told in clear.
func (s *Server) throttle(st *state, meta *engine.Meta, nc net.Conn, text string) {
	c := s.engine.NewConn(meta)
	if st.tls != nil && st.tls.Conf.HandshakeFirst.Enabled {
		s.turnAway(c, nc, nil, engine.ReasonMaxConnections, "")
		return
	}
	info := s.Info(c)
	s.turnAway(c, nc, &info, engine.ReasonMaxConnections, text)
}

// splitAddress splits host:port; ok is false when address is nothing of that kind.
func splitAddress(address string) (host string, port int, ok bool) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, false
	}
	port, err = strconv.Atoi(text)
	return host, port, err == nil
}

// newMeta is what is known about a connection when it comes. It gets a nonce only where a key may log in: for
// most servers that saves every client some bytes and a few random numbers.
func (s *Server) newMeta(st *state, t accounts.ConnectionType, remote string) *engine.Meta {
	host, port, err := net.SplitHostPort(remote)
	if err != nil {
		host = remote // a pipe, or what a proxy wrote
	}
	n, _ := strconv.Atoi(port) // 0 where there is none
	m := &engine.Meta{Type: t, IP: host, Port: n, Start: time.Now()}
	if st.policyOf(t).NeedsNonce() {
		m.Nonce = newNonce()
	}
	return m
}

// acceptTLS shakes hands before the connection is served.
func (s *Server) acceptTLS(st *state, meta *engine.Meta, nc net.Conn) {
	defer s.closeAtEnd(nc)()
	c := s.engine.NewConn(meta)
	info := s.Info(c)
	p := &proxiedConn{Conn: nc, begun: !st.options.ProxyProtocol}
	out, tlsState, sendInfo, err := st.tls.Secure(p, &info, st.options.AllowNonTLS)
	if err != nil {
		text := ""
		if errors.Is(err, handshake.ErrNotTLS) {
			text = "Secure Connection - TLS Required"
		}
		s.logger.Error("TLS handshake failed", "cid", c.ID(), "client", nc.RemoteAddr().String(), "error", err)
		s.turnAway(c, nc, nil, engine.ReasonTLSHandshake, text)
		return
	}
	p.place(meta)
	info.ClientIP = meta.IP
	meta.TLS, meta.TLSFirst = tlsState, tlsState != nil && sendInfo
	if !sendInfo {
		s.serve(c, out, nil)
		return
	}
	s.serve(c, out, &info)
}

// serve hands a connection to the engine, unless there are too many. info is nil where the client has it
// already. Handshakes that end together may pass the limit together; none is cut off for that later.
func (s *Server) serve(c *engine.Conn, nc net.Conn, info *wire.Info) {
	s.counts.came.Add(1)
	o := s.state.Load().options
	most := o.Limits.MaxConnections
	if full := most > 0 && s.engine.ConnCount() >= most; full || s.files.Full() || s.memory.Refuse() {
		s.logger.Error("maximum connections exceeded", "cid", c.ID(), "max_connections", most, "memory", s.memory.Step().String(), "too_many_open_files", s.files.Full())
		s.turnAway(c, nc, info, engine.ReasonMaxConnections, "maximum connections exceeded")
		return
	}
	s.logger.Debug("Client connection created", "cid", c.ID(), "client", c.Meta().IP)
	s.engine.Serve(c, nc, info)
}

// closeAtEnd has nc closed when the server ends, until the returned function is called: for a connection
// that the engine does not have, or not yet.
func (s *Server) closeAtEnd(nc net.Conn) (release func()) {
	stop := context.AfterFunc(s.ending, func() { _ = nc.Close() }) // whoever uses it sees the error
	return func() { stop() }
}

// turnAway ends a connection that the engine never serves: it is told why, within a second, by a goroutine that
// may wait for it. INFO goes first where the client does not have it: a client library reads nothing else there. Of very many at
// a time some are told nothing.
func (s *Server) turnAway(c *engine.Conn, nc net.Conn, info *wire.Info, reason engine.Reason, text string) {
	s.remember(c, reason)
	if !s.files.Tell() {
		_ = nc.Close() // nobody hears of it
		return
	}
	s.running.Go(func() {
		defer s.files.Told()
		defer s.closeAtEnd(nc)()
		var b []byte
		if info != nil {
			b = info.Append(b)
		}
		if text != "" {
			b = wire.AppendErr(b, text)
		}
		_ = nc.SetDeadline(time.Now().Add(time.Second))
		if _, err := nc.Write(b); err == nil {
			lingerClose(nc)
		}
		_ = nc.Close()
	})
}

// lingerClose lets the peer read what was written before the connection goes: closing with unread input
// would reset it.
func lingerClose(nc net.Conn) {
	if h, ok := nc.(interface{ CloseWrite() error }); ok {
		_ = h.CloseWrite()
	}
	var scrap [512]byte
	for {
		if _, err := nc.Read(scrap[:]); err != nil {
			return
		}
	}
}
