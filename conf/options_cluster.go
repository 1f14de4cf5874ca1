package conf

import "time"

// Cluster joins servers that route to one another.
type Cluster struct {
	// Name of the cluster; empty generates one that yields to another's.
	Name string
	Host string
	Port int
	// Advertise is the `host:port` told to other servers; NoAdvertise keeps
	// this server out of the list that clients get.
	Advertise   string
	NoAdvertise bool
	// Routes are the URLs of other servers; one is enough.
	Routes []string
	// Size is how many servers a new cluster has when its meta group is formed; 0 goes by Routes.
	Size int
	// ConnectRetries bounds attempts to reach a server learned from another,
	// ConnectBackoff lengthens the pauses between them.
	ConnectRetries int
	ConnectBackoff bool
	Authorization  Authorization
	TLS            *TLS
	// Permissions restrict what crosses routes: Publish is import, Subscribe export.
	Permissions *Permissions
	// PoolSize is the number of connections to a peer, -1 for a single one.
	PoolSize int
	// Accounts get a connection of their own.
	Accounts     []string
	Compression  Compression
	PingInterval time.Duration
	PingMax      int
	// WriteDeadline 0 means the general one.
	WriteDeadline time.Duration
	WriteTimeout  WriteTimeout
}

// Compression is how data between servers is compressed.
type Compression struct {
	// Mode is `off`, `accept`, `s2_fast`, `s2_better`, `s2_best` or `s2_auto`.
	Mode string
	// RTTThresholds choose the level of `s2_auto`: below the first nothing,
	// below the second fast, below the third better, else best.
	RTTThresholds []time.Duration
}

// Gateway joins clusters.
type Gateway struct {
	// Name is the name of this cluster.
	Name           string
	Host           string
	Port           int
	Authorization  Authorization
	TLS            *TLS
	Advertise      string
	ConnectRetries int
	ConnectBackoff bool
	// RejectUnknownCluster refuses clusters that Gateways does not list.
	RejectUnknownCluster bool
	Gateways             []RemoteGateway
	WriteDeadline        time.Duration
	WriteTimeout         WriteTimeout
}

// RemoteGateway is another cluster.
type RemoteGateway struct {
	Name string
	URLs []string
	TLS  *TLS
}

// LeafNodes is the listener for leaf nodes and the list of hubs to join.
type LeafNodes struct {
	Host string
	// Port 0 does not listen.
	Port          int
	Advertise     string
	NoAdvertise   bool
	Authorization Authorization
	TLS           *TLS
	Compression   Compression
	// MinVersion refuses older leaf nodes.
	MinVersion string
	// IsolateInterest keeps the interest of one leaf node from the others.
	IsolateInterest bool
	// Reconnect is the pause before a lost hub is tried again.
	Reconnect     time.Duration
	DialTimeout   time.Duration
	WriteDeadline time.Duration
	WriteTimeout  WriteTimeout
	Remotes       []RemoteLeaf
}

// RemoteLeaf is a hub that this server joins as a leaf node.
type RemoteLeaf struct {
	URLs []string
	// Account is the local account that is joined; empty is the global one.
	Account string
	// Credentials is a creds file, NKey a seed; at most one is set.
	Credentials string
	NKey        string
	TLS         *TLS
	// Hub swaps the roles: this side forwards between leaf nodes.
	Hub bool
	// DenyImports and DenyExports are subjects that do not cross.
	DenyImports []string
	DenyExports []string
	NoRandomize bool
	Compression Compression
	// WSCompression and WSNoMasking concern ws:// URLs.
	WSCompression bool
	WSNoMasking   bool
	// ClusterMigrate moves stream leaders away while the link is down, after
	// LeaderMigrateDelay.
	ClusterMigrate     bool
	LeaderMigrateDelay time.Duration
	// FirstInfoTimeout and DialTimeout bound the start of a connection.
	FirstInfoTimeout time.Duration
	DialTimeout      time.Duration
	Disabled         bool
	Proxy            *HTTPProxy
	IsolateInterest  bool
	RequestIsolation bool
	// IgnoreDiscoveredServers uses only the URLs configured here.
	IgnoreDiscoveredServers bool
}

// HTTPProxy is a proxy for connections by ws:// and wss://.
type HTTPProxy struct {
	URL      string
	Username string
	Password string
	Timeout  time.Duration
}
