package jetstream

import (
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/clustered"
)

// elected tells that the stream is led here from now on. What one server has alone needs no election.
func (t *stream) elected() {
	s := t.account.service
	status, ok := s.cluster.Status(t.log.ID())
	if !ok || len(status.Replicas) < 2 {
		return
	}
	what := api.LeaderElected{
		Stream: t.log.Name(), Leader: s.cfg.ServerName, Replicas: clustered.ShowAll(&status), Domain: s.cfg.Domain,
	}
	named := what // operators have to be told whose stream it is
	named.Account = t.log.Account()
	s.events.Tell(t.account.account, &what)
	s.events.System(&named)
}

// QuorumLost tells that too few of a stream's servers can be reached from this one, which has it.
func (s *Service) QuorumLost(id uint64) {
	r := s.cluster.replica(id)
	if r == nil {
		return
	}
	a := s.named(r.log.Account())
	status, ok := s.cluster.Status(id)
	if a == nil || !ok {
		return
	}
	what := api.QuorumLost{Stream: r.log.Name(), Replicas: clustered.ShowAll(&status), Domain: s.cfg.Domain}
	named := what
	named.Account = r.log.Account()
	s.events.Tell(a.account, &what)
	s.events.System(&named)
}

// MetaElected tells that this server leads the meta group from now on.
func (s *Service) MetaElected() {
	meta := s.cluster.Meta()
	s.events.System(&api.DomainLeaderElected{
		Leader: meta.Leader.ID, Replicas: clustered.ShowAll(&meta), Cluster: s.cluster.Name(), Domain: s.cfg.Domain,
	})
}
