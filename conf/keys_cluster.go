package conf

import "time"

var clusterKeys = []key[Cluster]{
	{"name", reloadInherit, "Name of the cluster, the same on all its servers.",
		func(c *Cluster) slot { return orElse(text(&c.Name), "generated") }},
	{"listen", reloadInherit, "Where other servers connect, host and port in one.",
		func(c *Cluster) slot { return shadow(address(&c.Host, &c.Port)) }},
	{"host net", reloadInherit, "Address that other servers connect to.",
		func(c *Cluster) slot { return text(&c.Host) }},
	{"port", reloadInherit, "Port that other servers connect to; -1 takes a free one.",
		func(c *Cluster) slot { return count(&c.Port, -1, maxPort) }},
	{"advertise cluster_advertise", ReloadYes, "The host:port that other servers are told.",
		func(c *Cluster) slot { return text(&c.Advertise) }},
	{"no_advertise", ReloadYes, "Do not tell clients about the other servers.",
		func(c *Cluster) slot { return flag(&c.NoAdvertise) }},
	{"routes", ReloadYes, "URLs of other servers of the cluster; one is enough.",
		func(c *Cluster) slot { return urls(&c.Routes) }},
	{"connect_retries", reloadInherit, "Attempts to reach a server that is not in routes.",
		func(c *Cluster) slot { return count(&c.ConnectRetries, 0, maxCount) }},
	{"connect_backoff", reloadInherit, "Lengthen the pauses between attempts, up to 30s.",
		func(c *Cluster) slot { return flag(&c.ConnectBackoff) }},
	{"authorization authentication", reloadInherit, "Credentials that other servers present.",
		func(c *Cluster) slot { return part(&c.Authorization, listenerAuthorizationKeys, newAuthorization) }},
	{"tls", reloadInherit, "TLS between the servers.",
		func(c *Cluster) slot { return block(&c.TLS, tlsKeys, newTLS) }},
	{"permissions", reloadInherit, "Subjects that may cross routes.",
		func(c *Cluster) slot { return block(&c.Permissions, permissionsKeys, zero[Permissions]) }},
	{"pool_size", reloadInherit, "Connections to each other server, -1 for one without a pool.",
		func(c *Cluster) slot { return count(&c.PoolSize, -1, maxCount) }},
	{"accounts", reloadInherit, "Accounts that get a connection of their own.",
		func(c *Cluster) slot { return list(&c.Accounts) }},
	{"compression", reloadInherit, "Compression between servers.",
		func(c *Cluster) slot { return compression(&c.Compression, "accept") }},
	{"ping_interval", reloadInherit, "Pause between pings to other servers.",
		func(c *Cluster) slot { return duration(&c.PingInterval) }},
	{"ping_max", reloadInherit, "Unanswered pings after which a route is stale.",
		func(c *Cluster) slot { return orElse(count(&c.PingMax, 0, maxCount), "that of the client port") }},
	{"write_deadline", reloadInherit, "How long one write to another server may take.",
		func(c *Cluster) slot { return orElse(duration(&c.WriteDeadline), "that of the client port") }},
	{"write_timeout", reloadInherit, "What happens when a write took longer: close the connection or retry.",
		func(c *Cluster) slot { return writeTimeout(&c.WriteTimeout) }},
}

func newCluster() *Cluster {
	return &Cluster{
		Host: "0.0.0.0", PoolSize: 3, Compression: *newCompression("accept")(),
		PingInterval: 30 * time.Second, WriteTimeout: WriteTimeoutDefault,
	}
}

var compressionKeys = []key[Compression]{
	{"mode", reloadInherit, "off, accept, s2_fast, s2_better, s2_best or s2_auto.",
		func(c *Compression) slot { return compressionMode(&c.Mode) }},
	{"rtt_thresholds thresholds rtts", reloadInherit, "Round trip times at which s2_auto compresses more: fast, better, best.",
		func(c *Compression) slot { return durations(&c.RTTThresholds) }},
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
	{"name", reloadInherit, "Name of this cluster.",
		func(g *Gateway) slot { return text(&g.Name) }},
	{"listen", reloadInherit, "Where other clusters connect, host and port in one.",
		func(g *Gateway) slot { return shadow(address(&g.Host, &g.Port)) }},
	{"host net", reloadInherit, "Address that other clusters connect to.",
		func(g *Gateway) slot { return text(&g.Host) }},
	{"port", reloadInherit, "Port that other clusters connect to; -1 takes a free one.",
		func(g *Gateway) slot { return count(&g.Port, -1, maxPort) }},
	{"authorization authentication", reloadInherit, "Credentials that other clusters present.",
		func(g *Gateway) slot { return part(&g.Authorization, listenerAuthorizationKeys, newAuthorization) }},
	{"tls", reloadInherit, "TLS between clusters.",
		func(g *Gateway) slot { return block(&g.TLS, tlsKeys, newTLS) }},
	{"advertise", reloadInherit, "The host:port that other clusters are told.",
		func(g *Gateway) slot { return text(&g.Advertise) }},
	{"connect_retries", reloadInherit, "Attempts to reach a cluster that is not in gateways.",
		func(g *Gateway) slot { return count(&g.ConnectRetries, 0, maxCount) }},
	{"connect_backoff", reloadInherit, "Lengthen the pauses between attempts, up to 30s.",
		func(g *Gateway) slot { return flag(&g.ConnectBackoff) }},
	{"reject_unknown_cluster reject_unknown", reloadInherit, "Refuse clusters that are not in gateways.",
		func(g *Gateway) slot { return flag(&g.RejectUnknownCluster) }},
	{"gateways", reloadInherit, "The other clusters.",
		func(g *Gateway) slot {
			return blocks(&g.Gateways, remoteGatewayKeys, zero[RemoteGateway], func(r *RemoteGateway) string { return r.Name })
		}},
	{"write_deadline", reloadInherit, "How long one write to another cluster may take.",
		func(g *Gateway) slot { return orElse(duration(&g.WriteDeadline), "that of the client port") }},
	{"write_timeout", reloadInherit, "What happens when a write took longer: close the connection or retry.",
		func(g *Gateway) slot { return writeTimeout(&g.WriteTimeout) }},
}

func newGateway() *Gateway {
	return &Gateway{Host: "0.0.0.0", Port: 7222, WriteTimeout: WriteTimeoutDefault}
}

var remoteGatewayKeys = []key[RemoteGateway]{
	{"name", reloadInherit, "Name of the other cluster.",
		func(r *RemoteGateway) slot { return text(&r.Name) }},
	{"urls url", reloadInherit, "URLs of its servers.",
		func(r *RemoteGateway) slot { return urls(&r.URLs) }},
	{"tls", reloadInherit, "TLS towards it, in place of that of the gateway.",
		func(r *RemoteGateway) slot { return block(&r.TLS, tlsKeys, newTLS) }},
}

var leafNodesKeys = []key[LeafNodes]{
	{"listen", reloadInherit, "Where leaf nodes connect, host and port in one.",
		func(l *LeafNodes) slot { return shadow(address(&l.Host, &l.Port)) }},
	{"host net", reloadInherit, "Address that leaf nodes connect to.",
		func(l *LeafNodes) slot { return text(&l.Host) }},
	{"port", reloadInherit, "Port that leaf nodes connect to, 0 for none; -1 takes a free one.",
		func(l *LeafNodes) slot { return orElse(count(&l.Port, -1, maxPort), "7422 without remotes") }},
	{"advertise", reloadInherit, "The host:port that leaf nodes are told.",
		func(l *LeafNodes) slot { return text(&l.Advertise) }},
	{"no_advertise", reloadInherit, "Do not tell leaf nodes about the other servers.",
		func(l *LeafNodes) slot { return flag(&l.NoAdvertise) }},
	{"authorization authentication", reloadInherit, "Credentials that leaf nodes present.",
		func(l *LeafNodes) slot { return part(&l.Authorization, leafAuthorizationKeys, newAuthorization) }},
	{"tls", ReloadYes, "TLS with leaf nodes.",
		func(l *LeafNodes) slot { return block(&l.TLS, tlsKeys, newTLS) }},
	{"compression", ReloadYes, "Compression with leaf nodes.",
		func(l *LeafNodes) slot { return compression(&l.Compression, "s2_auto") }},
	{"min_version", reloadInherit, "Refuse leaf nodes of an older version.",
		func(l *LeafNodes) slot { return text(&l.MinVersion) }},
	{"isolate_leafnode_interest isolate", reloadInherit, "Keep the interest of one leaf node from the others.",
		func(l *LeafNodes) slot { return flag(&l.IsolateInterest) }},
	{"reconnect reconnect_delay reconnect_interval", reloadInherit, "Pause before a lost hub is tried again.",
		func(l *LeafNodes) slot { return seconds(&l.Reconnect) }},
	{"dial_timeout", reloadInherit, "Time to reach a hub.",
		func(l *LeafNodes) slot { return duration(&l.DialTimeout) }},
	{"write_deadline", reloadInherit, "How long one write to a leaf node may take.",
		func(l *LeafNodes) slot { return orElse(duration(&l.WriteDeadline), "that of the client port") }},
	{"write_timeout", reloadInherit, "What happens when a write took longer: close the connection or retry.",
		func(l *LeafNodes) slot { return writeTimeout(&l.WriteTimeout) }},
	{"remotes", ReloadYes, "Hubs that this server joins.",
		func(l *LeafNodes) slot { return blocks(&l.Remotes, remoteLeafKeys, newRemoteLeaf, nil) }},
}

func newLeafNodes() *LeafNodes {
	return &LeafNodes{
		Host: "0.0.0.0", Compression: *newCompression("s2_auto")(), Reconnect: time.Second,
		DialTimeout: time.Second, WriteTimeout: WriteTimeoutDefault,
	}
}

var leafAuthorizationKeys = []key[Authorization]{
	{"user username", reloadInherit, "Name of the only user.",
		func(a *Authorization) slot { return text(&a.Username) }},
	{"password pass", reloadInherit, "Password of the only user, plain or as bcrypt hash.",
		func(a *Authorization) slot { return secret(text(&a.Password)) }},
	{"nkey", reloadInherit, "Public key of the only user.",
		func(a *Authorization) slot { return text(&a.NKey) }},
	{"account acc", reloadInherit, "Local account of the only user.",
		func(a *Authorization) slot { return text(&a.Account) }},
	{"users", reloadInherit, "Users, each with its local account.",
		func(a *Authorization) slot { return blocks(&a.Users, leafUserKeys, zero[User], (*User).Name) }},
	{"timeout", reloadInherit, "Time to present credentials.",
		func(a *Authorization) slot { return orElse(seconds(&a.Timeout), "that of the client port") }},
	{"proxy_required", reloadInherit, "Admit leaf nodes through a trusted proxy only.",
		func(a *Authorization) slot { return flag(&a.ProxyRequired) }},
}

var leafUserKeys = []key[User]{
	{"user username", reloadInherit, "Name of the user.",
		func(u *User) slot { return text(&u.Username) }},
	{"password pass", reloadInherit, "Password, plain or as bcrypt hash.",
		func(u *User) slot { return secret(text(&u.Password)) }},
	{"nkey", reloadInherit, "Public key of the user, in place of name and password.",
		func(u *User) slot { return text(&u.NKey) }},
	{"account acc", reloadInherit, "Local account of the user.",
		func(u *User) slot { return text(&u.Account) }},
	{"proxy_required", reloadInherit, "Admit the user through a trusted proxy only.",
		func(u *User) slot { return flag(&u.ProxyRequired) }},
}

var remoteLeafKeys = []key[RemoteLeaf]{
	{"urls url", reloadInherit, "URLs of the hub.",
		func(r *RemoteLeaf) slot { return urls(&r.URLs) }},
	{"account local", reloadInherit, "Local account that is joined.",
		func(r *RemoteLeaf) slot { return orElse(text(&r.Account), "$G") }},
	{"credentials creds", reloadInherit, "File with JWT and seed.",
		func(r *RemoteLeaf) slot { return text(&r.Credentials) }},
	{"nkey seed", reloadInherit, "Seed of the user's key.",
		func(r *RemoteLeaf) slot { return secret(text(&r.NKey)) }},
	{"tls", reloadInherit, "TLS towards the hub.",
		func(r *RemoteLeaf) slot { return block(&r.TLS, tlsKeys, newTLS) }},
	{"hub", reloadInherit, "Take the part of the hub.",
		func(r *RemoteLeaf) slot { return flag(&r.Hub) }},
	{"deny_imports deny_import", reloadInherit, "Subjects that do not come in.",
		func(r *RemoteLeaf) slot { return list(&r.DenyImports) }},
	{"deny_exports deny_export", reloadInherit, "Subjects that do not go out.",
		func(r *RemoteLeaf) slot { return list(&r.DenyExports) }},
	{"no_randomize dont_randomize", reloadInherit, "Try the URLs in their order.",
		func(r *RemoteLeaf) slot { return flag(&r.NoRandomize) }},
	{"compression", reloadInherit, "Compression with the hub.",
		func(r *RemoteLeaf) slot { return compression(&r.Compression, "s2_auto") }},
	{"ws_compression", reloadInherit, "Compress frames of a ws:// URL.",
		func(r *RemoteLeaf) slot { return flag(&r.WSCompression) }},
	{"ws_no_masking", reloadInherit, "Do not mask frames of a ws:// URL.",
		func(r *RemoteLeaf) slot { return flag(&r.WSNoMasking) }},
	{"jetstream_cluster_migrate js_cluster_migrate", reloadInherit, "Move stream leaders away while the hub is out of reach.",
		func(r *RemoteLeaf) slot { return migrate(r) }},
	{"first_info_timeout", reloadInherit, "Time for the hub's first message.",
		func(r *RemoteLeaf) slot { return duration(&r.FirstInfoTimeout) }},
	{"dial_timeout", reloadInherit, "Time to reach the hub.",
		func(r *RemoteLeaf) slot { return orElse(duration(&r.DialTimeout), "that of leafnodes") }},
	{"disabled", reloadInherit, "Do not connect.",
		func(r *RemoteLeaf) slot { return flag(&r.Disabled) }},
	{"proxy", reloadInherit, "HTTP proxy for a ws:// URL.",
		func(r *RemoteLeaf) slot { return block(&r.Proxy, httpProxyKeys, zero[HTTPProxy]) }},
	{"isolate_leafnode_interest isolate", reloadInherit, "Keep the interest of other leaf nodes from the hub.",
		func(r *RemoteLeaf) slot { return flag(&r.IsolateInterest) }},
	{"request_isolation", reloadInherit, "Ask the hub to keep the interest of other leaf nodes away.",
		func(r *RemoteLeaf) slot { return flag(&r.RequestIsolation) }},
	{"ignore_discovered_servers", reloadInherit, "Use only the URLs written here.",
		func(r *RemoteLeaf) slot { return flag(&r.IgnoreDiscoveredServers) }},
}

func newRemoteLeaf() *RemoteLeaf {
	return &RemoteLeaf{Compression: *newCompression("s2_auto")(), FirstInfoTimeout: time.Second}
}

var httpProxyKeys = []key[HTTPProxy]{
	{"url", reloadInherit, "URL of the proxy.",
		func(p *HTTPProxy) slot { return text(&p.URL) }},
	{"username user", reloadInherit, "User of the proxy.",
		func(p *HTTPProxy) slot { return text(&p.Username) }},
	{"password pass", reloadInherit, "Password of the proxy.",
		func(p *HTTPProxy) slot { return secret(text(&p.Password)) }},
	{"timeout", reloadInherit, "Time for the proxy to answer.",
		func(p *HTTPProxy) slot { return seconds(&p.Timeout) }},
}
