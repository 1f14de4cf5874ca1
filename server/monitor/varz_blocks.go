package monitor

import (
	"strconv"
	"time"
)

// Seconds is a duration that JSON shows as a number of seconds, with a fraction where needed.
type Seconds time.Duration

// MarshalJSON writes the seconds as a number: 2, 0.5.
func (s Seconds) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, time.Duration(s).Seconds(), 'f', -1, 64), nil
}

// ClusterVarz is the cluster block of /varz; empty while the server is alone.
type ClusterVarz struct {
	Name            string        `json:"name,omitempty"`
	Host            string        `json:"addr,omitempty"`
	Port            int           `json:"cluster_port,omitempty"`
	AuthTimeout     Seconds       `json:"auth_timeout,omitempty"`
	URLs            []string      `json:"urls,omitempty"`
	TLSTimeout      Seconds       `json:"tls_timeout,omitempty"`
	TLSRequired     bool          `json:"tls_required,omitempty"`
	TLSVerify       bool          `json:"tls_verify,omitempty"`
	PoolSize        int           `json:"pool_size,omitempty"`
	WriteDeadline   time.Duration `json:"write_deadline,omitempty"`
	WriteTimeout    string        `json:"write_timeout,omitempty"`
	TLSCertNotAfter time.Time     `json:"tls_cert_not_after,omitzero"`
}

// GatewayVarz is the gateway block of /varz.
type GatewayVarz struct {
	Name            string              `json:"name,omitempty"`
	Host            string              `json:"host,omitempty"`
	Port            int                 `json:"port,omitempty"`
	AuthTimeout     Seconds             `json:"auth_timeout,omitempty"`
	TLSTimeout      Seconds             `json:"tls_timeout,omitempty"`
	TLSRequired     bool                `json:"tls_required,omitempty"`
	TLSVerify       bool                `json:"tls_verify,omitempty"`
	Advertise       string              `json:"advertise,omitempty"`
	ConnectRetries  int                 `json:"connect_retries,omitempty"`
	Gateways        []RemoteGatewayVarz `json:"gateways,omitempty"`
	RejectUnknown   bool                `json:"reject_unknown,omitempty"`
	WriteDeadline   time.Duration       `json:"write_deadline,omitempty"`
	TLSCertNotAfter time.Time           `json:"tls_cert_not_after,omitzero"`
}

// RemoteGatewayVarz is a gateway that this server connects to.
type RemoteGatewayVarz struct {
	Name       string   `json:"name"`
	TLSTimeout Seconds  `json:"tls_timeout,omitempty"`
	URLs       []string `json:"urls,omitempty"`
}

// LeafVarz is the leaf node block of /varz.
type LeafVarz struct {
	Host            string           `json:"host,omitempty"`
	Port            int              `json:"port,omitempty"`
	AuthTimeout     Seconds          `json:"auth_timeout,omitempty"`
	TLSTimeout      Seconds          `json:"tls_timeout,omitempty"`
	TLSRequired     bool             `json:"tls_required,omitempty"`
	TLSVerify       bool             `json:"tls_verify,omitempty"`
	Remotes         []RemoteLeafVarz `json:"remotes,omitempty"`
	WriteDeadline   time.Duration    `json:"write_deadline,omitempty"`
	TLSCertNotAfter time.Time        `json:"tls_cert_not_after,omitzero"`
}

// RemoteLeafVarz is a server that this server is a leaf of.
type RemoteLeafVarz struct {
	LocalAccount      string    `json:"local_account,omitempty"`
	TLSTimeout        Seconds   `json:"tls_timeout,omitempty"`
	URLs              []string  `json:"urls,omitempty"`
	Deny              *DenyVarz `json:"deny,omitempty"`
	TLSOCSPPeerVerify bool      `json:"tls_ocsp_peer_verify,omitempty"`
}

// DenyVarz lists the subjects that do not cross a leaf node connection.
type DenyVarz struct {
	Exports []string `json:"exports,omitempty"`
	Imports []string `json:"imports,omitempty"`
}

// MQTTVarz is the MQTT block of /varz.
type MQTTVarz struct {
	Host            string        `json:"host,omitempty"`
	Port            int           `json:"port,omitempty"`
	NoAuthUser      string        `json:"no_auth_user,omitempty"`
	AuthTimeout     Seconds       `json:"auth_timeout,omitempty"`
	TLSMap          bool          `json:"tls_map,omitempty"`
	TLSTimeout      Seconds       `json:"tls_timeout,omitempty"`
	TLSPinnedCerts  []string      `json:"tls_pinned_certs,omitempty"`
	JSDomain        string        `json:"js_domain,omitempty"`
	AckWait         time.Duration `json:"ack_wait,omitempty"`
	MaxAckPending   uint16        `json:"max_ack_pending,omitempty"`
	TLSCertNotAfter time.Time     `json:"tls_cert_not_after,omitzero"`
}

// WebsocketVarz is the WebSocket block of /varz.
type WebsocketVarz struct {
	Host             string        `json:"host,omitempty"`
	Port             int           `json:"port,omitempty"`
	Advertise        string        `json:"advertise,omitempty"`
	NoAuthUser       string        `json:"no_auth_user,omitempty"`
	JWTCookie        string        `json:"jwt_cookie,omitempty"`
	HandshakeTimeout time.Duration `json:"handshake_timeout,omitempty"`
	AuthTimeout      Seconds       `json:"auth_timeout,omitempty"`
	NoTLS            bool          `json:"no_tls,omitempty"`
	TLSMap           bool          `json:"tls_map,omitempty"`
	TLSPinnedCerts   []string      `json:"tls_pinned_certs,omitempty"`
	SameOrigin       bool          `json:"same_origin,omitempty"`
	AllowedOrigins   []string      `json:"allowed_origins,omitempty"`
	Compression      bool          `json:"compression,omitempty"`
	TLSCertNotAfter  time.Time     `json:"tls_cert_not_after,omitzero"`
}
