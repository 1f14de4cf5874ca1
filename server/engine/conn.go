package engine

import (
	"crypto/tls"
	"sync"
	"sync/atomic"
	"time"

	"runnel/server/accounts"
	"runnel/server/engine/lines"
	"runnel/server/engine/pulse"
	"runnel/server/wire"
)

// Meta is what is known about a connection when it is accepted. It does not change afterwards.
type Meta struct {
	Type     accounts.ConnectionType
	IP       string // of the peer, or what a proxy says it is
	Port     int
	Start    time.Time
	TLS      *tls.ConnectionState // nil without TLS
	TLSFirst bool                 // the handshake came before INFO
	Nonce    string               // to be signed by the client; empty when no key can sign in
	// AuthTimeout and PingInterval replace those of Settings where a listener has its own, to within half a
	// second; 0 does not.
	AuthTimeout, PingInterval time.Duration
	// Cookies fill members that CONNECT leaves empty (WebSocket).
	Cookies wire.Connect
}

// ClientType is the protocol that the client speaks, as monitoring and events name it.
func (m *Meta) ClientType() string {
	if m.Type == accounts.WebSocket {
		return "websocket"
	}
	return "nats"
}

// flag is a property that a client asked for.
type flag uint32

const (
	flagVerbose flag = 1 << iota
	flagPedantic
	flagNoEcho
	flagHeaders
	flagNoResponders
	flagAsyncInfo   // protocol 1: takes an INFO at any time
	flagInfoSent    // the INFO after the first PING went out
	flagIdentified  // credentials were accepted
	flagConnectSeen // a CONNECT was accepted, not only assumed
	flagSuspended   // credentials are being checked elsewhere; nothing is parsed until then
	flagTrace       // in a worker's copy only: operations are logged
)

// defaultFlags hold until a CONNECT says otherwise.
const defaultFlags = flagVerbose | flagPedantic

// Client is what a client said about itself in CONNECT.
type Client struct {
	Name, Lang, Version string
}

// Conn is one client connection. Its exported methods are safe for concurrent use.
type Conn struct {
	line   lines.Line
	engine *Engine
	meta   *Meta
	// flags are written by the worker that reads the connection, and read by all.
	flags atomic.Uint32
	// identity is nil until credentials were accepted; profile is the identity's, kept apart since the
	// message path needs it. Both are written with mu held.
	identity atomic.Pointer[accounts.Identity]
	profile  atomic.Pointer[accounts.Profile]
	// replies tracks the subjects that the client may answer; nil unless its profile has allow_responses.
	replies atomic.Pointer[accounts.Responses]

	pulse pulse.Pulse

	// mu guards what follows.
	mu            sync.Mutex
	subscriptions map[string]*accounts.Subscription
	client        Client
	pending       *authResult // of the credentials check that suspended the connection, once there
}

// Meta is what was known when the connection was accepted; read only.
func (c *Conn) Meta() *Meta { return c.meta }

// Identity is who the client is; nil until it has authenticated.
func (c *Conn) Identity() *accounts.Identity { return c.identity.Load() }

// Account is the account that the client is bound to; nil until it has authenticated.
func (c *Conn) Account() *accounts.Account {
	if id := c.identity.Load(); id != nil {
		return id.Account
	}
	return nil
}

// User is the name under which the client is shown; empty until it has authenticated, and for nobody in particular.
func (c *Conn) User() string {
	if id := c.identity.Load(); id != nil {
		return id.DisplayName()
	}
	return ""
}

// Client is what the client said about itself.
func (c *Conn) Client() Client {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.client
}

// Connected tells whether the client has sent a CONNECT that was accepted.
func (c *Conn) Connected() bool { return c.has(flagConnectSeen) }

// TakesInfo tells whether the client understands an INFO at any time.
func (c *Conn) TakesInfo() bool { return c.has(flagAsyncInfo) }

// RTT is the round-trip time that the last answered PING measured. Before that it is the time from INFO to CONNECT, and
// 0 before CONNECT.
func (c *Conn) RTT() time.Duration { return c.pulse.RTT() }

// Subscriptions returns the client's subscriptions in no particular order.
func (c *Conn) Subscriptions() []*accounts.Subscription {
	c.mu.Lock()
	defer c.mu.Unlock()
	subs := make([]*accounts.Subscription, 0, len(c.subscriptions))
	for _, s := range c.subscriptions {
		subs = append(subs, s)
	}
	return subs
}

// SubscriptionCount is how many subscriptions the client has.
func (c *Conn) SubscriptionCount() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.subscriptions)
}

func (c *Conn) has(f flag) bool { return flag(c.flags.Load())&f == f }

func (c *Conn) set(f flag, on bool) {
	if on {
		c.flags.Or(uint32(f))
	} else {
		c.flags.And(^uint32(f))
	}
}

// ID is unique in the life of the server.
func (c *Conn) ID() uint64 { return c.line.ID() }

// Reason is why the connection ended, ReasonNone while it is open.
func (c *Conn) Reason() Reason { return c.line.Reason() }

// Counters returns the connection's traffic so far.
func (c *Conn) Counters() Counters { return c.line.Counters() }

// Stalls is how often the client was paused because a subscriber did not keep up.
func (c *Conn) Stalls() int64 { return c.line.Stalls() }

// PendingBytes is what waits to be written to the client.
func (c *Conn) PendingBytes() int { return c.line.PendingBytes() }

// LastActivity is when the client last sent or was sent something, to about the housekeeping interval.
func (c *Conn) LastActivity() time.Time { return c.line.LastActivity() }

// Send queues bytes of the server's own (an INFO, say) for the client. Not for the message path.
func (c *Conn) Send(b []byte) { c.line.Send(b) }

func (c *Conn) isClosing() bool { return c.line.Closing() }

// Close ends the connection for the given reason. If text is not empty the client is told so as -ERR first;
// what was queued for it is still written. Only the first call counts.
func (c *Conn) Close(reason Reason, text string) {
	var last []byte
	if text != "" {
		last = wire.AppendErr(nil, text)
	}
	c.line.End(reason, last, true)
}

// client is a Conn as the user of its line.
type client Conn

func (c *client) conn() *Conn { return (*Conn)(c) }

func (c *client) Input(w lines.Worker, b []byte) (used int, err error) {
	return w.(*worker).input(c.conn(), b)
}

func (c *client) Halted() bool { return c.conn().has(flagSuspended) }

func (c *client) Suspended() bool { return c.conn().suspended() }

func (c *client) Resume(w lines.Worker) error { return w.(*worker).resume(c.conn()) }

func (c *client) Patience() time.Duration { return c.engine.patience() }

func (c *client) Withdraw() {
	c.conn().removeAllSubscriptions()
	c.engine.tell()
}

func (c *client) Gone() { c.engine.handler.Closed(c.conn()) }

func (c *client) Account() *accounts.Account { return c.conn().Account() }

func (c *client) describe() []any {
	return []any{"cid", c.line.ID(), "client", c.conn().Client().Name}
}
