package conf

import "time"

// Options is everything that a config file or the command line can set. A
// value made by [Defaults], [Parse] or [ParseFile] is complete: a caller never
// has to know a default. Options is plain data; whoever shares one between
// goroutines treats it as read-only.
//
// A pointer to a block (TLS, Cluster, ...) is nil when the block is absent,
// which means that the feature is off.
type Options struct {
	// File is the config file that was read, empty when there was none.
	File string
	// Digest identifies the parsed config as `sha256:<hex>`. Files that differ
	// only in layout, comments or the order of keys share a digest. Empty
	// when no config was parsed.
	Digest string
	// Warnings is what is legal but deserves a look: plain-text passwords,
	// durations without a unit, keys given twice. Sorted by position. Those
	// that are [Error.Deprecated] make `-t` fail.
	Warnings Errors

	// ServerName names this server; empty means that its generated id serves.
	ServerName string
	// Host and Port are where clients connect. Port -1 takes a free one.
	Host string
	Port int
	// ClientAdvertise is the `host:port` told to clients in place of Host and
	// Port; empty tells the real one.
	ClientAdvertise string
	// ServerTags label this server for placement; ServerMetadata is shown in
	// monitoring.
	ServerTags     []string
	ServerMetadata map[string]string
	// FeatureFlags switch experiments of the incumbent; unknown names do nothing.
	FeatureFlags map[string]bool
	// NoHeaderSupport makes the server refuse message headers.
	NoHeaderSupport bool
	// DisableMatchCache evaluates every publish anew.
	DisableMatchCache bool
	// ProxyProtocol expects a PROXY v1 or v2 preamble on client connections.
	ProxyProtocol bool
	// AllowNonTLS lets plain and TLS clients share the client port.
	AllowNonTLS bool
	// PIDFile and PortsFileDir are where the process id and the list of bound
	// ports are written; empty writes nothing.
	PIDFile      string
	PortsFileDir string

	Limits   Limits
	Liveness Liveness
	LameDuck LameDuck
	Log      Log
	Monitor  Monitor
	Profile  Profile

	// TLS secures client connections; nil speaks in the clear.
	TLS *TLS
	// OCSP and OCSPCache configure certificate stapling; nil when absent.
	OCSP      *OCSP
	OCSPCache *OCSPCache
	// WebSocket is the second client listener; nil when absent.
	WebSocket *WebSocket

	// Authorization concerns users of the global account.
	Authorization Authorization
	// Accounts are the configured accounts in the order of the file. The
	// global account and the system account exist without being listed.
	Accounts []Account
	// NoAuthUser is the user that a client without credentials becomes.
	NoAuthUser string
	// SystemAccount names the account of the $SYS services, NoSystemAccount
	// does without one.
	SystemAccount   string
	NoSystemAccount bool
	// Mappings rewrite the subjects of publishes in the global account.
	Mappings []Mapping
	// Operator holds what makes the server trust JWTs; see [Operator.Enabled].
	Operator Operator
	// Proxies are the trusted proxies; nil when absent.
	Proxies *Proxies

	// StoreDir is where streams are kept unless [JetStream.StoreDir] says otherwise.
	StoreDir  string
	JetStream *JetStream
	Cluster   *Cluster
	Gateway   *Gateway
	LeafNodes *LeafNodes
	MQTT      *MQTT

	// positions remembers where each key was set, by dotted path.
	positions map[string]Position
}

// Limits bound what clients may do. Zero means unlimited unless said otherwise.
type Limits struct {
	// MaxConnections bounds open client connections.
	MaxConnections int
	// MaxSubscriptions bounds the subscriptions of one connection.
	MaxSubscriptions int
	// MaxSubscriptionTokens bounds the tokens of a subscribed subject, 255 at most.
	MaxSubscriptionTokens int
	// MaxControlLineBytes bounds one protocol line, without a payload.
	MaxControlLineBytes int
	// MaxPayloadBytes bounds headers and payload of a message; it is at most
	// MaxPendingBytes.
	MaxPayloadBytes int
	// MaxPendingBytes bounds what may wait for one connection.
	MaxPendingBytes int64
	// MemoryBytes, or MemoryPercent of what there is, is the memory that the
	// process may have; where both are 0 nothing is said.
	MemoryBytes   int64
	MemoryPercent int
	// MaxClosedClients is how many closed connections monitoring remembers.
	MaxClosedClients int
}

// Liveness says when a silent or slow connection is given up.
type Liveness struct {
	// PingInterval is the pause between PINGs to a quiet client, PingMax how
	// many may stay unanswered.
	PingInterval time.Duration
	PingMax      int
	// WriteDeadline is how long one write to a client may take.
	WriteDeadline time.Duration
	// WriteTimeout is the policy when it took longer.
	WriteTimeout WriteTimeout
	// NoFastProducerStall never slows producers down for a slow consumer,
	// which is cut off at MaxPendingBytes.
	NoFastProducerStall bool
	// ConnectErrorReports and ReconnectErrorReports say that of the failed
	// attempts to reach another server every n-th is logged.
	ConnectErrorReports   int
	ReconnectErrorReports int
}

// WriteTimeout is what happens to a connection whose write deadline passed.
type WriteTimeout string

// The policies of [WriteTimeout]. The default closes clients and retries
// towards other servers.
const (
	WriteTimeoutDefault WriteTimeout = "default"
	WriteTimeoutClose   WriteTimeout = "close"
	WriteTimeoutRetry   WriteTimeout = "retry"
)

// LameDuck is the slow goodbye: after GracePeriod the clients are closed one
// by one, spread over Duration less GracePeriod.
type LameDuck struct {
	Duration    time.Duration
	GracePeriod time.Duration
}

// Log says what is logged and where.
type Log struct {
	// Debug, Trace, TraceVerbose (with the system account) and TraceHeaders
	// (of traced messages only their headers) choose how much is logged.
	Debug        bool
	Trace        bool
	TraceVerbose bool
	TraceHeaders bool
	// Time stamps each line, in UTC with TimeUTC.
	Time    bool
	TimeUTC bool
	// File receives the log; empty means standard error.
	File string
	// Syslog sends the log to the local syslog, RemoteSyslog to that URL.
	Syslog       bool
	RemoteSyslog string
	// MaxFileBytes is the size at which the file is rotated, 0 never;
	// MaxFiles is how many files are kept, the current one included, 0 all.
	MaxFileBytes int64
	MaxFiles     int
	// MaxTracedBytes cuts traced messages; 0 shows them whole.
	MaxTracedBytes int
}

// Monitor is the HTTP monitoring listener.
type Monitor struct {
	// Host is where to listen; empty means [Options.Host].
	Host string
	// Port and HTTPSPort: 0 is off, -1 takes a free one. At most one is set.
	Port      int
	HTTPSPort int
	// BasePath is put before every path, "/" by default.
	BasePath string
	Metrics  Metrics
}

// Metrics bounds the page of metrics. Without bounds it would grow with what
// clients create.
type Metrics struct {
	// MaxStreams and MaxConsumers are how many streams and consumers have
	// series of their own; 0 gives them to none. All count in the totals.
	MaxStreams   int
	MaxConsumers int
}

// Profile is the listener for Go's pprof.
type Profile struct {
	// Port: 0 is off, -1 takes a free one.
	Port int
	// BlockRate is the sampling rate of the block profile in nanoseconds, 0 off.
	BlockRate int
}
