package servertest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority is a certificate authority of its own, which lives as long as the test.
type Authority struct {
	t    testing.TB
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	// File is the authority's certificate as PEM, for ca_file.
	File string
}

// Certificate is one that an [Authority] has signed, with its key.
type Certificate struct {
	// TLS is the pair for a [tls.Config].
	TLS tls.Certificate
	// CertFile and KeyFile are the pair as PEM, for cert_file and key_file.
	CertFile, KeyFile string
}

// NewAuthority makes an authority whose files are in a folder of the test.
func NewAuthority(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{t: t, dir: t.TempDir()}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(serialNumber()),
		Subject:               pkix.Name{CommonName: "servertest authority"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(24 * time.Hour),
		KeyUsage:              x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	a.key = a.newKey()
	der := a.sign(template, template, a.key, a.key)
	var err error
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.File = filepath.Join(a.dir, "ca.pem")
	a.write(a.File, "CERTIFICATE", der)
	return a
}

// serialNumber never repeats within the process.
func serialNumber() int64 { return int64(serial.Add(1)) }

// Server signs a certificate for servers on this machine.
func (a *Authority) Server() *Certificate {
	a.t.Helper()
	return a.issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: "localhost"},
		DNSNames:    []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
}

// Peer signs a certificate for servers on this machine that also show it to others.
func (a *Authority) Peer() *Certificate {
	a.t.Helper()
	return a.issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: "localhost"},
		DNSNames:    []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
}

// Client signs a certificate for a client. The template has its subject and the names that verify_and_map
// looks for; everything else is filled in.
func (a *Authority) Client(template x509.Certificate) *Certificate {
	a.t.Helper()
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.issue(&template)
}

// ClientConfig trusts the authority and shows the given certificates, none for nil.
func (a *Authority) ClientConfig(certs ...*Certificate) *tls.Config {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	c := &tls.Config{RootCAs: pool, ServerName: "localhost", MinVersion: tls.VersionTLS12}
	for _, cert := range certs {
		c.Certificates = append(c.Certificates, cert.TLS)
	}
	return c
}

// Pin is the certificate's entry in pinned_certs.
func (c *Certificate) Pin() string {
	sum := sha256.Sum256(c.TLS.Leaf.RawSubjectPublicKeyInfo)
	return hex.EncodeToString(sum[:])
}

// Block is a tls block of a config file with the certificate and what else is given.
func (c *Certificate) Block(more string) string {
	return fmt.Sprintf("tls { cert_file: %q, key_file: %q\n%s }\n", c.CertFile, c.KeyFile, more)
}

func (a *Authority) issue(template *x509.Certificate) *Certificate {
	a.t.Helper()
	template.SerialNumber = big.NewInt(serialNumber())
	template.NotBefore, template.NotAfter = a.cert.NotBefore, a.cert.NotAfter
	template.KeyUsage = x509.KeyUsageDigitalSignature
	key := a.newKey()
	der := a.sign(template, a.cert, key, a.key)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	name := filepath.Join(a.dir, template.SerialNumber.String())
	c := &Certificate{CertFile: name + ".pem", KeyFile: name + ".key"}
	a.write(c.CertFile, "CERTIFICATE", der)
	a.write(c.KeyFile, "PRIVATE KEY", keyDER)
	if c.TLS, err = tls.LoadX509KeyPair(c.CertFile, c.KeyFile); err != nil {
		a.t.Fatal(err)
	}
	return c
}

func (a *Authority) newKey() *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	return key
}

func (a *Authority) sign(template, parent *x509.Certificate, key, by *ecdsa.PrivateKey) []byte {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by)
	if err != nil {
		a.t.Fatal(err)
	}
	return der
}

func (a *Authority) write(file, kind string, der []byte) {
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		a.t.Fatal(err)
	}
}
