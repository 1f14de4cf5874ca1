package bench

import (
	"crypto/tls"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
)

// DefaultURL is where a server listens that was started without configuration.
const DefaultURL = nats.DefaultURL

// Connection says how clients reach a server, and who they are there. The zero
// Connection is an anonymous one without TLS, unless the server asks for it.
type Connection struct {
	User, Password  string
	CredentialsFile string // a JWT and its seed
	NKeyFile        string // an NKey seed
	TLS             bool   // require TLS; implied by a CA or certificate
	TLSFirst        bool   // handshake before the server says anything
	CAFile          string // whom to trust; empty for the system's authorities
	CertificateFile string // the client's own certificate, with KeyFile
	KeyFile         string
}

// Options turns the connection into nats.go's options. Files are read when a
// connection is made, but for NKeyFile, which must be readable now.
func (c Connection) Options() ([]nats.Option, error) {
	options, err := c.credentials()
	if err != nil {
		return nil, err
	}
	if (c.CertificateFile == "") != (c.KeyFile == "") {
		return nil, errors.New("a client certificate and its key belong together: one of them is missing")
	}
	if c.TLS || c.TLSFirst || c.CAFile != "" || c.CertificateFile != "" {
		options = append(options, nats.Secure(&tls.Config{MinVersion: tls.VersionTLS12}))
	}
	if c.CAFile != "" {
		options = append(options, nats.RootCAs(c.CAFile))
	}
	if c.CertificateFile != "" {
		options = append(options, nats.ClientCert(c.CertificateFile, c.KeyFile))
	}
	if c.TLSFirst {
		options = append(options, nats.TLSHandshakeFirst())
	}
	return options, nil
}

// credentials are the options that say who the client is.
func (c Connection) credentials() ([]nats.Option, error) {
	var options []nats.Option
	if c.User != "" {
		options = append(options, nats.UserInfo(c.User, c.Password))
	}
	if c.CredentialsFile != "" {
		options = append(options, nats.UserCredentials(c.CredentialsFile))
	}
	if c.NKeyFile != "" {
		option, err := nats.NkeyOptionFromSeed(c.NKeyFile)
		if err != nil {
			return nil, fmt.Errorf("NKey seed %s: %w", c.NKeyFile, err)
		}
		options = append(options, option)
	}
	return options, nil
}
