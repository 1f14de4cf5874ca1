package server_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"runnel/server"
	"runnel/server/servertest"
)

// pair is a pair of keys.
type pair struct {
	nkeys.KeyPair
	public string
}

func newPair(t testing.TB, create func() (nkeys.KeyPair, error)) pair {
	t.Helper()
	key, public := newKey(t, create)
	return pair{key, public}
}

// operatorWorld is an operator with a system account and two accounts, and a server that trusts it.
type operatorWorld struct {
	t              testing.TB
	operator       pair
	sys, a, b      pair // accounts
	admin, ua, ub  pair // a user of each
	server         *server.Server
	log            *logged
	administration *nats.Conn // of the system account
}

func newOperatorWorld(t testing.TB) *operatorWorld {
	t.Helper()
	w := &operatorWorld{t: t, operator: newPair(t, nkeys.CreateOperator)}
	for _, account := range []*pair{&w.sys, &w.a, &w.b} {
		*account = newPair(t, nkeys.CreateAccount)
	}
	for _, user := range []*pair{&w.admin, &w.ua, &w.ub} {
		*user = newPair(t, nkeys.CreateUser)
	}
	return w
}

// sign encodes claims.
func (w *operatorWorld) sign(by pair, c jwt.Claims) string {
	w.t.Helper()
	token, err := c.Encode(by)
	if err != nil {
		w.t.Fatal(err)
	}
	return token
}

// operatorJWT is the operator's, after change was made to it.
func (w *operatorWorld) operatorJWT(change func(*jwt.OperatorClaims)) string {
	w.t.Helper()
	c := jwt.NewOperatorClaims(w.operator.public)
	c.SystemAccount = w.sys.public
	if change != nil {
		change(c)
	}
	return w.sign(w.operator, c)
}

// accountJWT is that of an account, after change was made to it.
func (w *operatorWorld) accountJWT(account pair, change func(*jwt.AccountClaims)) string {
	w.t.Helper()
	c := jwt.NewAccountClaims(account.public)
	if change != nil {
		change(c)
	}
	return w.sign(w.operator, c)
}

// userJWT is that of a user, signed by a key of the account.
func (w *operatorWorld) userJWT(account, by, user pair, change func(*jwt.UserClaims)) string {
	w.t.Helper()
	c := jwt.NewUserClaims(user.public)
	if by.public != account.public {
		c.IssuerAccount = account.public
	}
	if change != nil {
		change(c)
	}
	return w.sign(by, c)
}

// preload is the option of that name, with the system account and others.
func (w *operatorWorld) preload(tokens map[pair]string) string {
	w.t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "resolver_preload {\n  %s: %s\n", w.sys.public, w.accountJWT(w.sys, nil))
	for account, token := range tokens {
		fmt.Fprintf(&b, "  %s: %s\n", account.public, token)
	}
	return b.String() + "}\n"
}

// startMemory starts a server that has the accounts in its configuration.
func (w *operatorWorld) startMemory(config string, tokens map[pair]string) {
	w.t.Helper()
	w.start("operator: " + w.operatorJWT(nil) + "\nresolver: MEMORY\n" + w.preload(tokens) + config)
}

// startFull starts a server that is told about the accounts, and keeps them in dir.
func (w *operatorWorld) startFull(dir, config string) {
	w.t.Helper()
	w.start(fmt.Sprintf("operator: %s\nresolver: { type: full, dir: %q, allow_delete: true }\n", w.operatorJWT(nil), dir) + w.preload(nil) + config)
	w.administration = w.connect(w.admin, w.userJWT(w.sys, w.sys, w.admin, nil))
}

func (w *operatorWorld) start(config string) {
	w.t.Helper()
	w.server, w.log = startLogged(w.t, config)
}

// credentials are how a user logs in.
func credentials(user pair, token string) nats.Option {
	return nats.UserJWT(func() (string, error) { return token, nil }, func(nonce []byte) ([]byte, error) { return user.Sign(nonce) })
}

// connect connects a user, who must be let in.
func (w *operatorWorld) connect(user pair, token string, opts ...nats.Option) *nats.Conn {
	w.t.Helper()
	return servertest.Connect(w.t, w.server, slices.Concat([]nats.Option{credentials(user, token), nats.NoReconnect()}, opts)...)
}

// refused checks that a user is not let in, for a reason that the log has.
func (w *operatorWorld) refused(user pair, token, reason string) {
	w.t.Helper()
	w.log.take()
	nc, err := nats.Connect(w.server.ClientURL(), credentials(user, token))
	if err == nil {
		nc.Close()
		w.t.Fatalf("the user was let in, want %q", reason)
	}
	if text := err.Error(); text != "nats: Authorization Violation" {
		w.t.Errorf("the client is told %q", text)
	}
	text := w.log.take()
	mustContain(w.t, "log", text, reason)
	if token != "" && strings.Contains(text, token) {
		w.t.Error("the log has the token")
	}
}

// push sends the JWT of an account to the server, which must take it.
func (w *operatorWorld) push(account pair, change func(*jwt.AccountClaims)) {
	w.t.Helper()
	mustContain(w.t, "answer to a push", request(w.t, w.administration, "$SYS.REQ.CLAIMS.UPDATE", w.accountJWT(account, change)),
		`"code":200`, `"message":"jwt updated"`, account.public)
}

// remove asks for the deletion of accounts, and returns the answer.
func (w *operatorWorld) remove(by pair, names ...string) string {
	w.t.Helper()
	c := jwt.NewGenericClaims(by.public)
	c.Data["accounts"] = names
	return request(w.t, w.administration, "$SYS.REQ.CLAIMS.DELETE", w.sign(by, c))
}

// visitor is a connection whose errors and end are seen.
type visitor struct {
	*nats.Conn
	errors chan error
	closed chan struct{}
}

// watch connects a user and looks after the connection.
func (w *operatorWorld) watch(user pair, token string) *visitor {
	w.t.Helper()
	x := &visitor{errors: make(chan error, 16), closed: make(chan struct{})}
	x.Conn = w.connect(user, token, nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { x.errors <- err }),
		nats.ClosedHandler(func(*nats.Conn) { close(x.closed) }))
	return x
}

// ends waits until the connection was closed by the server, which must have said why.
func (x *visitor) ends(t testing.TB, why string) {
	t.Helper()
	select {
	case <-x.closed:
	case <-time.After(servertest.Patience):
		t.Fatalf("the connection stays open, want %q", why)
	}
	said := []string{fmt.Sprint(x.LastError())}
	for len(x.errors) > 0 {
		said = append(said, (<-x.errors).Error())
	}
	mustContain(t, "what the server has said", strings.Join(said, "; "), why)
}

// complains waits for an error of the server.
func (x *visitor) complains(t testing.TB, text string) {
	t.Helper()
	select {
	case err := <-x.errors:
		mustContain(t, "error", err.Error(), text)
	case <-time.After(servertest.Patience):
		t.Fatalf("the server does not say %q", text)
	}
}

// tokens are the accounts a and b as they are made by default, changed for a.
func (w *operatorWorld) tokens(change func(*jwt.AccountClaims)) map[pair]string {
	w.t.Helper()
	all := map[pair]string{w.a: w.accountJWT(w.a, change)}
	maps.Copy(all, map[pair]string{w.b: w.accountJWT(w.b, nil)})
	return all
}
