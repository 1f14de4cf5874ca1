package engine

import (
	"crypto/tls"
	"sync"
	"sync/atomic"
	"time"

	"runnel/server/accounts"
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

// Counters count one connection's traffic since it began: In is what the client sent.
type Counters struct {
	InMessages, OutMessages, InBytes, OutBytes int64
}

// Conn is one client connection. Its exported methods are safe for concurrent use.
type Conn struct {
	engine    *Engine
	id        uint64
	slot      int32
	meta      *Meta
	transport transport

	// carry holds an incomplete frame between two reads. Owned by the transport's reader.
	carry []byte
	// flags are written by the worker that reads the connection, and read by all.
	flags atomic.Uint32
	// identity is nil until credentials were accepted; profile is the identity's, kept apart since the
	// message path needs it. Both are written with mu held.
	identity atomic.Pointer[accounts.Identity]
	profile  atomic.Pointer[accounts.Profile]
	// replies tracks the subjects that the client may answer; nil unless its profile has allow_responses.
	replies atomic.Pointer[accounts.Responses]

	out    outbound
	reason atomic.Uint32

	inMessages, outMessages, inBytes, outBytes, stalls atomic.Int64
	lastActivity                                       atomic.Int64 // coarse unix nanoseconds

	liveness liveness

	// mu guards what follows.
	mu            sync.Mutex
	subscriptions map[string]*accounts.Subscription
	client        Client
	pending       *authResult // of the credentials check that suspended the connection, once there
}

// ID is unique in the life of the server.
func (c *Conn) ID() uint64 { return c.id }

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

// Reason is why the connection ended, ReasonNone while it is open.
func (c *Conn) Reason() Reason { return Reason(c.reason.Load()) }

// Counters returns the connection's traffic so far.
func (c *Conn) Counters() Counters {
	return Counters{c.inMessages.Load(), c.outMessages.Load(), c.inBytes.Load(), c.outBytes.Load()}
}

// Stalls is how often the client was paused because a subscriber did not keep up.
func (c *Conn) Stalls() int64 { return c.stalls.Load() }

// PendingBytes is what waits to be written to the client.
func (c *Conn) PendingBytes() int { return c.out.waiting() }

// LastActivity is when the client last sent or was sent something, to about the housekeeping interval.
func (c *Conn) LastActivity() time.Time { return time.Unix(0, c.lastActivity.Load()) }

// RTT is the round-trip time that the last answered PING measured. Before that it is the time from INFO to CONNECT, and
// 0 before CONNECT.
func (c *Conn) RTT() time.Duration { return time.Duration(c.liveness.rtt.Load()) }

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

func (c *Conn) isClosing() bool { return c.reason.Load() != 0 }

// Close ends the connection for the given reason. If text is not empty the client is told so as -ERR first;
// what was queued for it is still written. Only the first call counts.
func (c *Conn) Close(reason Reason, text string) { c.end(reason, text, true) }

// end is Close; without drain what is queued is dropped.
func (c *Conn) end(reason Reason, text string, drain bool) {
	switch {
	case c.mark(reason):
		c.conclude(text, drain)
	case !drain:
		c.cut().wake()
	}
}

// mark makes reason the one why c ends, unless there is one already.
func (c *Conn) mark(reason Reason) bool { return c.reason.CompareAndSwap(0, uint32(reason)) }

// conclude does the rest of end for whoever marked c.
func (c *Conn) conclude(text string, drain bool) {
	c.removeAllSubscriptions()
	var last []byte
	if text != "" {
		last = wire.AppendErr(nil, text)
	}
	flush, woken := c.out.close(c.engine, c.transport, last, drain)
	woken.wake()
	if flush {
		w := c.engine.borrow()
		w.drain(c)
		c.engine.giveBack(w)
	}
}

// cut drops what a closing connection has not written yet.
func (c *Conn) cut() waiters {
	_, woken := c.out.close(c.engine, c.transport, nil, false)
	return woken
}

// wake implements waiter: a parked publisher reads again.
func (c *Conn) wake() { c.transport.wake() }

// ended is called by the transport once, when its reader has stopped for good. reason counts if nobody gave
// one before.
func (c *Conn) ended(reason Reason) {
	c.mark(reason)
	c.removeAllSubscriptions()
	c.carry = nil
	c.out.gone(c.engine, c.transport).wake()
	c.engine.forget(c)
}

// Send queues bytes of the server's own (an INFO, say) for the client. Not for the message path.
func (c *Conn) Send(b []byte) {
	w := c.engine.borrow()
	w.reply(c, b)
	w.flush()
	c.engine.giveBack(w)
}
