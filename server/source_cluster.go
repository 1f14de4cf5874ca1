package server

import (
	"net"
	"net/url"

	"runnel/conf"
	"runnel/server/clustering"
	"runnel/server/engine"
	"runnel/server/monitor"
)

// clusterVarz is the cluster block, empty for a server alone.
func (src source) clusterVarz(st *state) monitor.ClusterVarz {
	o := st.options.Cluster
	if o == nil {
		return monitor.ClusterVarz{}
	}
	v := monitor.ClusterVarz{
		Name:          src.s.cluster.Load().View().Name,
		Host:          o.Host,
		Port:          boundPort(src.s.listeners.addr(listenerCluster)),
		AuthTimeout:   monitor.Seconds(clustering.Timeout(o)),
		TLSTimeout:    monitor.Seconds(clustering.Timeout(o)),
		PoolSize:      o.PoolSize,
		WriteDeadline: o.WriteDeadline,
	}
	for _, route := range o.Routes {
		if u, err := url.Parse(route); err == nil {
			v.URLs = append(v.URLs, u.Host)
		}
	}
	if st.clusterTLS != nil {
		v.TLSRequired, v.TLSVerify, v.TLSCertNotAfter = true, true, st.clusterTLS.NotAfter()
	}
	return v
}

// Routes implements monitor.Source.
func (src source) Routes(subscriptions bool) []monitor.Route {
	views := src.s.engine.Routes()
	all := make([]monitor.Route, 0, len(views))
	for i := range views {
		all = append(all, src.route(&views[i], subscriptions))
	}
	return all
}

func (src source) route(v *engine.RouteView, subscriptions bool) monitor.Route {
	l := v.Link
	r := monitor.Route{
		ID:            v.ID,
		RemoteID:      l.Peer.ID,
		RemoteName:    l.Peer.Name,
		Solicited:     l.Dialled,
		Configured:    l.Configured,
		Start:         l.Start,
		LastActivity:  v.LastActivity,
		RTT:           l.RTT(),
		PendingBytes:  int64(v.PendingBytes),
		Traffic:       traffic(&v.Counters),
		Subscriptions: v.Subscriptions,
		Account:       l.Account,
		Compression:   l.Compression(),
	}
	if a, ok := l.RemoteAddr().(*net.TCPAddr); ok {
		r.IP, r.Port = a.IP.String(), a.Port
	}
	if subscriptions {
		for _, s := range src.s.engine.RouteSubscriptions(v.ID) {
			r.List = append(r.List, monitor.Subscription{Account: s.Account, AccountTag: s.Account, Subject: s.Subject, Queue: s.Queue})
		}
	}
	return r
}

// traffic is what counters say of a connection.
func traffic(n *engine.Counters) monitor.ConnectionTraffic {
	return monitor.ConnectionTraffic{
		InMsgs: n.InMessages, OutMsgs: n.OutMessages, InBytes: n.InBytes, OutBytes: n.OutBytes,
	}
}

// RoutePermissions implements monitor.Source.
func (src source) RoutePermissions() (imports, exports *monitor.Rules) {
	o := src.s.state.Load().options.Cluster
	if o == nil || o.Permissions == nil {
		return nil, nil
	}
	return routeRules(o.Permissions.Publish), routeRules(o.Permissions.Subscribe)
}

// routeRules is nil where nothing is restricted.
func routeRules(r conf.Rules) *monitor.Rules {
	if len(r.Allow)+len(r.Deny) == 0 {
		return nil
	}
	return &monitor.Rules{Allow: r.Allow, Deny: r.Deny}
}
