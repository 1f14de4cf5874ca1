package clustered

import "runnel/server/jetstream/api"

// systemAccount is whose traffic the groups are said to be: no account of a user pays for it.
const systemAccount = "$SYS"

// Show returns what infos say about the servers that have a stream. A consumer rides in its
// stream's group, and shows the same.
func Show(cluster string, a *Assignment, s *Status) *api.Cluster {
	out := &api.Cluster{Name: cluster, Leader: s.Leader.Name}
	if len(a.Peers) > 1 { // one server alone needs no group
		out.Group, out.SystemAccount, out.TrafficAccount = a.Group, true, systemAccount
		if since := s.Since.UTC(); s.Leader.ID != "" && !s.Since.IsZero() {
			out.LeaderSince = &since
		}
	}
	for i := range s.Replicas {
		if r := &s.Replicas[i]; r.ID != s.Leader.ID {
			out.Replicas = append(out.Replicas, ShowReplica(r))
		}
	}
	if m := a.Moving; m != nil {
		out.Desired = &api.Desired{
			Created: m.Since.UTC(), Name: cluster, Origin: api.Origin{Replicas: m.From, Placement: m.Placement},
		}
		if s.Kind != "" {
			out.Desired.Status = &api.DesiredStatus{Description: s.Step, Type: s.Kind}
		}
	}
	return out
}

// ShowReplica returns what is said about one server of a group.
func ShowReplica(r *Replica) *api.Peer {
	return &api.Peer{Name: r.Name, Current: r.Current, Offline: r.Offline, Active: r.Active, Lag: r.Lag, ID: r.ID}
}

// ShowAll returns all servers of a group, the leader included, as advisories have them.
func ShowAll(s *Status) []*api.Peer {
	all := make([]*api.Peer, 0, len(s.Replicas))
	for i := range s.Replicas {
		all = append(all, ShowReplica(&s.Replicas[i]))
	}
	return all
}
