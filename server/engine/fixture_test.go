package engine

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"runnel/server/accounts"
	"runnel/server/engine/chunks"
	"runnel/server/engine/lines"
	"runnel/server/engine/outbound"
	"runnel/server/engine/sockets"
	"runnel/server/wire"
)

// openDoor is a handler that lets everybody in as what the policy says.
type openDoor struct{ policy *accounts.Policy }

func (d *openDoor) Authenticate(*Conn, *wire.Connect) (*accounts.Identity, error) {
	return d.policy.Authenticate(accounts.Credentials{})
}
func (d *openDoor) MayBlock(*Conn, *wire.Connect) bool    { return false }
func (d *openDoor) Admit(*Conn, *accounts.Identity) error { return nil }
func (d *openDoor) Bound(*Conn)                           {}
func (d *openDoor) AuthRequired(*Conn) bool               { return false }
func (d *openDoor) Info(*Conn) wire.Info                  { return wire.Info{} }
func (d *openDoor) Connected(*Conn)                       {}
func (d *openDoor) Closed(*Conn)                          {}
func (d *openDoor) identity(c accounts.Credentials) (*accounts.Identity, error) {
	return d.policy.Authenticate(c)
}

// openConfig lets everybody in.
var openConfig = accounts.Config{}

// fixture is an engine without sockets: its connections have transports that a test controls.
type fixture struct {
	*Engine
	t    testing.TB
	door *openDoor
}

func newFixture(t testing.TB, cfg accounts.Config) *fixture {
	t.Helper()
	registry := accounts.NewRegistry()
	policy, err := registry.Compile(cfg)
	if err != nil {
		t.Fatal(err)
	}
	registry.Activate(policy)
	door := &openDoor{policy}
	e, err := New(Config{Handler: door, Logger: slog.New(slog.DiscardHandler), Settings: Settings{
		MaxPayloadBytes:     1 << 20,
		MaxControlLineBytes: 4096,
		MaxPendingBytes:     64 << 20,
		PingInterval:        time.Hour,
		WriteDeadline:       time.Hour,
		AuthTimeout:         time.Hour,
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, c := range e.Conns() {
			c.line.Ended(ReasonShutdown)
		}
		e.Close()
	})
	return &fixture{e, t, door}
}

// connect makes a connection over tr of the user with that name, whose password is the same; of nobody for none.
func (x *fixture) connect(tr lines.Transport, user string) *Conn {
	x.t.Helper()
	c := x.NewConn(&Meta{Start: time.Now()})
	c.line.Attach(tr)
	if !x.register(&c.line) {
		x.t.Fatal("the engine is closed")
	}
	c.introduce(&wire.Connect{Headers: true, Echo: true})
	id, err := x.door.identity(accounts.Credentials{Username: user, Password: user})
	if err != nil {
		x.t.Fatal(err)
	}
	c.bind(id)
	return c
}

// full is a socket that takes nothing.
type full struct{ discarding }

func (*full) Write(*lines.Scratch, [][]byte) (int, error) { return 0, sockets.ErrFull }

// crowd has more wait for c, whose socket is tr, than publishers should add to.
func (x *fixture) crowd(c *Conn, tr lines.Transport) {
	much := chunks.Batch{Own: make([]byte, outbound.SoftLimit(x.Settings().MaxPendingBytes)+1)}
	c.line.Attach(&full{})
	c.line.Write(&much, new(lines.Scratch))
	c.line.Attach(tr)
}

// subscribe subscribes c and fails the test if that fails.
func (x *fixture) subscribe(c *Conn, subject, queue, sid string) *accounts.Subscription {
	x.t.Helper()
	if err := c.addSubscription(c.profile.Load(), subject, queue, sid, 0); err != nil {
		x.t.Fatal(err)
	}
	return c.subscription([]byte(sid))
}

// discarding is a socket that takes everything and keeps nothing.
type discarding struct{ bytes int }

func (d *discarding) Write(_ *lines.Scratch, buffers [][]byte) (n int, _ error) {
	for _, b := range buffers {
		n += len(b)
	}
	d.bytes += n
	return n, nil
}
func (d *discarding) Arm()   {}
func (d *discarding) Shut()  {}
func (d *discarding) Close() {}
func (d *discarding) Wake()  {}

// errBroken is what the socket of a peer that is gone says.
var errBroken = errors.New("broken pipe")
