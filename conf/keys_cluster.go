package conf

import "time"

var clusterKeys = []key[Cluster]{
	row("name", reloadInherit, "Name of the cluster, the same on all its servers.",
		func(c *Cluster) slot { return orElse(text(&c.Name), "generated") }),
	row("listen", reloadInherit, "Where other servers connect, host and port in one.",
		func(c *Cluster) slot { return shadow(address(&c.Host, &c.Port)) }),
	row("host net", reloadInherit, "Address that other servers connect to.",
		func(c *Cluster) slot { return text(&c.Host) }),
	row("port", reloadInherit, "Port that other servers connect to; -1 takes a free one.",
		func(c *Cluster) slot { return count(&c.Port, -1, maxPort) }),
	row("advertise cluster_advertise", ReloadYes, "The host:port that other servers are told.",
		func(c *Cluster) slot { return text(&c.Advertise) }),
	row("no_advertise", ReloadYes, "Do not tell clients about the other servers.",
		func(c *Cluster) slot { return flag(&c.NoAdvertise) }),
	row("routes", ReloadYes, "URLs of other servers of the cluster; one is enough.",
		func(c *Cluster) slot { return urls(&c.Routes) }),
	row("size", reloadInherit, "Servers that a new cluster has when it begins to keep streams.",
		func(c *Cluster) slot {
			return orElse(count(&c.Size, 0, maxCount), "the servers in routes and this one")
		}),
	row("connect_retries", reloadInherit, "Attempts to reach a server that is not in routes.",
		func(c *Cluster) slot { return count(&c.ConnectRetries, 0, maxCount) }),
	row("connect_backoff", reloadInherit, "Lengthen the pauses between attempts, up to 30s.",
		func(c *Cluster) slot { return flag(&c.ConnectBackoff) }),
	row("authorization authentication", ReloadYes, "Credentials that other servers present.",
		func(c *Cluster) slot { return part(&c.Authorization, listenerAuthorizationKeys, newAuthorization) }),
	row("tls", ReloadYes, "TLS between the servers, with certificates of both sides.",
		func(c *Cluster) slot { return block(&c.TLS, tlsKeys, newTLS) }),
	row("permissions", reloadInherit, "Subjects that may cross routes.",
		func(c *Cluster) slot { return block(&c.Permissions, permissionsKeys, zero[Permissions]) }),
	row("pool_size", reloadInherit, "Connections to each other server, -1 for one without a pool.",
		func(c *Cluster) slot { return count(&c.PoolSize, -1, maxCount) }),
	row("accounts", reloadInherit, "Accounts that get a connection of their own.",
		func(c *Cluster) slot { return list(&c.Accounts) }),
	row("compression", reloadInherit, "Compression between servers.",
		func(c *Cluster) slot { return compression(&c.Compression, "accept") }),
	row("ping_interval", reloadInherit, "Pause between pings to other servers.",
		func(c *Cluster) slot { return duration(&c.PingInterval) }),
	row("ping_max", reloadInherit, "Unanswered pings after which a route is stale.",
		func(c *Cluster) slot { return orElse(count(&c.PingMax, 0, maxCount), "that of the client port") }),
	row("write_deadline", reloadInherit, "How long one write to another server may take.",
		func(c *Cluster) slot { return orElse(duration(&c.WriteDeadline), "that of the client port") }),
	row("write_timeout", reloadInherit, "What happens when a write took longer: close the connection or retry.",
		func(c *Cluster) slot { return writeTimeout(&c.WriteTimeout) }),
}

func newCluster() *Cluster {
	return &Cluster{
		Host: "0.0.0.0", PoolSize: 3, Compression: *newCompression("accept")(),
		PingInterval: 30 * time.Second, WriteTimeout: WriteTimeoutDefault,
	}
}

var compressionKeys = []key[Compression]{
	row("mode", reloadInherit, "off, accept, s2_fast, s2_better, s2_best or s2_auto.",
		func(c *Compression) slot { return compressionMode(&c.Mode) }),
	row("rtt_thresholds thresholds rtts", reloadInherit, "Round trip times at which s2_auto compresses more: fast, better, best.",
		func(c *Compression) slot { return durations(&c.RTTThresholds) }),
}

// newCompression returns the maker of a block with that mode.
func newCompression(mode string) func() *Compression {
	return func() *Compression {
		return &Compression{
			Mode:          mode,
			RTTThresholds: []time.Duration{10 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond},
		}
	}
}

var gatewayKeys = []key[Gateway]{
	row("name", reloadInherit, "Name of this cluster.",
		func(g *Gateway) slot { return text(&g.Name) }),
	row("listen", reloadInherit, "Where other clusters connect, host and port in one.",
		func(g *Gateway) slot { return shadow(address(&g.Host, &g.Port)) }),
	row("host net", reloadInherit, "Address that other clusters connect to.",
		func(g *Gateway) slot { return text(&g.Host) }),
	row("port", reloadInherit, "Port that other clusters connect to; -1 takes a free one.",
		func(g *Gateway) slot { return count(&g.Port, -1, maxPort) }),
	row("authorization authentication", reloadInherit, "Credentials that other clusters present.",
		func(g *Gateway) slot { return part(&g.Authorization, listenerAuthorizationKeys, newAuthorization) }),
	row("tls", reloadInherit, "TLS between clusters.",
		func(g *Gateway) slot { return block(&g.TLS, tlsKeys, newTLS) }),
	row("advertise", reloadInherit, "The host:port that other clusters are told.",
		func(g *Gateway) slot { return text(&g.Advertise) }),
	row("connect_retries", reloadInherit, "Attempts to reach a cluster that is not in gateways.",
		func(g *Gateway) slot { return count(&g.ConnectRetries, 0, maxCount) }),
	row("connect_backoff", reloadInherit, "Lengthen the pauses between attempts, up to 30s.",
		func(g *Gateway) slot { return flag(&g.ConnectBackoff) }),
	row("reject_unknown_cluster reject_unknown", reloadInherit, "Refuse clusters that are not in gateways.",
		func(g *Gateway) slot { return flag(&g.RejectUnknownCluster) }),
	row("gateways", reloadInherit, "The other clusters.",
		func(g *Gateway) slot {
			return blocks(&g.Gateways, remoteGatewayKeys, zero[RemoteGateway], func(r *RemoteGateway) string { return r.Name })
		}),
	row("write_deadline", reloadInherit, "How long one write to another cluster may take.",
		func(g *Gateway) slot { return orElse(duration(&g.WriteDeadline), "that of the client port") }),
	row("write_timeout", reloadInherit, "What happens when a write took longer: close the connection or retry.",
		func(g *Gateway) slot { return writeTimeout(&g.WriteTimeout) }),
}

func newGateway() *Gateway {
	return &Gateway{Host: "0.0.0.0", Port: 7222, WriteTimeout: WriteTimeoutDefault}
}

var remoteGatewayKeys = []key[RemoteGateway]{
	row("name", reloadInherit, "Name of the other cluster.",
		func(r *RemoteGateway) slot { return text(&r.Name) }),
	row("urls url", reloadInherit, "URLs of its servers.",
		func(r *RemoteGateway) slot { return urls(&r.URLs) }),
	row("tls", reloadInherit, "TLS towards it, in place of that of the gateway.",
		func(r *RemoteGateway) slot { return block(&r.TLS, tlsKeys, newTLS) }),
}

var leafNodesKeys = []key[LeafNodes]{
	row("listen", reloadInherit, "Where leaf nodes connect, host and port in one.",
		func(l *LeafNodes) slot { return shadow(address(&l.Host, &l.Port)) }),
	row("host net", reloadInherit, "Address that leaf nodes connect to.",
		func(l *LeafNodes) slot { return text(&l.Host) }),
	row("port", reloadInherit, "Port that leaf nodes connect to, 0 for none; -1 takes a free one.",
		func(l *LeafNodes) slot { return orElse(count(&l.Port, -1, maxPort), "7422 without remotes") }),
	row("advertise", reloadInherit, "The host:port that leaf nodes are told.",
		func(l *LeafNodes) slot { return text(&l.Advertise) }),
	row("no_advertise", reloadInherit, "Do not tell leaf nodes about the other servers.",
		func(l *LeafNodes) slot { return flag(&l.NoAdvertise) }),
	row("authorization authentication", reloadInherit, "Credentials that leaf nodes present.",
		func(l *LeafNodes) slot { return part(&l.Authorization, leafAuthorizationKeys, newAuthorization) }),
	row("tls", ReloadYes, "TLS with leaf nodes.",
		func(l *LeafNodes) slot { return block(&l.TLS, tlsKeys, newTLS) }),
	row("compression", ReloadYes, "Compression with leaf nodes.",
		func(l *LeafNodes) slot { return compression(&l.Compression, "s2_auto") }),
	row("min_version", reloadInherit, "Refuse leaf nodes of an older version.",
		func(l *LeafNodes) slot { return text(&l.MinVersion) }),
	row("isolate_leafnode_interest isolate", reloadInherit, "Keep the interest of one leaf node from the others.",
		func(l *LeafNodes) slot { return flag(&l.IsolateInterest) }),
	row("reconnect reconnect_delay reconnect_interval", reloadInherit, "Pause before a lost hub is tried again.",
		func(l *LeafNodes) slot { return seconds(&l.Reconnect) }),
	row("dial_timeout", reloadInherit, "Time to reach a hub.",
		func(l *LeafNodes) slot { return duration(&l.DialTimeout) }),
	row("write_deadline", reloadInherit, "How long one write to a leaf node may take.",
		func(l *LeafNodes) slot { return orElse(duration(&l.WriteDeadline), "that of the client port") }),
	row("write_timeout", reloadInherit, "What happens when a write took longer: close the connection or retry.",
		func(l *LeafNodes) slot { return writeTimeout(&l.WriteTimeout) }),
	row("remotes", ReloadYes, "Hubs that this server joins.",
		func(l *LeafNodes) slot { return blocks(&l.Remotes, remoteLeafKeys, newRemoteLeaf, nil) }),
}

func newLeafNodes() *LeafNodes {
	return &LeafNodes{
		Host: "0.0.0.0", Compression: *newCompression("s2_auto")(), Reconnect: time.Second,
		DialTimeout: time.Second, WriteTimeout: WriteTimeoutDefault,
	}
}

var leafAuthorizationKeys = []key[Authorization]{
	row("user username", reloadInherit, "Name of the only user.",
		func(a *Authorization) slot { return text(&a.Username) }),
	row("password pass", reloadInherit, "Password of the only user, plain or as bcrypt hash.",
		func(a *Authorization) slot { return secret(text(&a.Password)) }),
	row("nkey", reloadInherit, "Public key of the only user.",
		func(a *Authorization) slot { return text(&a.NKey) }),
	row("account acc", reloadInherit, "Local account of the only user.",
		func(a *Authorization) slot { return text(&a.Account) }),
	row("users", reloadInherit, "Users, each with its local account.",
		func(a *Authorization) slot { return blocks(&a.Users, leafUserKeys, zero[User], (*User).Name) }),
	row("timeout", reloadInherit, "Time to present credentials.",
		func(a *Authorization) slot { return orElse(seconds(&a.Timeout), "that of the client port") }),
	row("proxy_required", reloadInherit, "Admit leaf nodes through a trusted proxy only.",
		func(a *Authorization) slot { return flag(&a.ProxyRequired) }),
}

var leafUserKeys = []key[User]{
	row("user username", reloadInherit, "Name of the user.",
		func(u *User) slot { return text(&u.Username) }),
	row("password pass", reloadInherit, "Password, plain or as bcrypt hash.",
		func(u *User) slot { return secret(text(&u.Password)) }),
	row("nkey", reloadInherit, "Public key of the user, in place of name and password.",
		func(u *User) slot { return text(&u.NKey) }),
	row("account acc", reloadInherit, "Local account of the user.",
		func(u *User) slot { return text(&u.Account) }),
	row("proxy_required", reloadInherit, "Admit the user through a trusted proxy only.",
		func(u *User) slot { return flag(&u.ProxyRequired) }),
}

var remoteLeafKeys = []key[RemoteLeaf]{
	row("urls url", reloadInherit, "URLs of the hub.",
		func(r *RemoteLeaf) slot { return urls(&r.URLs) }),
	row("account local", reloadInherit, "Local account that is joined.",
		func(r *RemoteLeaf) slot { return orElse(text(&r.Account), "$G") }),
	row("credentials creds", reloadInherit, "File with JWT and seed.",
		func(r *RemoteLeaf) slot { return text(&r.Credentials) }),
	row("nkey seed", reloadInherit, "Seed of the user's key.",
		func(r *RemoteLeaf) slot { return secret(text(&r.NKey)) }),
	row("tls", reloadInherit, "TLS towards the hub.",
		func(r *RemoteLeaf) slot { return block(&r.TLS, tlsKeys, newTLS) }),
	row("hub", reloadInherit, "Take the part of the hub.",
		func(r *RemoteLeaf) slot { return flag(&r.Hub) }),
	row("deny_imports deny_import", reloadInherit, "Subjects that do not come in.",
		func(r *RemoteLeaf) slot { return list(&r.DenyImports) }),
	row("deny_exports deny_export", reloadInherit, "Subjects that do not go out.",
		func(r *RemoteLeaf) slot { return list(&r.DenyExports) }),
	row("no_randomize dont_randomize", reloadInherit, "Try the URLs in their order.",
		func(r *RemoteLeaf) slot { return flag(&r.NoRandomize) }),
	row("compression", reloadInherit, "Compression with the hub.",
		func(r *RemoteLeaf) slot { return compression(&r.Compression, "s2_auto") }),
	row("ws_compression", reloadInherit, "Compress frames of a ws:// URL.",
		func(r *RemoteLeaf) slot { return flag(&r.WSCompression) }),
	row("ws_no_masking", reloadInherit, "Do not mask frames of a ws:// URL.",
		func(r *RemoteLeaf) slot { return flag(&r.WSNoMasking) }),
	row("jetstream_cluster_migrate js_cluster_migrate", reloadInherit, "Move stream leaders away while the hub is out of reach.",
		func(r *RemoteLeaf) slot { return migrate(r) }),
	row("first_info_timeout", reloadInherit, "Time for the hub's first message.",
		func(r *RemoteLeaf) slot { return duration(&r.FirstInfoTimeout) }),
	row("dial_timeout", reloadInherit, "Time to reach the hub.",
		func(r *RemoteLeaf) slot { return orElse(duration(&r.DialTimeout), "that of leafnodes") }),
	row("disabled", reloadInherit, "Do not connect.",
		func(r *RemoteLeaf) slot { return flag(&r.Disabled) }),
	row("proxy", reloadInherit, "HTTP proxy for a ws:// URL.",
		func(r *RemoteLeaf) slot { return block(&r.Proxy, httpProxyKeys, zero[HTTPProxy]) }),
	row("isolate_leafnode_interest isolate", reloadInherit, "Keep the interest of other leaf nodes from the hub.",
		func(r *RemoteLeaf) slot { return flag(&r.IsolateInterest) }),
	row("request_isolation", reloadInherit, "Ask the hub to keep the interest of other leaf nodes away.",
		func(r *RemoteLeaf) slot { return flag(&r.RequestIsolation) }),
	row("ignore_discovered_servers", reloadInherit, "Use only the URLs written here.",
		func(r *RemoteLeaf) slot { return flag(&r.IgnoreDiscoveredServers) }),
}

func newRemoteLeaf() *RemoteLeaf {
	return &RemoteLeaf{Compression: *newCompression("s2_auto")(), FirstInfoTimeout: time.Second}
}

var httpProxyKeys = []key[HTTPProxy]{
	row("url", reloadInherit, "URL of the proxy.",
		func(p *HTTPProxy) slot { return oneURL(&p.URL) }),
	row("username user", reloadInherit, "User of the proxy.",
		func(p *HTTPProxy) slot { return text(&p.Username) }),
	row("password pass", reloadInherit, "Password of the proxy.",
		func(p *HTTPProxy) slot { return secret(text(&p.Password)) }),
	row("timeout", reloadInherit, "Time for the proxy to answer.",
		func(p *HTTPProxy) slot { return seconds(&p.Timeout) }),
}
