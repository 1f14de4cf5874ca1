package server

import (
	"context"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"runnel/cluster/mesh"
	"runnel/conf"
	"runnel/server/accounts"
	"runnel/server/clustering"
	"runnel/server/engine"
	"runnel/server/membership"
	"runnel/server/wire"
)

// openCluster makes the server a member of its cluster, if it has one. The others learn where clients connect once that
// is known.
func (s *Server) openCluster(o *conf.Options) error {
	if o.Cluster == nil {
		return nil
	}
	st := s.state.Load()
	cfg := clustering.Config{
		Options: st.clusterOptions(),
		Self: mesh.Member{
			ID: s.id, Name: st.info.ServerName, Version: Version, Level: featureLevel, JetStream: st.info.JetStream, Start: s.start,
		},
		PingMax: o.Liveness.PingMax,
		Routes:  routes{s},
		Changed: func() { s.tellCluster(false) },
		Logger:  s.logger,
	}
	if r := s.replicated.Replication; r != nil {
		cfg.Raft, cfg.Self.Node = r, r.Node()
	}
	if a := st.policy.System(); a != nil {
		cfg.SystemAccount = a.Name()
	}
	if o.Cluster.Port != 0 {
		ln, err := s.listeners.listen(listenerCluster, o.Cluster.Host, o.Cluster.Port)
		if err != nil {
			return err
		}
		s.logger.Info("Listening for route connections on " + displayAddr(o.Cluster.Host, ln))
		cfg.Listener = ln
	}
	c, err := clustering.Open(cfg)
	if err != nil {
		return err
	}
	s.logger.Info("Cluster name is " + c.View().Name)
	if o.Cluster.Name == "" {
		s.logger.Warn("Cluster name was generated: set cluster.name, the same on all servers")
	}
	s.cluster.Store(c)
	return nil
}

// clusterOptions are the cluster block with its files. There must be one.
func (st *state) clusterOptions() clustering.Options {
	o := clustering.Options{Cluster: st.options.Cluster}
	o.TLS, o.DialTLS = st.clusterTLS.Between()
	return o
}

// advertise tells the other servers where clients connect to this one.
func (s *Server) advertise() {
	o := s.state.Load().options
	machine := interfaces()
	clients := membership.Listener{Host: o.Host, Port: boundPort(s.listeners.addr(listenerClients)), Advertise: o.ClientAdvertise}
	var web membership.Listener
	if ws := o.WebSocket; ws != nil {
		web = membership.Listener{Host: ws.Host, Port: boundPort(s.listeners.addr(listenerWebSocket)), Advertise: ws.Advertise}
	}
	if err := s.cluster.Load().Advertise(clients.URLs(machine), web.URLs(machine)); err != nil {
		s.logger.Error("other servers cannot be told where clients connect", "error", err)
	}
}

// reloadCluster applies to the cluster what has changed.
func (s *Server) reloadCluster(st *state) error {
	c := s.cluster.Load()
	if c == nil {
		return nil
	}
	if err := c.Reload(st.clusterOptions()); err != nil {
		return err
	}
	if r := s.replicated.Replication; r != nil {
		r.SetRate(st.options.JetStream.CatchupRateBytes)
	}
	s.advertise()
	return nil
}

// clusterInfo has INFO speak of the cluster and of the other servers, each client being told of those that speak like it.
func (s *Server) clusterInfo(t accounts.ConnectionType, info *wire.Info) {
	v := s.cluster.Load().View()
	info.Cluster, info.ConnectURLs = v.Name, v.ConnectURLs
	if t == accounts.WebSocket {
		info.ConnectURLs = v.WebsocketURLs
	}
}

// cluster is what the server is a member of, nil for a server alone, and what clients know of it.
type cluster struct {
	atomic.Pointer[clustering.Cluster]

	mu   sync.Mutex      // guards told
	told clustering.View // what all clients were told last
}

// Peers are the names of the servers of the cluster that this one is connected with, in their order.
func (s *Server) Peers() []string {
	var names []string
	for _, m := range s.cluster.Load().View().Others {
		names = append(names, m.Name)
	}
	return names
}

// ConnectedTo reports whether the server is connected with that many others of its cluster, completely.
func (s *Server) ConnectedTo(others int) bool {
	c := s.cluster.Load()
	return c.Complete(others) && len(c.View().Others) == others
}

// ClusterURL is a URL that servers on this machine can use as a route; empty when there is no listener for them.
func (s *Server) ClusterURL() string {
	a, ok := s.listeners.addr(listenerCluster).(*net.TCPAddr)
	if !ok {
		return ""
	}
	return "nats-route://" + net.JoinHostPort(reachable(a.IP), strconv.Itoa(a.Port))
}

// tellCluster tells all clients about the cluster, if that is new to them; in any case if it must be.
func (s *Server) tellCluster(must bool) {
	now := s.cluster.Load().View()
	s.cluster.mu.Lock()
	old := s.cluster.told
	s.cluster.told = *now
	s.cluster.mu.Unlock()
	if !must && old.Name == now.Name && slices.Equal(old.ConnectURLs, now.ConnectURLs) && slices.Equal(old.WebsocketURLs, now.WebsocketURLs) {
		return
	}
	for _, c := range s.engine.Conns() {
		s.sendInfo(c, s.Info(c))
	}
}

// farewell tells the other servers that clients should not be sent here any more.
func (s *Server) farewell() {
	if err := s.cluster.Load().LameDuck(); err != nil {
		s.logger.Error("other servers cannot be told that this one stops", "error", err)
	}
}

// closeCluster leaves the cluster, with a second for the others to be told.
func (s *Server) closeCluster() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := s.cluster.Load().Close(ctx); err != nil {
		s.logger.Error("leave the cluster", "error", err)
	}
}

// routeConfig is how the engine meets those of other servers, nil for a server alone.
func (s *Server) routeConfig(o *conf.Options) *engine.RouteConfig {
	if o.Cluster == nil {
		return nil
	}
	cfg := &engine.RouteConfig{
		Account:       s.accountOfRoute,
		WriteDeadline: o.Cluster.WriteDeadline,
		Cluster:       func() string { return s.cluster.Load().View().Name },
		Witness:       s.witness,
		Stray:         s.stray,
	}
	if p := o.Cluster.Permissions; p != nil {
		cfg.Import, cfg.Export = accounts.Rules(p.Publish), accounts.Rules(p.Subscribe)
	}
	return cfg
}

// witness is [engine.RouteConfig.Witness].
func (s *Server) witness(a *accounts.Account, subject string) func(*engine.Message) {
	if s.jetstream == nil {
		return nil
	}
	return s.jetstream.Witness(a, subject)
}

// stray is [engine.RouteConfig.Stray].
func (s *Server) stray(a *accounts.Account, subject, reply []byte) {
	if s.jetstream != nil {
		s.jetstream.Stray(a, subject, reply)
	}
}

// accountOfRoute returns an account that another server names, nil if it is not in use here. It does not wait.
func (s *Server) accountOfRoute(name string) *accounts.Account {
	a := s.state.Load().policy.Account(name)
	if a == nil && s.tenants != nil && s.jetstream != nil {
		s.tenants.called.Ask(name)
	}
	return a
}

// routes hands the links of the cluster to the engine.
type routes struct{ s *Server }

// Linked implements clustering.Receiver.
func (r routes) Linked(l *mesh.Link) { r.s.engine.RouteLinked(l) }

// Unlinked implements clustering.Receiver.
func (r routes) Unlinked(l *mesh.Link, reason error) { r.s.engine.RouteUnlinked(l, reason) }

// interfaces are the addresses of this machine that others can use.
func interfaces() []string {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	var hosts []string
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() {
			hosts = append(hosts, n.IP.String())
		}
	}
	return hosts
}
