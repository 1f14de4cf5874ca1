package server

import (
	"errors"
	"net"

	"runnel/server/accounts"
)

// ErrClosed is returned for what needs a running server.
var ErrClosed = errors.New("server is closed")

// InProcessConn connects a client in the same program without a socket. nats.go takes the server itself as
// its in-process option:
//
//	nc, err := nats.Connect("", nats.InProcessServer(srv))
func (s *Server) InProcessConn() (net.Conn, error) {
	select {
	case <-s.end.done:
		return nil, ErrClosed
	default:
	}
	client, server := net.Pipe()
	meta := s.newMeta(s.state.Load(), accounts.InProcess, "pipe")
	c := s.engine.NewConn(meta)
	info := s.Info(c)
	info.TLSRequired, info.TLSAvailable, info.TLSVerify = false, false, false // nothing leaves the process
	s.serve(c, server, &info)
	return client, nil
}
