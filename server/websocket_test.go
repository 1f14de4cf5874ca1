package server_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"runnel/server"
	"runnel/server/servertest"
)

// webClient is a raw WebSocket client.
type webClient struct {
	t  testing.TB
	nc net.Conn
	r  *bufio.Reader
}

// upgrade sends the HTTP request of a WebSocket client with these header lines.
func upgrade(t testing.TB, s *server.Server, lines ...string) (*webClient, *http.Response) {
	t.Helper()
	nc, err := net.Dial("tcp", strings.TrimPrefix(s.Ports().WebSocket[0], "ws://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	if err := nc.SetDeadline(time.Now().Add(servertest.Patience)); err != nil {
		t.Fatal(err)
	}
	request := "GET / HTTP/1.1\r\nHost: example.com\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
	if _, err := io.WriteString(nc, request+strings.Join(append(lines, "\r\n"), "\r\n")); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(nc)
	response, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &webClient{t, nc, r}, response
}

// dialWeb upgrades and reads the INFO.
func dialWeb(t testing.TB, s *server.Server, lines ...string) *webClient {
	t.Helper()
	c, r := upgrade(t, s, lines...)
	if r.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("status %d, want 101", r.StatusCode)
	}
	mustContain(t, "first frame", c.until("\r\n"), "INFO {")
	return c
}

// The opcodes of frames, and the bit that says it is the last of a message.
const (
	frameContinuation = 0
	frameText         = 1
	frameBinary       = 2
	frameClose        = 8
	framePing         = 9
	framePong         = 10
	frameFinal        = 0x80
)

// frame sends one masked frame.
func (c *webClient) frame(first byte, payload string) {
	c.t.Helper()
	b := []byte{first, 0x80 | 126}
	if len(payload) < 126 {
		b[1] = 0x80 | byte(len(payload))
	} else {
		b = binary.BigEndian.AppendUint16(b, uint16(len(payload)))
	}
	mask := [4]byte{1, 2, 3, 4}
	b = append(b, mask[:]...)
	for i := range len(payload) {
		b = append(b, payload[i]^mask[i%4])
	}
	if _, err := c.nc.Write(b); err != nil {
		c.t.Fatal(err)
	}
}

// send is one whole binary message.
func (c *webClient) send(text string) { c.t.Helper(); c.frame(frameFinal|frameBinary, text) }

// read returns the next frame of the server.
func (c *webClient) read() (opcode byte, payload []byte) {
	c.t.Helper()
	var head [2]byte
	if _, err := io.ReadFull(c.r, head[:]); err != nil {
		c.t.Fatalf("read a frame: %v", err)
	}
	n := int(head[1])
	if n == 126 {
		var long [2]byte
		if _, err := io.ReadFull(c.r, long[:]); err != nil {
			c.t.Fatal(err)
		}
		n = int(binary.BigEndian.Uint16(long[:]))
	}
	payload = make([]byte, n)
	if _, err := io.ReadFull(c.r, payload); err != nil {
		c.t.Fatal(err)
	}
	return head[0] & 0xf, payload
}

// until reads binary frames until their payloads end so.
func (c *webClient) until(end string) string {
	c.t.Helper()
	var text []byte
	for !bytes.HasSuffix(text, []byte(end)) {
		opcode, payload := c.read()
		if opcode != frameBinary {
			c.t.Fatalf("frame with opcode %d and %q, want a binary one", opcode, payload)
		}
		text = append(text, payload...)
	}
	return string(text)
}

const plainWeb = "http_port: -1\nwebsocket { listen: \"127.0.0.1:-1\", no_tls: true\n%s }\n"

// TestWebSocketClient has a client of nats.go talk to one over TCP, plain and with TLS, compressed and not.
func TestWebSocketClient(t *testing.T) {
	a := servertest.NewAuthority(t)
	tests := []struct {
		name, config string
		opts         []nats.Option
	}{
		{"ws", fmt.Sprintf(plainWeb, ""), nil},
		{"ws compressed", fmt.Sprintf(plainWeb, "compression: true"), []nats.Option{nats.Compression(true)}},
		{"ws compressed for one side only", fmt.Sprintf(plainWeb, ""), []nats.Option{nats.Compression(true)}},
		{"wss", "http_port: -1, websocket { listen: \"127.0.0.1:-1\"\n" + a.Server().Block("") + "}", []nats.Option{nats.Secure(a.ClientConfig())}},
		{"wss compressed", "http_port: -1, websocket { listen: \"127.0.0.1:-1\", compression: true\n" + a.Server().Block("") + "}", []nats.Option{nats.Secure(a.ClientConfig()), nats.Compression(true)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := servertest.Start(t, tt.config)
			web, err := nats.Connect(s.Ports().WebSocket[0], append(tt.opts, nats.Name("web"))...)
			if err != nil {
				t.Fatal(err)
			}
			defer web.Close()
			if _, err := web.Subscribe("echo", func(m *nats.Msg) { _ = m.Respond(m.Data) }); err != nil {
				t.Fatal(err)
			}
			if err := web.Flush(); err != nil {
				t.Fatal(err)
			}
			plain := servertest.Connect(t, s, nats.Name("plain"))
			for _, size := range []int{0, 1, 63, 64, 65, 125, 126, 4095, 4097, 65535, 65536, 1 << 20} {
				payload := strings.Repeat("0123456789abcdef", size/16+1)[:size]
				if got := request(t, plain, "echo", payload); got != payload {
					t.Errorf("%d bytes came back as %d", size, len(got))
				}
			}
			for _, c := range page[connz](t, s, "/connz").Connections {
				want := map[string]string{"web": "websocket", "plain": "nats"}[c.Name]
				if c.Type != want {
					t.Errorf("%s: type = %q, want %q", c.Name, c.Type, want)
				}
			}
		})
	}
}

func TestOrigins(t *testing.T) {
	tests := []struct {
		setting, origin string
		ok              bool
	}{
		{"", "http://evil.example", true},
		{"same_origin: true", "", true},
		{"same_origin: true", "http://example.com", true},
		{"same_origin: true", "http://evil.example", false},
		{"same_origin: true", "https://example.com:8443", false},
		{`allowed_origins: ["https://app.example"]`, "https://app.example", true},
		{`allowed_origins: ["https://app.example"]`, "http://app.example", false},
		{`allowed_origins: ["https://app.example"]`, "https://app.example.evil", false},
	}
	for _, tt := range tests {
		s := servertest.Start(t, fmt.Sprintf(plainWeb, tt.setting))
		var lines []string
		if tt.origin != "" {
			lines = []string{"Origin: " + tt.origin}
		}
		_, r := upgrade(t, s, lines...)
		want := map[bool]int{true: http.StatusSwitchingProtocols, false: http.StatusForbidden}[tt.ok]
		if r.StatusCode != want {
			t.Errorf("%s, origin %q: status %d, want %d", tt.setting, tt.origin, r.StatusCode, want)
		}
	}
}

// TestWebSocketUsers logs in over WebSocket with cookies, with the listener's own credentials and as its
// no_auth_user.
func TestWebSocketUsers(t *testing.T) {
	const users = `accounts { A { users: [{user: a, password: x}] }, B { users: [{user: b, password: y, allowed_connection_types: [WEBSOCKET]}] } }` + "\n"
	const cookies = "user_cookie: u, pass_cookie: p, token_cookie: t"
	tests := []struct {
		name, setting, config string
		cookie, members       string
		account               string // refused when empty
	}{
		{"in CONNECT", "", users, "", `"user":"a","pass":"x"`, "A"},
		{"for this kind of connection", "", users, "", `"user":"b","pass":"y"`, "B"},
		{"missing", "", users, "", "", ""},
		{"cookies", cookies, users, "u=a; p=x", "", "A"},
		{"one cookie, one member", cookies, users, "u=a", `"pass":"x"`, "A"},
		{"CONNECT goes before cookies", cookies, users, "u=a; p=wrong", `"user":"b","pass":"y"`, "B"},
		{"cookies that nobody asked for", "", users, "u=a; p=x", "", ""},
		{"wrong cookie", cookies, users, "u=a; p=y", "", ""},
		{"token cookie", cookies, "authorization { token: t0 }\n", "t=t0", "", "$G"},
		{"own user", "authorization { user: w, password: z }", users, "", `"user":"w","pass":"z"`, "$G"},
		{"others with an own user", "authorization { user: w, password: z }", users, "", `"user":"a","pass":"x"`, ""},
		{"own token", "authorization { token: z }", users, "", `"auth_token":"z"`, "$G"},
		{"own no_auth_user", "no_auth_user: b", users, "", "", "B"},
		{"no_auth_user of all", "", users + "no_auth_user: a", "", "", "A"},
		{"own no_auth_user before that of all", "no_auth_user: b", users + "no_auth_user: a", "", "", "B"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := servertest.Start(t, fmt.Sprintf(plainWeb, tt.setting)+tt.config)
			c := dialWeb(t, s, "Cookie: "+tt.cookie)
			c.send(login(tt.members) + "PING\r\n")
			if tt.account == "" {
				mustContain(t, "answer", c.until("\r\n"), "-ERR 'Authorization Violation'")
				return
			}
			mustContain(t, "answer", c.until("} \r\n"), "PONG\r\n", fmt.Sprintf(`"remote_account":%q`, tt.account))
		})
	}
}

// TestOwnUserIsForWebSocketOnly checks that the credentials of that listener open no other.
func TestOwnUserIsForWebSocketOnly(t *testing.T) {
	s := servertest.Start(t, fmt.Sprintf(plainWeb, "authorization { user: w, password: z, timeout: 0.05 }")+`authorization { user: a, password: x }`)
	dialAs(t, s, "a", "x")
	c := servertest.Dial(t, s)
	c.Send(user("w", "z"))
	c.Expect("-ERR 'Authorization Violation'")
}

func TestWebSocketHeaders(t *testing.T) {
	s := servertest.Start(t, fmt.Sprintf(plainWeb, `headers { X-Mine: "yes" }`))
	_, r := upgrade(t, s)
	if got := r.Header.Get("X-Mine"); got != "yes" {
		t.Errorf("X-Mine = %q, want yes", got)
	}
}

// TestWebSocketInfo checks that INFO speaks of the listener that the client came through.
func TestWebSocketInfo(t *testing.T) {
	a := servertest.NewAuthority(t)
	tests := []struct{ setting, want, unwanted string }{
		{"", `"host":"127.0.0.1","port":%d,`, `tls_`},
		{`advertise: "web.example:443"`, `"host":"web.example","port":443,`, `tls_`},
	}
	for _, tt := range tests {
		s := servertest.Start(t, fmt.Sprintf(plainWeb, tt.setting)+a.Server().Block(""))
		c, _ := upgrade(t, s)
		text := c.until("\r\n")
		_, port, err := net.SplitHostPort(c.nc.RemoteAddr().String())
		if err != nil {
			t.Fatal(err)
		}
		mustContain(t, "INFO", text, strings.ReplaceAll(tt.want, "%d", port))
		if strings.Contains(text, tt.unwanted) {
			t.Errorf("INFO is %s, want no %q in it", text, tt.unwanted)
		}
	}
}

// TestForwardedFor checks that monitoring shows the address that a proxy tells.
func TestForwardedFor(t *testing.T) {
	s := servertest.Start(t, fmt.Sprintf(plainWeb, ""))
	c := dialWeb(t, s, "X-Forwarded-For: 192.0.2.7, 10.0.0.1")
	c.send(`CONNECT {"verbose":false}` + "\r\nPING\r\n")
	c.until("PONG\r\n")
	if got := page[connz](t, s, "/connz").Connections[0].IP; got != "192.0.2.7" {
		t.Errorf("ip = %q, want that of the client", got)
	}
}

// TestWebSocketEnds checks the close handshake and what does not belong on the wire.
func TestWebSocketEnds(t *testing.T) {
	s := servertest.Start(t, fmt.Sprintf(plainWeb, ""))
	tests := []struct {
		name   string
		send   func(c *webClient)
		status uint16
	}{
		{"close", func(c *webClient) { c.frame(frameFinal|frameClose, "\x03\xe8") }, 1000},
		{"unmasked frame", func(c *webClient) { _, _ = c.nc.Write([]byte{frameFinal | frameBinary, 1, 'x'}) }, 1002},
		{"reserved bit", func(c *webClient) { c.frame(frameFinal|0x40|frameBinary, "x") }, 1002},
		{"continuation of nothing", func(c *webClient) { c.frame(frameFinal|frameContinuation, "x") }, 1002},
	}
	for _, tt := range tests {
		c := dialWeb(t, s)
		tt.send(c)
		opcode, payload := c.read()
		if opcode != frameClose || len(payload) < 2 || binary.BigEndian.Uint16(payload) != tt.status {
			t.Errorf("%s: got opcode %d with %q, want a close frame with %d", tt.name, opcode, payload, tt.status)
		}
		if _, err := c.r.ReadByte(); err == nil {
			t.Errorf("%s: the connection is still open", tt.name)
		}
	}
	// Text of the NATS protocol that is wrong ends such a connection as any other.
	c := dialWeb(t, s)
	c.send("FOO\r\n")
	mustContain(t, "answer", c.until("\r\n"), "-ERR 'Unknown Protocol Operation'")
}

// TestSlowUpgrade checks that a client which does not get on with its request is cut off, and that one which
// was upgraded in time is not.
func TestSlowUpgrade(t *testing.T) {
	s := servertest.Start(t, fmt.Sprintf(plainWeb, `handshake_timeout: "50ms"`))
	quick := dialWeb(t, s)
	for _, sent := range []string{"", "GET / HTTP/1.1\r\nHost:", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nbody"} {
		nc, err := net.Dial("tcp", quick.nc.RemoteAddr().String())
		if err != nil {
			t.Fatal(err)
		}
		if err := nc.SetDeadline(time.Now().Add(servertest.Patience)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(nc, sent); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, nc); err != nil {
			t.Errorf("after %q: %v, want the end", sent, err)
		}
		_ = nc.Close()
	}
	quick.send(`CONNECT {"verbose":false}` + "\r\nPING\r\n")
	quick.until("PONG\r\n")
}

// TestNotAnUpgrade checks that the listener answers plain HTTP with an error.
func TestNotAnUpgrade(t *testing.T) {
	s := servertest.Start(t, fmt.Sprintf(plainWeb, ""))
	r, err := http.Get(strings.Replace(s.Ports().WebSocket[0], "ws", "http", 1))
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Body.Close()
	if r.StatusCode != http.StatusBadRequest {
		t.Errorf("status %d, want 400", r.StatusCode)
	}
}

// TestWebSocketTimers checks that the listener's own time-outs count for its clients, and for them only.
func TestWebSocketTimers(t *testing.T) {
	s := servertest.Start(t, `
		authorization { token: x }
		websocket { port: -1, no_tls: true, authorization { token: x, timeout: 50ms } }
	`)
	dialWeb(t, s).until("-ERR 'Authentication Timeout'\r\n")

	s = servertest.Start(t, "websocket { port: -1, no_tls: true, ping_interval: 50ms }")
	plain := servertest.DialQuiet(t, s)
	dialWeb(t, s).until("-ERR 'Stale Connection'\r\n") // the general interval is two minutes
	plain.Flush()
}
