// Package handshake is the TLS side of a listener: its certificates from the files that the options name, and the handshake
// with a client, which may come before INFO, after it or not at all.
package handshake

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"time"

	"runnel/conf"
)

// Settings are one listener's TLS. They do not change.
type Settings struct {
	Conf   *conf.TLS
	Config *tls.Config

	pinned map[string]bool
	begun  rate
}

// New reads the files that c names. It returns nil for nil.
func New(c *conf.TLS) (*Settings, error) {
	if c == nil {
		return nil, nil
	}
	t := &Settings{Conf: c, Config: &tls.Config{
		MinVersion:       c.MinVersion,
		CipherSuites:     c.CipherSuites,
		CurvePreferences: c.CurvePreferences,
	}}
	pairs := c.Certificates
	if c.CertFile != "" {
		pairs = append([]conf.CertificatePair{{CertFile: c.CertFile, KeyFile: c.KeyFile}}, pairs...)
	}
	for _, p := range pairs {
		cert, err := tls.LoadX509KeyPair(p.CertFile, p.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("load certificate %q with key %q: %w", p.CertFile, p.KeyFile, err)
		}
		t.Config.Certificates = append(t.Config.Certificates, cert)
	}
	if len(t.Config.Certificates) == 0 {
		return nil, errors.New("tls: no certificate: set cert_file and key_file")
	}
	if c.CAFile != "" {
		pool, err := LoadPool(c.CAFile)
		if err != nil {
			return nil, err
		}
		t.Config.ClientCAs = pool
	}
	if c.Verify || c.VerifyAndMap {
		t.Config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	if len(c.PinnedCerts) > 0 {
		t.pinned = make(map[string]bool)
		for _, p := range c.PinnedCerts {
			t.pinned[p] = true
		}
		t.Config.VerifyPeerCertificate = t.verifyPinned
	}
	return t, nil
}

// LoadPool reads the roots of a ca_file. A file without any is an error, or it would admit nobody.
func LoadPool(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read ca_file: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("ca_file %q holds no certificate", file)
	}
	return pool, nil
}

// verifyPinned admits only certificates whose key is listed. It compares the key and not the whole, so
// that a certificate may be renewed.
func (t *Settings) verifyPinned(raw [][]byte, _ [][]*x509.Certificate) error {
	if len(raw) == 0 {
		return errors.New("no certificate, and pinned_certs asks for one")
	}
	cert, err := x509.ParseCertificate(raw[0])
	if err != nil {
		return fmt.Errorf("certificate: %w", err)
	}
	sum := sha256.Sum256(cert.RawSubjectPublicKeyInfo)
	if !t.pinned[hex.EncodeToString(sum[:])] {
		return errors.New("the certificate is not among pinned_certs")
	}
	return nil
}

// Verifies tells whether clients must show a certificate.
func (t *Settings) Verifies() bool { return t.Config.ClientAuth == tls.RequireAndVerifyClientCert }

// Between are the two sides of TLS between servers: they show certificates to one another, whoever has dialled. Both are nil
// for nil settings.
func (t *Settings) Between() (accept, dial *tls.Config) {
	if t == nil {
		return nil, nil
	}
	accept, dial = t.Config.Clone(), t.Config.Clone()
	accept.ClientAuth = tls.RequireAndVerifyClientCert
	dial.RootCAs = t.Config.ClientCAs
	dial.InsecureSkipVerify = t.Conf.Insecure
	return accept, dial
}

// NotAfter is when the server's certificate ends.
func (t *Settings) NotAfter() time.Time {
	if leaf := t.Config.Certificates[0].Leaf; leaf != nil {
		return leaf.NotAfter
	}
	return time.Time{}
}
