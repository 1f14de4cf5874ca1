package server_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"golang.org/x/crypto/bcrypt"

	"runnel/server/servertest"
)

// newUserKey makes a key and its public form.
func newUserKey(t testing.TB) (nkeys.KeyPair, string) {
	t.Helper()
	key, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	public, err := key.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return key, public
}

func hashed(t testing.TB, password string) string {
	t.Helper()
	h, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	return string(h)
}

// TestLogins sends a CONNECT to a server of each kind of authorization.
func TestLogins(t *testing.T) {
	_, stranger := newUserKey(t)
	configs := map[string]string{
		"open":   ``,
		"single": `authorization { user: a, password: x }`,
		"token":  `authorization { token: t0 }`,
		"hashed": fmt.Sprintf(`authorization { token: %q }`, hashed(t, "t1")),
		"users": fmt.Sprintf(`authorization { users: [{user: a, password: x}, {user: b, password: %q},
			{user: ws, password: x, allowed_connection_types: [WEBSOCKET]}, {user: std, password: x, allowed_connection_types: [STANDARD]}] }`, hashed(t, "y")),
		"accounts": `accounts { A { users: [{user: a, password: x}] }, B { users: [{user: b, password: y}] } }`,
		"default":  `accounts { A { users: [{user: a, password: x}] } }, no_auth_user: a`,
	}
	tests := []struct {
		config, members, account string // refused when account is empty
	}{
		{"open", ``, "$G"},
		{"open", `"user":"anybody","pass":"x"`, "$G"},
		{"open", `"auth_token":"whatever"`, "$G"},
		{"open", `"jwt":"a.b.c","sig":"x"`, "$G"},
		{"open", `"account":"A"`, ""},
		{"open", `"new_account":true`, ""},
		{"single", `"user":"a","pass":"x"`, "$G"},
		{"single", `"user":"a","pass":"y"`, ""},
		{"single", `"user":"a"`, ""},
		{"single", `"user":"b","pass":"x"`, ""},
		{"single", `"auth_token":"x"`, ""},
		{"single", ``, ""},
		{"token", `"auth_token":"t0"`, "$G"},
		{"token", `"auth_token":"t"`, ""},
		{"token", `"user":"t0"`, ""},
		{"token", `"auth_token":""`, ""},
		{"hashed", `"auth_token":"t1"`, "$G"},
		{"hashed", `"auth_token":"t0"`, ""},
		{"users", `"user":"a","pass":"x"`, "$G"},
		{"users", `"user":"b","pass":"y"`, "$G"},
		{"users", `"user":"b","pass":"x"`, ""},
		{"users", `"user":"nobody","pass":"x"`, ""},
		{"users", `"user":"ws","pass":"x"`, ""},
		{"users", `"user":"std","pass":"x"`, "$G"},
		{"users", fmt.Sprintf(`"nkey":%q,"sig":"x"`, stranger), ""},
		{"accounts", `"user":"a","pass":"x"`, "A"},
		{"accounts", `"user":"b","pass":"y"`, "B"},
		{"accounts", `"user":"b","pass":"x"`, ""},
		{"accounts", ``, ""},
		{"default", ``, "A"},
		{"default", `"user":"a","pass":"x"`, "A"},
		{"default", `"user":"a","pass":"y"`, ""},
		{"default", `"user":"b","pass":"x"`, ""},
	}
	for name, config := range configs {
		t.Run(name, func(t *testing.T) {
			s := servertest.Start(t, config)
			for _, tt := range tests {
				if tt.config != name {
					continue
				}
				c := servertest.Dial(t, s)
				c.Send(login(tt.members) + "PING\r\n")
				if tt.account == "" {
					c.Expect("-ERR 'Authorization Violation'")
					c.ExpectClosed()
					continue
				}
				c.Expect("PONG")
				c.ReadInfo()
				if got := c.Info()["remote_account"]; got != tt.account {
					t.Errorf("%s: account = %v, want %s", tt.members, got, tt.account)
				}
				c.Close()
			}
		})
	}
}

// TestNothingBeforeCONNECT checks that whoever must log in can do nothing else first.
func TestNothingBeforeCONNECT(t *testing.T) {
	for _, first := range []string{"PING\r\n", "PUB a 0\r\n\r\n", "SUB a 1\r\n", "UNSUB 1\r\n"} {
		s := servertest.Start(t, `authorization { token: x }`)
		c := servertest.Dial(t, s)
		c.Send(first)
		c.Expect("-ERR 'Authorization Violation'")
		c.ExpectClosed()

		// With a no_auth_user any verb will do.
		s = servertest.Start(t, `accounts { A { users: [{user: a, password: x}] } }, no_auth_user: a`)
		c = servertest.Dial(t, s)
		c.Send(first)
		answer := "+OK" // a client is verbose until it says otherwise
		if first == "PING\r\n" {
			answer = "PONG"
		}
		c.Expect(answer)
		c.Send(servertest.Quiet)
		c.Flush()
	}
}

// TestSecondCONNECT checks that a client may log in again, and that its subscriptions stay in the account
// where they were made.
func TestSecondCONNECT(t *testing.T) {
	s := servertest.Start(t, `accounts { A { users: [{user: a, password: x}] }, B { users: [{user: b, password: y}] } }`)
	c := dialAs(t, s, "a", "x")
	c.Send("SUB m 1\r\n" + user("b", "y") + "PUB m 0\r\n\r\n")
	c.Flush()
	other := dialAs(t, s, "a", "x")
	other.Send("PUB m 0\r\n\r\n")
	other.Flush()
	c.Flush()
	c.Send("SUB m 2\r\nPUB m 0\r\n\r\n")
	c.Expect("MSG m 2 0", "")
	c.Send(user("b", "wrong") + "PING\r\n")
	c.Expect("-ERR 'Authorization Violation'")
	c.ExpectClosed()
}

func TestNKey(t *testing.T) {
	key, public := newUserKey(t)
	other, _ := newUserKey(t)
	s := servertest.Start(t, fmt.Sprintf(`authorization { users: [{nkey: %q}, {user: a, password: x}] }`, public))
	sign := func(key nkeys.KeyPair, c *servertest.Client) string {
		nonce, _ := c.Info()["nonce"].(string)
		if len(nonce) != 15 {
			t.Fatalf("nonce = %q, want 15 characters", nonce)
		}
		sig, err := key.Sign([]byte(nonce))
		if err != nil {
			t.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(sig)
	}

	nc := servertest.Connect(t, s, nats.Nkey(public, key.Sign))
	if err := nc.Flush(); err != nil {
		t.Error(err)
	}
	tests := []struct {
		name string
		text func(c *servertest.Client) string
		ok   bool
	}{
		{"signed", func(c *servertest.Client) string {
			return login(fmt.Sprintf(`"nkey":%q,"sig":%q`, public, sign(key, c)))
		}, true},
		{"padded base64", func(c *servertest.Client) string {
			raw, err := base64.RawURLEncoding.DecodeString(sign(key, c))
			if err != nil {
				t.Fatal(err)
			}
			return login(fmt.Sprintf(`"nkey":%q,"sig":%q`, public, base64.StdEncoding.EncodeToString(raw)))
		}, true},
		{"another key's signature", func(c *servertest.Client) string {
			return login(fmt.Sprintf(`"nkey":%q,"sig":%q`, public, sign(other, c)))
		}, false},
		{"the nonce of another connection", func(*servertest.Client) string {
			return login(fmt.Sprintf(`"nkey":%q,"sig":%q`, public, sign(key, servertest.Dial(t, s))))
		}, false},
		{"unsigned", func(*servertest.Client) string { return login(fmt.Sprintf(`"nkey":%q`, public)) }, false},
		{"malformed signature", func(*servertest.Client) string { return login(fmt.Sprintf(`"nkey":%q,"sig":"*"`, public)) }, false},
		{"malformed key", func(*servertest.Client) string { return login(`"nkey":"U","sig":"AA"`) }, false},
		{"password beside", func(*servertest.Client) string { return user("a", "x") }, true},
	}
	for _, tt := range tests {
		c := servertest.Dial(t, s)
		c.Send(tt.text(c))
		if tt.ok {
			c.Flush()
			continue
		}
		c.Expect("-ERR 'Authorization Violation'")
		c.ExpectClosed()
		t.Logf("%s: refused", tt.name)
	}
}

// TestAuthRequired checks when INFO asks for credentials, before and after CONNECT.
func TestAuthRequired(t *testing.T) {
	_, public := newUserKey(t)
	tests := []struct {
		config, members string
		before, after   bool
		nonce           bool
	}{
		{``, ``, false, false, false},
		{`accounts { A {} }`, ``, false, false, false},
		{`authorization { user: a, password: x }`, `"user":"a","pass":"x"`, true, true, false},
		{`authorization { token: x }`, `"auth_token":"x"`, true, true, false},
		{`authorization { users: [{user: a, password: x}] }, no_auth_user: a`, ``, false, true, false},
		{fmt.Sprintf(`authorization { users: [{user: a, password: x}, {nkey: %s}] }`, public), `"user":"a","pass":"x"`, true, true, true},
		{fmt.Sprintf(`authorization { users: [{user: a, password: x}, {nkey: %s}] }, no_auth_user: a`, public), ``, false, true, true},
	}
	for _, tt := range tests {
		s := servertest.Start(t, tt.config)
		c := servertest.Dial(t, s)
		required := func() bool { return c.Info()["auth_required"] == true }
		if got := required(); got != tt.before {
			t.Errorf("%s: auth_required = %v, want %v", tt.config, got, tt.before)
		}
		if _, got := c.Info()["nonce"]; got != tt.nonce {
			t.Errorf("%s: nonce present: %v, want %v", tt.config, got, tt.nonce)
		}
		c.Send(login(tt.members) + "PING\r\n")
		c.Expect("PONG")
		c.ReadInfo()
		if got := required(); got != tt.after {
			t.Errorf("%s: auth_required after CONNECT = %v, want %v", tt.config, got, tt.after)
		}
	}
}

func TestAuthTimeout(t *testing.T) {
	for _, config := range []string{
		`authorization { token: x, timeout: 50ms }`,
		`accounts { A { users: [{user: a, password: x}] } }, no_auth_user: a, authorization { timeout: 50ms }`,
	} {
		s := servertest.Start(t, config+"\nhttp_port: -1")
		silent := servertest.Dial(t, s)
		silent.Expect("-ERR 'Authentication Timeout'")
		silent.ExpectClosed()
		if got := closedReasons(t, s, 1)[0]; got != "Authentication Timeout" {
			t.Errorf("reason = %q", got)
		}
	}
	// Where nothing is asked there is no such timeout.
	s := servertest.Start(t, `authorization { timeout: 20ms }, ping_interval: 60ms`)
	c := servertest.DialQuiet(t, s)
	c.Expect("PING")
	c.Flush()
}

// TestPermissions runs scripts of a client against users with permissions.
func TestPermissions(t *testing.T) {
	const config = `
	authorization {
		default_permissions { publish: "open.>", subscribe: ["open.>", "_INBOX.>"] }
		users: [
			{ user: default, password: x }
			{ user: admin, password: x, permissions { publish: ">", subscribe: ">" } }
			{ user: lists, password: x, permissions { publish { allow: ["a.*"], deny: ["a.no"] }, subscribe { allow: ["a.>"], deny: ["a.no", "a.deep.*"] } } }
			{ user: queues, password: x, permissions { subscribe { allow: ["q v.*", "p"], deny: ["p bad"] } } }
		]
	}`
	const (
		pub = `-ERR 'Permissions Violation for Publish to %q'`
		sub = `-ERR 'Permissions Violation for Subscription to %q'`
		que = `-ERR 'Permissions Violation for Subscription to %q using queue %q'`
	)
	tests := []struct {
		user, send string
		want       []string
	}{
		{"default", "SUB open.a 1\r\nPUB open.a 0\r\n\r\n", []string{"MSG open.a 1 0", ""}},
		{"default", "SUB a 1\r\nPUB a 0\r\n\r\n", []string{fmt.Sprintf(sub, "a"), fmt.Sprintf(pub, "a")}},
		{"default", "SUB > 1\r\n", []string{fmt.Sprintf(sub, ">")}},
		{"lists", "PUB a.b 0\r\n\r\nPUB a.no 0\r\n\r\nPUB a 0\r\n\r\nPUB a.b.c 0\r\n\r\n", []string{fmt.Sprintf(pub, "a.no"), fmt.Sprintf(pub, "a"), fmt.Sprintf(pub, "a.b.c")}},
		{"lists", "SUB a.b 1\r\nSUB a.no 2\r\nSUB a.deep.x 3\r\nSUB b 4\r\nSUB a.* 5\r\nUNSUB 5\r\nPUB a.b 0\r\n\r\n", []string{fmt.Sprintf(sub, "a.no"), fmt.Sprintf(sub, "a.deep.x"), fmt.Sprintf(sub, "b"), "MSG a.b 1 0", ""}},
		{"queues", "SUB q v.1 1\r\nSUB q w 2\r\nSUB q 3\r\nSUB p any 4\r\nSUB p bad 5\r\n", []string{fmt.Sprintf(que, "q", "w"), fmt.Sprintf(sub, "q"), fmt.Sprintf(que, "p", "bad")}},
	}
	s := servertest.Start(t, config)
	for _, tt := range tests {
		c := dialAs(t, s, tt.user, "x")
		c.Send(tt.send)
		c.Expect(tt.want...)
		c.Flush()
		c.Close()
	}
}

// TestWiderThanAllowed checks that a denied subject does not reach a subscription that covers it.
func TestWiderThanAllowed(t *testing.T) {
	s := servertest.Start(t, `authorization { users: [ {user: admin, password: x},
		{user: u, password: x, permissions { subscribe { deny: ["a.no", "b.>"] } } } ] }`)
	c, admin := dialAs(t, s, "u", "x"), dialAs(t, s, "admin", "x")
	c.Send("SUB > 1\r\nSUB a.* q 2\r\n")
	c.Flush()
	admin.Send("PUB a.no 0\r\n\r\nPUB b.c 0\r\n\r\nPUB b 1\r\n1\r\nPUB c 1\r\n2\r\n")
	admin.Flush()
	c.Expect("MSG b 1 1", "1", "MSG c 1 1", "2")
	c.Flush()
}

func TestAllowResponses(t *testing.T) {
	s := servertest.Start(t, `authorization { users: [ {user: admin, password: x},
		{user: one, password: x, permissions { subscribe: "svc", allow_responses: true } },
		{user: two, password: x, permissions { subscribe: "svc", publish: "free", allow_responses { max: 2, expires: "1h" } } } ] }`)
	tests := []struct {
		user string
		most int
	}{{"one", 1}, {"two", 2}}
	for _, tt := range tests {
		svc, admin := dialAs(t, s, tt.user, "x"), dialAs(t, s, "admin", "x")
		svc.Send("SUB svc 1\r\nPUB reply 0\r\n\r\n")
		svc.Expect(`-ERR 'Permissions Violation for Publish to "reply"'`)
		admin.Send("SUB reply 9\r\nPUB svc reply 0\r\n\r\n")
		admin.Flush()
		svc.Expect("MSG svc 1 reply 0", "")
		svc.Send("%s", strings.Repeat("PUB reply 0\r\n\r\n", tt.most+1))
		svc.Expect(`-ERR 'Permissions Violation for Publish to "reply"'`)
		svc.Flush()
		for range tt.most {
			admin.Expect("MSG reply 9 0", "")
		}
		admin.Flush()
		svc.Close()
		admin.Close()
	}
	c := dialAs(t, s, "two", "x")
	c.Send("PUB free 0\r\n\r\nPUB other 0\r\n\r\n")
	c.Expect(`-ERR 'Permissions Violation for Publish to "other"'`)
}

// TestResponseExpires checks that an answer that comes too late is refused.
func TestResponseExpires(t *testing.T) {
	s := servertest.Start(t, `authorization { users: [ {user: admin, password: x},
		{user: u, password: x, permissions { subscribe: "svc", allow_responses { max: -1, expires: "1ms" } } } ] }`)
	svc, admin := dialAs(t, s, "u", "x"), dialAs(t, s, "admin", "x")
	svc.Send("SUB svc 1\r\n")
	svc.Flush()
	admin.Send("SUB reply 9\r\nPUB svc reply 0\r\n\r\n")
	admin.Flush()
	svc.Expect("MSG svc 1 reply 0", "")
	servertest.Eventually(t, "the answer to be refused", func() bool {
		svc.Send("PUB reply 0\r\n\r\nPING\r\n")
		line := svc.Line()
		if line != "PONG" {
			svc.Expect("PONG")
		}
		return strings.Contains(line, "Permissions Violation")
	})
}

// TestInProcess checks that such a connection is of its own type and needs no TLS.
func TestInProcess(t *testing.T) {
	s := servertest.Start(t, servertest.NewAuthority(t).Server().Block("")+`http_port: -1
		authorization { users: [ {user: in, password: x, allowed_connection_types: [IN_PROCESS]}, {user: std, password: x, allowed_connection_types: [STANDARD]} ] }`)
	nc, err := nats.Connect("", nats.InProcessServer(s), nats.UserInfo("in", "x"))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if err := nc.Flush(); err != nil {
		t.Error(err)
	}
	if got := page[connz](t, s, "/connz?auth=1").Connections; len(got) != 1 || got[0].User != "in" || got[0].IP == "" {
		t.Errorf("got %+v, want the user of the in-process connection", got)
	}
	if other, err := nats.Connect("", nats.InProcessServer(s), nats.UserInfo("std", "x")); err == nil {
		other.Close()
		t.Error("a user of standard connections got in")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.InProcessConn(); err == nil {
		t.Error("a closed server gave a connection")
	}
}
