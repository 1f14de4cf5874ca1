package server_test

import (
	"bytes"
	"fmt"
	"log/slog"
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

const calloutSubject = "$SYS.REQ.USER.AUTH"

// logged is what a server has logged.
type logged struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// take returns what was logged since it was called last.
func (l *logged) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.text.Reset()
	return l.text.String()
}

// startLogged starts a server whose log is looked at.
func startLogged(t testing.TB, config string) (*server.Server, *logged) {
	t.Helper()
	l := &logged{}
	s, err := server.Open(servertest.Options(t, config), slog.New(slog.NewTextHandler(l, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, l
}

// newKey makes a key pair, and its public key.
func newKey(t testing.TB, create func() (nkeys.KeyPair, error)) (key nkeys.KeyPair, public string) {
	t.Helper()
	key, err := create()
	if err != nil {
		t.Fatal(err)
	}
	if public, err = key.PublicKey(); err != nil {
		t.Fatal(err)
	}
	return key, public
}

// calloutAccounts are accounts for a callout whose service is the user auth of AUTH.
const calloutAccounts = `
accounts {
  AUTH { users: [{user: auth, password: x}, {user: other, password: x}] }
  APP { users: [{user: app, password: x}] }
  SECOND {}
}
`

// calloutWorld is a server that asks, and whoever answers. The answers can be spoilt.
type calloutWorld struct {
	t      testing.TB
	issuer nkeys.KeyPair
	public string
	server *server.Server
	log    *logged

	mu       sync.Mutex // guards what follows
	spoil    func(*reply)
	requests []*jwt.AuthorizationRequestClaims
}

// reply is an answer before it is signed, with the keys that sign it.
type reply struct {
	user       *jwt.UserClaims
	response   *jwt.AuthorizationResponseClaims
	userBy, by nkeys.KeyPair
	raw        []byte // in place of all that
	silent     bool
}

// newCalloutWorld starts a server with a callout that has these keys besides, and a service for it.
func newCalloutWorld(t testing.TB, keys, config string) *calloutWorld {
	t.Helper()
	w := &calloutWorld{t: t}
	w.issuer, w.public = newKey(t, nkeys.CreateAccount)
	w.server, w.log = startLogged(t, w.config(keys, config))
	w.serve(servertest.Connect(t, w.server, nats.UserInfo("auth", "x")))
	return w
}

// config is a configuration with the callout.
func (w *calloutWorld) config(keys, config string) string {
	return fmt.Sprintf("%s\n%s\nauthorization { timeout: 30, auth_callout { issuer: %s, account: AUTH, auth_users: [auth] %s } }\n",
		calloutAccounts, config, w.public, keys)
}

// serve answers over nc.
func (w *calloutWorld) serve(nc *nats.Conn) {
	w.t.Helper()
	_, err := nc.Subscribe(calloutSubject, func(m *nats.Msg) {
		c, err := jwt.DecodeAuthorizationRequestClaims(string(m.Data))
		if err != nil {
			w.t.Errorf("request: %v", err)
			return
		}
		if answer := w.answer(c); answer != nil {
			_ = m.Respond(answer) // the connection may be closed by then
		}
	})
	if err == nil {
		err = nc.Flush()
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// spoilWith has all answers changed by f from here on, and forgets the requests so far.
func (w *calloutWorld) spoilWith(f func(*reply)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.spoil, w.requests = f, nil
}

// asked is what was asked since spoilWith.
func (w *calloutWorld) asked() []*jwt.AuthorizationRequestClaims {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.requests
}

// answer is what the service says: the client is the user that it wants to be, in APP; nil for nothing.
func (w *calloutWorld) answer(c *jwt.AuthorizationRequestClaims) []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests = append(w.requests, c)
	r := &reply{
		user: jwt.NewUserClaims(c.UserNkey), response: jwt.NewAuthorizationResponseClaims(c.UserNkey),
		userBy: w.issuer, by: w.issuer,
	}
	r.user.Name, r.user.Audience = c.ConnectOptions.Username, "APP"
	r.response.Audience = c.Server.ID
	if w.spoil != nil {
		w.spoil(r)
	}
	if r.silent {
		return nil
	}
	if r.raw != nil {
		return r.raw
	}
	if r.response.Error == "" {
		r.response.Jwt = w.sign(r.user, r.userBy)
	}
	return []byte(w.sign(r.response, r.by))
}

func (w *calloutWorld) sign(c jwt.Claims, by nkeys.KeyPair) string {
	token, err := c.Encode(by)
	if err != nil {
		w.t.Error(err)
	}
	return token
}

// login connects a raw client that has got past CONNECT, as u with the password p.
func (w *calloutWorld) login() *servertest.Client {
	w.t.Helper()
	return dialAs(w.t, w.server, "u", "p")
}

// TestCalloutAdmits lets the service say who a client is.
func TestCalloutAdmits(t *testing.T) {
	w := newCalloutWorld(t, "", "http_port: -1")
	info := func(c *servertest.Client) string {
		c.Send("SUB r 1\r\nPUB $SYS.REQ.USER.INFO r 0\r\n\r\n")
		for line := c.Line(); !strings.HasPrefix(line, "MSG r 1"); line = c.Line() {
			if !strings.HasPrefix(line, "INFO") {
				t.Fatalf("got %q, want an answer", line)
			}
		}
		return c.Line()
	}
	mustContain(t, "user info", info(w.login()), `"account":"APP"`, `"user":"u"`)
	requests := w.asked()
	if len(requests) != 1 {
		t.Fatalf("%d requests, want 1", len(requests))
	}
	r := requests[0]
	if r.Issuer != w.server.ID() || r.Subject != w.public || r.Audience != "nats-authorization-request" || r.Expires <= r.IssuedAt {
		t.Errorf("request = %+v", r.ClaimsData)
	}
	if r.ConnectOptions.Username != "u" || r.ConnectOptions.Password != "p" || r.ConnectOptions.Protocol != 1 {
		t.Errorf("connect_opts = %+v", r.ConnectOptions)
	}
	if c := r.ClientInformation; c.Host != "127.0.0.1" || c.Kind != "Client" || c.Type != "nats" || c.User != "u" || c.ID == 0 || c.Nonce == "" {
		t.Errorf("client_info = %+v", c)
	}
	if s := r.Server; s.ID != w.server.ID() || s.Name == "" || s.Version == "" || s.XKey != "" {
		t.Errorf("server_id = %+v", s)
	}

	// What the user is called, and where it is, is the service's matter.
	w.spoilWith(func(r *reply) { r.user.Name, r.user.Audience = "Robert", "SECOND" })
	mustContain(t, "user info", info(w.login()), `"account":"SECOND"`, `"user":"Robert"`)
	_, connections := get(t, w.server, "/connz?auth=1")
	mustContain(t, "connz", connections, `"authorized_user": "Robert"`, `"account": "SECOND"`)

	// A user of the configuration is asked about as well, whatever its password; the service's own is not.
	w.spoilWith(nil)
	for _, who := range []struct {
		user, password string
		asked          int
	}{{"app", "x", 1}, {"app", "wrong", 1}, {"other", "x", 1}, {"auth", "x", 0}} {
		w.spoilWith(nil)
		dialAs(t, w.server, who.user, who.password)
		if got := len(w.asked()); got != who.asked {
			t.Errorf("user %s: %d requests, want %d", who.user, got, who.asked)
		}
	}
	c := servertest.Dial(t, w.server)
	c.Send(user("auth", "wrong"))
	c.Expect("-ERR 'Authorization Violation'")
	c.ExpectClosed()
}

// TestCalloutRefuses gives an answer each thing that can be wrong with it: the client is told nothing but that it may
// not log in, the log says why.
func TestCalloutRefuses(t *testing.T) {
	w := newCalloutWorld(t, ", allowed_accounts: [APP, SECOND]", "")
	stranger, strange := newKey(t, nkeys.CreateAccount)
	_, otherUser := newKey(t, nkeys.CreateUser)
	_, otherServer := newKey(t, nkeys.CreateServer)
	now := time.Now()
	tests := []struct {
		name  string
		spoil func(*reply)
		log   string
	}{
		{"error", func(r *reply) { r.response.Error = "no way" }, "no way"},
		{"text", func(r *reply) { r.raw = []byte("hello") }, "malformed answer"},
		{"three parts", func(r *reply) { r.raw = []byte("a.b.c") }, "malformed answer"},
		{"sealed for nobody", func(r *reply) { r.raw = []byte("xkv1garbage") }, "sealed"},
		{"response of another issuer", func(r *reply) { r.by = stranger }, strange},
		{"user of another issuer", func(r *reply) { r.userBy = stranger }, strange},
		{"both of another issuer", func(r *reply) { r.by, r.userBy = stranger, stranger }, strange},
		{"response for another user", func(r *reply) { r.response.Subject = otherUser }, "answer to another request"},
		{"response for another server", func(r *reply) { r.response.Audience = otherServer }, "answer to another request"},
		{"response for nobody", func(r *reply) { r.response.Audience = "" }, "answer to another request"},
		{"response expired", func(r *reply) { r.response.Expires = now.Unix() - 5 }, "expired"},
		{"response not yet valid", func(r *reply) { r.response.NotBefore = now.Unix() + 100 }, "not yet valid"},
		{"another user", func(r *reply) { r.user.Subject = otherUser }, "user_nkey"},
		{"user expired", func(r *reply) { r.user.Expires = now.Unix() - 5 }, "expired"},
		{"user not yet valid", func(r *reply) { r.user.NotBefore = now.Unix() + 100 }, "not yet valid"},
		{"unknown account", func(r *reply) { r.user.Audience = "NOPE" }, "NOPE"},
		{"no account", func(r *reply) { r.user.Audience = "" }, "no account"},
		{"account that is not allowed", func(r *reply) { r.user.Audience = "AUTH" }, "allowed_accounts"},
		{"system account", func(r *reply) { r.user.Audience = "$SYS" }, "allowed_accounts"},
		{"issuer account", func(r *reply) { r.user.IssuerAccount = w.public }, "issuer_account"},
		{"kind of connection", func(r *reply) { r.user.AllowedConnectionTypes.Add("WEBSOCKET") }, "connection type"},
		{"unknown kind of connection", func(r *reply) { r.user.AllowedConnectionTypes.Add("NOPE") }, "connection type"},
		{"network", func(r *reply) { r.user.Src.Add("192.0.2.0/24") }, "127.0.0.1"},
		{"time of the day", func(r *reply) {
			r.user.Times = []jwt.TimeRange{{Start: now.Add(time.Hour).Format(time.TimeOnly), End: now.Add(2 * time.Hour).Format(time.TimeOnly)}}
		}, "times"},
		{"proxy", func(r *reply) { r.user.ProxyRequired = true }, "proxy"},
		{"senseless permission", func(r *reply) { r.user.Pub.Allow.Add("a..b") }, "a..b"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w.spoilWith(tt.spoil)
			w.log.take()
			c := servertest.Dial(t, w.server)
			c.Send(user("u", "sEcReT"))
			c.Expect("-ERR 'Authorization Violation'")
			c.ExpectClosed()
			text := w.log.take()
			mustContain(t, "log", text, "authentication error", "auth callout", tt.log)
			if strings.Contains(text, "sEcReT") || strings.Contains(text, "eyJ") {
				t.Errorf("a secret or a token in the log: %s", text)
			}
		})
	}
	w.spoilWith(nil)
	w.login()
}

// TestCalloutApplies looks at what the user's JWT restricts.
func TestCalloutApplies(t *testing.T) {
	w := newCalloutWorld(t, "", "http_port: -1")
	w.spoilWith(func(r *reply) {
		r.user.Pub.Allow.Add("a", "r")
		r.user.Sub.Allow.Add("a", "b.>", "q v")
		r.user.Sub.Deny.Add("b.no")
		r.user.Resp = &jwt.ResponsePermission{MaxMsgs: 1, Expires: time.Minute}
		r.user.Limits.Subs, r.user.Limits.Payload = 3, 5
	})
	c, admin := w.login(), func() *servertest.Client { w.spoilWith(nil); return w.login() }()
	c.Send("PING\r\n")
	c.Expect("PONG")
	if got := c.Info()["max_payload"]; got != 5.0 {
		t.Errorf("max_payload in INFO = %v, want 5", got)
	}
	c.Send("PUB b 0\r\n\r\nSUB c 1\r\nSUB q 2\r\nSUB q v 2\r\nSUB b.* 3\r\nSUB a 4\r\nSUB a 5\r\nPUB a 0\r\n\r\n")
	c.Expect(`-ERR 'Permissions Violation for Publish to "b"'`, `-ERR 'Permissions Violation for Subscription to "c"'`,
		`-ERR 'Permissions Violation for Subscription to "q"'`, `-ERR 'maximum subscriptions exceeded'`, "MSG a 4 0", "")
	admin.Send("SUB answers 1\r\nPUB b.no 0\r\n\r\nPUB b.yes answers 0\r\n\r\n")
	c.Expect("MSG b.yes 3 answers 0", "")
	c.Send("PUB answers 0\r\n\r\nPUB answers 0\r\n\r\n")
	c.Expect(`-ERR 'Permissions Violation for Publish to "answers"'`)
	admin.Expect("MSG answers 1 0", "")
	c.Send("PUB a 6\r\n")
	c.Expect("-ERR 'Maximum Payload Violation'")

	// The end of the user is the end of the connection, and of no other.
	w.spoilWith(func(r *reply) { r.user.Expires = time.Now().Unix() + 3 }) // whole seconds, so in two at least
	short := w.login()
	short.Expect("-ERR 'User Authentication Expired'")
	short.ExpectClosed()
	if got := closedReasons(t, w.server, 2)[0]; got != "Authentication Expired" {
		t.Errorf("reason = %q", got)
	}
	admin.Flush()
}

// TestCalloutSubject: nobody but the server may ask the service, whoever is in its account.
func TestCalloutSubject(t *testing.T) {
	w := newCalloutWorld(t, "", "")
	w.spoilWith(func(r *reply) { r.user.Audience = "AUTH" })
	vouched := w.login()
	w.spoilWith(func(r *reply) { r.user.Audience = "AUTH"; r.user.Pub.Allow.Add(">") })
	all := w.login()
	w.spoilWith(nil)
	for _, c := range []*servertest.Client{vouched, all, dialAs(t, w.server, "auth", "x")} {
		c.Send("PUB %s 0\r\n\r\n", calloutSubject)
		c.Expect(fmt.Sprintf("-ERR 'Permissions Violation for Publish to %q'", calloutSubject))
	}
	other := w.login() // in APP, where the subject is one like others
	other.Send("PUB %s 0\r\n\r\n", calloutSubject)
	other.Flush()
}

// TestCalloutWithoutConnect: who says something else before CONNECT is not asked about, but refused.
func TestCalloutWithoutConnect(t *testing.T) {
	w := newCalloutWorld(t, "", "")
	for _, text := range []string{"PING\r\n", "SUB a 1\r\n", "PUB a 1\r\n"} {
		c := servertest.Dial(t, w.server)
		c.Send(text)
		c.Expect("-ERR 'Authorization Violation'")
		c.ExpectClosed()
	}
	if n := len(w.asked()); n != 0 {
		t.Errorf("%d requests, want none", n)
	}
	c := servertest.Dial(t, w.server)
	c.Send("CONNECT {}\r\n")
	c.Expect("+OK")
	if n := len(w.asked()); n != 1 {
		t.Errorf("%d requests for a CONNECT without credentials, want 1", n)
	}
}

// TestCalloutNoAuthUser: a client without credentials is asked about as the no_auth_user, unless that is never asked
// about.
func TestCalloutNoAuthUser(t *testing.T) {
	w := newCalloutWorld(t, "", "no_auth_user: app")
	servertest.DialQuiet(t, w.server)
	if r := w.asked(); len(r) != 1 || r[0].ConnectOptions.Username != "app" || r[0].ClientInformation.User != "app" {
		t.Errorf("got requests %+v, want one for app", r)
	}
	w = newCalloutWorld(t, "", "no_auth_user: auth")
	servertest.DialQuiet(t, w.server)
	c := servertest.Dial(t, w.server)
	c.Send("SUB a 1\r\nPUB a 0\r\n\r\n")
	c.Expect("+OK", "+OK", "MSG a 1 0", "")
	if n := len(w.asked()); n != 0 {
		t.Errorf("%d requests, want none", n)
	}
}

// TestCalloutCredentials: the service sees all kinds of credentials, and the log no secret.
func TestCalloutCredentials(t *testing.T) {
	w := newCalloutWorld(t, "", "")
	servertest.Connect(t, w.server, nats.Token("tok"))
	key, public := newUserKey(t)
	servertest.Connect(t, w.server, nats.Nkey(public, key.Sign))
	requests := w.asked()
	if len(requests) != 2 {
		t.Fatalf("%d requests, want 2", len(requests))
	}
	if r := requests[0]; r.ConnectOptions.Token != "tok" || r.ClientInformation.User != "[REDACTED]" {
		t.Errorf("token: got %+v of %+v", r.ConnectOptions, r.ClientInformation)
	}
	if r := requests[1]; r.ConnectOptions.Nkey != public || r.ConnectOptions.SignedNonce == "" || r.ClientInformation.User != public {
		t.Errorf("nkey: got %+v of %+v", r.ConnectOptions, r.ClientInformation)
	}
}

// TestCalloutKinds: the service decides about every kind of connection, and may allow some only.
func TestCalloutKinds(t *testing.T) {
	w := newCalloutWorld(t, "", "websocket { port: -1, no_tls: true }")
	connect := map[string]func() (*nats.Conn, error){
		"STANDARD": func() (*nats.Conn, error) { return nats.Connect(w.server.ClientURL(), nats.UserInfo("u", "p")) },
		"WEBSOCKET": func() (*nats.Conn, error) {
			return nats.Connect(w.server.Ports().WebSocket[0], nats.UserInfo("u", "p"))
		},
		"IN_PROCESS": func() (*nats.Conn, error) {
			return nats.Connect("", nats.InProcessServer(w.server), nats.UserInfo("u", "p"))
		},
	}
	for kind, dial := range connect {
		for allowed := range connect {
			w.spoilWith(func(r *reply) { r.user.AllowedConnectionTypes.Add(allowed) })
			nc, err := dial()
			if (err == nil) != (kind == allowed) {
				t.Errorf("%s where %s is allowed: %v", kind, allowed, err)
			}
			if err == nil {
				nc.Close()
			}
			want := "nats"
			if kind == "WEBSOCKET" {
				want = "websocket"
			}
			if r := w.asked(); len(r) != 1 || r[0].ClientInformation.Type != want {
				t.Errorf("%s: got requests %+v, want one of a %s client", kind, r, want)
			}
		}
	}
}

// TestCalloutAgain: a client that logs in again is asked about again, and moves where the service says.
func TestCalloutAgain(t *testing.T) {
	w := newCalloutWorld(t, "", "")
	c := w.login()
	c.Send("SUB a 1\r\n")
	c.Flush()
	w.spoilWith(func(r *reply) { r.user.Audience, r.user.Expires = "SECOND", time.Now().Unix()+100 })
	c.Send(user("u", "p") + "PING\r\n")
	c.Expect("PONG")
	other := w.login()
	other.Send(pub("a"))
	other.Flush()
	c.Flush() // what it had subscribed to has gone with its account
	w.spoilWith(func(r *reply) { r.response.Error = "not again" })
	c.Send(user("u", "p"))
	c.Expect("-ERR 'Authorization Violation'")
	c.ExpectClosed()
}

// TestCalloutSealed: with an xkey of the service the request is sealed, and the answer may be.
func TestCalloutSealed(t *testing.T) {
	curve, public := newKey(t, nkeys.CreateCurveKeys)
	w := &calloutWorld{t: t}
	w.issuer, w.public = newKey(t, nkeys.CreateAccount)
	w.server, w.log = startLogged(t, w.config(", xkey: "+public, ""))
	nc := servertest.Connect(t, w.server, nats.UserInfo("auth", "x"))
	sealed := make(chan bool, 1)
	_, err := nc.Subscribe(calloutSubject, func(m *nats.Msg) {
		key := m.Header.Get("Nats-Server-Xkey")
		text, err := curve.Open(m.Data, key)
		if err != nil {
			t.Errorf("open the request: %v", err)
			return
		}
		c, err := jwt.DecodeAuthorizationRequestClaims(string(text))
		if err != nil || c.Server.XKey != key {
			t.Errorf("request %+v, %v", c, err)
			return
		}
		answer := w.answer(c)
		if <-sealed {
			if answer, err = curve.Seal(answer, key); err != nil {
				t.Error(err)
			}
		}
		_ = m.Respond(answer) // the connection may be closed by then
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	for _, b := range []bool{true, false} {
		sealed <- b
		w.login()
	}
}

// TestCalloutLate: a service that comes after its clients is asked about those who wait. Without one, and without an
// answer, they are refused when the time to log in is over.
func TestCalloutLate(t *testing.T) {
	w := &calloutWorld{t: t}
	w.issuer, w.public = newKey(t, nkeys.CreateAccount)
	w.server, w.log = startLogged(t, w.config("", ""))
	early := servertest.Dial(t, w.server)
	early.Send(user("u", "p") + "PING\r\n")
	nc := servertest.Connect(t, w.server, nats.UserInfo("auth", "x"))
	w.serve(nc)
	early.Expect("PONG")

	reload(t, w.server, strings.Replace(w.config("", ""), "timeout: 30", "timeout: 1", 1))
	w.spoilWith(func(r *reply) { r.silent = true })
	c := servertest.Dial(t, w.server)
	c.Send(user("u", "p"))
	c.Expect("-ERR 'Authorization Violation'")
	mustContain(t, "log", w.log.take(), "no answer in time")
	nc.Close()
	c = servertest.Dial(t, w.server)
	c.Send(user("u", "p"))
	c.Expect("-ERR 'Authorization Violation'")
	mustContain(t, "log", w.log.take(), "no service to ask")
}
