package conf

import "time"

// Authorization says who may connect.
type Authorization struct {
	// Username and Password are the only credentials when set.
	Username string
	Password string
	// Token is the only credential when set.
	Token string
	// Timeout is how long a client may take to present credentials; 0 means
	// the default, see [Options.AuthTimeout].
	Timeout time.Duration
	// Users are the users of the global account.
	Users []User
	// DefaultPermissions are those of users without their own.
	DefaultPermissions *Permissions
	// Callout hands the decision to a service; nil when absent.
	Callout *AuthCallout
	// ProxyRequired admits connections through a trusted proxy only.
	ProxyRequired bool
	// Account and NKey bind the single credentials of a leaf node listener.
	Account string
	NKey    string
}

// User is one entry of a user list: either a Username or an NKey.
type User struct {
	// Username with Password, which is plain text or a bcrypt hash.
	Username string
	Password string
	// NKey is the public user key, `U...`.
	NKey string
	// Permissions are nil where the user has none of their own.
	Permissions *Permissions
	// ConnectionTypes restricts how the user may connect, in upper case;
	// empty allows all. See [ConnectionTypes].
	ConnectionTypes []string
	// ProxyRequired admits the user through a trusted proxy only.
	ProxyRequired bool
	// Account is the local account that a leaf node's user is bound to.
	Account string
}

// Name returns what identifies the user: its name or its public key.
func (u *User) Name() string {
	if u.NKey != "" {
		return u.NKey
	}
	return u.Username
}

// Permissions says which subjects a user may publish and subscribe to.
type Permissions struct {
	Publish   Rules
	Subscribe Rules
	// Responses lets the user answer requests it received; nil does not.
	Responses *ResponsePermission
}

// Rules are patterns, each optionally followed by a blank and a queue pattern.
// An empty Allow allows everything; Deny wins over Allow.
type Rules struct {
	Allow []string
	Deny  []string
}

// ResponsePermission lets a user publish to the reply subject of a message
// that it received.
type ResponsePermission struct {
	// Max is the number of replies to one message, negative for unlimited.
	Max int
	// Expires is how long after the message a reply may come, negative for ever.
	Expires time.Duration
}

// AuthCallout hands authentication to a service on the bus.
type AuthCallout struct {
	// Issuer is the public account key that signs the answers.
	Issuer string
	// Account is where the service lives; empty means the global account.
	Account string
	// AuthUsers are the users of the service itself; they are never asked about.
	AuthUsers []string
	// XKey is the public curve key that requests are sealed for; empty sends
	// them in the clear.
	XKey string
	// AllowedAccounts are the accounts the service may place users in; empty
	// means all.
	AllowedAccounts []string
}

// Account is a named subject space with its users.
type Account struct {
	Name string
	// NKey is the public account key, `A...`; optional.
	NKey               string
	Users              []User
	DefaultPermissions *Permissions
	Limits             AccountLimits
	// JetStream is nil where the account may not use it.
	JetStream *AccountJetStream
	Exports   []Export
	Imports   []Import
	Mappings  []Mapping
	// MessageTrace says where traces of messages with a `traceparent` go;
	// nil sends none.
	MessageTrace *MessageTrace
}

// AccountLimits bound one account on this server; -1 is unlimited, which is
// the default of each.
type AccountLimits struct {
	MaxConnections   int
	MaxSubscriptions int
	MaxPayloadBytes  int64
	MaxLeafNodes     int
}

// Export offers a stream or a service of an account to others.
type Export struct {
	// Service tells a service from a stream.
	Service bool
	Subject string
	// Accounts may import it; empty means all.
	Accounts []string
	// ResponseType is `single`, `stream` or `chunked`; services only.
	ResponseType string
	// ResponseThreshold is how long a response may take; services only.
	ResponseThreshold time.Duration
	// Latency publishes measurements; nil publishes none.
	Latency *Latency
	// AccountTokenPosition is the token that must be the importing account, 0 none.
	AccountTokenPosition int
	// AllowTrace lets message traces cross into this account.
	AllowTrace bool
}

// Latency says how often and where a service's latency is published.
type Latency struct {
	// Subject receives the measurements.
	Subject string
	// Sampling is the share of requests measured, in percent, 1 to 100; 0
	// leaves it to the headers of the request.
	Sampling int
}

// Import makes an export of another account usable in this one.
type Import struct {
	// Service tells a service from a stream.
	Service bool
	// Account and Subject name the export.
	Account string
	Subject string
	// Prefix is put before a stream's subjects, To replaces the subject.
	Prefix string
	To     string
	// Share shows the service who asks.
	Share bool
	// AllowTrace lets message traces cross; streams only.
	AllowTrace bool
}

// Mapping rewrites the subject of a publish.
type Mapping struct {
	// Source is a literal subject or a pattern.
	Source string
	// Destinations share the messages by weight. What their weights leave
	// open up to 100 keeps the original subject.
	Destinations []MappingDestination
}

// MappingDestination is one target of a [Mapping].
type MappingDestination struct {
	Subject string
	// Weight in percent, 1 to 100.
	Weight int
	// Cluster restricts the destination to servers of that cluster; empty is all.
	Cluster string
}

// MessageTrace says where an account's message traces are published.
type MessageTrace struct {
	Destination string
	// Sampling is the share of messages traced, in percent.
	Sampling int
}

// Operator is what makes the server accept JWTs.
type Operator struct {
	// Operators are operator JWTs, each as text or as the path of a file.
	Operators []string
	// TrustedKeys are public operator keys, `O...`.
	TrustedKeys []string
	// Resolver finds account JWTs; nil when absent.
	Resolver *Resolver
	// ResolverPreload are account JWTs by public account key.
	ResolverPreload map[string]string
	// ResolverPinnedAccounts are accounts resolved even when not configured.
	ResolverPinnedAccounts []string
	// ResolverTLS secures an URL resolver.
	ResolverTLS *TLS
	// DefaultSentinel is the bearer JWT of clients that send none.
	DefaultSentinel string
	// DefaultJetStreamDomains maps accounts to the domain of their requests.
	DefaultJetStreamDomains map[string]string
}

// Enabled reports whether any option puts the server in operator mode.
func (o *Operator) Enabled() bool {
	return len(o.Operators) > 0 || len(o.TrustedKeys) > 0 || o.Resolver != nil
}

// Resolver finds the JWT of an account.
type Resolver struct {
	// Type is `memory`, `url`, `full` or `cache`.
	Type string
	// URL is the prefix of a `url` resolver.
	URL string
	// Dir keeps the JWTs of a `full` or `cache` resolver.
	Dir string
	// AllowDelete permits deletion, HardDelete removes files instead of renaming.
	AllowDelete bool
	HardDelete  bool
	// Interval is the pause between synchronisations of a `full` resolver.
	Interval time.Duration
	// Limit is the number of JWTs kept, 0 for the default.
	Limit int
	// TTL is how long a `cache` resolver keeps a JWT.
	TTL time.Duration
	// Timeout bounds one fetch.
	Timeout time.Duration
}

// Proxies are the proxies whose word about a client is trusted.
type Proxies struct {
	// Trusted are the public keys of the proxies, of any kind that signs.
	Trusted []TrustedProxy
}

// TrustedProxy is one trusted proxy.
type TrustedProxy struct {
	Key string
}
