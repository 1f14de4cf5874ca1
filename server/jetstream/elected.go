package jetstream

// elected tells that the stream is led here from now on. What one server has alone needs no election.
func (t *stream) elected() {
	s := t.account.service
	if status, ok := s.cluster.Status(t.log.ID()); ok && len(status.Replicas) >= 2 {
		s.events.Elected(t.account.account, t.log.Name(), &status)
	}
}

// QuorumLost tells that too few of a stream's servers can be reached from this one, which has it.
func (s *Service) QuorumLost(id uint64) {
	r := s.cluster.replica(id)
	if r == nil {
		return
	}
	a := s.named(r.log.Account())
	if status, ok := s.cluster.Status(id); ok && a != nil {
		s.events.QuorumLost(a.account, r.log.Name(), &status)
	}
}

// MetaElected tells that this server leads the meta group from now on.
func (s *Service) MetaElected() {
	s.cluster.fence.Store(s.cfg.Engine.Fence())
	status := s.cluster.Meta()
	s.events.MetaElected(s.cluster.Name(), &status)
}
