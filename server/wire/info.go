package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Info is what a server says about itself: first thing on a connection, after the client's first PING
// (ConnectInfo set), and whenever something in it changes. Field meanings are those of the protocol.
type Info struct {
	ServerID      string   `json:"server_id"`
	ServerName    string   `json:"server_name"`
	Version       string   `json:"version"`
	Proto         int      `json:"proto"`
	GitCommit     string   `json:"git_commit,omitempty"`
	Go            string   `json:"go"`
	Host          string   `json:"host"`
	Port          int      `json:"port"`
	Headers       bool     `json:"headers"`
	AuthRequired  bool     `json:"auth_required,omitempty"`
	TLSRequired   bool     `json:"tls_required,omitempty"`
	TLSVerify     bool     `json:"tls_verify,omitempty"`
	TLSAvailable  bool     `json:"tls_available,omitempty"`
	MaxPayload    int      `json:"max_payload"`
	JetStream     bool     `json:"jetstream,omitempty"`
	ClientID      uint64   `json:"client_id,omitempty"`
	ClientIP      string   `json:"client_ip,omitempty"`
	Nonce         string   `json:"nonce,omitempty"`
	Cluster       string   `json:"cluster,omitempty"`
	Domain        string   `json:"domain,omitempty"`
	ConnectURLs   []string `json:"connect_urls,omitempty"`
	LameDuckMode  bool     `json:"ldm,omitempty"`
	ConnectInfo   bool     `json:"connect_info,omitempty"`
	RemoteAccount string   `json:"remote_account,omitempty"`
	SystemAccount bool     `json:"acc_is_sys,omitempty"`
	APILevel      int      `json:"api_lvl,omitempty"`
	XKey          string   `json:"xkey,omitempty"`
	// Runnel is our own version; clients ignore it.
	Runnel string `json:"runnel,omitempty"`
}

// Append writes the INFO line.
func (i *Info) Append(b []byte) []byte {
	text, err := json.Marshal(i)
	if err != nil {
		// A struct of strings, numbers and booleans cannot fail to marshal.
		panic("wire: marshal INFO: " + err.Error())
	}
	b = append(b, "INFO "...)
	b = append(b, text...)
	return append(b, " \r\n"...)
}

// Connect is the argument of CONNECT: who the client is and what it wants.
type Connect struct {
	Verbose      bool   `json:"verbose"`
	Pedantic     bool   `json:"pedantic"`
	Echo         bool   `json:"echo"`
	TLSRequired  bool   `json:"tls_required"`
	Name         string `json:"name"`
	Lang         string `json:"lang"`
	Version      string `json:"version"`
	Protocol     int    `json:"protocol"`
	Headers      bool   `json:"headers"`
	NoResponders bool   `json:"no_responders"`
	User         string `json:"user"`
	Password     string `json:"pass"`
	Token        string `json:"auth_token"`
	NKey         string `json:"nkey"`
	Signature    string `json:"sig"`
	JWT          string `json:"jwt"`
	Account      string `json:"account"`
	NewAccount   bool   `json:"new_account"`
	// ProxySignature is that of a proxy which the client comes through, over the nonce.
	ProxySignature string `json:"proxy_sig"`
	// Proxy is the public key of the proxy whose signature it is, once the server has checked it: clients cannot set it.
	Proxy string `json:"-"`
}

// Protocol levels of [Connect]: with ProtocolInfo a client takes an INFO at any time.
const (
	ProtocolZero = 0
	ProtocolInfo = 1
)

// DefaultConnect is what a client is taken for until it says otherwise.
func DefaultConnect() Connect { return Connect{Verbose: true, Pedantic: true, Echo: true} }

// ParseConnect decodes the argument of CONNECT. The error never quotes the argument: it holds secrets.
func ParseConnect(args []byte) (Connect, error) {
	c := DefaultConnect()
	if err := json.Unmarshal(args, &c); err != nil {
		return c, fmt.Errorf("malformed CONNECT: %w", redact(err))
	}
	return c, nil
}

// redact keeps the place of a JSON error and drops the value.
func redact(err error) error {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("field %q wants %s", e.Field, e.Type)
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("no JSON object (byte %d)", e.Offset)
	}
	return errors.New("no JSON object")
}

// AppendErr writes -ERR '<text>'. Line ends in text, which may come from a peer, become blanks.
func AppendErr(b []byte, text string) []byte {
	b = append(b, "-ERR '"...)
	start := len(b)
	b = append(b, text...)
	for i, c := range b[start:] {
		if bytes.IndexByte([]byte("\r\n"), c) >= 0 {
			b[start+i] = ' '
		}
	}
	return append(b, "'\r\n"...)
}
