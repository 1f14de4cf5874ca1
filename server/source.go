package server

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"iter"
	"strings"
	"time"

	"runnel/server/accounts"
	"runnel/server/engine"
	"runnel/server/monitor"
)

// source shows the server to the monitoring pages.
type source struct{ s *Server }

// Identity implements monitor.Source.
func (src source) Identity() monitor.Identity {
	st := src.s.state.Load()
	o := st.options
	id := monitor.Identity{
		ID:           src.s.id,
		Name:         st.info.ServerName,
		Host:         st.info.Host,
		Version:      NATSVersion,
		Runnel:       Version,
		Tags:         o.ServerTags,
		Metadata:     o.ServerMetadata,
		FeatureFlags: o.FeatureFlags,
		Cluster:      src.s.cluster.Load().View().Name,
	}
	if a := st.policy.System(); a != nil {
		id.SystemAccount = a.Name()
	}
	if js := o.JetStream; js != nil && js.Enabled {
		id.JetStream, id.Domain = true, js.Domain
	}
	return id
}

// Server implements monitor.Source.
func (src source) Server() monitor.ServerSnapshot {
	st := src.s.state.Load()
	metrics := st.options.Monitor.Metrics
	return monitor.ServerSnapshot{
		Identity:       src.Identity(),
		Proto:          st.info.Proto,
		Options:        src.options(st),
		Counters:       src.counters(),
		Start:          src.s.start,
		ConfigLoadTime: st.loaded,
		ConfigDigest:   st.options.Digest,
		Series:         monitor.Series{Streams: metrics.MaxStreams, Consumers: metrics.MaxConsumers},
		Operators:      src.s.operatorsShown(st),
		Proxies:        st.proxies.shown(),
		Memory:         src.s.memory.State(),
	}
}

// defaultTLSTimeout is shown where there is no TLS to have another.
const defaultTLSTimeout = 2 * time.Second

// options are those that /varz shows, with the ports that were bound in place of those that were asked for.
func (src source) options(st *state) monitor.Options {
	o := st.options
	m := monitor.Options{
		TLSTimeout:          monitor.Seconds(defaultTLSTimeout),
		Host:                o.Host,
		Port:                st.info.Port,
		AuthRequired:        st.policy.Required(),
		TLSRequired:         st.info.TLSRequired,
		TLSVerify:           st.info.TLSVerify,
		MaxConnections:      o.Limits.MaxConnections,
		MaxSubscriptions:    o.Limits.MaxSubscriptions,
		PingInterval:        o.Liveness.PingInterval,
		PingMax:             o.Liveness.PingMax,
		HTTPHost:            monitorHost(o),
		HTTPBasePath:        strings.TrimSuffix(o.Monitor.BasePath, "/"),
		AuthTimeout:         monitor.Seconds(o.AuthTimeout()),
		MaxControlLineBytes: o.Limits.MaxControlLineBytes,
		MaxPayloadBytes:     o.Limits.MaxPayloadBytes,
		MaxPendingBytes:     o.Limits.MaxPendingBytes,
		WriteDeadline:       o.Liveness.WriteDeadline,
		Cluster:             src.clusterVarz(st),
		Websocket:           src.websocket(st),
	}
	view := src.s.cluster.Load().View()
	m.ConnectURLs, m.WebsocketConnectURLs = view.ConnectURLs, view.WebsocketURLs
	port := boundPort(src.s.listeners.addr(listenerMonitor))
	if o.Monitor.HTTPSPort != 0 {
		m.HTTPSPort = port
	} else {
		m.HTTPPort = port
	}
	if st.tls != nil {
		m.TLSTimeout = monitor.Seconds(st.tls.Conf.Timeout)
		m.TLSCertNotAfter = st.tls.NotAfter()
	}
	return m
}

// websocket is the listener for WebSocket, empty without one.
func (src source) websocket(st *state) monitor.WebsocketVarz {
	ws := st.options.WebSocket
	if ws == nil {
		return monitor.WebsocketVarz{}
	}
	return monitor.WebsocketVarz{
		Host:             ws.Host,
		Port:             boundPort(src.s.listeners.addr(listenerWebSocket)),
		Advertise:        ws.Advertise,
		NoAuthUser:       ws.NoAuthUser,
		JWTCookie:        ws.JWTCookie,
		HandshakeTimeout: ws.HandshakeTimeout,
		NoTLS:            ws.NoTLS,
		SameOrigin:       ws.SameOrigin,
		AllowedOrigins:   ws.AllowedOrigins,
		Compression:      ws.Compression,
	}
}

// counters are the figures of the whole server: what goes between it and its clients, and with the routes all traffic.
func (src source) counters() monitor.Counters {
	s := src.s
	all, routes := s.engine.Counters(), s.engine.RouteCounters()
	subs := 0
	for a := range s.state.Load().policy.Accounts() {
		subs += a.Interest().Len()
	}
	slow, stale := s.engine.SlowConsumers(), s.counts.stale.Load()
	return monitor.Counters{
		Connections:            s.engine.ConnCount(),
		TotalConnections:       s.counts.came.Load(),
		Routes:                 len(s.engine.Routes()),
		Remotes:                len(s.cluster.Load().View().Others),
		InMsgs:                 all.InMessages,
		InBytes:                all.InBytes,
		InClientMsgs:           all.InMessages - routes.InMessages,
		InClientBytes:          all.InBytes - routes.InBytes,
		OutMsgs:                all.OutMessages,
		OutBytes:               all.OutBytes,
		OutClientMsgs:          all.OutMessages - routes.OutMessages,
		OutClientBytes:         all.OutBytes - routes.OutBytes,
		SlowConsumers:          slow,
		StaleConnections:       stale,
		StalledClients:         s.engine.Stalled(),
		Subscriptions:          subs,
		SlowConsumersByKind:    monitor.ByKind{Clients: uint64(slow)},
		StaleConnectionsByKind: monitor.ByKind{Clients: uint64(stale)},
	}
}

// Connections implements monitor.Source.
func (src source) Connections(open, closed bool) []monitor.Connection {
	var all []monitor.Connection
	if open {
		for _, c := range src.s.engine.Conns() {
			all = append(all, src.s.connection(c))
		}
	}
	if closed {
		all = append(all, src.s.counts.closed.all()...)
	}
	return all
}

// connection is what monitoring shows of c.
func (s *Server) connection(c *engine.Conn) monitor.Connection {
	m, client, n := c.Meta(), c.Client(), c.Counters()
	out := monitor.Connection{
		CID:           c.ID(),
		Type:          m.ClientType(),
		IP:            m.IP,
		Port:          m.Port,
		Start:         m.Start,
		LastActivity:  c.LastActivity(),
		RTT:           c.RTT(),
		PendingBytes:  int64(c.PendingBytes()),
		Traffic:       traffic(&n),
		Stalls:        c.Stalls(),
		Subscriptions: c.SubscriptionCount(),
		Name:          client.Name,
		Lang:          client.Lang,
		Version:       client.Version,
		TLS:           connectionTLS(m),
	}
	if id := c.Identity(); id != nil {
		out.User = id.DisplayName()
		out.Account = id.Account.Name()
		s.describeGrant(&out, id)
	}
	return out
}

// connectionTLS is empty for a connection in clear.
func connectionTLS(m *engine.Meta) monitor.ConnectionTLS {
	if m.TLS == nil {
		return monitor.ConnectionTLS{}
	}
	t := monitor.ConnectionTLS{
		Version:     strings.TrimPrefix(tls.VersionName(m.TLS.Version), "TLS "),
		CipherSuite: tls.CipherSuiteName(m.TLS.CipherSuite),
		First:       m.TLSFirst,
	}
	for _, cert := range m.TLS.PeerCertificates {
		t.PeerCerts = append(t.PeerCerts, peerCert(cert))
	}
	return t
}

// peerCert names a certificate and fingerprints it: the key as pinned_certs has it, and the whole.
func peerCert(c *x509.Certificate) monitor.PeerCert {
	key, whole := sha256.Sum256(c.RawSubjectPublicKeyInfo), sha256.Sum256(c.Raw)
	return monitor.PeerCert{
		Subject:    c.Subject.String(),
		SPKISHA256: hex.EncodeToString(key[:]),
		CertSHA256: hex.EncodeToString(whole[:]),
	}
}

// ConnectionSubscriptions implements monitor.Source.
func (src source) ConnectionSubscriptions(cid uint64) []monitor.Subscription {
	c := src.s.engine.Conn(cid)
	if c == nil || c.Account() == nil {
		return nil
	}
	var all []monitor.Subscription
	for _, sub := range c.Subscriptions() {
		all = append(all, subscription(c.Account().Name(), sub))
	}
	return all
}

// subscription is what monitoring shows of a subscription, of a client or of the server itself.
func subscription(account string, sub *accounts.Subscription) monitor.Subscription {
	return monitor.Subscription{
		Account:    account,
		AccountTag: account,
		Subject:    sub.Subject,
		Queue:      sub.Queue,
		SID:        sub.SID,
		Msgs:       sub.Delivered(),
		Max:        sub.Limit(),
		CID:        sub.Owner.ID(),
	}
}

// accountsNamed iterates over the account of that name, or over all for an empty one.
func (src source) accountsNamed(name string) iter.Seq[*accounts.Account] {
	p := src.s.state.Load().policy
	if name == "" {
		return p.Accounts()
	}
	return func(yield func(*accounts.Account) bool) {
		if a := p.Account(name); a != nil {
			yield(a)
		}
	}
}

// Subscriptions implements monitor.Source. Those that stand for other servers are not among them: each server shows its own.
func (src source) Subscriptions(account string) iter.Seq[monitor.Subscription] {
	return func(yield func(monitor.Subscription) bool) {
		routes := make(map[uint64]bool)
		for _, r := range src.s.engine.Routes() {
			routes[r.ID] = true
		}
		for a := range src.accountsNamed(account) {
			for e := range a.Interest().All() {
				if !routes[e.Value.Owner.ID()] && !yield(subscription(a.Name(), e.Value)) {
					return
				}
			}
		}
	}
}

// SubscriptionStats implements monitor.Source.
func (src source) SubscriptionStats(account string) monitor.SubscriptionStats {
	var sum monitor.SubscriptionStats
	for a := range src.accountsNamed(account) {
		inserts, removes, matches := a.Interest().Counters()
		sum.NumSubscriptions += a.Interest().Len()
		sum.NumInserts += inserts
		sum.NumRemoves += removes
		sum.NumMatches += matches
	}
	return sum
}

// Queues implements monitor.Source.
func (src source) Queues() map[string]monitor.Queue { return src.s.system.Queues() }

// Health implements monitor.Source.
func (src source) Health() error {
	select {
	case <-src.s.end.done:
		return fmt.Errorf("server %s has been shut down", src.s.id)
	default:
		return nil
	}
}
