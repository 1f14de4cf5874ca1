package server_test

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"runnel/server"
	"runnel/server/servertest"
)

// dialTLS shakes hands before anything is read, or after INFO.
func dialTLS(t testing.TB, s *server.Server, config *tls.Config, first bool) *servertest.Client {
	t.Helper()
	nc, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if !first {
		servertest.NewClient(t, nc).ReadInfo()
	}
	return servertest.NewClient(t, tls.Client(nc, config))
}

// TestClientCertificates connects with certificates of several kinds where some are asked for.
func TestClientCertificates(t *testing.T) {
	ours, others := servertest.NewAuthority(t), servertest.NewAuthority(t)
	me := ours.Client(x509.Certificate{Subject: pkix.Name{CommonName: "me"}})
	you := ours.Client(x509.Certificate{Subject: pkix.Name{CommonName: "you"}})
	stranger := others.Client(x509.Certificate{Subject: pkix.Name{CommonName: "me"}})
	cert := ours.Server()
	ca := fmt.Sprintf("ca_file: %q\n", ours.File)
	tests := []struct {
		name, block string
		client      *servertest.Certificate
		ok          bool
	}{
		{"none asked for", "", nil, true},
		{"none asked for, one shown", "", stranger, true},
		{"asked for", ca + "verify: true", me, true},
		{"asked for and missing", ca + "verify: true", nil, false},
		{"of another authority", ca + "verify: true", stranger, false},
		{"pinned", ca + "verify: true\npinned_certs: [" + me.Pin() + "]", me, true},
		{"pinned in capitals", ca + "verify: true\npinned_certs: [" + strings.ToUpper(me.Pin()) + "]", me, true},
		{"another is pinned", ca + "verify: true\npinned_certs: [" + me.Pin() + "]", you, false},
		{"TLS 1.3 only", "min_version: \"1.3\"", nil, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := servertest.Start(t, cert.Block(tt.block)+"http_port: -1")
			config := ours.ClientConfig()
			if tt.client != nil {
				config = ours.ClientConfig(tt.client)
			}
			nc, err := nats.Connect(s.ClientURL(), nats.Secure(config))
			if tt.ok != (err == nil) {
				t.Fatalf("got %v, want ok = %v", err, tt.ok)
			}
			if err != nil {
				if got := closedReasons(t, s, 1)[0]; got != "TLS Handshake Failure" {
					t.Errorf("reason = %q", got)
				}
				return
			}
			defer nc.Close()
			if got := page[connz](t, s, "/connz").Connections[0]; got.TLSVersion != "1.3" || got.TLSFirst {
				t.Errorf("connz shows %+v, want TLS 1.3 after INFO", got)
			}
		})
	}
}

func TestOldTLSRefused(t *testing.T) {
	a := servertest.NewAuthority(t)
	s := servertest.Start(t, a.Server().Block(`min_version: "1.3"`))
	config := a.ClientConfig()
	config.MaxVersion = tls.VersionTLS12
	if nc, err := nats.Connect(s.ClientURL(), nats.Secure(config)); err == nil {
		nc.Close()
		t.Error("TLS 1.2 was accepted")
	}
}

func TestVerifyAndMap(t *testing.T) {
	a := servertest.NewAuthority(t)
	uri, err := url.Parse("spiffe://example.com/app")
	if err != nil {
		t.Fatal(err)
	}
	s := servertest.Start(t, a.Server().Block(fmt.Sprintf("verify_and_map: true, ca_file: %q", a.File))+`
	http_port: -1
	accounts {
		M { users: [ {user: "me@example.com"} ] }
		D { users: [ {user: "app.example.com"} ] }
		U { users: [ {user: "spiffe://example.com/app"} ] }
		N { users: [ {user: "CN=me,O=Runnel"} ] }
		P { users: [ {user: "named", password: x} ] }
	}`)
	name := pkix.Name{CommonName: "me", Organization: []string{"Runnel"}}
	tests := []struct {
		name     string
		template x509.Certificate
		account  string // refused when empty
	}{
		{"mail", x509.Certificate{EmailAddresses: []string{"me@example.com"}}, "M"},
		{"DNS name", x509.Certificate{DNSNames: []string{"app.example.com"}}, "D"},
		{"URI", x509.Certificate{URIs: []*url.URL{uri}}, "U"},
		{"subject", x509.Certificate{Subject: name}, "N"},
		{"mail before subject", x509.Certificate{Subject: name, EmailAddresses: []string{"me@example.com"}}, "M"},
		{"nobody", x509.Certificate{Subject: pkix.Name{CommonName: "me"}}, ""},
		{"by name without a password", x509.Certificate{DNSNames: []string{"named"}}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			nc, err := nats.Connect(s.ClientURL(), nats.Secure(a.ClientConfig(a.Client(tt.template))))
			if (err == nil) != (tt.account != "") {
				t.Fatalf("got %v, want account %q", err, tt.account)
			}
			if err != nil {
				return
			}
			defer nc.Close()
			if got := page[connz](t, s, "/connz?auth=1&acc="+tt.account); len(got.Connections) != 1 {
				t.Errorf("got %d connections in account %s, want 1", len(got.Connections), tt.account)
			}
		})
	}
}

// TestMapOnOneListener checks that the listeners may differ in whether they take users from certificates.
func TestMapOnOneListener(t *testing.T) {
	a := servertest.NewAuthority(t)
	me := a.Client(x509.Certificate{DNSNames: []string{"me"}})
	plain, mapped := a.Server().Block(""), a.Server().Block(fmt.Sprintf("verify_and_map: true, ca_file: %q", a.File))
	tests := []struct {
		name, tcp, web string
		maps           [2]bool // over TCP, over WebSocket
	}{
		{"TCP", mapped, plain, [2]bool{true, false}},
		{"WebSocket", plain, mapped, [2]bool{false, true}},
		{"both", mapped, mapped, [2]bool{true, true}},
	}
	for _, tt := range tests {
		s := servertest.Start(t, tt.tcp+"websocket { listen: \"127.0.0.1:-1\"\n"+tt.web+"}\n"+usersOf("{user: me}, {user: other, password: x}"))
		for i, url := range []string{s.ClientURL(), s.Ports().WebSocket[0]} {
			nc, err := nats.Connect(url, nats.Secure(a.ClientConfig(me)))
			if err == nil {
				nc.Close()
			}
			if (err == nil) != tt.maps[i] {
				t.Errorf("certificates are mapped for %s: %s: got %v, want in = %v", tt.name, url, err, tt.maps[i])
			}
		}
	}
}

// TestHandshakeFirst connects in both orders to servers of each setting.
func TestHandshakeFirst(t *testing.T) {
	a := servertest.NewAuthority(t)
	cert := a.Server()
	tests := []struct {
		setting     string
		first, last bool // the order that works
	}{
		{"false", false, true},
		{"true", true, false},
		{"auto", true, true},
		{`"1ms"`, false, true}, // too short for the first order to be sure
		{`"1h"`, true, false},  // too long for the second order to be tried
	}
	for _, tt := range tests {
		t.Run(tt.setting, func(t *testing.T) {
			s := servertest.Start(t, cert.Block("timeout: 5, handshake_first: "+tt.setting)+"http_port: -1")
			if tt.first {
				c := dialTLS(t, s, a.ClientConfig(), true)
				c.ReadInfo()
				c.Send(servertest.Quiet)
				c.Flush()
				if got := page[connz](t, s, "/connz").Connections[0]; !got.TLSFirst {
					t.Errorf("connz shows %+v, want tls_first", got)
				}
				nc := servertest.Connect(t, s, nats.Secure(a.ClientConfig()), nats.TLSHandshakeFirst())
				if err := nc.Flush(); err != nil {
					t.Error(err)
				}
			}
			if tt.last {
				c := dialTLS(t, s, a.ClientConfig(), false)
				c.Send(servertest.Quiet)
				c.Flush()
			}
		})
	}
}

// TestPlainClient checks what a client in clear meets on a port with TLS.
func TestPlainClient(t *testing.T) {
	cert := servertest.NewAuthority(t).Server()
	for _, first := range []bool{false, true} {
		s := servertest.Start(t, cert.Block(fmt.Sprintf("handshake_first: %v", first))+"http_port: -1")
		nc, err := net.Dial("tcp", s.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		c := servertest.NewClient(t, nc)
		if !first {
			c.ReadInfo()
			if c.Info()["tls_required"] != true {
				t.Errorf("INFO = %v, want tls_required", c.Info())
			}
		}
		c.Send(servertest.Quiet)
		c.Expect("-ERR 'Secure Connection - TLS Required'")
		c.ExpectClosed()
		if got := closedReasons(t, s, 1)[0]; got != "TLS Handshake Failure" {
			t.Errorf("reason = %q", got)
		}
	}
}

func TestAllowNonTLS(t *testing.T) {
	a := servertest.NewAuthority(t)
	s := servertest.Start(t, a.Server().Block("")+"allow_non_tls: true")
	plain := servertest.Connect(t, s, nats.Name("plain"))
	secure := servertest.Connect(t, s, nats.Secure(a.ClientConfig()))
	if _, err := secure.TLSConnectionState(); err != nil {
		t.Errorf("the secure client: %v", err)
	}
	sub, err := plain.SubscribeSync("m")
	if err != nil {
		t.Fatal(err)
	}
	if err := plain.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := secure.Publish("m", []byte("hi")); err != nil {
		t.Fatal(err)
	}
	if m := next(t, sub); string(m.Data) != "hi" {
		t.Errorf("got %q, want hi", m.Data)
	}
}

// TestSilentClient checks that a client which never begins its handshake is cut off, and that the end of the
// server does not wait for one.
func TestSilentClient(t *testing.T) {
	cert := servertest.NewAuthority(t).Server()
	s := servertest.Start(t, cert.Block(`timeout: 0.05`)+"http_port: -1")
	c := servertest.Dial(t, s)
	c.ExpectClosed()
	if got := closedReasons(t, s, 1)[0]; got != "TLS Handshake Failure" {
		t.Errorf("reason = %q", got)
	}
	half := dialTLS(t, s, nil, false).Conn().(*tls.Conn).NetConn()
	if _, err := half.Write([]byte{0x16, 0x03, 0x01, 0x02, 0x00}); err != nil {
		t.Fatal(err)
	}
	servertest.NewClient(t, half).ExpectClosed()

	patient := servertest.Start(t, cert.Block(`timeout: 3600`))
	servertest.Dial(t, patient)
	if err := patient.Close(); err != nil {
		t.Error(err)
	}
}

// TestHandshakeRate checks that more handshakes than allowed are turned away with a text that clients know.
func TestHandshakeRate(t *testing.T) {
	a := servertest.NewAuthority(t)
	s := servertest.Start(t, a.Server().Block(`connection_rate_limit: 1, timeout: 0.05`)+"http_port: -1")
	servertest.Eventually(t, "a second with two handshakes", func() bool {
		nc, err := net.Dial("tcp", s.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(nc) // ends with the time for the handshake, if not before
		_ = nc.Close()
		lines := strings.Split(string(text), "\r\n")
		return strings.HasPrefix(lines[0], "INFO {") && lines[1] == "-ERR 'Connection throttling is active. Please try again later.'"
	})
	servertest.Eventually(t, "the connection that was turned away among those that were closed", func() bool {
		return slices.Contains(closedReasons(t, s, 1), "Maximum Connections Exceeded")
	})
	servertest.Eventually(t, "a client to be let in", func() bool {
		nc, err := nats.Connect(s.ClientURL(), nats.Secure(a.ClientConfig()))
		if err == nil {
			nc.Close()
		}
		return err == nil
	})
}

// TestHandshakesCount checks that clients which do not get on with their handshake are bounded as all are, and
// that whoever is turned away for them learns so as a client library expects.
func TestHandshakesCount(t *testing.T) {
	a := servertest.NewAuthority(t)
	s := servertest.Start(t, a.Server().Block(`timeout: 3600`)+"max_connections: 1")
	silent := servertest.Dial(t, s)
	second := servertest.Dial(t, s)
	second.Expect("-ERR 'maximum connections exceeded'")
	second.ExpectClosed()
	silent.Close()
	servertest.Eventually(t, "a client to be let in", func() bool {
		nc, err := nats.Connect(s.ClientURL(), nats.Secure(a.ClientConfig()))
		if err == nil {
			nc.Close()
		}
		return err == nil
	})
}

// TestNewCertificate checks that a reload reads the files again, for all listeners, and keeps connections.
func TestNewCertificate(t *testing.T) {
	old, young := servertest.NewAuthority(t), servertest.NewAuthority(t)
	cert := old.Server()
	config := cert.Block("") + "http_port: 0, https_port: -1\nwebsocket { port: -1, " + cert.Block("") + " }"
	s := servertest.Start(t, config)
	nc := servertest.Connect(t, s, nats.Secure(old.ClientConfig()))

	replacement := young.Server()
	move := func(from, to string) {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	move(replacement.CertFile, cert.CertFile)
	move(replacement.KeyFile, cert.KeyFile)
	reload(t, s, config)

	if err := nc.Flush(); err != nil {
		t.Errorf("the connection from before: %v", err)
	}
	servertest.Connect(t, s, nats.Secure(young.ClientConfig()))
	if other, err := nats.Connect(s.ClientURL(), nats.Secure(old.ClientConfig())); err == nil {
		other.Close()
		t.Error("the old certificate is still in use")
	}
	ws, err := nats.Connect(s.Ports().WebSocket[0], nats.Secure(young.ClientConfig()))
	if err != nil {
		t.Fatalf("websocket: %v", err)
	}
	ws.Close()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: young.ClientConfig(), DisableKeepAlives: true}}
	r, err := client.Get(s.Ports().Monitoring[0] + "/healthz")
	if err != nil {
		t.Fatalf("monitoring: %v", err)
	}
	_ = r.Body.Close()

	// A broken file changes nothing.
	if err := os.WriteFile(cert.CertFile, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Reload(servertest.Options(t, config)); err == nil || !strings.Contains(err.Error(), cert.CertFile) {
		t.Errorf("reload with a broken file: got %v, want an error that names it", err)
	}
	servertest.Connect(t, s, nats.Secure(young.ClientConfig()))
}

// TestTLSComesAndGoes checks that a reload may switch TLS on and off, and the check of certificates.
func TestTLSComesAndGoes(t *testing.T) {
	a := servertest.NewAuthority(t)
	cert, me := a.Server(), a.Client(x509.Certificate{Subject: pkix.Name{CommonName: "me"}})
	s := servertest.Start(t, "")
	before := servertest.Connect(t, s)
	reload(t, s, cert.Block(""))
	servertest.Connect(t, s, nats.Secure(a.ClientConfig()))
	reload(t, s, cert.Block(fmt.Sprintf("verify: true, ca_file: %q", a.File)))
	if nc, err := nats.Connect(s.ClientURL(), nats.Secure(a.ClientConfig())); err == nil {
		nc.Close()
		t.Error("a client without a certificate got in")
	}
	servertest.Connect(t, s, nats.Secure(a.ClientConfig(me)))
	reload(t, s, "")
	servertest.DialQuiet(t, s)
	if err := before.Flush(); err != nil {
		t.Errorf("the connection from before: %v", err)
	}
}

// TestBadTLS checks the errors of a start with files that will not do.
func TestBadTLS(t *testing.T) {
	a := servertest.NewAuthority(t)
	cert, other := a.Server(), a.Server()
	tests := []struct{ name, config, want string }{
		{"no such file", `tls { cert_file: "/nowhere.pem", key_file: "/nowhere.key" }`, "/nowhere.pem"},
		{"key of another", fmt.Sprintf("tls { cert_file: %q, key_file: %q }", cert.CertFile, other.KeyFile), other.KeyFile},
		{"no authority in the file", cert.Block(fmt.Sprintf("verify: true, ca_file: %q", cert.KeyFile)), "holds no certificate"},
	}
	for _, tt := range tests {
		_, err := server.Open(servertest.Options(t, tt.config), nil)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want an error with %q", tt.name, err, tt.want)
		}
	}
}
