package server

import (
	"context"
	"math/rand/v2"
	"time"

	"runnel/server/engine"
)

// lameDuckPause is the longest pause between two clients that are sent away.
const lameDuckPause = time.Second

// LameDuck says a slow good-bye: no new connections, clients are told to go elsewhere, and after the grace
// period they are closed one by one, spread over the configured duration. Then the server ends. It returns at
// once when ctx ends, with the clients that are left still connected, and does nothing when called again.
func (s *Server) LameDuck(ctx context.Context) {
	if !s.lameDuck.CompareAndSwap(false, true) {
		return
	}
	o := s.state.Load().options.LameDuck
	s.logger.Info("Entering lame duck mode, stop accepting new clients")
	s.listeners.closeOne(listenerClients)
	s.listeners.closeOne(listenerWebSocket)
	s.system.LameDuck()
	s.farewell()
	s.tellCluster(true)
	s.resign(ctx) // clients find new leaders before they are sent away
	if !s.pause(ctx, o.GracePeriod) {
		return
	}
	conns := s.engine.Conns()
	rand.Shuffle(len(conns), func(i, j int) { conns[i], conns[j] = conns[j], conns[i] })
	if n := len(conns); n > 0 {
		s.logger.Info("Closing existing clients", "clients", n)
		every := min((o.Duration-o.GracePeriod)/time.Duration(n), lameDuckPause)
		for _, c := range conns {
			c.Close(engine.ReasonShutdown, "")
			if !s.pause(ctx, every) {
				return
			}
		}
	}
	if err := s.Shutdown(ctx); err != nil {
		s.logger.Error("shutdown after lame duck", "error", err)
	}
}

// pause waits for d; false when ctx or the server ends first.
func (s *Server) pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-s.end.done:
	}
	return false
}
