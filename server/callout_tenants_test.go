package server_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"runnel/server"
	"runnel/server/servertest"
)

// signer is an account with its key and a signing key.
type signer struct {
	key, signing       nkeys.KeyPair
	public, signPublic string
}

func newSigner(t testing.TB) signer {
	t.Helper()
	var s signer
	s.key, s.public = newKey(t, nkeys.CreateAccount)
	s.signing, s.signPublic = newKey(t, nkeys.CreateAccount)
	return s
}

// tenantWorld is a server in operator mode whose account AUTH has a callout, and the service of that.
type tenantWorld struct {
	t                    testing.TB
	operator             nkeys.KeyPair
	sys, auth, app, more signer
	service, client      nkeys.KeyPair
	servicePublic        string
	public               string // of the client
	server               *server.Server
	log                  *logged
	last                 string // the configuration

	mu      sync.Mutex // guards what follows
	spoil   func(*reply)
	request *jwt.AuthorizationRequestClaims
	asked   int
}

// newTenantWorld starts one whose service may place users in these accounts of the world, besides its own.
func newTenantWorld(t testing.TB, allowed func(*tenantWorld) []string) *tenantWorld {
	t.Helper()
	w := &tenantWorld{t: t, sys: newSigner(t), auth: newSigner(t), app: newSigner(t), more: newSigner(t)}
	w.operator, _ = newKey(t, nkeys.CreateOperator)
	w.service, w.servicePublic = newKey(t, nkeys.CreateUser)
	w.client, w.public = newKey(t, nkeys.CreateUser)
	w.last = w.config(func(c *jwt.AccountClaims) {
		c.Authorization.AuthUsers.Add(w.servicePublic)
		c.Authorization.AllowedAccounts.Add(allowed(w)...)
	})
	w.server, w.log = startLogged(t, w.last)
	nc := w.connectService()
	_, err := nc.Subscribe(calloutSubject, func(m *nats.Msg) {
		c, err := jwt.DecodeAuthorizationRequestClaims(string(m.Data))
		if err != nil {
			t.Errorf("request: %v", err)
			return
		}
		_ = m.Respond(w.answer(c)) // the connection may be closed by then
	})
	if err == nil {
		err = nc.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// connectService connects as the user that is never asked about.
func (w *tenantWorld) connectService() *nats.Conn {
	w.t.Helper()
	token := w.user(w.servicePublic, w.auth.key, nil)
	return servertest.Connect(w.t, w.server, nats.UserJWT(func() (string, error) { return token, nil }, w.service.Sign),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
}

// account is the JWT of an account of the world, with the claims as change makes them.
func (w *tenantWorld) account(name string, a signer, change func(*jwt.AccountClaims)) string {
	w.t.Helper()
	c := jwt.NewAccountClaims(a.public)
	c.Name = name
	c.SigningKeys.Add(a.signPublic)
	change(c)
	return w.sign(c, w.operator)
}

// push has the claims of AUTH changed.
func (w *tenantWorld) push(change func(*jwt.AccountClaims)) {
	w.t.Helper()
	key, public := newKey(w.t, nkeys.CreateUser)
	token := w.user(public, w.sys.key, nil)
	nc := servertest.Connect(w.t, w.server, nats.UserJWT(func() (string, error) { return token, nil }, key.Sign))
	mustContain(w.t, "answer", request(w.t, nc, "$SYS.REQ.CLAIMS.UPDATE", w.account("AUTH", w.auth, change)), `"code":200`)
}

// config is the configuration, with the claims of AUTH as change makes them.
func (w *tenantWorld) config(change func(*jwt.AccountClaims)) string {
	w.t.Helper()
	public, err := w.operator.PublicKey()
	if err != nil {
		w.t.Fatal(err)
	}
	o := jwt.NewOperatorClaims(public)
	o.SystemAccount = w.sys.public
	var preload strings.Builder
	for name, a := range map[string]signer{"SYS": w.sys, "AUTH": w.auth, "APP": w.app, "MORE": w.more} {
		set := func(*jwt.AccountClaims) {}
		if name == "AUTH" {
			set = change
		}
		fmt.Fprintf(&preload, "%s: %s\n", a.public, w.account(name, a, set))
	}
	return fmt.Sprintf("operator: %s\nresolver { type: full, dir: %q }\nresolver_preload {\n%s}\nauthorization { timeout: 30 }\n",
		w.sign(o, w.operator), w.t.TempDir(), &preload)
}

func (w *tenantWorld) sign(c jwt.Claims, by nkeys.KeyPair) string {
	w.t.Helper()
	token, err := c.Encode(by)
	if err != nil {
		w.t.Error(err)
	}
	return token
}

// user is the JWT of a user.
func (w *tenantWorld) user(public string, by nkeys.KeyPair, change func(*jwt.UserClaims)) string {
	c := jwt.NewUserClaims(public)
	c.Name = "sentinel"
	if change != nil {
		change(c)
	}
	return w.sign(c, by)
}

// answer is what the service says: a user of APP that is called dynamic.
func (w *tenantWorld) answer(c *jwt.AuthorizationRequestClaims) []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.request = c
	w.asked++
	r := &reply{
		user: jwt.NewUserClaims(c.UserNkey), response: jwt.NewAuthorizationResponseClaims(c.UserNkey),
		userBy: w.app.key, by: w.auth.key,
	}
	r.user.Name, r.response.Audience = "dynamic", c.Server.ID
	if w.spoil != nil {
		w.spoil(r)
	}
	if r.response.Error == "" {
		r.response.Jwt = w.sign(r.user, r.userBy)
	}
	return []byte(w.sign(r.response, r.by))
}

func (w *tenantWorld) spoilWith(f func(*reply)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.spoil, w.asked = f, 0
}

// questions returns how many there were since spoilWith, and the last.
func (w *tenantWorld) questions() (int, *jwt.AuthorizationRequestClaims) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked, w.request
}

// dial logs a client in with a JWT, as the user joe beside that.
func (w *tenantWorld) dial(token string) *servertest.Client {
	w.t.Helper()
	c := servertest.Dial(w.t, w.server)
	signature, err := w.client.Sign([]byte(c.Info()["nonce"].(string)))
	if err != nil {
		w.t.Fatal(err)
	}
	jwtMember, err := json.Marshal(token)
	if err != nil {
		w.t.Fatal(err)
	}
	c.Send(login(fmt.Sprintf(`"jwt":%s,"sig":%q,"user":"joe","pass":"p"`, jwtMember, base64.RawURLEncoding.EncodeToString(signature))))
	return c
}

// TestCalloutOperatorMode: a user of an account with a callout is asked about, and becomes what the service says.
func TestCalloutOperatorMode(t *testing.T) {
	w := newTenantWorld(t, func(w *tenantWorld) []string { return []string{w.app.public} })
	sentinel := w.user(w.public, w.auth.key, func(c *jwt.UserClaims) {
		c.Tags.Add("blue")
		c.Pub.Deny.Add(">")
		c.Sub.Deny.Add(">")
	})
	tests := []struct {
		name    string
		token   string
		spoil   func(*reply)
		asked   int
		account *signer // where the client is then; nil: refused
		log     string
	}{
		{name: "good", token: sentinel, asked: 1, account: &w.app},
		{name: "in its own account", token: sentinel, spoil: func(r *reply) { r.userBy = w.auth.key }, asked: 1, account: &w.auth},
		{name: "user by a signing key", token: sentinel, spoil: func(r *reply) { r.userBy, r.user.IssuerAccount = w.app.signing, w.app.public }, asked: 1, account: &w.app},
		{name: "response by a signing key", token: sentinel, spoil: func(r *reply) { r.by, r.response.IssuerAccount = w.auth.signing, w.auth.public }, asked: 1, account: &w.app},
		{name: "response by a signing key alone", token: sentinel, spoil: func(r *reply) { r.by = w.auth.signing }, asked: 1, account: &w.app},
		{name: "user of another account", token: w.user(w.public, w.app.key, nil), account: &w.app},
		{name: "an account that is not allowed", token: sentinel, spoil: func(r *reply) { r.userBy = w.more.key }, asked: 1, log: "not among those"},
		{name: "the system account", token: sentinel, spoil: func(r *reply) { r.userBy = w.sys.key }, asked: 1, log: "not among those"},
		{name: "a signing key that names no account", token: sentinel, spoil: func(r *reply) { r.userBy = w.app.signing }, asked: 1, log: "not among those"},
		{name: "response by another account", token: sentinel, spoil: func(r *reply) { r.by = w.app.key }, asked: 1, log: "not trusted"},
		{name: "response for another account", token: sentinel, spoil: func(r *reply) { r.response.IssuerAccount = w.app.public }, asked: 1, log: "not trusted"},
		{name: "error", token: sentinel, spoil: func(r *reply) { r.response.Error = "no way" }, asked: 1, log: "no way"},
		{name: "another user", token: sentinel, spoil: func(r *reply) { r.user.Subject = w.public }, asked: 1, log: "user_nkey"},
		{name: "expired user", token: sentinel, spoil: func(r *reply) { r.user.Expires = time.Now().Unix() - 5 }, asked: 1, log: "expired"},
		{name: "network", token: sentinel, spoil: func(r *reply) { r.user.Src.Add("192.0.2.0/24") }, asked: 1, log: "address"},
		{name: "expired sentinel", token: w.user(w.public, w.auth.key, func(c *jwt.UserClaims) { c.Expires = time.Now().Unix() - 5 }), log: "expired"},
		{name: "sentinel of a stranger", token: w.user(w.public, newSigner(t).key, nil), log: "authentication error"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w.spoilWith(tt.spoil)
			w.log.take()
			c := w.dial(tt.token)
			if tt.account == nil {
				c.Expect("-ERR 'Authorization Violation'")
				c.ExpectClosed()
				mustContain(t, "log", w.log.take(), tt.log)
			} else {
				c.Send("PING\r\nSUB r 1\r\nPUB r 0\r\n\r\n")
				c.Expect("PONG", "MSG r 1 0", "")
				if got := c.Info()["remote_account"]; got != tt.account.public {
					t.Errorf("account = %v, want %s", got, tt.account.public)
				}
			}
			asked, r := w.questions()
			if asked != tt.asked {
				t.Errorf("%d requests, want %d", asked, tt.asked)
			}
			if asked == 0 {
				return
			}
			if i := r.ClientInformation; r.Subject != w.auth.public || r.ConnectOptions.JWT != tt.token || i.User != "joe" || i.NameTag != "sentinel" || len(i.Tags) != 1 || i.Nonce == "" {
				t.Errorf("request for %s with %+v, %+v", r.Subject, i, r.ConnectOptions)
			}
		})
	}
	w.spoilWith(func(r *reply) { r.userBy = w.auth.key })
	c := w.dial(sentinel)
	c.Send("PUB %s 0\r\n\r\n", calloutSubject)
	c.Expect(fmt.Sprintf("-ERR 'Permissions Violation for Publish to %q'", calloutSubject))
}

// TestCalloutOperatorEverywhere: a star allows all accounts.
func TestCalloutOperatorEverywhere(t *testing.T) {
	w := newTenantWorld(t, func(*tenantWorld) []string { return []string{"*"} })
	sentinel := w.user(w.public, w.auth.key, nil)
	for _, by := range []signer{w.app, w.more, w.auth} {
		w.spoilWith(func(r *reply) { r.userBy = by.key })
		w.dial(sentinel).Flush()
	}
	w = newTenantWorld(t, func(*tenantWorld) []string { return nil })
	sentinel = w.user(w.public, w.auth.key, nil)
	w.dial(sentinel).Expect("-ERR 'Authorization Violation'")
	w.spoilWith(func(r *reply) { r.userBy = w.auth.key })
	w.dial(sentinel).Flush()
}

// TestCalloutOperatorChanges: when the claims of the account have another callout, or none, those whom it has brought
// go; whoever came alone goes when one begins to decide.
func TestCalloutOperatorChanges(t *testing.T) {
	allow := func(w *tenantWorld) []string { return []string{w.app.public} }
	external := func(w *tenantWorld, change func(*jwt.ExternalAuthorization)) func(*jwt.AccountClaims) {
		return func(c *jwt.AccountClaims) {
			c.Authorization.AuthUsers.Add(w.servicePublic)
			c.Authorization.AllowedAccounts.Add(w.app.public)
			change(&c.Authorization)
		}
	}
	tests := []struct {
		name  string
		after func(w *tenantWorld) func(*jwt.AccountClaims)
		stays bool
	}{
		{"nothing", func(w *tenantWorld) func(*jwt.AccountClaims) {
			return external(w, func(*jwt.ExternalAuthorization) {})
		}, true},
		{"another limit", func(w *tenantWorld) func(*jwt.AccountClaims) {
			set := external(w, func(*jwt.ExternalAuthorization) {})
			return func(c *jwt.AccountClaims) {
				set(c)
				c.Limits.Subs = 1000
			}
		}, true},
		{"another account allowed", func(w *tenantWorld) func(*jwt.AccountClaims) {
			return external(w, func(a *jwt.ExternalAuthorization) { a.AllowedAccounts = jwt.StringList{w.more.public} })
		}, false},
		{"another xkey", func(w *tenantWorld) func(*jwt.AccountClaims) {
			_, public := newKey(w.t, nkeys.CreateCurveKeys)
			return external(w, func(a *jwt.ExternalAuthorization) { a.XKey = public })
		}, false},
		{"no callout", func(*tenantWorld) func(*jwt.AccountClaims) { return func(*jwt.AccountClaims) {} }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newTenantWorld(t, allow)
			brought := w.dial(w.user(w.public, w.auth.key, nil))
			brought.Flush()
			alone := w.dial(w.user(w.public, w.app.key, nil))
			alone.Flush()
			w.push(tt.after(w))
			alone.Flush()
			if tt.stays {
				brought.Flush()
				return
			}
			brought.Expect("-ERR 'Authorization Violation'")
			brought.ExpectClosed()
		})
	}
	w := newTenantWorld(t, allow)
	w.push(func(*jwt.AccountClaims) {})
	alone := w.dial(w.user(w.public, w.auth.key, nil))
	alone.Flush()
	service := w.connectService()
	w.push(external(w, func(*jwt.ExternalAuthorization) {}))
	alone.Expect("-ERR 'Authorization Violation'")
	alone.ExpectClosed()
	if err := service.Flush(); err != nil {
		t.Errorf("the service's own user: %v", err)
	}
}
