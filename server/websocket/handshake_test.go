package websocket_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	coder "github.com/coder/websocket"

	"runnel/server/websocket"
)

// without drops one header of upgradeHeaders.
func without(name string) string {
	var b strings.Builder
	for line := range strings.Lines(upgradeHeaders) {
		if !strings.HasPrefix(line, name+":") {
			b.WriteString(line)
		}
	}
	return b.String()
}

func TestHandshakeStatus(t *testing.T) {
	tests := []struct {
		name, line, headers string
		want                int
		reason              string
	}{
		{"root", "GET /", upgradeHeaders, 101, ""},
		{"any path", "GET /some/path?x=1", upgradeHeaders, 101, ""},
		{"mqtt", "GET /mqtt", upgradeHeaders, 404, "MQTT"},
		{"mqtt below a path", "GET /a/mqtt", upgradeHeaders, 404, "MQTT"},
		{"leafnode", "GET /leafnode", upgradeHeaders, 404, "leaf"},
		{"post", "POST /", upgradeHeaders, 405, "GET"},
		{"no upgrade", "GET /", without("Upgrade"), 400, "Upgrade"},
		{"no connection", "GET /", without("Connection"), 400, "Connection"},
		{"no key", "GET /", without("Sec-WebSocket-Key"), 400, "Key"},
		{"short key", "GET /", without("Sec-WebSocket-Key") + "Sec-WebSocket-Key: YWJj\r\n", 400, "Key"},
		{"no version", "GET /", without("Sec-WebSocket-Version"), 400, "version"},
		{"version 8", "GET /", without("Sec-WebSocket-Version") + "Sec-WebSocket-Version: 8\r\n", 400, "version"},
		{"empty host", "GET /", without("Host") + "Host:\r\n", 400, "host"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			reasons := make(chan error, 1)
			addr, _ := listen(t, websocket.Config{Rejected: func(_ string, err error) { reasons <- err }})
			c := request(t, addr, tt.line, tt.headers)
			if c.resp.StatusCode != tt.want {
				t.Errorf("got %s, want %d", c.resp.Status, tt.want)
			}
			if tt.want == 101 {
				if got, want := c.resp.Header.Get("Sec-WebSocket-Accept"), "BACScCJPNqyz+UBoqMH89VmURoA="; got != want {
					t.Errorf("accept: got %q, want %q", got, want)
				}
				return
			}
			if got := c.resp.Header.Get("Sec-WebSocket-Version"); got != "13" {
				t.Errorf("version: got %q, want 13", got)
			}
			if err := <-reasons; !strings.Contains(err.Error(), tt.reason) {
				t.Errorf("reason: got %q, want it to contain %q", err, tt.reason)
			}
		})
	}
}

func TestOrigin(t *testing.T) {
	list := []string{"http://a.example:8080", "https://B.example", "no origin"}
	tests := []struct {
		name   string
		same   bool
		list   []string
		host   string
		origin string
		want   int
	}{
		{"anybody", false, nil, "x.example", "http://evil.example", 101},
		{"no browser", true, list, "x.example", "", 101},
		{"same", true, nil, "x.example:8080", "http://x.example:8080", 101},
		{"same, other case", true, nil, "X.example:8080", "http://x.Example:8080", 101},
		{"same, port of http", true, nil, "x.example", "http://x.example", 101},
		{"same, port stated once", true, nil, "x.example:80", "http://x.example", 101},
		{"same, IPv6", true, nil, "[::1]:8080", "http://[::1]:8080", 101},
		{"other host", true, nil, "x.example:8080", "http://y.example:8080", 403},
		{"other port", true, nil, "x.example:8080", "http://x.example:8081", 403},
		{"not an origin", true, nil, "x.example", "null", 403},
		{"listed", false, list, "x.example", "http://a.example:8080", 101},
		{"listed, default port", false, list, "x.example", "https://b.example:443", 101},
		{"listed with another port", false, list, "x.example", "http://a.example", 403},
		{"listed with another scheme", false, list, "x.example", "http://b.example:443", 403},
		{"not listed", false, list, "x.example", "http://x.example", 403},
		{"listed is no origin", false, list, "x.example", "no origin", 403},
		{"both asked, only listed", true, list, "x.example", "http://a.example:8080", 403},
		{"both asked, only same", true, list, "x.example", "http://x.example", 403},
		{"both asked, both true", true, list, "a.example:8080", "http://a.example:8080", 101},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			addr, _ := listen(t, websocket.Config{SameOrigin: tt.same, AllowedOrigins: tt.list})
			headers := without("Host") + "Host: " + tt.host + "\r\n"
			if tt.origin != "" {
				headers += "Origin: " + tt.origin + "\r\n"
			}
			if got := request(t, addr, "GET /", headers).resp.StatusCode; got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

func TestCompressionOffer(t *testing.T) {
	const both = "permessage-deflate; server_no_context_takeover; client_no_context_takeover"
	tests := []struct {
		name    string
		offered bool // by the server
		header  string
		want    string
	}{
		{"not configured", false, "permessage-deflate", ""},
		{"not asked for", true, "", ""},
		{"plain", true, "permessage-deflate", both},
		{"in capitals", true, "Permessage-Deflate", both},
		{"of a browser", true, "permessage-deflate; client_max_window_bits", both},
		{"of a library", true, both, both},
		{"window of the client", true, "permessage-deflate; client_max_window_bits=10", both},
		{"quoted", true, `permessage-deflate; client_max_window_bits="15"`, both},
		{"window of the server", true, "permessage-deflate; server_max_window_bits=10", ""},
		{"second choice", true, "permessage-deflate; server_max_window_bits=10, permessage-deflate", both},
		{"other extension", true, "x-webkit-deflate-frame", ""},
		{"other extension first", true, "foo; bar=1, permessage-deflate", both},
		{"unknown parameter", true, "permessage-deflate; foo", ""},
		{"twice the same", true, "permessage-deflate; client_max_window_bits; client_max_window_bits", ""},
		{"value where none may be", true, "permessage-deflate; client_no_context_takeover=1", ""},
		{"window too small", true, "permessage-deflate; client_max_window_bits=7", ""},
		{"window too large", true, "permessage-deflate; client_max_window_bits=16", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			addr, accepted := listen(t, websocket.Config{Compression: tt.offered})
			c := request(t, addr, "GET /", upgradeHeaders+"Sec-WebSocket-Extensions: "+tt.header+"\r\n")
			if got := c.resp.Header.Get("Sec-WebSocket-Extensions"); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			r := <-accepted
			defer r.Conn.Close()
			if r.Compressed != (tt.want != "") {
				t.Errorf("Compressed: got %v", r.Compressed)
			}
		})
	}
}

func TestRequest(t *testing.T) {
	cfg := websocket.Config{
		JWTCookie: "nats_jwt", UserCookie: "nats_user", PasswordCookie: "nats_pass",
		Headers:          map[string]string{"X-Served-By": "runnel"},
		HandshakeTimeout: time.Minute,
	}
	addr, accepted := listen(t, cfg)
	headers := upgradeHeaders + "Cookie: nats_jwt=eyJ.x.y; nats_user=joe; token=secret; other=1\r\n" +
		"X-Forwarded-For: 203.0.113.7, 10.0.0.1\r\n"
	c := request(t, addr, "GET /", headers)
	r := <-accepted
	defer r.Conn.Close()
	if got := c.resp.Header.Get("X-Served-By"); got != "runnel" {
		t.Errorf("added header: got %q", got)
	}
	if want := (websocket.Cookies{JWT: "eyJ.x.y", User: "joe"}); r.Cookies != want {
		t.Errorf("cookies: got %+v, want %+v", r.Cookies, want)
	}
	_, port, _ := strings.Cut(c.conn.LocalAddr().String(), ":")
	if want := "203.0.113.7:" + port; r.RemoteAddr != want {
		t.Errorf("address: got %q, want %q", r.RemoteAddr, want)
	}
	if got, want := r.Conn.RemoteAddr().String(), c.conn.LocalAddr().String(); got != want {
		t.Errorf("socket's address: got %q, want %q", got, want)
	}
	if got, want := r.Conn.LocalAddr().String(), addr; got != want {
		t.Errorf("local address: got %q, want %q", got, want)
	}
	if r.TLS != nil || r.Compressed {
		t.Errorf("got TLS %v, compressed %v, want none", r.TLS, r.Compressed)
	}
}

func TestForwardedFor(t *testing.T) {
	for header, want := range map[string]string{
		"2001:db8::1":         "[2001:db8::1]:",
		" 192.0.2.1 ,x":       "192.0.2.1:",
		"unknown":             "127.0.0.1:",
		"evil\t[INF] text, x": "127.0.0.1:",
		"":                    "127.0.0.1:",
	} {
		addr, accepted := listen(t, websocket.Config{})
		request(t, addr, "GET /", upgradeHeaders+"X-Forwarded-For: "+header+"\r\n")
		r := <-accepted
		r.Conn.Close()
		if !strings.HasPrefix(r.RemoteAddr, want) {
			t.Errorf("%q: got %q, want prefix %q", header, r.RemoteAddr, want)
		}
	}
}

// echo answers each read with a write until the end.
func echo(r websocket.Request) {
	defer r.Conn.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Conn.Read(buf)
		if err != nil {
			return
		}
		if _, err := r.Conn.Write(buf[:n]); err != nil {
			return
		}
	}
}

// An independent client, over TCP and TLS, with and without compression.
func TestIndependentClient(t *testing.T) {
	for _, secure := range []bool{false, true} {
		for _, mode := range []coder.CompressionMode{coder.CompressionDisabled, coder.CompressionNoContextTakeover, coder.CompressionContextTakeover} {
			t.Run(fmt.Sprintf("tls=%v mode=%d", secure, mode), func(t *testing.T) {
				var handlers sync.WaitGroup
				var sawTLS bool
				s := httptest.NewUnstartedServer(nil)
				s.Config = websocket.NewServer(websocket.Config{Compression: true}, func(r websocket.Request) {
					sawTLS = r.TLS != nil
					handlers.Go(func() { echo(r) })
				})
				if s.Start(); secure {
					s.Close()
					s = httptest.NewUnstartedServer(s.Config.Handler)
					s.StartTLS()
				}
				defer s.Close()
				exchange(t, s.Client(), s.URL, mode)
				handlers.Wait()
				if sawTLS != secure {
					t.Errorf("TLS seen: got %v, want %v", sawTLS, secure)
				}
			})
		}
	}
}

func exchange(t *testing.T, hc *http.Client, url string, mode coder.CompressionMode) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	c, _, err := coder.Dial(ctx, url, &coder.DialOptions{HTTPClient: hc, CompressionMode: mode, CompressionThreshold: 1})
	if err != nil {
		t.Fatal(err)
	}
	c.SetReadLimit(-1)
	defer c.CloseNow()
	message := strings.Repeat("MSG subject 1 5\r\nhello\r\n", 20_000)
	written := make(chan error, 1)
	go func() {
		for range 3 {
			if err := c.Write(ctx, coder.MessageText, []byte(message)); err != nil {
				written <- err
				return
			}
		}
		written <- c.Ping(ctx)
	}()
	var got strings.Builder
	for got.Len() < 3*len(message) {
		kind, b, err := c.Read(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if kind != coder.MessageBinary {
			t.Errorf("got a message of type %v, want binary", kind)
		}
		got.Write(b)
	}
	if got.String() != strings.Repeat(message, 3) {
		t.Error("echo differs from what was sent")
	}
	go c.Read(ctx) // takes the pong
	if err := <-written; err != nil {
		t.Errorf("client writes: %v", err)
	}
	if err := c.Close(coder.StatusNormalClosure, "done"); err != nil {
		t.Errorf("close handshake: %v", err)
	}
}

// NewServer must not speak HTTP/2, which has no upgrade.
func TestServerSpeaksHTTP1(t *testing.T) {
	p := websocket.NewServer(websocket.Config{}, echo).Protocols
	if !p.HTTP1() || p.HTTP2() || p.UnencryptedHTTP2() {
		t.Errorf("protocols: got %v, want HTTP/1 only", p)
	}
}

func TestHandshakeTimeout(t *testing.T) {
	s := websocket.NewServer(websocket.Config{HandshakeTimeout: time.Second}, echo)
	if s.ReadHeaderTimeout != time.Second {
		t.Errorf("got %v, want 1s", s.ReadHeaderTimeout)
	}
}

func TestNoHijack(t *testing.T) {
	var reason error
	h := websocket.NewHandler(websocket.Config{Rejected: func(_ string, err error) { reason = err }}, nil)
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("Upgrade", "websocket")
	r.Header.Set("Connection", "upgrade")
	r.Header.Set("Sec-WebSocket-Key", key)
	r.Header.Set("Sec-WebSocket-Version", "13")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != 500 || reason == nil {
		t.Errorf("got code %d, reason %v, want 500 and a reason", w.Code, reason)
	}
}
