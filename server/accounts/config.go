package accounts

import (
	"fmt"
	"strings"
)

// Config is what Compile makes a Policy of. Its zero value lets everybody in
// without credentials.
type Config struct {
	// Accounts are the configured accounts. The global account must not be among
	// them, the system account need not be.
	Accounts []AccountConfig
	// Users belong to the global account.
	Users []UserConfig
	// DefaultPermissions are those of Users that have none of their own.
	DefaultPermissions *Permissions
	// Mappings are those of the global account.
	Mappings []MappingConfig

	// Username and Password are the one user that everybody logs in as. It excludes
	// Token, Users and Accounts with users.
	Username, Password string
	// ProxyRequired admits the one user, whoever has the Token, and Users through a
	// trusted proxy only.
	ProxyRequired bool
	// Token is a secret that everybody shows, in clear or as a bcrypt hash. It
	// excludes the same.
	Token string

	// NoAuthUser is the name or nkey of the user that clients without credentials
	// become.
	NoAuthUser string
	// SystemAccount is the name of the system account, SystemName when empty.
	SystemAccount string
	// NoSystemAccount says that there is none.
	NoSystemAccount bool
	// NoPublish has subjects that the users of an account may not publish to, whatever
	// their permissions say, by the account's name. It does not show in a Definition.
	NoPublish map[string][]string
	// MapCertificates identifies the users of lists by the certificate that they show
	// in the TLS handshake. It has no effect on a single user and a token.
	MapCertificates bool
	// GrantsOnly has nobody log in but by a grant, and takes for accounts those that were Put besides the configured
	// ones: operator mode.
	GrantsOnly bool
	// RequireNonce asks for a nonce in INFO even when no user has an nkey.
	RequireNonce bool
}

// AccountConfig configures one account.
type AccountConfig struct {
	Name  string
	Users []UserConfig
	// DefaultPermissions are those of Users that have none of their own.
	DefaultPermissions *Permissions
	Limits             Limits
	// NKey is the public key of the account, empty for none.
	NKey string
	// Exports are offered to other accounts, Imports are taken from them, Mappings rewrite
	// subjects before anything else.
	Exports  []ExportConfig
	Imports  []ImportConfig
	Mappings []MappingConfig
	// Trace has messages with a traceparent header traced; nil does not.
	Trace *TraceConfig
}

// UserConfig configures one user, by name and password or by nkey.
type UserConfig struct {
	// Username is the name that the client sends, or for MapCertificates an e-mail
	// address, DNS name, URI or distinguished name in its certificate.
	Username string
	// Password is in clear or a bcrypt hash. It may be empty.
	Password string
	// NKey is a public key for users. It excludes Username and Password.
	NKey string
	// Permissions are nil when the default permissions hold.
	Permissions *Permissions
	// ConnectionTypes are the kinds of connection that the user may use, all when
	// empty.
	ConnectionTypes []ConnectionType
	// ProxyRequired admits the user through a trusted proxy only.
	ProxyRequired bool
}

// ConnectionType is a kind of connection.
type ConnectionType string

// The kinds of connection.
const (
	Standard          ConnectionType = "STANDARD"
	WebSocket         ConnectionType = "WEBSOCKET"
	Leafnode          ConnectionType = "LEAFNODE"
	LeafnodeWebSocket ConnectionType = "LEAFNODE_WS"
	MQTT              ConnectionType = "MQTT"
	MQTTWebSocket     ConnectionType = "MQTT_WS"
	InProcess         ConnectionType = "IN_PROCESS"
)

// ParseConnectionType returns the kind that text names, in upper or lower case.
func ParseConnectionType(text string) (ConnectionType, error) {
	switch t := ConnectionType(strings.ToUpper(text)); t {
	case Standard, WebSocket, Leafnode, LeafnodeWebSocket, MQTT, MQTTWebSocket, InProcess:
		return t, nil
	}
	return "", fmt.Errorf("unknown connection type %q", text)
}
