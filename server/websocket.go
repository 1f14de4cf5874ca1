package server

import (
	"cmp"
	"crypto/tls"
	"net"

	"runnel/conf"
	"runnel/server/accounts"
	"runnel/server/engine"
	"runnel/server/websocket"
	"runnel/server/wire"
)

// listenWebSocket opens the listener for browsers and others that speak WebSocket.
func (s *Server) listenWebSocket(o *conf.Options) error {
	ws := o.WebSocket
	if ws == nil {
		return nil
	}
	ln, err := s.listeners.listen(listenerWebSocket, ws.Host, ws.Port)
	if err != nil {
		return err
	}
	scheme := "ws"
	if st := s.state.Load(); st.webTLS != nil && !ws.NoTLS {
		scheme = "wss"
		ln = tls.NewListener(ln, &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: s.webTLSConfig})
	}
	s.logger.Info("Listening for websocket clients on " + scheme + "://" + displayAddr(ws.Host, ln))
	srv := websocket.NewServer(websocket.Config{
		SameOrigin:       ws.SameOrigin,
		AllowedOrigins:   ws.AllowedOrigins,
		Compression:      ws.Compression,
		HandshakeTimeout: ws.HandshakeTimeout,
		JWTCookie:        ws.JWTCookie,
		UserCookie:       ws.UserCookie,
		PasswordCookie:   ws.PassCookie,
		TokenCookie:      ws.TokenCookie,
		Headers:          ws.Headers,
		Rejected: func(remote string, err error) {
			s.logger.Error("websocket handshake refused", "client", remote, "error", err)
		},
	}, s.acceptWebSocket)
	// An upgrade ends this time-out; it is for those who send something else, and send it slowly.
	srv.ReadTimeout = cmp.Or(ws.HandshakeTimeout, requestTimeout)
	s.serveHTTP(srv, ln)
	return nil
}

// webTLSConfig is asked for each handshake, so that a reload takes effect.
func (s *Server) webTLSConfig(*tls.ClientHelloInfo) (*tls.Config, error) {
	return s.state.Load().webTLS.Config, nil
}

// acceptWebSocket takes a client whose HTTP request was upgraded. It is on the goroutine of that request, which
// ends when it returns; the address and the cookies are what the request says, so they prove nothing.
func (s *Server) acceptWebSocket(r websocket.Request) {
	st := s.state.Load()
	meta := s.newMeta(st, accounts.WebSocket, r.RemoteAddr)
	meta.AuthTimeout = st.options.WebSocket.Authorization.Timeout
	meta.PingInterval = st.options.WebSocket.PingInterval
	meta.TLS = r.TLS
	meta.Cookies = wire.Connect{
		JWT: r.Cookies.JWT, User: r.Cookies.User, Password: r.Cookies.Password, Token: r.Cookies.Token,
	}
	c := s.engine.NewConn(meta)
	info := s.Info(c)
	s.serve(c, webConn{r.Conn.(*websocket.Conn)}, &info)
}

// webConn tells the peer why it is closed.
type webConn struct{ *websocket.Conn }

// CloseFor implements engine.ReasonCloser.
func (w webConn) CloseFor(r engine.Reason) error {
	switch r {
	case engine.ReasonShutdown:
		return w.CloseWithReason(websocket.GoingAway)
	case engine.ReasonAuthFailure, engine.ReasonAuthTimeout, engine.ReasonAuthExpired, engine.ReasonRevoked:
		return w.CloseWithReason(websocket.PolicyViolation)
	case engine.ReasonParseError, engine.ReasonProtocolViolation, engine.ReasonProtocolVersion:
		return w.CloseWithReason(websocket.ProtocolError)
	case engine.ReasonMaxPayload, engine.ReasonMaxControlLine:
		return w.CloseWithReason(websocket.MessageTooBig)
	}
	return w.CloseWithReason(websocket.NormalClosure)
}

// webInfo has INFO speak of the listener that the client came through.
func (s *Server) webInfo(st *state, info *wire.Info) {
	ws := st.options.WebSocket
	info.Host, info.Port = ws.Host, boundPort(s.listeners.addr(listenerWebSocket))
	if host, port, ok := splitAddress(ws.Advertise); ok {
		info.Host, info.Port = host, port
	}
	info.TLSRequired, info.TLSAvailable = st.webTLS != nil && !ws.NoTLS, false
	info.TLSVerify = info.TLSRequired && st.webTLS.Verifies()
}

// boundPort is the port of a bound address, 0 without one.
func boundPort(a net.Addr) int {
	if t, ok := a.(*net.TCPAddr); ok {
		return t.Port
	}
	return 0
}
