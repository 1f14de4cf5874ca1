package handshake_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"runnel/conf"
	"runnel/server/handshake"
	"runnel/server/servertest"
	"runnel/server/wire"
)

// settings are those of a tls block.
func settings(t *testing.T, block string) (*handshake.Settings, error) {
	t.Helper()
	o, err := conf.Parse("a.conf", []byte("tls {\n"+block+"\n}"))
	if err != nil {
		t.Fatal(err)
	}
	return handshake.New(o.TLS)
}

func TestNew(t *testing.T) {
	if s, err := handshake.New(nil); s != nil || err != nil {
		t.Errorf("without a block: got %v, %v", s, err)
	}
	a := servertest.NewAuthority(t)
	cert := a.Server()
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, block, want string }{
		{"a certificate", inner(cert.Block("")), ""},
		{"roots", inner(cert.Block("ca_file: '" + a.File + "', verify: true")), ""},
		{"no file", "cert_file: none.pem, key_file: none.pem", "none.pem"},
		{"the wrong key", "cert_file: '" + cert.CertFile + "', key_file: '" + a.Server().KeyFile + "'", "private key"},
		{"no roots", inner(cert.Block("ca_file: none.pem")), "none.pem"},
		{"empty roots", inner(cert.Block("ca_file: '" + empty + "'")), "holds no certificate"},
	} {
		s, err := settings(t, test.block)
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s: %v", test.name, err)
		case test.want == "" && s.NotAfter().Before(time.Now()):
			t.Errorf("%s: it has ended at %v", test.name, s.NotAfter())
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: got %v, want an error with %q", test.name, err, test.want)
		}
	}
}

// TestBetween has two servers show certificates to one another although verify is not set.
func TestBetween(t *testing.T) {
	var none *handshake.Settings
	if accept, dial := none.Between(); accept != nil || dial != nil {
		t.Error("without TLS there is some between servers")
	}
	a := servertest.NewAuthority(t)
	make1 := func(more string) *handshake.Settings {
		s, err := settings(t, inner(a.Peer().Block("ca_file: '"+a.File+"'\n"+more)))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for _, test := range []struct {
		name   string
		dialer *handshake.Settings
		host   string
		want   string
	}{
		{"as it should be", make1(""), "127.0.0.1", ""},
		{"another host", make1(""), "example.com", "certificate is valid for"},
		{"another host, and nobody minds", make1("insecure: true"), "example.com", ""},
		{"a key that is not pinned", make1("pinned_certs: [ " + strings.Repeat("0", 64) + " ]"), "127.0.0.1", "pinned_certs"},
	} {
		accept, _ := make1("").Between()
		_, dial := test.dialer.Between()
		dial.ServerName = test.host
		here, there := net.Pipe()
		server := tls.Server(there, accept)
		done := make(chan error, 1)
		go func() { done <- server.Handshake() }()
		err := tls.Client(here, dial).Handshake()
		_ = here.Close()
		_ = there.Close()
		accepted := <-done
		switch {
		case test.want == "" && (err != nil || accepted != nil):
			t.Errorf("%s: %v, %v", test.name, err, accepted)
		case test.want == "" && len(server.ConnectionState().PeerCertificates) == 0:
			t.Errorf("%s: the one that has dialled has shown no certificate", test.name)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: got %v, want an error with %q", test.name, err, test.want)
		}
	}
}

// inner is what stands in a block.
func inner(block string) string {
	_, block, _ = strings.Cut(block, "{")
	return block[:strings.LastIndexByte(block, '}')]
}

func TestSecure(t *testing.T) {
	a := servertest.NewAuthority(t)
	s, err := settings(t, inner(a.Server().Block("timeout: 30")))
	if err != nil {
		t.Fatal(err)
	}
	if s.Verifies() {
		t.Error("clients must show a certificate although nobody asks for one")
	}
	for _, test := range []struct {
		name         string
		plainAllowed bool
		client       func(net.Conn) error
		want         error
	}{
		{"TLS", false, func(nc net.Conn) error {
			return tls.Client(nc, &tls.Config{RootCAs: pool(t, a), ServerName: "127.0.0.1"}).Handshake()
		}, nil},
		{"in clear", true, func(nc net.Conn) error { _, err := nc.Write([]byte("CONNECT")); return err }, nil},
		{"in clear where that is not allowed", false, func(nc net.Conn) error { _, err := nc.Write([]byte("C")); return err }, handshake.ErrNotTLS},
	} {
		here, there := net.Pipe()
		done := make(chan error, 1)
		go func() {
			b := make([]byte, 64<<10)
			if _, err := here.Read(b); err != nil { // INFO
				done <- err
				return
			}
			done <- test.client(here)
		}()
		out, state, sendInfo, err := s.Secure(there, &wire.Info{ServerID: "a"}, test.plainAllowed)
		if !errors.Is(err, test.want) || sendInfo {
			t.Errorf("%s: got %v, INFO to be sent: %v", test.name, err, sendInfo)
		}
		if encrypted := state != nil; err == nil && encrypted == test.plainAllowed {
			t.Errorf("%s: encrypted: %v", test.name, encrypted)
		}
		if test.plainAllowed {
			b := make([]byte, 7)
			if n, err := out.Read(b[:1]); n != 1 || err != nil || b[0] != 'C' {
				t.Errorf("%s: the byte that was looked at is gone: %q, %v", test.name, b[:n], err)
			}
		}
		_ = here.Close()
		_ = there.Close()
		<-done
	}
}

// pool trusts an authority.
func pool(t *testing.T, a *servertest.Authority) *x509.CertPool {
	t.Helper()
	p, err := handshake.LoadPool(a.File)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAdmit(t *testing.T) {
	a := servertest.NewAuthority(t)
	s, err := settings(t, inner(a.Server().Block("connection_rate_limit: 2")))
	if err != nil {
		t.Fatal(err)
	}
	at := time.Unix(100, 0)
	for i, want := range []bool{true, true, false} {
		if got := s.Admit(at); got != want {
			t.Errorf("handshake %d: got %v, want %v", i, got, want)
		}
	}
	if !s.Admit(at.Add(time.Second)) {
		t.Error("the next second admits nobody")
	}
}
