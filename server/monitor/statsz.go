package monitor

import "time"

// Statsz is the short form of the counters that servers publish to each other and to the CLI.
type Statsz struct {
	Start                time.Time `json:"start"`
	MemBytes             int64     `json:"mem"`
	Cores                int       `json:"cores"`
	CPU                  float64   `json:"cpu"`
	Connections          int       `json:"connections"`
	TotalConnections     uint64    `json:"total_connections"`
	ActiveAccounts       int       `json:"active_accounts"`
	Subscriptions        int       `json:"subscriptions"`
	Sent                 Traffic   `json:"sent"`
	SentToClients        Traffic   `json:"sent_to_clients"`
	Received             Traffic   `json:"received"`
	ReceivedFromClients  Traffic   `json:"received_from_clients"`
	SlowConsumers        int64     `json:"slow_consumers"`
	SlowConsumerStats    ByKind    `json:"slow_consumer_stats,omitzero"`
	StaleConnections     int64     `json:"stale_connections,omitempty"`
	StaleConnectionStats ByKind    `json:"stale_connection_stats,omitzero"`
	StalledClients       int64     `json:"stalled_clients,omitempty"`
	// Routes are the connections to other servers, ActiveServers the servers of the cluster with this one.
	Routes        []RouteStat `json:"routes,omitempty"`
	ActiveServers int         `json:"active_servers,omitempty"`
	// JetStream is nil while it is off. It does not say where on the disk it is.
	JetStream  *JetStreamVarz `json:"jetstream,omitempty"`
	GoMemLimit int64          `json:"gomemlimit,omitempty"`
	GoMaxProcs int            `json:"gomaxprocs,omitempty"`
}

// RouteStat is a connection to another server in short.
type RouteStat struct {
	ID           uint64  `json:"rid"`
	Name         string  `json:"name,omitempty"` // of the other server
	Sent         Traffic `json:"sent"`
	Received     Traffic `json:"received"`
	PendingBytes int64   `json:"pending"`
}

func (p *Pages) routeStats() []RouteStat {
	var stats []RouteStat
	for _, r := range p.routes(false) {
		stats = append(stats, RouteStat{
			ID: r.ID, Name: r.RemoteName, Sent: Traffic{r.Traffic.OutMsgs, r.Traffic.OutBytes},
			Received: Traffic{r.Traffic.InMsgs, r.Traffic.InBytes}, PendingBytes: r.PendingBytes,
		})
	}
	return stats
}

// Statsz returns the counters in short form.
func (p *Pages) Statsz() *Statsz {
	s, u := p.source.Server(), p.usage()
	c := s.Counters
	active := 0
	for _, a := range p.source.Accounts() {
		if a.used() {
			active++
		}
	}
	return &Statsz{
		Start:                s.Start.UTC(),
		MemBytes:             u.MemBytes,
		Cores:                u.Cores,
		CPU:                  u.CPU,
		Connections:          c.Connections,
		TotalConnections:     c.TotalConnections,
		ActiveAccounts:       active,
		Subscriptions:        c.Subscriptions,
		Sent:                 Traffic{c.OutMsgs, c.OutBytes},
		SentToClients:        Traffic{c.OutClientMsgs, c.OutClientBytes},
		Received:             Traffic{c.InMsgs, c.InBytes},
		ReceivedFromClients:  Traffic{c.InClientMsgs, c.InClientBytes},
		SlowConsumers:        c.SlowConsumers,
		SlowConsumerStats:    c.SlowConsumersByKind,
		StaleConnections:     c.StaleConnections,
		StaleConnectionStats: c.StaleConnectionsByKind,
		StalledClients:       c.StalledClients,
		Routes:               p.routeStats(),
		ActiveServers:        1 + c.Remotes,
		JetStream:            p.jetStreamStatsz(),
		GoMemLimit:           u.GoMemLimit,
		GoMaxProcs:           u.GoMaxProcs,
	}
}

// jetStreamStatsz returns what Statsz shows of JetStream.
func (p *Pages) jetStreamStatsz() *JetStreamVarz {
	block := p.jetStreamVarz()
	if block.Config == nil {
		return nil
	}
	block.Config.StoreDir = ""
	return &block
}
