package server_test

import (
	"crypto/tls"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"runnel/server"
	"runnel/server/servertest"
)

// through logs a client in as a proxy with this key passes its CONNECT on.
func through(t testing.TB, s *server.Server, key nkeys.KeyPair, members string) *servertest.Client {
	t.Helper()
	c := servertest.Dial(t, s)
	nonce, ok := c.Info()["nonce"].(string)
	if !ok {
		t.Fatal("INFO has no nonce to be signed")
	}
	signature, err := key.Sign([]byte(nonce))
	if err != nil {
		t.Fatal(err)
	}
	c.Send(login(fmt.Sprintf(`%s,"proxy_sig":%q`, members, base64.RawURLEncoding.EncodeToString(signature))))
	return c
}

// TestProxies lets clients in with and without the signature of a proxy.
func TestProxies(t *testing.T) {
	trusted, public := newUserKey(t)
	second, secondPublic := newKey(t, nkeys.CreateServer)
	stranger, _ := newUserKey(t)
	trust := func(keys ...string) string {
		var list []string
		for _, k := range keys {
			list = append(list, "{ key: "+k+" }")
		}
		return "http_port: -1\nproxies { trusted: [" + strings.Join(list, ",") + "] }\n"
	}
	const users = `{user: free, password: x}, {user: bound, password: x, proxy_required: true}`
	s := servertest.Start(t, trust(public, secondPublic)+usersOf(users))
	member := func(name string) string { return fmt.Sprintf(`"user":%q,"pass":"x"`, name) }
	refused := func(name string, c *servertest.Client) {
		t.Helper()
		t.Log(name)
		c.Expect("-ERR 'Authorization Violation'")
		c.ExpectClosed()
	}
	dial := func(members string) *servertest.Client {
		c := servertest.Dial(t, s)
		c.Send(login(members))
		return c
	}
	dial(member("free")).Flush()
	byFirst := through(t, s, trusted, member("bound"))
	byFirst.Flush()
	through(t, s, second, member("bound")).Flush()
	through(t, s, trusted, member("free")).Flush()
	dial(member("free") + `,"proxy_sig":""`).Flush()
	_, connections := get(t, s, "/connz?auth=1")
	mustContain(t, "connz", connections, `"proxy": {`, public, secondPublic)

	_, general := get(t, s, "/varz")
	mustContain(t, "varz", general, `"proxies": {`, `"trusted": [`, public, secondPublic)

	refused("no proxy", dial(member("bound")))
	refused("a stranger", through(t, s, stranger, member("free")))
	refused("a stranger for who needs a proxy", through(t, s, stranger, member("bound")))
	refused("no signature", dial(member("free")+`,"proxy_sig":"garbage"`))
	refused("no base64", dial(member("free")+`,"proxy_sig":"no base64!"`))
	refused("the signature of another nonce", func() *servertest.Client {
		signature, err := trusted.Sign([]byte("another"))
		if err != nil {
			t.Fatal(err)
		}
		return dial(member("bound") + fmt.Sprintf(`,"proxy_sig":%q`, base64.RawURLEncoding.EncodeToString(signature)))
	}())
	refused("what the server notes itself", dial(member("bound")+fmt.Sprintf(`,"Proxy":%q,"-":%q`, public, public)))
	want := []string{"Proxy Required", "Proxy Not Trusted", "Proxy Not Trusted", "Proxy Not Trusted", "Proxy Not Trusted", "Proxy Not Trusted", "Proxy Required"}
	for i, got := range closedReasons(t, s, len(want))[:len(want)] {
		if w := want[len(want)-1-i]; got != w {
			t.Errorf("the last reason but %d is %q, want %q", i, got, w)
		}
	}

	// A proxy that is trusted no more takes its clients along; a user who must come through one now goes.
	free := dial(member("free"))
	free.Flush()
	proxied := through(t, s, second, member("free"))
	proxied.Flush()
	reload(t, s, trust(secondPublic)+usersOf(users))
	refused("of a proxy that has gone", byFirst)
	proxied.Flush()
	free.Flush()
	reload(t, s, trust(secondPublic)+usersOf(strings.Replace(users, "{user: free, password: x}", "{user: free, password: x, proxy_required: true}", 1)))
	refused("who must come through a proxy now", free)
	proxied.Flush()
}

// TestProxyRequired: proxy_required of the authorization block is for all credentials of that block.
func TestProxyRequired(t *testing.T) {
	key, public := newUserKey(t)
	for _, credentials := range []struct{ config, members string }{
		{"user: u, password: x", `"user":"u","pass":"x"`},
		{"token: t", `"auth_token":"t"`},
		{"users: [{user: u, password: x}]", `"user":"u","pass":"x"`},
	} {
		s := servertest.Start(t, "proxies { trusted: [ { key: "+public+" } ] }\nauthorization { proxy_required: true, "+credentials.config+" }")
		through(t, s, key, credentials.members).Flush()
		c := servertest.Dial(t, s)
		c.Send(login(credentials.members))
		c.Expect("-ERR 'Authorization Violation'")
		c.ExpectClosed()
	}
}

// TestProxyRequiredByCallout: a user whom a service brings may have to come through a proxy, too.
func TestProxyRequiredByCallout(t *testing.T) {
	key, public := newUserKey(t)
	w := newCalloutWorld(t, "", "proxies { trusted: [ { key: "+public+" } ] }")
	w.spoilWith(func(r *reply) { r.user.ProxyRequired = true })
	through(t, w.server, key, `"user":"u","pass":"p"`).Flush()
	c := servertest.Dial(t, w.server)
	c.Send(user("u", "p"))
	c.Expect("-ERR 'Authorization Violation'")
}

// TestProxyRequiredByJWT: so may a user of operator mode.
func TestProxyRequiredByJWT(t *testing.T) {
	key, public := newUserKey(t)
	w := newTenantWorld(t, func(*tenantWorld) []string { return nil })
	reload(t, w.server, w.last+"proxies { trusted: [ { key: "+public+" } ] }")
	token := w.user(w.public, w.app.key, func(c *jwt.UserClaims) { c.ProxyRequired, c.BearerToken = true, true })
	through(t, w.server, key, fmt.Sprintf(`"jwt":%q`, token)).Flush()
	w.dial(token).Expect("-ERR 'Authorization Violation'")
}

// preambleOf is a preamble of version 2 for a client at 192.0.2.1:4660.
func preambleOf(command byte) string {
	b := append([]byte("\r\n\r\n\x00\r\nQUIT\n"), 0x20|command, 0x11)
	b = binary.BigEndian.AppendUint16(b, 12)
	return string(append(b, 192, 0, 2, 1, 10, 0, 0, 1, 0x12, 0x34, 0x10, 0x7e))
}

// TestProxyProtocol: behind a load balancer the client is where that says, in clear and over TLS.
func TestProxyProtocol(t *testing.T) {
	const own = "127.0.0.1"
	tests := []struct {
		name, preamble string
		ip             string // empty: refused
	}{
		{"none", "", own},
		{"line", "PROXY TCP4 192.0.2.1 10.0.0.1 4660 4222\r\n", "192.0.2.1"},
		{"line, IPv6", "PROXY TCP6 2001:db8::1 ::1 4660 4222\r\n", "2001:db8::1"},
		{"line, not known", "PROXY UNKNOWN\r\n", own},
		{"binary", preambleOf(1), "192.0.2.1"},
		{"binary, the balancer itself", preambleOf(0), own},
		{"line that makes no sense", "PROXY TCP4 nope\r\n", ""},
		{"binary of an unknown command", preambleOf(7), ""},
	}
	authority := servertest.NewAuthority(t)
	listeners := []struct{ name, tls string }{
		{"clear", ""},
		{"TLS", authority.Server().Block("")},
		{"TLS first", authority.Server().Block("handshake_first: true")},
		{"TLS first or not", authority.Server().Block("handshake_first: auto")},
	}
	for _, l := range listeners {
		s := servertest.Start(t, "http_port: -1\nproxy_protocol: true\n"+l.tls)
		for _, tt := range tests {
			t.Run(l.name+", "+tt.name, func(t *testing.T) {
				nc, err := net.Dial("tcp", s.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				c := servertest.NewClient(t, nc)
				if l.tls != "" {
					tlsThrough(t, s, authority, nc, l.name != "TLS", tt.preamble, tt.ip)
					return
				}
				c.Send("%s", tt.preamble)
				c.ReadInfo()
				if tt.ip == "" {
					c.ExpectClosed()
					return
				}
				c.Send(servertest.Quiet)
				c.Flush()
				checkOnly(t, s, tt.ip)
				c.Close()
				servertest.Eventually(t, "the connection to end", func() bool { return page[connz](t, s, "/connz").NumConnections == 0 })
			})
		}
	}
}

// tlsThrough shakes hands behind a preamble, after INFO or before it, and looks where the client is then.
func tlsThrough(t testing.TB, s *server.Server, a *servertest.Authority, nc net.Conn, first bool, preamble, ip string) {
	t.Helper()
	if err := nc.SetDeadline(time.Now().Add(servertest.Patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(nc, preamble); err != nil {
		t.Fatal(err)
	}
	if !first {
		readInfoByByte(t, nc)
	}
	tc := tls.Client(nc, a.ClientConfig())
	err := tc.Handshake()
	if (err == nil) != (ip != "") {
		t.Fatalf("handshake: %v", err)
	}
	if ip == "" {
		return
	}
	c := servertest.NewClient(t, tc)
	if first {
		c.ReadInfo()
		if got := c.Info()["client_ip"]; got != ip {
			t.Errorf("client_ip in INFO = %v, want %s", got, ip)
		}
	}
	c.Send(servertest.Quiet)
	c.Flush()
	checkOnly(t, s, ip)
	c.Close()
	servertest.Eventually(t, "the connection to end", func() bool { return page[connz](t, s, "/connz").NumConnections == 0 })
}

// readInfoByByte reads a line, and nothing behind it.
func readInfoByByte(t testing.TB, nc net.Conn) {
	t.Helper()
	for one := make([]byte, 1); one[0] != '\n'; {
		if _, err := nc.Read(one); err != nil {
			t.Fatal(err)
		}
	}
}

// checkOnly looks where the one client comes from.
func checkOnly(t testing.TB, s *server.Server, ip string) {
	t.Helper()
	z := page[connz](t, s, "/connz")
	if len(z.Connections) != 1 || z.Connections[0].IP != ip {
		t.Errorf("got connections %+v, want one from %s", z.Connections, ip)
	}
}
