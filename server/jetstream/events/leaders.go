package events

import (
	"runnel/server/accounts"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/clustered"
)

// Elected tells that a stream is led by this server from now on.
func (e *Events) Elected(a *accounts.Account, stream string, s *clustered.Status) {
	what := api.LeaderElected{Stream: stream, Leader: e.cfg.Server, Replicas: clustered.ShowAll(s), Domain: e.cfg.Domain}
	named := what // operators have to be told whose stream it is
	named.Account = a.Name()
	e.Tell(a, &what)
	e.System(&named)
}

// QuorumLost tells that too few of a stream's servers can be reached from this one, which has it.
func (e *Events) QuorumLost(a *accounts.Account, stream string, s *clustered.Status) {
	what := api.QuorumLost{Stream: stream, Replicas: clustered.ShowAll(s), Domain: e.cfg.Domain}
	named := what
	named.Account = a.Name()
	e.Tell(a, &what)
	e.System(&named)
}

// MetaElected tells that this server leads the meta group of a cluster from now on.
func (e *Events) MetaElected(cluster string, s *clustered.Status) {
	e.System(&api.DomainLeaderElected{Leader: s.Leader.ID, Replicas: clustered.ShowAll(s), Cluster: cluster, Domain: e.cfg.Domain})
}
