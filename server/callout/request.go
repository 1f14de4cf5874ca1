package callout

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"runnel/headers"
	"runnel/server/wire"
)

const (
	// Subject is where services are asked.
	Subject = "$SYS.REQ.USER.AUTH"
	// keyHeader names the server's curve key, which the request was sealed with.
	keyHeader = "Nats-Server-Xkey"
	// audience says what kind of JWT a request is.
	audience = "nats-authorization-request"
)

// Server is what a request says about the server that asks.
type Server struct {
	Name, Host, ID, Version, Cluster string
	Tags                             []string
}

// Question is what a service is told about a client.
type Question struct {
	// ID is the number of the connection, Host its address, Type the protocol that it speaks.
	ID         uint64
	Host, Type string
	// User names the client without a secret. Label and Tags are what the issuer of its JWT says of it.
	User, Label string
	Tags        []string
	// Nonce is what the client was to sign; empty for none.
	Nonce string
	// Connect is what the client has sent, with its secrets.
	Connect *wire.Connect
	// TLS is nil for a connection in clear.
	TLS *tls.ConnectionState
}

// request is one question on its way.
type request struct {
	user    string // the key that the answer must be for
	header  []byte
	payload []byte
}

// newRequest signs a question, which is good until it expires, and seals it if the service has a key for that.
func (s *Service) newRequest(q *Question, expires time.Time) (*request, error) {
	user, err := nkeys.CreateUser()
	if err != nil {
		return nil, fmt.Errorf("make a key for the user: %w", err)
	}
	r := &request{}
	if r.user, err = user.PublicKey(); err != nil {
		return nil, fmt.Errorf("make a key for the user: %w", err)
	}
	c := s.claims(q)
	c.UserNkey, c.Expires = r.user, expires.Unix()+1
	token, err := c.Encode(s.cfg.Keys.Sign)
	if err != nil {
		return nil, fmt.Errorf("sign the request: %w", err)
	}
	r.payload = []byte(token)
	if s.cfg.XKey == "" {
		return r, nil
	}
	if r.payload, err = s.cfg.Keys.Curve.Seal(r.payload, s.cfg.XKey); err != nil {
		return nil, fmt.Errorf("seal the request: %w", err)
	}
	r.header = headers.Build(headers.Field{Name: keyHeader, Value: s.cfg.Keys.XKey})
	return r, nil
}

// claims is what a request says, but for the user's key and its end.
func (s *Service) claims(q *Question) *jwt.AuthorizationRequestClaims {
	o := q.Connect
	c := jwt.NewAuthorizationRequestClaims(s.cfg.Subject)
	c.Audience = audience
	server := s.cfg.Server()
	c.Server = jwt.ServerID{
		Name: server.Name, Host: server.Host, ID: server.ID, Version: server.Version, Cluster: server.Cluster, Tags: server.Tags,
	}
	if s.cfg.XKey != "" {
		c.Server.XKey = s.cfg.Keys.XKey
	}
	c.ClientInformation = jwt.ClientInformation{
		Host: q.Host, ID: q.ID, User: q.User, Name: o.Name, NameTag: q.Label, Tags: q.Tags,
		Kind: "Client", Type: q.Type, Nonce: q.Nonce,
	}
	c.ConnectOptions = jwt.ConnectOptions{
		JWT: o.JWT, Nkey: o.NKey, SignedNonce: o.Signature, Token: o.Token, Username: o.User, Password: o.Password,
		Name: o.Name, Lang: o.Lang, Version: o.Version, Protocol: o.Protocol,
	}
	c.TLS = clientTLS(q.TLS)
	return c
}

// clientTLS describes a TLS connection, nil for none. Certificates that were verified are there with their chains,
// others alone.
func clientTLS(state *tls.ConnectionState) *jwt.ClientTLS {
	if state == nil {
		return nil
	}
	out := &jwt.ClientTLS{
		Version: strings.TrimPrefix(tls.VersionName(state.Version), "TLS "),
		Cipher:  tls.CipherSuiteName(state.CipherSuite),
	}
	for _, chain := range state.VerifiedChains {
		out.VerifiedChains = append(out.VerifiedChains, pems(chain))
	}
	if len(out.VerifiedChains) == 0 {
		out.Certs = pems(state.PeerCertificates)
	}
	return out
}

func pems(certificates []*x509.Certificate) (out jwt.StringList) {
	for _, c := range certificates {
		out = append(out, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})))
	}
	return out
}
