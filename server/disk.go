package server

import (
	"context"
	"fmt"
	"time"

	"runnel/server/watchdog"
)

// watchDisk notices a disk that does not answer. A server alone can only say so and wait. In a cluster the others can do
// without it, and must not be kept waiting by what it leads: it hands that over, and when that does not help leaves.
func (s *Server) watchDisk() {
	watchdog.Run(s.ending, watchdog.Config{Look: s.store.Work, OnSlow: s.diskSlow, OnWell: s.diskWell, OnHung: s.diskHung})
}

// resignTime bounds how long a server with a slow disk tries to hand over what it leads.
const resignTime = 5 * time.Second

func (s *Server) diskSlow(since time.Duration) {
	s.logger.Error("the disk has not answered for some time: nothing is acknowledged meanwhile", "for", since.Round(time.Millisecond))
	ctx, cancel := context.WithTimeout(s.ending, resignTime)
	defer cancel()
	s.resign(ctx)
}

func (s *Server) diskWell(since time.Duration) {
	s.logger.Warn("the disk answers again", "after", since.Round(time.Millisecond))
}

// diskHung leaves the cluster, so that others lead what this server led. The end of the server itself would wait for the disk.
func (s *Server) diskHung(since time.Duration) {
	if s.cluster.Load() == nil {
		s.logger.Error("the disk does not answer: the server waits for it", "for", since.Round(time.Millisecond))
		return
	}
	err := fmt.Errorf("the disk has not answered for %s", since.Round(time.Second))
	s.end.failure.CompareAndSwap(nil, &err)
	s.logger.Error("the disk does not answer: the server leaves the cluster and stops", "for", since.Round(time.Millisecond))
	s.listeners.close()
	s.closeCluster()
	close(s.end.hung)
}

// Hung is closed when the disk of a server that belongs to a cluster did not answer for 15 s. The server has left the cluster then,
// and Err says why. Its process should end: Close would wait for the disk.
func (s *Server) Hung() <-chan struct{} { return s.end.hung }
