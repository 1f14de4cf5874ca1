package conf

import (
	"crypto/tls"
	"time"
)

// TLS is one `tls` block. Files are named as written: relative names count
// from the working directory. They are read by whoever opens the listener, and
// again on a reload.
type TLS struct {
	// CertFile and KeyFile hold the certificate chain and the private key, PEM.
	CertFile string
	KeyFile  string
	// CAFile holds the roots that client certificates are verified against.
	CAFile string
	// Certificates are further pairs, chosen by the name that a client asks for.
	Certificates []CertificatePair
	// Verify asks clients for a certificate. VerifyAndMap also takes the user
	// from it; VerifyAndCheckKnownURLs compares it with the known URLs of
	// routes and gateways.
	Verify                  bool
	VerifyAndMap            bool
	VerifyAndCheckKnownURLs bool
	// Insecure skips verification of the other side; outgoing connections only.
	Insecure bool
	// CipherSuites of TLS 1.2 in order of preference; empty is Go's own choice.
	// AllowInsecureCipherSuites permits those that Go lists as insecure.
	CipherSuites              []uint16
	AllowInsecureCipherSuites bool
	// CurvePreferences for the key exchange; empty is Go's own choice.
	CurvePreferences []tls.CurveID
	// MinVersion is tls.VersionTLS12 or tls.VersionTLS13.
	MinVersion uint16
	// Timeout bounds the handshake.
	Timeout time.Duration
	// ConnectionRateLimit bounds handshakes a second, 0 does not.
	ConnectionRateLimit int
	// PinnedCerts are the only client certificates accepted, as lower-case hex
	// SHA-256 of their SubjectPublicKeyInfo; empty accepts all.
	PinnedCerts []string
	// HandshakeFirst says whether TLS starts before INFO.
	HandshakeFirst HandshakeFirst
	// OCSPPeer verifies the peer's certificate by OCSP; nil does not.
	OCSPPeer *OCSPPeer
	// CertStore takes the certificate from the Windows store.
	CertStore CertStore
}

// CertificatePair is a certificate chain with its private key, both PEM files.
type CertificatePair struct {
	CertFile string
	KeyFile  string
}

// HandshakeFirst says whether TLS starts before INFO. With a Fallback the
// server waits that long for a client to begin and then sends INFO in clear.
type HandshakeFirst struct {
	Enabled  bool
	Fallback time.Duration
}

// handshakeFallback is the [HandshakeFirst.Fallback] of `auto`.
const handshakeFallback = 50 * time.Millisecond

// CertStore selects a certificate in the Windows certificate store.
type CertStore struct {
	Store            string
	MatchBy          string
	Match            string
	CACertsMatch     []string
	MatchSkipInvalid bool
}

// OCSPPeer says how a peer's certificate is checked by OCSP.
type OCSPPeer struct {
	Verify bool
	// CATimeout bounds the request to the responder.
	CATimeout time.Duration
	// ClockSkew is the allowed difference of clocks.
	ClockSkew time.Duration
	// TTLUnsetNextUpdate is the life of answers that name none.
	TTLUnsetNextUpdate time.Duration
	// WarnOnly logs instead of refusing; UnknownIsGood accepts `unknown`;
	// AllowWhenCAUnreachable accepts when no answer can be had.
	WarnOnly               bool
	UnknownIsGood          bool
	AllowWhenCAUnreachable bool
}

// OCSP configures stapling of our own certificate.
type OCSP struct {
	// Mode is `auto`, `always`, `must` or `never`.
	Mode string
	// URLs replace the responders named in the certificate.
	URLs []string
}

// OCSPCache keeps OCSP answers about peers.
type OCSPCache struct {
	// Type is `local` or `none`.
	Type string
	// LocalStore is the folder of a local cache.
	LocalStore string
	// PreserveRevoked keeps answers that say revoked beyond their life.
	PreserveRevoked bool
	// SaveInterval is the pause between writes of a local cache.
	SaveInterval time.Duration
}

// WebSocket is the listener for clients that speak WebSocket.
type WebSocket struct {
	Host string
	// Port -1 takes a free one.
	Port int
	// Advertise is the `host:port` told to clients; empty tells the real one.
	Advertise string
	// NoTLS serves ws:// ; without it TLS is required.
	NoTLS bool
	TLS   *TLS
	// SameOrigin admits requests from the server's own origin only,
	// AllowedOrigins those of the list; both unset admit all.
	SameOrigin     bool
	AllowedOrigins []string
	// Compression offers permessage-deflate.
	Compression bool
	// HandshakeTimeout bounds the upgrade; 0 does not.
	HandshakeTimeout time.Duration
	// Authorization and NoAuthUser override the general ones for this listener.
	Authorization Authorization
	NoAuthUser    string
	// JWTCookie, UserCookie, PassCookie and TokenCookie name the cookies that
	// fill in what CONNECT leaves out.
	JWTCookie   string
	UserCookie  string
	PassCookie  string
	TokenCookie string
	// Headers are added to the upgrade response.
	Headers map[string]string
	// PingInterval overrides [Liveness.PingInterval]; 0 does not.
	PingInterval time.Duration
}

// MQTT is the listener for MQTT clients.
type MQTT struct {
	Host          string
	Port          int
	TLS           *TLS
	Authorization Authorization
	NoAuthUser    string
	// AckWait is the time after which an unacknowledged message is sent again.
	AckWait time.Duration
	// JetStreamAPITimeout bounds the requests that MQTT makes of JetStream.
	JetStreamAPITimeout time.Duration
	// MaxAckPending bounds unacknowledged messages of a subscription, 65535 at most.
	MaxAckPending int
	// JetStreamDomain is where the sessions live.
	JetStreamDomain string
	// StreamReplicas and ConsumerReplicas: 0 chooses by the size of the cluster.
	StreamReplicas            int
	ConsumerReplicas          int
	ConsumerMemoryStorage     bool
	ConsumerInactiveThreshold time.Duration
	// RejectQoS2Publish and DowngradeQoS2Subscribe limit QoS 2.
	RejectQoS2Publish      bool
	DowngradeQoS2Subscribe bool
}
