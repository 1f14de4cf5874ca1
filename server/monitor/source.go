package monitor

import (
	"iter"
	"time"

	"runnel/server/memory"
)

// Source is what the pages need to know about the server. All results are copies that the caller may keep
// and change. Methods are called from many goroutines at once, must not block on traffic, and should cost no
// more than the copying: no method may call back into this package.
type Source interface {
	// Identity returns who the server is. It is called for every event and must be cheap.
	Identity() Identity

	// Server returns the running options, the counters and the times of the server.
	Server() ServerSnapshot

	// Connections returns client connections in any order: those open now when open is true, and those
	// already closed but still remembered when closed is true.
	Connections(open, closed bool) []Connection

	// ConnectionSubscriptions returns the subscriptions of one open or remembered connection, nothing
	// when the connection is not known.
	ConnectionSubscriptions(cid uint64) []Subscription

	// Subscriptions yields the subscriptions of one account, those of all accounts when account is empty,
	// nothing when the account is not known. The consumer may stop early.
	Subscriptions(account string) iter.Seq[Subscription]

	// Importing yields the subscriptions of other accounts that a message which is published on a literal subject in
	// this one reaches, by what they import.
	Importing(account, subject string) iter.Seq[Subscription]

	// SubscriptionStats returns figures of the subscription index of one account, or their sum over all
	// accounts when account is empty.
	SubscriptionStats(account string) SubscriptionStats

	// Accounts returns the figures of all accounts in any order.
	Accounts() []Account

	// Account returns the figures of one account, false when there is no such account.
	Account(name string) (Account, bool)

	// AccountDetail returns the definition of one account, false when there is no such account.
	AccountDetail(name string) (AccountDetail, bool)

	// Routes returns the connections to other servers of the cluster in any order, with the subscriptions that they have
	// told if they are asked for.
	Routes(subscriptions bool) []Route

	// RoutePermissions returns what other servers may send here and what they are sent, nil for everything.
	RoutePermissions() (imports, exports *Rules)

	// Queues returns the server's internal queues by name; queues that are empty may be left out.
	Queues() map[string]Queue

	// Health returns nil while the server can do its work, otherwise what is wrong. What concerns JetStream alone
	// is in its JetStream.
	Health() error

	JetStreamSource
	ClusterSource
}

// Identity says who a server is. It changes only with a configuration reload.
type Identity struct {
	ID            string            // unique id of this run of the server
	Name          string            // configured name, or the id
	Host          string            // host that clients connect to
	Version       string            // NATS level that the server is compatible with, such as "2.15.2"
	Runnel        string            // our own version
	Cluster       string            // cluster name, empty when alone
	Domain        string            // JetStream domain, empty when none
	Tags          []string          // server_tags
	Metadata      map[string]string // server_metadata
	FeatureFlags  map[string]bool   // feature flags and whether they are on
	SystemAccount string            // name of the system account, empty when there is none
	JetStream     bool              // whether JetStream is asked for; if it runs too, JetStreamSource knows
}

// ServerSnapshot is the state of the server at one moment.
type ServerSnapshot struct {
	Identity       Identity
	Proto          int           // protocol level of INFO
	GitCommit      string        // commit of the build, empty when unknown
	Options        Options       // running options, as the last reload left them
	Counters       Counters      // totals since Start
	Start          time.Time     // when the server started
	ConfigLoadTime time.Time     // when the running options were loaded
	ConfigDigest   string        // "sha256:..." of the configuration file, empty without one
	Series         Series        // how much detail /metrics has
	Operators      Operators     // empty outside of operator mode
	Proxies        *Proxies      // nil where none are trusted
	Memory         *memory.State // nil without a memory budget
}

// Operators are those whom the server trusts about accounts.
type Operators struct {
	JWTs        []string `json:"trusted_operators_jwt,omitempty"`
	Claims      []any    `json:"trusted_operators_claim,omitempty"` // what the JWTs say
	PinnedFails uint64   `json:"pinned_account_fails,omitempty"`    // logins refused since their account is not pinned
}

// Series bounds the metrics: how many streams and consumers have series of their own. Zero gives them to none, so
// that only totals are left.
type Series struct {
	Streams   int
	Consumers int
}

// Options are the running options that /varz shows, in the order in which it shows them.
type Options struct {
	Host                 string        `json:"host"`
	Port                 int           `json:"port"`
	AuthRequired         bool          `json:"auth_required,omitempty"`
	TLSRequired          bool          `json:"tls_required,omitempty"`
	TLSVerify            bool          `json:"tls_verify,omitempty"`
	IP                   string        `json:"ip,omitempty"`
	ConnectURLs          []string      `json:"connect_urls,omitempty"`
	WebsocketConnectURLs []string      `json:"ws_connect_urls,omitempty"`
	MaxConnections       int           `json:"max_connections"`
	MaxSubscriptions     int           `json:"max_subscriptions,omitempty"`
	PingInterval         time.Duration `json:"ping_interval"`
	PingMax              int           `json:"ping_max"`
	HTTPHost             string        `json:"http_host"`
	HTTPPort             int           `json:"http_port"`
	HTTPBasePath         string        `json:"http_base_path"`
	HTTPSPort            int           `json:"https_port"`
	AuthTimeout          Seconds       `json:"auth_timeout"`
	MaxControlLineBytes  int           `json:"max_control_line"`
	MaxPayloadBytes      int           `json:"max_payload"`
	MaxPendingBytes      int64         `json:"max_pending"`
	Cluster              ClusterVarz   `json:"cluster"`
	Gateway              GatewayVarz   `json:"gateway"`
	Leaf                 LeafVarz      `json:"leaf"`
	MQTT                 MQTTVarz      `json:"mqtt"`
	Websocket            WebsocketVarz `json:"websocket"`
	JetStream            JetStreamVarz `json:"jetstream"` // filled in by the page
	TLSTimeout           Seconds       `json:"tls_timeout"`
	WriteDeadline        time.Duration `json:"write_deadline"`
	WriteTimeout         string        `json:"write_timeout,omitempty"`
	TLSCertNotAfter      time.Time     `json:"-"` // end of the client certificate, zero without TLS; shown last
}

// Counters are the totals that /varz shows, in the order in which it shows them. Connections, Routes,
// Remotes, LeafNodes and Subscriptions are levels; all others only grow.
type Counters struct {
	Connections      int    `json:"connections"`
	TotalConnections uint64 `json:"total_connections"`
	Routes           int    `json:"routes"`
	Remotes          int    `json:"remotes"`
	LeafNodes        int    `json:"leafnodes"`
	InMsgs           int64  `json:"in_msgs"`
	InBytes          int64  `json:"in_bytes"`
	InClientMsgs     int64  `json:"in_client_msgs"`
	InClientBytes    int64  `json:"in_client_bytes"`
	OutMsgs          int64  `json:"out_msgs"`
	OutBytes         int64  `json:"out_bytes"`
	OutClientMsgs    int64  `json:"out_client_msgs"`
	OutClientBytes   int64  `json:"out_client_bytes"`
	SlowConsumers    int64  `json:"slow_consumers"`
	StaleConnections int64  `json:"stale_connections"`
	StalledClients   int64  `json:"stalled_clients"`
	Subscriptions    int    `json:"subscriptions"`

	SlowConsumersByKind    ByKind `json:"-"` // shown as slow_consumer_stats
	StaleConnectionsByKind ByKind `json:"-"` // shown as stale_connection_stats
}

// ByKind splits a counter by the kind of connection.
type ByKind struct {
	Clients  uint64 `json:"clients"`
	Routes   uint64 `json:"routes"`
	Gateways uint64 `json:"gateways"`
	Leafs    uint64 `json:"leafs"`
}

// Connection is one client connection, open or closed.
type Connection struct {
	CID           uint64
	Kind          string // "Client" when empty
	Type          string // "nats", "websocket" or "mqtt"; "nats" when empty
	IP            string
	Port          int
	Start         time.Time
	LastActivity  time.Time
	Stop          time.Time     // zero while open
	Reason        string        // why it was closed, empty while open
	RTT           time.Duration // zero when never measured
	PendingBytes  int64
	Traffic       ConnectionTraffic
	Stalls        int64 // how often it made a publisher wait
	Subscriptions int
	Name          string // client name, language and version of CONNECT
	Lang          string
	Version       string
	TLS           ConnectionTLS // zero without TLS
	User          string        // authorized user, shown on request only
	Account       string        // shown on request only
	NameTag       string        // name of the account for people; the account when empty
	JWT           string        // shown on request only
	IssuerKey     string
	Tags          []string
	MQTTClient    string // MQTT client id
	Proxy         string // key of the proxy it came through
}

// ConnectionTraffic counts messages and bytes: In from the client, Out to it.
type ConnectionTraffic struct {
	InMsgs, OutMsgs, InBytes, OutBytes int64
}

// ConnectionTLS is the TLS side of a connection.
type ConnectionTLS struct {
	Version     string // "1.2" or "1.3"
	CipherSuite string
	PeerCerts   []PeerCert
	First       bool // the handshake came before INFO
}

// PeerCert identifies a certificate that a client presented.
type PeerCert struct {
	Subject    string `json:"subject,omitempty"`
	SPKISHA256 string `json:"spki_sha256,omitempty"` // hex digest of the public key
	CertSHA256 string `json:"cert_sha256,omitempty"` // hex digest of the certificate
}

// Subscription is one subscription of a connection.
type Subscription struct {
	Account    string `json:"account,omitempty"`
	AccountTag string `json:"account_tag,omitempty"`
	Subject    string `json:"subject"`
	Queue      string `json:"qgroup,omitempty"`
	SID        string `json:"sid"`
	Msgs       int64  `json:"msgs"`          // delivered so far
	Max        int64  `json:"max,omitempty"` // auto-unsubscribe limit
	CID        uint64 `json:"cid"`
}

// SubscriptionStats describes a subscription index.
type SubscriptionStats struct {
	NumSubscriptions int     `json:"num_subscriptions"`
	NumCache         int     `json:"num_cache"`
	NumInserts       uint64  `json:"num_inserts"`
	NumRemoves       uint64  `json:"num_removes"`
	NumMatches       uint64  `json:"num_matches"`
	CacheHitRate     float64 `json:"cache_hit_rate"` // 0 to 1
	MaxFanout        int     `json:"max_fanout"`
	AvgFanout        float64 `json:"avg_fanout"`
}

// Account is the figures of one account.
type Account struct {
	Name             string         `json:"acc"`
	NameTag          string         `json:"name"`        // name for people
	Connections      int            `json:"conns"`       // client connections on this server
	LeafNodes        int            `json:"leafnodes"`   // leaf node connections on this server
	TotalConnections int            `json:"total_conns"` // on all servers
	Subscriptions    int            `json:"num_subscriptions"`
	Sent             AccountTraffic `json:"sent"`     // delivered to members of the account
	Received         AccountTraffic `json:"received"` // published by members of the account
	SlowConsumers    int64          `json:"slow_consumers"`
}

// AccountTraffic counts messages and bytes, and how much of them went over links between servers.
type AccountTraffic struct {
	Traffic
	Gateways Traffic `json:"gateways"`
	Routes   Traffic `json:"routes"`
	Leafs    Traffic `json:"leafs"`
}

// Traffic counts messages and bytes.
type Traffic struct {
	Msgs  int64 `json:"msgs"`
	Bytes int64 `json:"bytes"`
}

// Queue is the state of an internal queue.
type Queue struct {
	Pending    int `json:"pending"`
	InProgress int `json:"in_progress,omitempty"`
}
