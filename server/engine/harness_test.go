package engine_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"runnel/server/accounts"
	"runnel/server/engine"
	"runnel/server/wire"
)

// patience is how long a test waits for what must come; it is only ever used up by a failure.
const patience = 15 * time.Second

// streams in place of a number of pollers has every connection served as TLS and WebSocket are: by a goroutine
// over a net.Conn that is no TCP socket.
const streams = -1

// transports are the modes that every behaviour is tested in.
var transports = []struct {
	name    string
	pollers int
}{
	{"goroutines", 0},
	{"pollers", 2},
	{"streams", streams},
}

// stream hides that a connection is TCP.
type stream struct{ net.Conn }

// harness is an engine behind a listener.
type harness struct {
	t        testing.TB
	engine   *engine.Engine
	registry *accounts.Registry
	policy   *accounts.Policy
	listener net.Listener
	streams  bool
	journal  *journal
	mayBlock atomic.Bool
	refusal  atomic.Pointer[engine.Refusal] // of whoever asks, nil for none
	gate     atomic.Pointer[chan struct{}]  // what slow checks of credentials wait for, nil for nothing

	mu     sync.Mutex
	closed []engine.Reason
	ended  chan struct{} // has one element for each connection that ended
	ways   chan way      // of messages that asked to have them told
}

// start runs an engine with default settings, changed by change, for users of cfg.
func start(t testing.TB, pollers int, cfg accounts.Config, change func(*engine.Settings)) *harness {
	t.Helper()
	return startWith(t, pollers, cfg, change, nil)
}

// startWith is start for an engine that has routes to others if routes is not nil.
func startWith(t testing.TB, pollers int, cfg accounts.Config, change func(*engine.Settings), routes *engine.RouteConfig) *harness {
	t.Helper()
	s := engine.Settings{
		MaxPayloadBytes:     1 << 20,
		MaxControlLineBytes: 4096,
		MaxPendingBytes:     64 << 20,
		PingInterval:        2 * time.Minute,
		PingMax:             2,
		WriteDeadline:       10 * time.Second,
		AuthTimeout:         2 * time.Second,
	}
	if change != nil {
		change(&s)
	}
	registry := accounts.NewRegistry()
	policy, err := registry.Compile(cfg)
	if err != nil {
		t.Fatal(err)
	}
	registry.Activate(policy)
	h := &harness{t: t, registry: registry, policy: policy, streams: pollers == streams, journal: new(journal), ended: make(chan struct{}, 10000)}
	h.ways = make(chan way, 100)
	if routes != nil && routes.Account == nil {
		routes.Account = policy.Account
	}
	h.engine, err = engine.New(engine.Config{
		Handler: h, Logger: slog.New(h.journal), Settings: s, Pollers: max(pollers, 0), ServerName: "S", Traced: h.traced, Routes: routes,
	})
	if err != nil {
		t.Fatal(err)
	}
	h.listener, err = net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var accepting sync.WaitGroup
	accepting.Go(h.accept)
	t.Cleanup(func() {
		_ = h.listener.Close()
		accepting.Wait()
		h.engine.Close()
	})
	return h
}

func (h *harness) accept() {
	for {
		nc, err := h.listener.Accept()
		if err != nil {
			return
		}
		c := h.engine.NewConn(&engine.Meta{Type: accounts.Standard, IP: "127.0.0.1", Start: time.Now()})
		info := h.Info(c)
		if h.streams {
			nc = stream{nc}
		}
		h.engine.Serve(c, nc, &info)
	}
}

func (h *harness) credentials(o *wire.Connect) accounts.Credentials {
	return accounts.Credentials{Username: o.User, Password: o.Password, Token: o.Token}
}

// hold lets checks of credentials that may block wait until the channel is closed.
func (h *harness) hold() chan struct{} {
	gate := make(chan struct{})
	h.gate.Store(&gate)
	return gate
}

func (h *harness) Authenticate(_ *engine.Conn, o *wire.Connect) (*accounts.Identity, error) {
	if gate := h.gate.Load(); gate != nil {
		<-*gate
	}
	if r := h.refusal.Load(); r != nil {
		return nil, r
	}
	return h.policy.Authenticate(h.credentials(o))
}

func (h *harness) MayBlock(_ *engine.Conn, o *wire.Connect) bool {
	return h.mayBlock.Load() || h.policy.MayBeSlow(h.credentials(o))
}

func (h *harness) Admit(*engine.Conn, *accounts.Identity) error { return nil }

func (h *harness) Bound(*engine.Conn) {}

func (h *harness) AuthRequired(*engine.Conn) bool { return h.policy.Required() }

func (h *harness) Info(c *engine.Conn) wire.Info {
	s := h.engine.Settings()
	return wire.Info{ServerID: "S", MaxPayload: s.MaxPayloadBytes, ClientID: c.ID(), Headers: true}
}

func (h *harness) Connected(*engine.Conn) {}

func (h *harness) Closed(c *engine.Conn) {
	h.mu.Lock()
	h.closed = append(h.closed, c.Reason())
	h.mu.Unlock()
	h.ended <- struct{}{}
}

// waitClosed returns the reason of the connection that ends next.
func (h *harness) waitClosed() engine.Reason {
	h.t.Helper()
	select {
	case <-h.ended:
	case <-time.After(patience):
		h.t.Fatal("no connection ended")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.closed[0]
	h.closed = h.closed[1:]
	return r
}

// client is a raw connection to the engine.
type client struct {
	t  testing.TB
	nc net.Conn
	r  *bufio.Reader
	id uint64
}

// dial connects and reads INFO.
func (h *harness) dial() *client {
	h.t.Helper()
	nc, err := net.Dial("tcp", h.listener.Addr().String())
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = nc.Close() })
	c := &client{t: h.t, nc: nc, r: bufio.NewReader(nc)}
	line, ok := strings.CutPrefix(c.line(), "INFO ")
	var info wire.Info
	if err := json.Unmarshal([]byte(line), &info); !ok || err != nil {
		h.t.Fatalf("first line = %q, %v, want INFO", line, err)
	}
	c.id = info.ClientID
	return c
}

// served is the engine's side of c.
func (h *harness) served(c *client) *engine.Conn {
	h.t.Helper()
	s := h.engine.Conn(c.id)
	if s == nil {
		h.t.Fatalf("connection %d is not served", c.id)
	}
	return s
}

// until waits for a condition that nobody announces.
func until(t testing.TB, what string, condition func() bool) {
	t.Helper()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	late := time.After(patience)
	for !condition() {
		select {
		case <-look.C:
		case <-late:
			t.Fatal("waited in vain until " + what)
		}
	}
}

// quiet is the CONNECT of an ordinary client.
const quiet = `CONNECT {"verbose":false,"pedantic":false,"headers":true,"no_responders":true,"protocol":0}` + "\r\n"

// connect is dial and the CONNECT of an ordinary client.
func (h *harness) connect() *client {
	h.t.Helper()
	c := h.dial()
	c.send(quiet)
	c.flush()
	return c
}

func (c *client) send(format string, args ...any) {
	c.t.Helper()
	text := format
	if len(args) > 0 {
		text = fmt.Sprintf(format, args...)
	}
	if _, err := c.nc.Write([]byte(text)); err != nil {
		c.t.Fatalf("send %.40q: %v", text, err)
	}
}

// readLine reads one line with its end. PINGs, which come to any connection after 2 s, are answered and passed over.
func (c *client) readLine() (string, error) {
	_ = c.nc.SetReadDeadline(time.Now().Add(patience))
	for {
		line, err := c.r.ReadString('\n')
		if err != nil || line != "PING\r\n" {
			return line, err
		}
		c.write("PONG\r\n")
	}
}

// line reads one line, without its end.
func (c *client) line() string {
	c.t.Helper()
	line, err := c.readLine()
	if err != nil {
		c.t.Fatalf("read line: %v (had %q)", err, line)
	}
	return strings.TrimRight(line, "\r\n")
}

// expectPing reads one line that must be PING, and does not answer it.
func (c *client) expectPing() {
	c.t.Helper()
	_ = c.nc.SetReadDeadline(time.Now().Add(patience))
	if line, err := c.r.ReadString('\n'); err != nil || line != "PING\r\n" {
		c.t.Fatalf("got line %.200q, %v, want PING", line, err)
	}
}

// expect reads lines and compares them.
func (c *client) expect(lines ...string) {
	c.t.Helper()
	for _, want := range lines {
		if got := c.line(); got != want {
			c.t.Fatalf("got line %.200q, want %.200q", got, want)
		}
	}
}

// flush sends PING and expects PONG and nothing before it.
func (c *client) flush() {
	c.t.Helper()
	c.send("PING\r\n")
	c.expect("PONG")
}

// expectEOF expects the end of the connection and nothing before it.
func (c *client) expectEOF() {
	c.t.Helper()
	rest, err := c.readLine()
	if err == nil || rest != "" {
		c.t.Fatalf("got %q, want the end of the connection", rest)
	}
	if e, ok := err.(net.Error); ok && e.Timeout() {
		c.t.Fatal("connection is still open")
	}
}

// both runs a test over both transports, the portable one with and without a socket that it knows.
func both(t *testing.T, f func(t *testing.T, pollers int)) {
	t.Helper()
	for _, tr := range transports {
		t.Run(tr.name, func(t *testing.T) { f(t, tr.pollers) })
	}
}
