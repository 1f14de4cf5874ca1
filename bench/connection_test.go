package bench_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"runnel/bench"
)

// authority is a certificate that signs itself, as files and as a server's
// configuration.
type authority struct {
	certFile, keyFile string
	pool              *x509.CertPool
	certificate       tls.Certificate
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "bench"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	a := authority{certFile: filepath.Join(dir, "cert.pem"), keyFile: filepath.Join(dir, "key.pem"), pool: x509.NewCertPool()}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
	for path, data := range map[string][]byte{a.certFile: certPEM, a.keyFile: keyPEM} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a.pool.AppendCertsFromPEM(certPEM)
	if a.certificate, err = tls.X509KeyPair(certPEM, keyPEM); err != nil {
		t.Fatal(err)
	}
	return a
}

// over runs a small case through a connection.
func over(t *testing.T, f *fake, c bench.Connection) bench.Result {
	t.Helper()
	options, err := c.Options()
	if err != nil {
		t.Fatal(err)
	}
	return run(t, f, small(t, "pubsub-128", nil), func(target *bench.Target) { target.Options = options })
}

func TestConnectionsOverTLS(t *testing.T) {
	a := newAuthority(t)
	plain := &tls.Config{Certificates: []tls.Certificate{a.certificate}}
	mutual := &tls.Config{Certificates: plain.Certificates, ClientCAs: a.pool, ClientAuth: tls.RequireAndVerifyClientCert}
	tests := []struct {
		name       string
		server     *tls.Config
		first      bool
		connection bench.Connection
		want       string // part of the error; empty if it works
	}{
		{"authority known", plain, false, bench.Connection{CAFile: a.certFile}, ""},
		{"authority unknown", plain, false, bench.Connection{TLS: true}, "certificate"},
		{"handshake first", plain, true, bench.Connection{CAFile: a.certFile, TLSFirst: true}, ""},
		{"own certificate", mutual, false, bench.Connection{CAFile: a.certFile, CertificateFile: a.certFile, KeyFile: a.keyFile}, ""},
		{"no certificate", mutual, false, bench.Connection{CAFile: a.certFile}, "tls"},
		{"no such authority", plain, false, bench.Connection{CAFile: a.certFile + ".gone"}, "no such file"},
		{"server without TLS", nil, false, bench.Connection{TLS: true}, "secure connection not available"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := over(t, &fake{tls: test.server, tlsFirst: test.first}, test.connection)
			if test.want == "" && !r.OK() || !strings.Contains(r.Error, test.want) {
				t.Errorf("got %q, want %q", r.Error, test.want)
			}
		})
	}
}

func TestCredentialsReachTheServer(t *testing.T) {
	// A seed that is in the public documentation of NKeys.
	const seed = "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY"
	dir := t.TempDir()
	seedFile, credsFile := filepath.Join(dir, "user.nk"), filepath.Join(dir, "user.creds")
	creds := "-----BEGIN NATS USER JWT-----\nthe.user.jwt\n------END NATS USER JWT------\n\n" +
		"-----BEGIN USER NKEY SEED-----\n" + seed + "\n------END USER NKEY SEED------\n"
	for path, text := range map[string]string{seedFile: seed, credsFile: creds} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name       string
		connection bench.Connection
		want       map[string]string // fields of CONNECT; * for any text
	}{
		{"nobody", bench.Connection{}, map[string]string{"user": "", "nkey": "", "jwt": ""}},
		{"user", bench.Connection{User: "me", Password: "pw"}, map[string]string{"user": "me", "pass": "pw"}},
		{"password alone is nobody", bench.Connection{Password: "pw"}, map[string]string{"user": "", "pass": ""}},
		{"nkey", bench.Connection{NKeyFile: seedFile}, map[string]string{"nkey": "*", "sig": "*"}},
		{"credentials", bench.Connection{CredentialsFile: credsFile}, map[string]string{"jwt": "the.user.jwt", "sig": "*"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := &fake{}
			if r := over(t, f, test.connection); !r.OK() {
				t.Fatalf("got %q", r.Error)
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			for _, hello := range f.hello {
				for key, want := range test.want {
					got, _ := hello[key].(string)
					if want == "*" && got == "" || want != "*" && got != want {
						t.Errorf("%s: got %q, want %q", key, got, want)
					}
				}
			}
		})
	}
}

func TestConnectionsThatCannotBe(t *testing.T) {
	tests := []struct {
		name       string
		connection bench.Connection
		want       string
	}{
		{"certificate without key", bench.Connection{CertificateFile: "x"}, "belong together"},
		{"key without certificate", bench.Connection{KeyFile: "x"}, "belong together"},
		{"no seed", bench.Connection{NKeyFile: "no-such-file"}, "NKey seed no-such-file"},
	}
	for _, test := range tests {
		if _, err := test.connection.Options(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
}

func TestRefusedConnections(t *testing.T) {
	full := func(n int) func(int) string {
		return func(i int) string {
			if i > n {
				return "maximum connections exceeded"
			}
			return ""
		}
	}
	tests := []struct {
		name, scenario string
		fake           *fake
		want           string
		messages       int64
	}{
		{"wrong user", "pubsub-128", &fake{refuse: func(int) string { return "Authorization Violation" }}, "Authorization Violation", 0},
		{"full before the publishers", "pubsub-128", &fake{refuse: full(3)}, "maximum connections exceeded", 0},
		{"full among the idle", "connections", &fake{refuse: full(10)}, "connection 10 of 20", 9},
		{"full before the requesters", "request1-128", &fake{refuse: full(3)}, "maximum connections exceeded", 0},
		{"may not subscribe", "queue", &fake{denied: map[string]string{"SUB": `Permissions Violation for Subscription to "bench"`}}, "Permissions Violation", 0},
		{"may not subscribe for requests", "request1-128", &fake{denied: map[string]string{"SUB": `Permissions Violation for Subscription to "bench"`}}, "Permissions Violation", 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := run(t, test.fake, small(t, test.scenario, nil), nil)
			if !r.Partial || !strings.Contains(strings.ToLower(r.Error), strings.ToLower(test.want)) {
				t.Errorf("got partial %v, error %q, want %q", r.Partial, r.Error, test.want)
			}
			if r.Messages != test.messages {
				t.Errorf("got %d messages, want %d", r.Messages, test.messages)
			}
		})
	}
}
