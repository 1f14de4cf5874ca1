package server_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"runnel/conf"
	"runnel/server"
	"runnel/server/servertest"
)

// TestOperatorLogins: who may log in, and why others may not.
func TestOperatorLogins(t *testing.T) {
	w := newOperatorWorld(t)
	signing, stranger := newPair(t, nkeys.CreateAccount), newPair(t, nkeys.CreateAccount)
	w.startMemory("", w.tokens(func(c *jwt.AccountClaims) {
		c.Name = "orders"
		c.SigningKeys.Add(signing.public)
		c.RevokeAt(w.ub.public, time.Now().Add(time.Hour))
		c.DefaultPermissions.Pub.Deny.Add("secret.>")
	}))
	nc := w.connect(w.ua, w.userJWT(w.a, w.a, w.ua, func(c *jwt.UserClaims) { c.Name = "bob" }))
	mustContain(t, "user info", request(t, nc, "$SYS.REQ.USER.INFO", ""), w.ua.public, `"account_name":"orders"`, `"user_name":"bob"`, "secret.")
	w.connect(w.ua, w.userJWT(w.a, signing, w.ua, nil))
	w.connect(w.ua, w.userJWT(w.a, w.a, w.ua, func(c *jwt.UserClaims) { c.Src.Add("127.0.0.0/8", "::1/128") }))
	bearer := w.userJWT(w.a, w.a, w.ua, func(c *jwt.UserClaims) { c.BearerToken = true })
	w.connect(w.ub, bearer) // whose signature is another's, and does not count

	for _, tt := range []struct {
		name   string
		user   pair
		token  string
		reason string
	}{
		{"another key", w.ub, w.userJWT(w.a, w.a, w.ua, nil), "wrong signature"},
		{"no token", w.ua, "", "JWT is required"},
		{"garbage", w.ua, "a.b.c", "malformed token"},
		{"unknown account", w.ua, w.userJWT(stranger, stranger, w.ua, nil), "account not found"},
		{"unknown signing key", w.ua, w.userJWT(w.a, stranger, w.ua, nil), "is no key of account"},
		{"revoked", w.ub, w.userJWT(w.a, w.a, w.ub, nil), "revoked"},
		{"expired", w.ua, w.userJWT(w.a, w.a, w.ua, func(c *jwt.UserClaims) { c.Expires = time.Now().Unix() - 1 }), "expired"},
		{"elsewhere", w.ua, w.userJWT(w.a, w.a, w.ua, func(c *jwt.UserClaims) { c.Src.Add("192.0.2.0/24") }), "source address"},
		{"another kind of connection", w.ua, w.userJWT(w.a, w.a, w.ua, func(c *jwt.UserClaims) { c.AllowedConnectionTypes.Add("WEBSOCKET") }), "connection type"},
		{"invalid subject", w.ua, w.userJWT(w.a, w.a, w.ua, func(c *jwt.UserClaims) { c.Pub.Allow.Add("a..b") }), "invalid claims"},
		{"the account's own token", w.ua, w.accountJWT(w.a, nil), "malformed token"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := *w
			w.t = t
			w.refused(tt.user, tt.token, tt.reason)
		})
	}
	// Without a token, and with what elsewhere would do.
	c := servertest.Dial(t, w.server)
	c.Send("%s", user("a", "b"))
	c.Expect("-ERR 'Authorization Violation'")
	c.ExpectClosed()
	c = servertest.Dial(t, w.server)
	c.Send("PING\r\n")
	c.Expect("-ERR 'Authorization Violation'")
	c.ExpectClosed()
}

// TestOperatorScopes: the role of a signing key says what a user may do, filled in for the user.
func TestOperatorScopes(t *testing.T) {
	w := newOperatorWorld(t)
	role := newPair(t, nkeys.CreateAccount)
	scope := func(allow ...string) func(c *jwt.AccountClaims) {
		return func(c *jwt.AccountClaims) {
			s := jwt.NewUserScope()
			s.Key = role.public
			s.Template.Sub.Allow.Add(allow...)
			s.Template.Sub.Allow.Add("_INBOX.>")
			c.SigningKeys.AddScopedSigner(s)
		}
	}
	w.startFull(t.TempDir(), "")
	w.push(w.a, scope("user.{{name()}}", "team.{{tag(team)}}"))
	token := w.userJWT(w.a, role, w.ua, func(c *jwt.UserClaims) {
		c.Name = "bob"
		c.Tags.Add("team:red", "team:blue")
		c.SetScoped(true)
	})
	bob := w.watch(w.ua, token)
	for _, subject := range []string{"user.bob", "team.red", "team.blue"} {
		if _, err := bob.SubscribeSync(subject); err != nil {
			t.Fatal(err)
		}
	}
	if err := bob.Flush(); err != nil {
		t.Fatal(err)
	}
	if _, err := bob.SubscribeSync("user.eve"); err != nil {
		t.Fatal(err)
	}
	bob.complains(t, `Permissions Violation for Subscription to "user.eve"`)
	// The role changes: what it does not cover any more ends, and the rest goes on.
	w.push(w.a, scope("user.{{name()}}", "team.red"))
	bob.complains(t, `Permissions Violation for Subscription to "team.blue"`)
	if bob.IsClosed() {
		t.Error("the connection was closed")
	}
	// The role goes.
	w.push(w.a, nil)
	bob.ends(t, "authorization violation")
	w.refused(w.ua, token, "is no key of account")
}

// TestOperatorPush: what an account's new JWT says holds at once, also for who is there.
func TestOperatorPush(t *testing.T) {
	w := newOperatorWorld(t)
	w.startFull(t.TempDir(), "")
	token := w.userJWT(w.a, w.a, w.ua, nil)
	w.refused(w.ua, token, "account not found")
	w.push(w.a, nil)
	w.push(w.b, nil)
	one := w.watch(w.ua, token)
	other := w.watch(w.ub, w.userJWT(w.b, w.b, w.ub, nil))

	w.push(w.a, func(c *jwt.AccountClaims) { c.Limits.Payload = 77 })
	servertest.Eventually(t, "the new limit of payloads", func() bool { return one.MaxPayload() == 77 })

	w.push(w.a, func(c *jwt.AccountClaims) { c.RevokeAt(w.ua.public, time.Now().Add(time.Minute)) })
	one.ends(t, "authentication revoked")
	w.refused(w.ua, token, "revoked")

	w.push(w.a, func(c *jwt.AccountClaims) { c.Limits.Conn = 1 })
	first := w.watch(w.ua, token)
	_, err := nats.Connect(w.server.ClientURL(), credentials(w.ua, token))
	if err == nil || !strings.Contains(err.Error(), "maximum account active connections exceeded") {
		t.Errorf("one connection too many: got %v", err)
	}
	w.push(w.a, func(c *jwt.AccountClaims) { c.Limits.Conn = 0 })
	first.ends(t, "maximum account active connections exceeded")

	w.push(w.a, nil)
	last := w.watch(w.ua, token)
	w.push(w.a, func(c *jwt.AccountClaims) { c.Expires = time.Now().Unix() - 1 })
	last.ends(t, "account authentication expired")
	w.refused(w.ua, token, "expired")
	if other.IsClosed() {
		t.Error("the connection of another account was closed")
	}
}

// TestOperatorExpiry: users go when their JWT, or that of their account, ends.
func TestOperatorExpiry(t *testing.T) {
	w := newOperatorWorld(t)
	w.startFull(t.TempDir(), "http_port: -1\n")
	w.push(w.a, nil)
	w.push(w.b, func(c *jwt.AccountClaims) {
		c.Expires = time.Now().Unix() + 4
		c.Exports.Add(&jwt.Export{Subject: "of.b", Type: jwt.Stream})
	})
	w.push(w.a, func(c *jwt.AccountClaims) {
		c.Imports.Add(&jwt.Import{Account: w.b.public, Subject: "of.b", Type: jwt.Stream})
	})
	soon := func(c *jwt.UserClaims) { c.Expires = time.Now().Unix() + 4 }
	byUser := w.watch(w.ua, w.userJWT(w.a, w.a, w.ua, soon))
	byAccount := w.watch(w.ub, w.userJWT(w.b, w.b, w.ub, nil))
	stays := w.watch(w.ub, w.userJWT(w.a, w.a, w.ub, nil))
	mustContain(t, "user info", request(t, byUser.Conn, "$SYS.REQ.USER.INFO", ""), `"expires":`)
	imported := func() string { return request(t, w.administration, "$SYS.REQ.ACCOUNT."+w.a.public+".INFO", "") }
	mustContain(t, "the import", imported(), `"invalid":false`)
	byUser.ends(t, "authentication expired")
	byAccount.ends(t, "account authentication expired")
	servertest.Eventually(t, "the end of imports from an account that has ended", func() bool {
		return strings.Contains(imported(), `"invalid":true`)
	})
	if stays.IsClosed() {
		t.Error("a user without an end was closed")
	}
	reasons := closedReasons(t, w.server, 2)
	if !slices.Equal(reasons, []string{"Authentication Expired", "Authentication Expired"}) {
		t.Errorf("reasons: got %q", reasons)
	}
}

// TestOperatorDelete: an account that is deleted is gone, and so are its users.
func TestOperatorDelete(t *testing.T) {
	w := newOperatorWorld(t)
	dir := t.TempDir()
	w.startFull(dir, "")
	w.push(w.a, nil)
	token := w.userJWT(w.a, w.a, w.ua, nil)
	one := w.watch(w.ua, token)
	mustContain(t, "a stranger's request", w.remove(newPair(t, nkeys.CreateOperator), w.a.public), `"code":500`, "not trusted")
	mustContain(t, "request for the system account", w.remove(w.operator, w.a.public, w.sys.public), `"code":500`, "system account")
	mustContain(t, "request", w.remove(w.operator, w.a.public), `"code":200`, "deleted 1 accounts")
	one.ends(t, "account authentication expired")
	w.refused(w.ua, token, "account not found")
	if _, err := os.Stat(filepath.Join(dir, w.a.public+".jwt.deleted")); err != nil {
		t.Error(err)
	}
	w.push(w.a, nil)
	w.connect(w.ua, token)
}

// TestOperatorClaims: what tools ask about accounts.
func TestOperatorClaims(t *testing.T) {
	w := newOperatorWorld(t)
	w.startFull(t.TempDir(), "")
	w.push(w.a, nil)
	ask := func(subject, body string) string { return request(t, w.administration, subject, body) }
	names := []string{w.a.public, w.sys.public}
	slices.Sort(names)
	mustContain(t, "list", ask("$SYS.REQ.CLAIMS.LIST", ""), fmt.Sprintf(`"data":["%s","%s"]`, names[0], names[1]))
	token := w.accountJWT(w.a, func(c *jwt.AccountClaims) { c.Name = "new" })
	mustContain(t, "update of one", ask("$SYS.REQ.ACCOUNT."+w.a.public+".CLAIMS.UPDATE", token), `"code":200`)
	if got := ask("$SYS.REQ.ACCOUNT."+w.a.public+".CLAIMS.LOOKUP", ""); got != token {
		t.Errorf("lookup: got %q", got)
	}
	if got := ask("$SYS.REQ.ACCOUNT."+w.b.public+".CLAIMS.LOOKUP", ""); got != "" {
		t.Errorf("lookup of an unknown account: got %q", got)
	}
	inbox := w.administration.NewInbox()
	sub, err := w.administration.SubscribeSync(inbox)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.administration.PublishRequest("$SYS.REQ.CLAIMS.PACK", inbox, nil); err != nil {
		t.Fatal(err)
	}
	var packed []string
	for m := next(t, sub); len(m.Data) > 0; m = next(t, sub) {
		packed = append(packed, string(m.Data))
	}
	if len(packed) != 2 || !slices.Contains(packed, w.a.public+"|"+token) {
		t.Errorf("pack: got %q", packed)
	}
	huge := func(c *jwt.AccountClaims) {
		for i := range 20_000 {
			c.RevokeAt(fmt.Sprintf("U%055d", i), time.Now())
		}
	}
	for _, tt := range []struct{ name, token, want string }{
		{"garbage", "garbage", "malformed"},
		{"empty", "", "malformed"},
		{"stranger's", w.sign(newPair(t, nkeys.CreateOperator), jwt.NewAccountClaims(w.a.public)), "not trusted"},
		{"its own", w.sign(w.a, jwt.NewAccountClaims(w.a.public)), "not trusted"},
		{"a user's", w.userJWT(w.a, w.a, w.ua, nil), "malformed"},
		{"broken signature", token[:len(token)-8] + "AAAAAAAA", "malformed"},
		{"senseless", w.accountJWT(w.a, func(c *jwt.AccountClaims) { c.Exports.Add(&jwt.Export{Subject: "a..b", Type: jwt.Stream}) }), "invalid claims"},
	} {
		answer := ask("$SYS.REQ.CLAIMS.UPDATE", tt.token)
		mustContain(t, "answer to "+tt.name, answer, `"code":500`, tt.want)
		if len(answer) > 4096 {
			t.Errorf("%s: an answer of %d bytes", tt.name, len(answer))
		}
	}
	if err := w.administration.Publish("$SYS.REQ.CLAIMS.UPDATE", []byte(w.accountJWT(w.b, huge))); !errors.Is(err, nats.ErrMaxPayload) {
		t.Errorf("a huge JWT: got %v", err)
	}
	mustContain(t, "update for another", ask("$SYS.REQ.ACCOUNT."+w.b.public+".CLAIMS.UPDATE", token), `"code":500`, w.b.public, "another subject")
	if got := ask("$SYS.REQ.ACCOUNT."+w.a.public+".CLAIMS.LOOKUP", ""); got != token {
		t.Errorf("after all that: got %q", got)
	}
	// Others may not ask.
	nc := w.connect(w.ua, w.userJWT(w.a, w.a, w.ua, nil))
	if _, err := nc.Request("$SYS.REQ.CLAIMS.LIST", nil, servertest.Patience); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("a user of another account: got %v", err)
	}
}

// TestOperatorImports: an account imports what another exports, with a token where that is asked for, whichever of them
// comes into use first.
func TestOperatorImports(t *testing.T) {
	w := newOperatorWorld(t)
	w.startFull(t.TempDir(), "")
	exports := func(revoke bool) func(c *jwt.AccountClaims) {
		return func(c *jwt.AccountClaims) {
			private := &jwt.Export{Subject: "private.>", Type: jwt.Stream, TokenReq: true}
			if revoke {
				private.RevokeAt(w.b.public, time.Now().Add(time.Hour))
			}
			c.Exports.Add(private, &jwt.Export{Subject: "help.*", Type: jwt.Service})
		}
	}
	act := jwt.NewActivationClaims(w.b.public)
	act.ImportSubject, act.ImportType = "private.>", jwt.Stream
	imports := func(c *jwt.AccountClaims) {
		c.Imports.Add(
			&jwt.Import{Account: w.a.public, Subject: "private.>", LocalSubject: "from.a.>", Type: jwt.Stream, Token: w.sign(w.a, act)},
			&jwt.Import{Account: w.a.public, Subject: "help.*", LocalSubject: "ask.*", Type: jwt.Service},
		)
	}
	w.push(w.b, imports)
	w.push(w.a, exports(false))
	b := w.connect(w.ub, w.userJWT(w.b, w.b, w.ub, nil)) // brings the exporter into use
	a := w.connect(w.ua, w.userJWT(w.a, w.a, w.ua, nil))
	sub, err := b.SubscribeSync("from.a.x")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := a.Publish("private.x", []byte("hello")); err != nil {
		t.Fatal(err)
	}
	if m := next(t, sub); string(m.Data) != "hello" {
		t.Errorf("got %q", m.Data)
	}
	if _, err := a.Subscribe("help.me", func(m *nats.Msg) { _ = m.Respond([]byte("yes")) }); err != nil {
		t.Fatal(err)
	}
	if err := a.Flush(); err != nil {
		t.Fatal(err)
	}
	if got := request(t, b, "ask.me", ""); got != "yes" {
		t.Errorf("the service answers %q", got)
	}
	w.push(w.a, exports(true))
	if err := a.Publish("private.x", []byte("hello")); err != nil {
		t.Fatal(err)
	}
	if got := request(t, b, "ask.me", ""); got != "yes" { // comes after what was published
		t.Errorf("the service answers %q", got)
	}
	if n, _, err := sub.Pending(); n != 0 || err != nil {
		t.Errorf("%d messages come through a revoked import (%v)", n, err)
	}
}

// TestOperatorJetStream: what an account may store is in its JWT, and streams are served again after a restart before
// anybody has logged in.
func TestOperatorJetStream(t *testing.T) {
	w := newOperatorWorld(t)
	dir := t.TempDir()
	config := fmt.Sprintf("jetstream { store_dir: %q }\n", filepath.Join(dir, "store"))
	w.startFull(filepath.Join(dir, "jwt"), config)
	w.push(w.a, func(c *jwt.AccountClaims) { c.Limits.DiskStorage, c.Limits.Streams = -1, 1 })
	w.push(w.b, nil)
	token := w.userJWT(w.a, w.a, w.ua, nil)
	nc := w.connect(w.ua, token)
	js, err := nc.JetStream()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.AddStream(&nats.StreamConfig{Name: "S", Subjects: []string{"s"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := js.AddStream(&nats.StreamConfig{Name: "T", Subjects: []string{"t"}}); err == nil || !strings.Contains(err.Error(), "maximum number of streams") {
		t.Errorf("one stream too many: got %v", err)
	}
	if _, err := js.Publish("s", []byte("kept")); err != nil {
		t.Fatal(err)
	}
	other := w.connect(w.ub, w.userJWT(w.b, w.b, w.ub, nil))
	mustContain(t, "info of an account without JetStream", request(t, other, "$JS.API.INFO", ""), "not enabled for account")
	if err := w.server.Close(); err != nil {
		t.Fatal(err)
	}
	w.startFull(filepath.Join(dir, "jwt"), config+"http_port: -1\n")
	mustContain(t, "jsz", request(t, w.administration, "$SYS.REQ.SERVER.PING.JSZ", `{"accounts":true,"streams":true}`), w.a.public, `"messages":1`)
}

// TestOperatorURL: accounts are fetched from a web server.
func TestOperatorURL(t *testing.T) {
	w := newOperatorWorld(t)
	tokens := map[string]string{w.sys.public: w.accountJWT(w.sys, nil), w.a.public: w.accountJWT(w.a, nil), w.b.public: w.accountJWT(w.a, nil)}
	var asked atomic.Int32
	site := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/jwt/v1/accounts/")
		if name == w.a.public {
			asked.Add(1)
		}
		if token, ok := tokens[name]; ok || name == "" {
			_, _ = rw.Write([]byte(token)) // the client has gone
			return
		}
		http.NotFound(rw, r)
	}))
	t.Cleanup(site.Close)
	base := site.URL + "/jwt/v1/accounts/"
	for _, config := range []string{
		"operator: " + w.operatorJWT(nil) + "\nresolver: URL(" + base + ")\n",
		"operator: " + w.operatorJWT(func(c *jwt.OperatorClaims) { c.AccountServerURL = site.URL + "/jwt/v1" }) + "\n",
	} {
		asked.Store(0)
		w.start(config)
		for range 3 {
			w.connect(w.ua, w.userJWT(w.a, w.a, w.ua, nil))
		}
		if n := asked.Load(); n != 1 {
			t.Errorf("asked %d times for one account", n)
		}
		w.refused(w.ub, w.userJWT(w.b, w.b, w.ub, nil), "token of another subject")
		unknown := newPair(t, nkeys.CreateAccount)
		w.refused(w.ub, w.userJWT(unknown, unknown, w.ub, nil), "account not found")
	}
	for name, where := range map[string]string{
		"no such folder": site.URL + "/elsewhere/", "nobody there": "http://" + freeAddress(t) + "/", "no URL": "accounts",
	} {
		o := servertest.Options(t, "operator: "+w.operatorJWT(nil)+"\nresolver: URL("+where+")\n")
		if s, err := server.Open(o, nil); err == nil {
			_ = s.Close()
			t.Errorf("%s: the server starts", name)
		}
	}
}

// freeAddress is an address where nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	return ln.Addr().String()
}

// TestOperatorCache: accounts are asked for in the system account, and kept.
func TestOperatorCache(t *testing.T) {
	w := newOperatorWorld(t)
	dir := t.TempDir()
	w.start(fmt.Sprintf("operator: %s\nresolver: { type: cache, dir: %q }\n", w.operatorJWT(nil), dir) + w.preload(nil))
	token := w.userJWT(w.a, w.a, w.ua, nil)
	w.refused(w.ua, token, "nobody answers for account JWTs")
	w.administration = w.connect(w.admin, w.userJWT(w.sys, w.sys, w.admin, nil))
	mustContain(t, "a push of an account that is not kept", request(t, w.administration, "$SYS.REQ.CLAIMS.UPDATE", w.accountJWT(w.a, nil)), "jwt update cache skipped")
	if _, err := w.administration.Subscribe("$SYS.REQ.ACCOUNT.*.CLAIMS.LOOKUP", func(m *nats.Msg) {
		answer := ""
		switch name := strings.Split(m.Subject, ".")[3]; name {
		case w.a.public:
			answer = w.accountJWT(w.a, nil)
		case w.b.public:
			answer = w.sign(newPair(t, nkeys.CreateOperator), jwt.NewAccountClaims(w.b.public))
		}
		_ = m.Respond([]byte(answer))
	}); err != nil {
		t.Fatal(err)
	}
	if err := w.administration.Flush(); err != nil {
		t.Fatal(err)
	}
	servertest.Eventually(t, "a login with an account that others have", func() bool {
		nc, err := nats.Connect(w.server.ClientURL(), credentials(w.ua, token)) // refused as long as the failure is remembered
		if err == nil {
			nc.Close()
		}
		return err == nil
	})
	if _, err := os.Stat(filepath.Join(dir, w.a.public+".jwt")); err != nil {
		t.Error(err)
	}
	w.refused(w.ub, w.userJWT(w.b, w.b, w.ub, nil), "not trusted")
	if _, err := os.Stat(filepath.Join(dir, w.b.public+".jwt")); err == nil {
		t.Error("a forged JWT was kept")
	}
	mustContain(t, "a push of an account that is kept", request(t, w.administration, "$SYS.REQ.CLAIMS.UPDATE", w.accountJWT(w.a, nil)), "jwt updated")
}

// TestOperatorBootstrap: a server that has no JWT yet, not even that of the system account, is told by its users.
func TestOperatorBootstrap(t *testing.T) {
	w := newOperatorWorld(t)
	w.start(fmt.Sprintf("operator: %s\nresolver: { type: full, dir: %q }\n", w.operatorJWT(nil), t.TempDir()))
	mustContain(t, "log", w.log.take(), "has no JWT yet")
	w.administration = w.connect(w.admin, w.userJWT(w.sys, w.sys, w.admin, nil))
	w.push(w.sys, nil)
	w.push(w.a, nil)
	w.connect(w.ua, w.userJWT(w.a, w.a, w.ua, nil))
	request(t, w.administration, "$SYS.REQ.CLAIMS.LIST", "")
}

// TestOperatorSentinel: who sends no JWT gets the default one, and only pinned accounts let users in.
func TestOperatorSentinel(t *testing.T) {
	w := newOperatorWorld(t)
	sentinel := w.userJWT(w.a, w.a, w.ua, func(c *jwt.UserClaims) {
		c.BearerToken = true
		c.Name = "sentinel"
	})
	w.startMemory("default_sentinel: "+sentinel+"\nresolver_pinned_accounts: ["+w.a.public+"]\nhttp_port: -1\n", w.tokens(nil))
	nc := servertest.Connect(t, w.server)
	mustContain(t, "user info", request(t, nc, "$SYS.REQ.USER.INFO", ""), `"user_name":"sentinel"`)
	servertest.Connect(t, w.server, nats.UserInfo("a", "b"))
	c := servertest.Dial(t, w.server)
	c.Flush() // who sends no CONNECT may be it as well, now that the account is in use
	w.refused(w.ub, w.userJWT(w.b, w.b, w.ub, nil), "not among resolver_pinned_accounts")
	w.connect(w.admin, w.userJWT(w.sys, w.sys, w.admin, nil))
	_, varz := get(t, w.server, "/varz")
	mustContain(t, "varz", varz, `"pinned_account_fails": 1`, `"trusted_operators_jwt"`, `"trusted_operators_claim"`, w.operator.public)
}

// TestOperatorShown: monitoring tells who has issued what, but no bearer token.
func TestOperatorShown(t *testing.T) {
	w := newOperatorWorld(t)
	w.startMemory("http_port: -1\n", w.tokens(func(c *jwt.AccountClaims) {
		c.Name = "orders"
		c.Tags.Add("team:x")
		c.Revoke(w.ub.public)
	}))
	plain := w.userJWT(w.a, w.a, w.ua, func(c *jwt.UserClaims) { c.Tags.Add("role:y") })
	w.connect(w.ua, plain)
	bearer := w.userJWT(w.a, w.a, w.ua, func(c *jwt.UserClaims) { c.BearerToken = true })
	w.connect(w.ua, bearer)
	_, shown := get(t, w.server, "/connz?auth=1")
	mustContain(t, "connz", shown, plain, `"issuer_key": "`+w.a.public, `"name_tag": "orders"`, "role:y")
	if strings.Contains(shown, bearer) {
		t.Error("connz shows a bearer token")
	}
	_, shown = get(t, w.server, "/accountz?acc="+w.a.public)
	mustContain(t, "accountz", shown, `"issuer_key": "`+w.operator.public, `"name_tag": "orders"`, "team:x", `"decoded_jwt"`, `"revoked_user"`, w.ub.public)
}

// TestOperatorReload: what is preloaded may change, and so may the sentinel.
func TestOperatorReload(t *testing.T) {
	w := newOperatorWorld(t)
	head := "operator: " + w.operatorJWT(nil) + "\nresolver: MEMORY\n"
	w.start(head + w.preload(w.tokens(nil)))
	token := w.userJWT(w.a, w.a, w.ua, nil)
	one := w.watch(w.ua, token)
	other := w.watch(w.ub, w.userJWT(w.b, w.b, w.ub, nil))
	reload(t, w.server, head+w.preload(w.tokens(func(c *jwt.AccountClaims) { c.Limits.Payload = 99 })))
	servertest.Eventually(t, "the new limit of payloads", func() bool { return one.MaxPayload() == 99 })
	sentinel := w.userJWT(w.a, w.a, w.ua, func(c *jwt.UserClaims) { c.BearerToken = true })
	kept := w.preload(map[pair]string{w.a: w.accountJWT(w.a, nil)})
	reload(t, w.server, head+"default_sentinel: "+sentinel+"\n"+kept)
	other.ends(t, "account authentication expired")
	servertest.Connect(t, w.server)
	if one.IsClosed() {
		t.Error("the connection of an account that stays was closed")
	}
	for name, config := range map[string]string{
		"another operator":      "operator: " + w.sign(w.operator, jwt.NewOperatorClaims(w.operator.public)) + "\nresolver: MEMORY\n" + kept,
		"a URL where nobody is": "operator: " + w.operatorJWT(nil) + "\nresolver: URL(http://" + freeAddress(t) + "/)\n",
	} {
		changes, err := w.server.Reload(servertest.Options(t, config))
		applied := err == nil && !slices.ContainsFunc(changes, func(c conf.Change) bool { return !c.Reloadable })
		if applied {
			t.Errorf("%s: was applied", name)
		}
	}
	if one.IsClosed() {
		t.Error("a reload that was refused closes a connection")
	}
}

// TestOperatorConfig: what does not go together with operator mode, by name.
func TestOperatorConfig(t *testing.T) {
	w := newOperatorWorld(t)
	good := "operator: " + w.operatorJWT(nil) + "\nresolver: MEMORY\n" + w.preload(nil)
	file := filepath.Join(t.TempDir(), "operator.jwt")
	if err := os.WriteFile(file, []byte("-----BEGIN NATS OPERATOR JWT-----\n"+w.operatorJWT(nil)+"\n------END NATS OPERATOR JWT------\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, config := range []string{
		good,
		"operator: " + file + "\nresolver: MEMORY\n" + w.preload(nil),
		"trusted_keys: [" + w.operator.public + "]\nsystem_account: " + w.sys.public + "\nresolver: MEMORY\n" + w.preload(nil),
	} {
		if err := server.Check(servertest.Options(t, config)); err != nil {
			t.Errorf("%.40s: %v", config, err)
		}
	}
	for _, tt := range []struct{ name, config, want string }{
		{"accounts", good + "accounts { A {} }", "no accounts in the configuration"},
		{"users", good + "authorization { users: [{user: a, password: b}] }", "no users in the configuration"},
		{"token", good + "authorization { token: x }", "no users in the configuration"},
		{"no_auth_user", good + "no_auth_user: x", "no no_auth_user"},
		{"another system account", good + "system_account: " + w.a.public, "is not the one of the operator"},
		{"a user as sentinel that must sign", good + "default_sentinel: " + w.userJWT(w.a, w.a, w.ua, nil), "default_sentinel"},
		{"no resolver", "operator: " + w.operatorJWT(nil), "needs a resolver"},
		{"no operator", "resolver: MEMORY", "needs an operator"},
		{"no file", "operator: /nowhere/operator.jwt\nresolver: MEMORY", "no such file"},
		{"an expired operator", "operator: " + w.operatorJWT(func(c *jwt.OperatorClaims) { c.Expires = time.Now().Unix() - 1 }) + "\nresolver: MEMORY", "expired"},
		{"a newer server", "operator: " + w.operatorJWT(func(c *jwt.OperatorClaims) { c.AssertServerVersion = "99.0.0" }) + "\nresolver: MEMORY", "server version"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := server.Check(servertest.Options(t, tt.config))
			if err == nil {
				t.Fatal("got no error")
			}
			mustContain(t, "error", err.Error(), tt.want)
		})
	}
	s, err := server.Open(servertest.Options(t, "operator: "+w.operatorJWT(nil)+"\nresolver: MEMORY\n"), nil)
	if err == nil {
		_ = s.Close()
		t.Fatal("a server starts without its system account")
	}
	mustContain(t, "error", err.Error(), "system account", w.sys.public)
}

// TestOperatorExample starts the example of the documentation, and lets tools do what it says.
func TestOperatorExample(t *testing.T) {
	w := newOperatorWorld(t)
	file, err := filepath.Abs("../docs/examples/operator.conf")
	if err != nil {
		t.Fatal(err)
	}
	o, err := conf.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile(o.Operator.Operators[0], []byte(w.operatorJWT(nil)), 0o600); err != nil {
		t.Fatal(err)
	}
	o.Port, o.Monitor.Port = -1, -1
	if w.server, err = server.Open(o, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.server.Close() })
	w.administration = w.connect(w.admin, w.userJWT(w.sys, w.sys, w.admin, nil))
	w.push(w.sys, nil)
	w.push(w.a, nil)
	w.connect(w.ua, w.userJWT(w.a, w.a, w.ua, nil))
	mustContain(t, "deletion", w.remove(w.operator, w.a.public), `"code":200`)
}

// TestOperatorKeysReload: a reload reads the operator's file again, and what a key has signed ends with the key.
func TestOperatorKeysReload(t *testing.T) {
	w := newOperatorWorld(t)
	first, second := newPair(t, nkeys.CreateOperator), newPair(t, nkeys.CreateOperator)
	signing := newPair(t, nkeys.CreateAccount)
	file := filepath.Join(t.TempDir(), "operator.jwt")
	write := func(change func(*jwt.OperatorClaims)) {
		t.Helper()
		if err := os.WriteFile(file, []byte(w.operatorJWT(change)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	account := func(p, by pair) string {
		c := jwt.NewAccountClaims(p.public)
		c.SigningKeys.Add(signing.public)
		return w.sign(by, c)
	}
	config := "operator: " + file + "\nresolver: MEMORY\nresolver_preload {\n" + w.sys.public + ": " + account(w.sys, second) + "\n" +
		w.a.public + ": " + account(w.a, first) + "\n" + w.b.public + ": " + account(w.b, second) + "\n}\n"
	write(func(c *jwt.OperatorClaims) { c.SigningKeys.Add(first.public, second.public) })
	w.start(config)
	a := w.watch(w.ua, w.userJWT(w.a, w.a, w.ua, nil))
	b := w.watch(w.ub, w.userJWT(w.b, w.b, w.ub, nil))
	signed := w.watch(w.ua, w.userJWT(w.b, signing, w.ua, nil))
	write(func(c *jwt.OperatorClaims) { c.SigningKeys.Add(second.public) })
	reload(t, w.server, config)
	a.ends(t, "account authentication expired")
	w.refused(w.ua, w.userJWT(w.a, w.a, w.ua, nil), "not trusted")
	if b.IsClosed() {
		t.Error("an account that another key has signed has ended")
	}
	write(func(c *jwt.OperatorClaims) {
		c.SigningKeys.Add(second.public)
		c.StrictSigningKeyUsage = true
	})
	reload(t, w.server, config)
	b.ends(t, "authorization violation")
	if signed.IsClosed() {
		t.Error("a user whom a signing key has signed has gone")
	}
	write(func(c *jwt.OperatorClaims) {
		c.SigningKeys.Add(second.public)
		c.SystemAccount = w.b.public
	})
	if _, err := w.server.Reload(servertest.Options(t, config)); err == nil || !strings.Contains(err.Error(), "another system account") {
		t.Errorf("another system account: got %v", err)
	}
}

// TestOperatorCycle: accounts that import from each other come into use, and what would go in a circle does not work.
func TestOperatorCycle(t *testing.T) {
	w := newOperatorWorld(t)
	shares := func(with pair) func(*jwt.AccountClaims) {
		return func(c *jwt.AccountClaims) {
			c.Exports.Add(&jwt.Export{Subject: "x", Type: jwt.Service}, &jwt.Export{Subject: jwt.Subject(c.Subject + ".>"), Type: jwt.Stream})
			c.Imports.Add(
				&jwt.Import{Account: with.public, Subject: "x", LocalSubject: "x", Type: jwt.Service},
				&jwt.Import{Account: with.public, Subject: jwt.Subject(with.public + ".>"), Type: jwt.Stream},
			)
		}
	}
	w.startMemory("", map[pair]string{w.a: w.accountJWT(w.a, shares(w.b)), w.b: w.accountJWT(w.b, shares(w.a))})
	a := w.connect(w.ua, w.userJWT(w.a, w.a, w.ua, nil))
	mustContain(t, "log", w.log.take(), "import cycle", "not in force")
	b := w.connect(w.ub, w.userJWT(w.b, w.b, w.ub, nil))
	sub, err := a.SubscribeSync(w.b.public + ".news")
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := b.Publish(w.b.public+".news", []byte("hello")); err != nil {
		t.Fatal(err)
	}
	next(t, sub)
}

// TestOperatorWebSocket: a browser shows its JWT as a cookie, and a user may be bound to WebSocket.
func TestOperatorWebSocket(t *testing.T) {
	w := newOperatorWorld(t)
	w.startMemory("websocket { port: -1, no_tls: true, jwt_cookie: session }\n", w.tokens(nil))
	token := w.userJWT(w.a, w.a, w.ua, func(c *jwt.UserClaims) {
		c.BearerToken = true
		c.AllowedConnectionTypes.Add(jwt.ConnectionTypeWebsocket)
	})
	c := dialWeb(t, w.server, "Cookie: session="+token)
	c.send(login("") + "PING\r\n")
	mustContain(t, "answer", c.until("} \r\n"), "PONG\r\n", w.a.public)
	c = dialWeb(t, w.server, "Cookie: session=x")
	c.send(login("") + "PING\r\n")
	mustContain(t, "answer", c.until("\r\n"), "-ERR 'Authorization Violation'")
	w.refused(w.ua, token, "connection type not allowed")
}
