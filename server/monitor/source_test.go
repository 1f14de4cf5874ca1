package monitor_test

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"runnel/cluster/survey"
	"runnel/server/monitor"
)

// epoch is the moment at which a synctest bubble begins.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// fakeSource is a server made of values.
type fakeSource struct {
	server monitor.ServerSnapshot
	conns  []monitor.Connection
	subs   []monitor.Subscription
	// importing are those of other accounts, under the account and subject that they import
	importing []monitor.Subscription
	closed    map[uint64][]monitor.Subscription // of closed connections
	accounts  []monitor.Account
	details   map[string]monitor.AccountDetail
	queues    map[string]monitor.Queue
	health    error
	walked    int // how many subscriptions were yielded

	routes           []monitor.Route
	imports, exports *monitor.Rules

	js         *monitor.JetStream // nil while it is off
	jsAccounts []monitor.JetStreamAccount
	jsStreams  map[string][]monitor.StreamDetail // by account
	queries    []monitor.StreamQuery             // that were asked

	survey *survey.Report // nil for a server alone
	groups []monitor.RaftGroup
}

func (s *fakeSource) Identity() monitor.Identity     { return s.server.Identity }
func (s *fakeSource) Server() monitor.ServerSnapshot { return s.server }

func (s *fakeSource) Connections(open, closed bool) []monitor.Connection {
	var list []monitor.Connection
	for _, c := range s.conns {
		if c.Stop.IsZero() && open || !c.Stop.IsZero() && closed {
			list = append(list, c)
		}
	}
	return list
}

func (s *fakeSource) ConnectionSubscriptions(cid uint64) []monitor.Subscription {
	if list, ok := s.closed[cid]; ok {
		return slices.Clone(list)
	}
	var list []monitor.Subscription
	for _, sub := range s.subs {
		if sub.CID == cid {
			list = append(list, sub)
		}
	}
	return list
}

func (s *fakeSource) Subscriptions(account string) iter.Seq[monitor.Subscription] {
	return func(yield func(monitor.Subscription) bool) {
		for _, sub := range s.subs {
			if account != "" && sub.Account != account {
				continue
			}
			s.walked++
			if !yield(sub) {
				return
			}
		}
	}
}

func (s *fakeSource) Importing(account, subject string) iter.Seq[monitor.Subscription] {
	return func(yield func(monitor.Subscription) bool) {
		for _, sub := range s.importing {
			if sub.Account == account && sub.Subject == subject && !yield(sub) {
				return
			}
		}
	}
}

func (s *fakeSource) SubscriptionStats(account string) monitor.SubscriptionStats {
	n := 0
	for range s.Subscriptions(account) {
		n++
	}
	return monitor.SubscriptionStats{
		NumSubscriptions: n, NumCache: 3, NumInserts: 9, NumRemoves: 4, NumMatches: 12,
		CacheHitRate: 0.25, MaxFanout: 2, AvgFanout: 1.5,
	}
}

func (s *fakeSource) Accounts() []monitor.Account { return slices.Clone(s.accounts) }

func (s *fakeSource) Account(name string) (monitor.Account, bool) {
	for _, a := range s.accounts {
		if a.Name == name {
			return a, true
		}
	}
	return monitor.Account{}, false
}

func (s *fakeSource) AccountDetail(name string) (monitor.AccountDetail, bool) {
	d, ok := s.details[name]
	return d, ok
}

func (s *fakeSource) Routes(subscriptions bool) []monitor.Route {
	all := slices.Clone(s.routes)
	for i := range all {
		if !subscriptions {
			all[i].List = nil
		}
	}
	return all
}

func (s *fakeSource) RoutePermissions() (imports, exports *monitor.Rules) {
	return s.imports, s.exports
}

func (s *fakeSource) Queues() map[string]monitor.Queue { return s.queues }
func (s *fakeSource) Health() error                    { return s.health }

func (s *fakeSource) JetStream() (monitor.JetStream, bool) {
	if s.js == nil {
		return monitor.JetStream{}, false
	}
	js := *s.js
	js.Problems = slices.Clone(js.Problems)
	return js, true
}

func (s *fakeSource) JetStreamAccounts() []monitor.JetStreamAccount {
	return slices.Clone(s.jsAccounts)
}

func (s *fakeSource) Survey() (*survey.Report, error) { return s.survey, nil }

func (s *fakeSource) RaftGroups() []monitor.RaftGroup { return s.groups }

func (s *fakeSource) JetStreamStreams(account string, q monitor.StreamQuery) iter.Seq[monitor.StreamDetail] {
	s.queries = append(s.queries, q)
	return func(yield func(monitor.StreamDetail) bool) {
		for _, d := range s.jsStreams[account] {
			if q.Stream != "" && q.Stream != d.Name {
				continue
			}
			if d.Consumers = slices.Clone(d.Consumers); !q.Consumers {
				d.Consumers = nil
			}
			for i := range d.Consumers {
				if !q.Config {
					d.Consumers[i].Config = nil
				}
			}
			if !q.Config {
				d.Config = nil
			}
			if !yield(d) {
				return
			}
		}
	}
}

// newSource is a server with two accounts, three open and two closed connections.
func newSource() *fakeSource {
	s := &fakeSource{server: fakeServer(), conns: fakeConnections()}
	s.subs = []monitor.Subscription{
		{Account: "A", AccountTag: "team a", Subject: "orders.*", Queue: "workers", SID: "1", Msgs: 3, CID: 7},
		{Account: "A", AccountTag: "team a", Subject: "orders.>", SID: "2", Msgs: 7, Max: 10, CID: 7},
		{Account: "B", AccountTag: "B", Subject: "orders.new", SID: "1", CID: 8},
		{Account: "SYS", AccountTag: "SYS", Subject: "$SYS.>", SID: "1", CID: 9},
	}
	s.closed = map[uint64][]monitor.Subscription{
		10: {{Account: "A", AccountTag: "team a", Subject: "gone.*", SID: "4", CID: 10}},
		11: {},
	}
	s.accounts = []monitor.Account{
		{Name: "SYS", NameTag: "SYS", Connections: 1, TotalConnections: 1, Subscriptions: 1},
		{Name: "B", NameTag: "B", Subscriptions: 1},
		{
			Name: "A", NameTag: "team a", Connections: 2, LeafNodes: 1, TotalConnections: 3, Subscriptions: 2, SlowConsumers: 1,
			Sent:     monitor.AccountTraffic{Traffic: monitor.Traffic{Msgs: 40, Bytes: 400}, Leafs: monitor.Traffic{Msgs: 4, Bytes: 40}},
			Received: monitor.AccountTraffic{Traffic: monitor.Traffic{Msgs: 20, Bytes: 200}, Routes: monitor.Traffic{Msgs: 2, Bytes: 20}},
		},
	}
	s.details = map[string]monitor.AccountDetail{"A": fakeDetail()}
	s.queues = map[string]monitor.Queue{"system requests": {Pending: 2, InProgress: 1}, "system events": {}}
	return s
}

// newClustered is newSource as one of three servers.
func newClustered() *fakeSource {
	s := newSource()
	s.server.Identity.Cluster = "east"
	s.server.Options.ConnectURLs = []string{"10.0.0.1:4222", "10.0.0.2:4222", "10.0.0.3:4222"}
	s.server.Options.Cluster = monitor.ClusterVarz{
		Name: "east", Host: "0.0.0.0", Port: 6222, AuthTimeout: monitor.Seconds(5 * time.Second), URLs: []string{"10.0.0.2:6222"},
		TLSTimeout: monitor.Seconds(2 * time.Second), TLSRequired: true, TLSVerify: true, PoolSize: 1,
		TLSCertNotAfter: epoch.AddDate(1, 0, 0),
	}
	s.server.Counters.Routes, s.server.Counters.Remotes = 3, 2
	s.exports = &monitor.Rules{Deny: []string{"secret.>"}}
	s.routes = []monitor.Route{
		{
			ID: 13, RemoteID: "NDEF", RemoteName: "srv2", Solicited: true, Configured: true, IP: "10.0.0.2", Port: 6222,
			Start: epoch.Add(-time.Minute), LastActivity: epoch.Add(-time.Second), RTT: 582 * time.Microsecond, PendingBytes: 7,
			Traffic:       monitor.ConnectionTraffic{InMsgs: 2, OutMsgs: 3, InBytes: 20, OutBytes: 30},
			Subscriptions: 1, Account: "SYS", Compression: "s2_fast",
			List: []monitor.Subscription{{Account: "SYS", Subject: "$SYS.REQ.SERVER.PING", SID: "1"}},
		},
		{
			ID: 12, RemoteID: "NDEF", RemoteName: "srv2", Solicited: true, Configured: true, IP: "10.0.0.2", Port: 6222,
			Start: epoch.Add(-time.Minute), LastActivity: epoch.Add(-time.Minute), RTT: 582 * time.Microsecond,
			Traffic:       monitor.ConnectionTraffic{InMsgs: 1, InBytes: 10},
			Subscriptions: 2, Compression: "off",
			List: []monitor.Subscription{
				{Account: "A", Subject: "orders.*", Queue: "workers", SID: "3"}, {Account: "B", Subject: "orders.new", SID: "1"},
			},
		},
		{
			ID: 14, RemoteID: "NGHI", RemoteName: "srv3", IP: "10.0.0.3", Port: 50123,
			Start: epoch.Add(-2 * time.Hour), LastActivity: epoch.Add(-time.Hour), Compression: "off",
		},
	}
	return s
}

func fakeServer() monitor.ServerSnapshot {
	return monitor.ServerSnapshot{
		Identity: monitor.Identity{
			ID: "NABC", Name: "srv1", Host: "0.0.0.0", Version: "2.15.2", Runnel: "0.1.0",
			Tags: []string{"az:1", "x"}, Metadata: map[string]string{"foo": "bar"},
			FeatureFlags: map[string]bool{"js_ack_fc_v2": false}, SystemAccount: "SYS",
		},
		Proto: 1,
		Options: monitor.Options{
			Host: "0.0.0.0", Port: 4222, AuthRequired: true, TLSRequired: true,
			ConnectURLs: []string{"10.0.0.1:4222"}, MaxConnections: 5000, PingInterval: 2 * time.Minute, PingMax: 2,
			HTTPHost: "127.0.0.1", HTTPPort: 8222, AuthTimeout: monitor.Seconds(1500 * time.Millisecond),
			MaxControlLineBytes: 4096, MaxPayloadBytes: 1 << 20, MaxPendingBytes: 64 << 20,
			Websocket: monitor.WebsocketVarz{
				Host: "0.0.0.0", Port: 8080, HandshakeTimeout: 3 * time.Second, SameOrigin: true,
				AllowedOrigins: []string{"https://a.example"}, Compression: true, TLSCertNotAfter: epoch.AddDate(1, 0, 0),
			},
			TLSTimeout: monitor.Seconds(2 * time.Second), WriteDeadline: 10 * time.Second,
			TLSCertNotAfter: epoch.AddDate(2, 0, 0),
		},
		Counters: monitor.Counters{
			Connections: 3, TotalConnections: 5, InMsgs: 11, InBytes: 110, InClientMsgs: 10, InClientBytes: 100,
			OutMsgs: 21, OutBytes: 210, OutClientMsgs: 20, OutClientBytes: 200, SlowConsumers: 2, StaleConnections: 1,
			StalledClients: 4, Subscriptions: 4,
			SlowConsumersByKind: monitor.ByKind{Clients: 2}, StaleConnectionsByKind: monitor.ByKind{Clients: 1},
		},
		Start:          epoch.Add(-26 * time.Hour),
		ConfigLoadTime: epoch.Add(-time.Hour),
		ConfigDigest:   "sha256:00ff",
	}
}

func fakeConnections() []monitor.Connection {
	return []monitor.Connection{
		{
			CID: 8, IP: "10.0.0.8", Port: 5008, Start: epoch.Add(-20 * time.Second), LastActivity: epoch.Add(-time.Second),
			RTT: 300 * time.Microsecond, PendingBytes: 5, Subscriptions: 1, Name: "b", Lang: "go", Version: "1.55.0",
			Traffic: monitor.ConnectionTraffic{InMsgs: 9, OutMsgs: 1, InBytes: 90, OutBytes: 10}, User: "bob", Account: "B",
		},
		{
			CID: 7, IP: "10.0.0.7", Port: 5007, Start: epoch.Add(-90 * time.Second), LastActivity: epoch.Add(-70 * time.Second),
			RTT: 582 * time.Microsecond, Stalls: 2, Subscriptions: 2, Name: "a", Lang: "rust", Version: "0.40",
			Traffic: monitor.ConnectionTraffic{InMsgs: 1, OutMsgs: 9, InBytes: 10, OutBytes: 90},
			User:    "ann", Account: "A", NameTag: "team a", Tags: []string{"t"}, Proxy: "PKEY",
			TLS: monitor.ConnectionTLS{
				Version: "1.3", CipherSuite: "TLS_AES_128_GCM_SHA256", First: true,
				PeerCerts: []monitor.PeerCert{{Subject: "CN=ann", SPKISHA256: "aa", CertSHA256: "bb"}},
			},
		},
		{
			CID: 9, Type: "websocket", IP: "10.0.0.9", Port: 5009, Start: epoch.Add(-3 * time.Hour),
			LastActivity: epoch.Add(-2 * time.Hour), Subscriptions: 1, User: "sys", Account: "SYS",
		},
		{
			CID: 10, IP: "10.0.0.10", Port: 5010, Start: epoch.Add(-time.Hour), LastActivity: epoch.Add(-40 * time.Minute),
			Stop: epoch.Add(-30 * time.Minute), Reason: "Stale Connection", Subscriptions: 1, User: "ann", Account: "A",
			RTT: time.Millisecond,
		},
		{
			CID: 11, Type: "mqtt", MQTTClient: "m1", IP: "10.0.0.11", Port: 5011, Start: epoch.Add(-10 * time.Minute),
			LastActivity: epoch.Add(-9 * time.Minute), Stop: epoch.Add(-8 * time.Minute), Reason: "Client Closed", Account: "B",
		},
	}
}

func fakeDetail() monitor.AccountDetail {
	return monitor.AccountDetail{
		Name: "A", UpdateTime: epoch.Add(-time.Hour), Complete: true, LeafNodes: 1, Connections: 2, Subscriptions: 2,
		Limits:   &monitor.AccountLimits{MaxConnections: new(int64(100)), MaxLeafNodes: new(int64(0))},
		Mappings: map[string][]monitor.Mapping{"m.a": {{Subject: "m.b", Weight: 100}}},
		Exports: []monitor.Export{{
			Subject: "sv.x", Type: "service", ResponseType: "Singleton", ApprovedAccounts: []string{"B"},
			Latency: &monitor.Latency{Sampling: 50, Results: "lat.x"},
		}},
		Imports: []monitor.Import{{
			Subject: "$SYS.REQ.USER.A.INFO", Account: "SYS", To: "$SYS.REQ.USER.INFO", LocalSubject: "$SYS.REQ.USER.INFO",
			Type: "service", Share: true,
		}},
		NameTag:           "team a",
		SubscriptionStats: &monitor.SubscriptionStats{NumSubscriptions: 2, NumInserts: 2},
	}
}

// newPages returns the pages of a source with a machine that is always the same.
func newPages(s monitor.Source) *monitor.Pages {
	p := monitor.New(s)
	monitor.SetUsage(p, monitor.Usage{MemBytes: 16 << 20, Cores: 2, GoMaxProcs: 2, CPU: 1.5})
	return p
}

// manyAccounts returns n accounts, the later the busier.
func manyAccounts(n int) []monitor.Account {
	var list []monitor.Account
	for i := range n {
		a := monitor.Account{Name: fmt.Sprintf("acc%04d", i), Connections: 1}
		a.Received.Msgs = int64(i)
		list = append(list, a)
	}
	return list
}
