package conf

import (
	"slices"
	"time"
)

// serverKeys is the schema of the top level.
var serverKeys = slices.Concat(identityKeys, limitKeys, logKeys, accessKeys, featureKeys)

// identityKeys say who the server is and where it listens.
var identityKeys = []key[Options]{
	row("server_name", ReloadNo, "Name of this server, without blanks. It must be unique in a cluster.",
		func(o *Options) slot { return orElse(text(&o.ServerName), "the server's id") }),
	row("listen", ReloadNo, "Where clients connect, host and port in one.",
		func(o *Options) slot { return shadow(address(&o.Host, &o.Port)) }),
	row("host net", ReloadNo, "Address that clients connect to.",
		func(o *Options) slot { return text(&o.Host) }),
	row("port", ReloadNo, "Port that clients connect to; -1 takes a free one.",
		func(o *Options) slot { return count(&o.Port, -1, maxPort) }),
	row("client_advertise", ReloadYes, "The host:port that clients are told, where they cannot reach the real one.",
		func(o *Options) slot { return text(&o.ClientAdvertise) }),
	row("server_tags", ReloadYes, "Labels of this server, for the placement of streams.",
		func(o *Options) slot { return list(&o.ServerTags) }),
	row("server_metadata", ReloadYes, "Names and values that monitoring shows.",
		func(o *Options) slot { return texts(&o.ServerMetadata) }),
	row("feature_flags", ReloadNo, "Experiments of the incumbent by name; unknown names do nothing.",
		func(o *Options) slot { return flags(&o.FeatureFlags) }),
	row("pid_file pidfile", ReloadYes, "File that the process id is written to.",
		func(o *Options) slot { return text(&o.PIDFile) }),
	row("ports_file_dir", ReloadYes, "Folder for a JSON file that lists the ports in use.",
		func(o *Options) slot { return text(&o.PortsFileDir) }),
	row("no_header_support", ReloadNo, "Refuse messages with headers.",
		func(o *Options) slot { return flag(&o.NoHeaderSupport) }),
	row("disable_sublist_cache no_sublist_cache", ReloadNo, "Evaluate each publish anew instead of remembering what it matches.",
		func(o *Options) slot { return flag(&o.DisableMatchCache) }),
	row("proxy_protocol", ReloadNo, "Expect a PROXY v1 or v2 preamble on client connections.",
		func(o *Options) slot { return flag(&o.ProxyProtocol) }),
	row("allow_non_tls", ReloadNo, "Let plain clients share the port with TLS clients.",
		func(o *Options) slot { return flag(&o.AllowNonTLS) }),
}

// limitKeys bound connections and say when they are given up.
var limitKeys = []key[Options]{
	row("max_connections max_conn", ReloadYes, "Client connections at a time, -1 for no limit; a reload that lowers it closes the excess.",
		func(o *Options) slot { return count(&o.Limits.MaxConnections, -1, maxCount) }),
	row("max_subscriptions max_subs", ReloadNo, "Subscriptions of one connection, 0 for no limit.",
		func(o *Options) slot { return count(&o.Limits.MaxSubscriptions, -1, maxCount) }),
	row("max_subscription_tokens max_sub_tokens", ReloadNo, "Tokens of a subscribed subject, 0 for no limit.",
		func(o *Options) slot { return count(&o.Limits.MaxSubscriptionTokens, 0, 255) }),
	row("max_control_line", ReloadYes, "Length of one protocol line, payload excluded.",
		func(o *Options) slot { return size(&o.Limits.MaxControlLineBytes, 0, maxCount) }),
	row("max_payload", ReloadYes, "Largest message with its headers; at most max_pending. Clients are told when it changes.",
		func(o *Options) slot { return size(&o.Limits.MaxPayloadBytes, 0, maxCount) }),
	row("max_pending", ReloadNo, "What may wait for one connection before it is closed as a slow consumer.",
		func(o *Options) slot { return size(&o.Limits.MaxPendingBytes, 0, maxSize) }),
	row("memory_limit", ReloadNo, "Memory that the process may have: bytes, or a percentage of what the container or the machine has; 0 for what the container allows.",
		func(o *Options) slot { return share(&o.Limits.MemoryBytes, &o.Limits.MemoryPercent) }),
	row("max_closed_clients", ReloadNo, "Closed connections that monitoring remembers.",
		func(o *Options) slot { return count(&o.Limits.MaxClosedClients, 0, maxCount) }),
	row("ping_interval", ReloadYes, "Pause between pings to a quiet client.",
		func(o *Options) slot { return duration(&o.Liveness.PingInterval) }),
	row("ping_max", ReloadYes, "Unanswered pings after which a connection is stale.",
		func(o *Options) slot { return count(&o.Liveness.PingMax, 0, maxCount) }),
	row("write_deadline", ReloadYes, "How long one write to a client may take.",
		func(o *Options) slot { return duration(&o.Liveness.WriteDeadline) }),
	row("write_timeout", ReloadNo, "What happens when a write took longer: close the connection or retry. Clients are always closed.",
		func(o *Options) slot { return writeTimeout(&o.Liveness.WriteTimeout) }),
	row("no_fast_producer_stall", ReloadYes, "Never slow producers down for a slow consumer, which is cut off at max_pending.",
		func(o *Options) slot { return flag(&o.Liveness.NoFastProducerStall) }),
	row("connect_error_reports", ReloadYes, "Of the failed first attempts to reach a server, log every n-th.",
		func(o *Options) slot { return count(&o.Liveness.ConnectErrorReports, 0, maxCount) }),
	row("reconnect_error_reports", ReloadYes, "Of the failed attempts to reach a server again, log every n-th.",
		func(o *Options) slot { return count(&o.Liveness.ReconnectErrorReports, 0, maxCount) }),
	row("lame_duck_duration", ReloadNo, "Time over which clients are closed in lame duck mode, 30s at least.",
		func(o *Options) slot { return duration(&o.LameDuck.Duration) }),
	row("lame_duck_grace_period", ReloadNo, "Wait before the first client is closed in lame duck mode; less than lame_duck_duration.",
		func(o *Options) slot { return duration(&o.LameDuck.GracePeriod) }),
}

// logKeys concern logging, monitoring and profiling.
var logKeys = []key[Options]{
	row("debug", ReloadYes, "Log debug messages.",
		func(o *Options) slot { return flag(&o.Log.Debug) }),
	row("trace", ReloadYes, "Log the protocol of clients.",
		func(o *Options) slot { return flag(&o.Log.Trace) }),
	row("trace_verbose", ReloadYes, "Trace the system account too.",
		func(o *Options) slot { return flag(&o.Log.TraceVerbose) }),
	row("trace_headers", ReloadYes, "Of traced messages log the headers only.",
		func(o *Options) slot { return flag(&o.Log.TraceHeaders) }),
	row("logtime", ReloadYes, "Stamp each line of the log with the time.",
		func(o *Options) slot { return flag(&o.Log.Time) }),
	row("logtime_utc", ReloadYes, "Stamp in UTC instead of local time.",
		func(o *Options) slot { return flag(&o.Log.TimeUTC) }),
	row("log_file logfile", ReloadYes, "File that the log is written to.",
		func(o *Options) slot { return orElse(text(&o.Log.File), "standard error") }),
	row("log_size_limit logfile_size_limit", ReloadNo, "Size at which the log file is rotated, 0 for never.",
		func(o *Options) slot { return size(&o.Log.MaxFileBytes, 0, maxSize) }),
	row("log_max_num logfile_max_num", ReloadNo, "Log files to keep, the current one included, 0 for all.",
		func(o *Options) slot { return count(&o.Log.MaxFiles, 0, maxCount) }),
	row("syslog", ReloadYes, "Send the log to the local syslog.",
		func(o *Options) slot { return flag(&o.Log.Syslog) }),
	row("remote_syslog", ReloadYes, "Send the log to the syslog at this URL.",
		func(o *Options) slot { return text(&o.Log.RemoteSyslog) }),
	row("max_traced_msg_len", ReloadYes, "Length at which traced messages are cut, 0 for whole.",
		func(o *Options) slot { return size(&o.Log.MaxTracedBytes, 0, maxCount) }),
	row("http", ReloadNo, "Where monitoring is served by HTTP: host:port, or a port.",
		func(o *Options) slot { return address(&o.Monitor.Host, &o.Monitor.Port) }),
	row("http_port monitor_port", ReloadNo, "Port of monitoring by HTTP; -1 takes a free one.",
		func(o *Options) slot { return shadow(count(&o.Monitor.Port, -1, maxPort)) }),
	row("https", ReloadNo, "Where monitoring is served by HTTPS: host:port, or a port. It needs tls.",
		func(o *Options) slot { return address(&o.Monitor.Host, &o.Monitor.HTTPSPort) }),
	row("https_port", ReloadNo, "Port of monitoring by HTTPS; -1 takes a free one.",
		func(o *Options) slot { return shadow(count(&o.Monitor.HTTPSPort, -1, maxPort)) }),
	row("http_base_path", ReloadNo, "Path that stands before those of monitoring.",
		func(o *Options) slot { return text(&o.Monitor.BasePath) }),
	row("metrics", ReloadYes, "How much detail the page /metrics has.",
		func(o *Options) slot { return part(&o.Monitor.Metrics, metricsKeys, newMetrics) }),
	row("prof_port", ReloadNo, "Port of Go's profiler by HTTP; -1 takes a free one.",
		func(o *Options) slot { return count(&o.Profile.Port, -1, maxPort) }),
	row("prof_block_rate", ReloadYes, "Sampling of blocking events in nanoseconds, 0 for none.",
		func(o *Options) slot { return count(&o.Profile.BlockRate, 0, maxCount) }),
}

var metricsKeys = []key[Metrics]{
	row("max_streams", reloadInherit, "Streams with metrics of their own, 0 for none; all count in the totals.",
		func(m *Metrics) slot { return count(&m.MaxStreams, 0, maxSeries) }),
	row("max_consumers", reloadInherit, "Consumers with metrics of their own, 0 for none; all count in the totals.",
		func(m *Metrics) slot { return count(&m.MaxConsumers, 0, maxSeries) }),
}

// maxSeries bounds what one page of metrics may grow to.
const maxSeries = 100000

func newMetrics() *Metrics { return &Metrics{MaxStreams: 200, MaxConsumers: 1000} }

// accessKeys say who may connect and what they may do.
var accessKeys = []key[Options]{
	row("tls", ReloadYes, "TLS for client connections. Certificates are read again on a reload.",
		func(o *Options) slot { return block(&o.TLS, tlsKeys, newTLS) }),
	row("ocsp", ReloadNo, "Stapling of OCSP answers for our own certificate.",
		func(o *Options) slot {
			return block(&o.OCSP, ocspKeys, newOCSP).or("a boolean or mode", readShortOCSP)
		}),
	row("ocsp_cache", ReloadNo, "Cache of OCSP answers about peers.",
		func(o *Options) slot {
			return block(&o.OCSPCache, ocspCacheKeys, newOCSPCache).or("a boolean or type", readShortOCSPCache)
		}),
	row("authorization", ReloadYes, "Who may connect to the global account.",
		func(o *Options) slot { return part(&o.Authorization, authorizationKeys, newAuthorization) }),
	row("accounts", ReloadYes, "Separate subject spaces by name, each with its users.",
		func(o *Options) slot { return named(&o.Accounts, accountKeys, newAccount, accountID) }),
	row("no_auth_user", ReloadRemove, "User (name or nkey) that a client without credentials becomes.",
		func(o *Options) slot { return text(&o.NoAuthUser) }),
	row("mappings maps", ReloadYes, "How subjects of publishes in the global account are rewritten.",
		func(o *Options) slot { return mappings(&o.Mappings) }),
	row("system_account system", ReloadNo, "Account of the $SYS services.",
		func(o *Options) slot { return orElse(text(&o.SystemAccount), "$SYS") }),
	row("no_system_account no_system no_sys_acc", ReloadNo, "Run without a system account.",
		func(o *Options) slot { return flag(&o.NoSystemAccount) }),
	row("operator operators root roots root_operator root_operators", ReloadNo, "JWTs of the operators, as text or file; users then come by JWT.",
		func(o *Options) slot { return list(&o.Operator.Operators) }),
	row("trusted_keys trusted", ReloadNo, "Public keys of the operators.",
		func(o *Options) slot { return list(&o.Operator.TrustedKeys) }),
	row("resolver account_resolver", ReloadYes, "Where JWTs of accounts come from: MEMORY, URL(...) or a block.",
		func(o *Options) slot {
			return block(&o.Operator.Resolver, resolverKeys, newResolver).or("MEMORY, URL(...)", readShortResolver)
		}),
	row("resolver_preload", ReloadYes, "JWTs of accounts by public key.",
		func(o *Options) slot { return secret(texts(&o.Operator.ResolverPreload)) }),
	row("resolver_pinned_accounts", ReloadNo, "Accounts that are resolved although nothing here names them.",
		func(o *Options) slot { return list(&o.Operator.ResolverPinnedAccounts) }),
	row("resolver_tls", ReloadYes, "TLS towards a resolver with a URL.",
		func(o *Options) slot { return block(&o.Operator.ResolverTLS, tlsKeys, newTLS) }),
	row("default_sentinel", ReloadYes, "Bearer JWT of clients that send none.",
		func(o *Options) slot { return secret(text(&o.Operator.DefaultSentinel)) }),
	row("default_js_domain", ReloadNo, "JetStream domain of requests by account.",
		func(o *Options) slot { return texts(&o.Operator.DefaultJetStreamDomains) }),
	row("proxies", ReloadYes, "Proxies whose word about a client is trusted.",
		func(o *Options) slot { return block(&o.Proxies, proxiesKeys, newProxies) }),
}

// featureKeys are the blocks of larger features.
var featureKeys = []key[Options]{
	row("websocket ws", ReloadNo, "Listener for clients that speak WebSocket.",
		func(o *Options) slot { return block(&o.WebSocket, webSocketKeys, newWebSocket) }),
	row("jetstream", ReloadNo, "The store of streams: true, false, or a block, which switches it on.",
		func(o *Options) slot {
			return block(&o.JetStream, jetStreamKeys, newJetStream).or("a boolean", readShortJetStream)
		}),
	row("store_dir", ReloadNo, "Folder of the streams, unless jetstream says otherwise.",
		func(o *Options) slot { return text(&o.StoreDir) }),
	row("cluster", ReloadNo, "Servers that route to one another.",
		func(o *Options) slot { return block(&o.Cluster, clusterKeys, newCluster) }),
	row("gateway", ReloadNo, "Connections to other clusters.",
		func(o *Options) slot { return block(&o.Gateway, gatewayKeys, newGateway) }),
	row("leafnodes leaf", ReloadNo, "Leaf nodes: who may join here, and the hubs to join.",
		func(o *Options) slot { return block(&o.LeafNodes, leafNodesKeys, newLeafNodes) }),
	row("mqtt", ReloadNo, "Listener for MQTT clients.",
		func(o *Options) slot { return block(&o.MQTT, mqttKeys, newMQTT) }),
}

// Defaults returns the options of a server without a config file. The caller
// owns the result.
func Defaults() *Options {
	return &Options{
		Host: "0.0.0.0",
		Port: 4222,
		Limits: Limits{
			MaxConnections:      65536,
			MaxControlLineBytes: 4096,
			MaxPayloadBytes:     1 << 20,
			MaxPendingBytes:     64 << 20,
			MaxClosedClients:    10000,
		},
		Liveness: Liveness{
			PingInterval:          2 * time.Minute,
			PingMax:               2,
			WriteDeadline:         10 * time.Second,
			WriteTimeout:          WriteTimeoutDefault,
			ConnectErrorReports:   3600,
			ReconnectErrorReports: 1,
		},
		LameDuck:  LameDuck{Duration: 2 * time.Minute, GracePeriod: 10 * time.Second},
		Log:       Log{Time: true},
		Monitor:   Monitor{BasePath: "/", Metrics: *newMetrics()},
		positions: map[string]Position{},
	}
}
