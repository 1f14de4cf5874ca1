package callout_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"runnel/server/callout"
	"runnel/server/wire"
)

// message is one that was published on a bus.
type message struct {
	subject, reply  string
	header, payload []byte
}

// bus is an account of its own: what is published goes to a service, if there is one.
type bus struct {
	mu       sync.Mutex // guards what follows
	service  func(message)
	handlers map[string]func(subject, payload []byte) // by pattern, which ends in .*
	watchers map[int]func(bool)
	watched  int
	sent     int
}

func newBus(service func(message)) *bus {
	return &bus{service: service, handlers: map[string]func(subject, payload []byte){}, watchers: map[int]func(bool){}}
}

func (b *bus) Publish(subject, reply string, header, payload []byte) int {
	b.mu.Lock()
	service := b.service
	b.sent++
	b.mu.Unlock()
	if service == nil {
		return 0
	}
	service(message{subject, reply, header, payload})
	return 1
}

func (b *bus) Subscribe(pattern string, handler func(subject, payload []byte)) func() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.handlers[pattern] = handler
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.handlers, pattern)
	}
}

func (b *bus) Watch(_ string, changed func(bool)) func() {
	b.mu.Lock()
	defer b.mu.Unlock()
	id := b.watched
	b.watched++
	b.watchers[id] = changed
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.watchers, id)
	}
}

// arrive brings a service, and tells those who wait for one.
func (b *bus) arrive(service func(message)) {
	b.mu.Lock()
	b.service = service
	var watchers []func(bool)
	for _, w := range b.watchers {
		watchers = append(watchers, w)
	}
	b.mu.Unlock()
	for _, w := range watchers {
		w(true)
	}
}

// answer sends what a service answers.
func (b *bus) answer(reply string, payload []byte) {
	b.mu.Lock()
	handler := b.handlers[reply[:strings.LastIndexByte(reply, '.')]+".*"]
	b.mu.Unlock()
	if handler != nil {
		handler([]byte(reply), payload)
	}
}

// published is how many messages were published.
func (b *bus) published() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sent
}

// left is how much is subscribed and watched.
func (b *bus) left() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.handlers) + len(b.watchers)
}

// key makes a key pair, and its public key.
func key(t testing.TB, make func() (nkeys.KeyPair, error)) (pair nkeys.KeyPair, public string) {
	t.Helper()
	pair, err := make()
	if err != nil {
		t.Fatal(err)
	}
	if public, err = pair.PublicKey(); err != nil {
		t.Fatal(err)
	}
	return pair, public
}

// world is a server that asks and an issuer who answers.
type world struct {
	t         testing.TB
	bus       *bus
	keys      callout.Keys
	id, curve string
	issuer    nkeys.KeyPair
	account   string
	service   nkeys.KeyPair // its curve key
	xkey      string
	*callout.Service
}

// newWorld makes one, sealed or in clear. Nobody answers yet.
func newWorld(t testing.TB, sealed bool, most int) *world {
	t.Helper()
	w := &world{t: t, bus: newBus(nil)}
	w.keys.Sign, w.id = key(t, nkeys.CreateServer)
	w.keys.Curve, w.curve = key(t, nkeys.CreateCurveKeys)
	w.keys.ID, w.keys.XKey = w.id, w.curve
	w.issuer, w.account = key(t, nkeys.CreateAccount)
	w.service, w.xkey = key(t, nkeys.CreateCurveKeys)
	cfg := callout.Config{
		Bus: w.bus, Keys: w.keys, Subject: w.account, MaxWaiting: most,
		Server: func() callout.Server {
			return callout.Server{Name: "n", Host: "h", ID: w.id, Version: "1", Tags: []string{"t"}}
		},
		Trusts: func(issuer, account string) bool { return issuer == w.account && account == "" },
	}
	if sealed {
		cfg.XKey = w.xkey
	}
	w.Service = callout.New(cfg)
	t.Cleanup(w.Close)
	return w
}

// ask asks about the user u with password p.
func (w *world) ask(timeout time.Duration) (*callout.Answer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return w.Ask(ctx, &callout.Question{
		ID: 7, Host: "192.0.2.1", Type: "nats", User: "u", Nonce: "nonce",
		Connect: &wire.Connect{User: "u", Password: "p", Name: "c", Lang: "go", Version: "2", Protocol: 1},
	})
}

// request decodes what was asked.
func (w *world) request(payload []byte) *jwt.AuthorizationRequestClaims {
	c, err := jwt.DecodeAuthorizationRequestClaims(string(payload))
	if err != nil {
		w.t.Errorf("request: %v", err)
		return jwt.NewAuthorizationRequestClaims(w.account)
	}
	return c
}

// claims is a good answer to a request, for change to spoil.
func (w *world) claims(user string, change func(*jwt.AuthorizationResponseClaims)) *jwt.AuthorizationResponseClaims {
	c := jwt.NewAuthorizationResponseClaims(user)
	c.Audience, c.Jwt = w.id, "the user"
	if change != nil {
		change(c)
	}
	return c
}

// sign encodes claims.
func sign(t testing.TB, c jwt.Claims, by nkeys.KeyPair) []byte {
	t.Helper()
	token, err := c.Encode(by)
	if err != nil {
		t.Fatal(err)
	}
	return []byte(token)
}
