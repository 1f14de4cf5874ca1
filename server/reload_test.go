package server_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"runnel/conf"
	"runnel/server"
	"runnel/server/servertest"
)

// TestReloadUsers changes who may log in and looks who stays.
func TestReloadUsers(t *testing.T) {
	const before = `{user: a, password: x}, {user: b, password: y}`
	tests := []struct {
		name, old, young string
		stays, goes      string // CONNECT members; empty when there is none
	}{
		{"user removed", usersOf(before), usersOf(`{user: a, password: x}`), `"user":"a","pass":"x"`, `"user":"b","pass":"y"`},
		{"password changed", usersOf(before), usersOf(`{user: a, password: x}, {user: b, password: z}`), `"user":"a","pass":"x"`, `"user":"b","pass":"y"`},
		{"password hashed", usersOf(before), usersOf(fmt.Sprintf(`{user: a, password: x}, {user: b, password: %q}`, hashed(t, "other"))), `"user":"a","pass":"x"`, `"user":"b","pass":"y"`},
		{"user added", usersOf(before), usersOf(before + `, {user: c, password: z}`), `"user":"b","pass":"y"`, ""},
		{"order changed", usersOf(before), usersOf(`{user: b, password: y}, {user: a, password: x}`), `"user":"b","pass":"y"`, ""},
		{"connection type taken away", usersOf(before), usersOf(`{user: a, password: x}, {user: b, password: y, allowed_connection_types: [WEBSOCKET]}`), `"user":"a","pass":"x"`, `"user":"b","pass":"y"`},
		{"token changed", `authorization { token: x }`, `authorization { token: y }`, "", `"auth_token":"x"`},
		{"single user changed", `authorization { user: a, password: x }`, `authorization { user: a, password: y }`, "", `"user":"a","pass":"x"`},
		{"authorization appears", ``, usersOf(before), "", `"user":"z"`},
		{"authorization appears for one who fits", ``, usersOf(before), "", ``},
		{"authorization vanishes", usersOf(before), ``, "", `"user":"b","pass":"y"`},
		{"no_auth_user vanishes", usersOf(before) + "no_auth_user: b", usersOf(before), `"user":"a","pass":"x"`, ` `},
		{"account removed", `accounts { A { users: [{user: a, password: x}] }, B { users: [{user: b, password: y}] } }`, `accounts { A { users: [{user: a, password: x}] } }`, `"user":"a","pass":"x"`, `"user":"b","pass":"y"`},
		{"account added", `accounts { A { users: [{user: a, password: x}] } }`, `accounts { A { users: [{user: a, password: x}] }, B { users: [{user: b, password: y}] } }`, `"user":"a","pass":"x"`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := servertest.Start(t, tt.old+"\nhttp_port: -1")
			connect := func(members string) *servertest.Client {
				c := servertest.Dial(t, s)
				c.Send(login(strings.TrimSpace(members)) + "SUB m 1\r\n")
				c.Flush()
				return c
			}
			var stays, goes *servertest.Client
			if tt.stays != "" {
				stays = connect(tt.stays)
			}
			if tt.goes != "" {
				goes = connect(tt.goes)
			}
			reload(t, s, tt.young+"\nhttp_port: -1")
			if goes != nil {
				goes.Expect("-ERR 'Authorization Violation'")
				goes.ExpectClosed()
				if got := closedReasons(t, s, 1)[0]; got != "Authentication Failure" {
					t.Errorf("reason = %q", got)
				}
			}
			if stays != nil {
				stays.Send("PUB m 0\r\n\r\n")
				stays.Expect("MSG m 1 0", "")
				stays.Flush()
			}
		})
	}
}

func usersOf(list string) string { return "authorization { users: [" + list + "] }\n" }

// TestReloadNKey checks that the connection of a key goes with the key.
func TestReloadNKey(t *testing.T) {
	key, public := newUserKey(t)
	_, other := newUserKey(t)
	s := servertest.Start(t, usersOf("{nkey: "+public+"}, {nkey: "+other+"}"))
	closed := make(chan struct{})
	nc := servertest.Connect(t, s, nats.Nkey(public, key.Sign), nats.ClosedHandler(func(*nats.Conn) { close(closed) }),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})) // or it prints
	reload(t, s, usersOf("{nkey: "+public+"}"))
	if err := nc.Flush(); err != nil {
		t.Errorf("a key that is still there: %v", err)
	}
	reload(t, s, usersOf("{nkey: "+other+"}"))
	select {
	case <-closed:
	case <-time.After(servertest.Patience):
		t.Error("the connection of a removed key is still open")
	}
}

// TestReloadPermissions changes what a connected user may do.
func TestReloadPermissions(t *testing.T) {
	config := func(permissions string) string {
		return usersOf(`{user: admin, password: x}, {user: u, password: x, permissions { ` + permissions + ` } }`)
	}
	s := servertest.Start(t, config(`publish: ["a.>", "b"], subscribe: ["a.>", "q v"]`))
	u, admin := dialAs(t, s, "u", "x"), dialAs(t, s, "admin", "x")
	u.Send("SUB a.b 1\r\nSUB a.c 2\r\nSUB q v 3\r\nPUB a.b 0\r\n\r\nPUB b 0\r\n\r\n")
	u.Expect("MSG a.b 1 0", "")
	u.Flush()

	reload(t, s, config(`publish: "c", subscribe: "a.c"`))
	got := map[string]bool{u.Line(): true, u.Line(): true}
	for _, want := range []string{`"a.b" (sid "1")'`, `"q" using queue "v" (sid "3")'`} {
		if !got["-ERR 'Permissions Violation for Subscription to "+want] {
			t.Errorf("after the reload: got %v, want an error for %s", got, want)
		}
	}
	admin.Send("PUB a.b 0\r\n\r\nPUB q 0\r\n\r\nPUB a.c 0\r\n\r\n")
	u.Expect("MSG a.c 2 0", "")
	u.Send("PUB b 0\r\n\r\nPUB c 0\r\n\r\nSUB a.b 4\r\n")
	u.Expect(`-ERR 'Permissions Violation for Publish to "b"'`, `-ERR 'Permissions Violation for Subscription to "a.b"'`)

	// A denied subject stops at once, although the subscription that covers it may stay.
	reload(t, s, config(`subscribe { allow: "a.*", deny: "a.no" }`))
	u.Send("SUB a.* 5\r\n")
	u.Flush()
	reload(t, s, config(`subscribe { allow: "a.*", deny: ["a.no", "a.x"] }`))
	admin.Send("PUB a.x 0\r\n\r\nPUB a.y 0\r\n\r\n")
	u.Expect("MSG a.y 5 0", "")
	reload(t, s, config(``))
	admin.Send("PUB a.x 0\r\n\r\n")
	u.Expect("MSG a.x 5 0", "")
	u.Flush()
}

func TestReloadMaxPayload(t *testing.T) {
	s := servertest.Start(t, `max_payload: 100`)
	nc := servertest.Connect(t, s)
	raw := servertest.DialQuiet(t, s)
	raw.ReadInfo()
	for _, size := range []int{10, 1000} {
		reload(t, s, "max_payload: "+strconv.Itoa(size))
		raw.ReadInfo()
		if got := raw.Info()["max_payload"]; got != float64(size) {
			t.Errorf("max_payload in INFO = %v, want %d", got, size)
		}
		servertest.Eventually(t, "nats.go to know", func() bool { return nc.MaxPayload() == int64(size) })
		raw.Send("PUB a %d\r\n%s\r\n", size, strings.Repeat("x", size))
		raw.Flush()
	}
	raw.Send("PUB a 1001\r\n")
	raw.Expect("-ERR 'Maximum Payload Violation'")

	// The limit of an account, which only its connections are told.
	config := func(limit string) string {
		return `accounts { A { users: [{user: a, password: x}], limits { ` + limit + ` } }, B { users: [{user: b, password: x}] } }`
	}
	s = servertest.Start(t, config(""))
	a, b := dialAs(t, s, "a", "x"), dialAs(t, s, "b", "x")
	a.ReadInfo()
	b.ReadInfo()
	reload(t, s, config("max_payload: 7"))
	a.ReadInfo()
	if got := a.Info()["max_payload"]; got != 7.0 {
		t.Errorf("max_payload in INFO = %v, want 7", got)
	}
	b.Send("PING\r\n")
	if line := b.Line(); line != "PONG" {
		t.Errorf("the other account: got %q, want PONG only", line)
	}
}

// TestReloadMaxConnections checks that the oldest connections stay.
func TestReloadMaxConnections(t *testing.T) {
	s := servertest.Start(t, "")
	var clients []*servertest.Client
	for range 5 {
		clients = append(clients, servertest.DialQuiet(t, s))
	}
	clients[0].Close() // its place in the server's tables is free for the next
	clients = append(clients[1:], servertest.DialQuiet(t, s))
	reload(t, s, "max_connections: 2")
	for i, c := range clients {
		if i < 2 {
			c.Flush()
			continue
		}
		c.Expect("-ERR 'maximum connections exceeded'")
		c.ExpectClosed()
	}
	c := servertest.Dial(t, s)
	c.Expect("-ERR 'maximum connections exceeded'")

	config := func(limit string) string {
		return `accounts { A { users: [{user: a, password: x}], ` + limit + ` }, B { users: [{user: b, password: x}] } }`
	}
	s = servertest.Start(t, config(""))
	b, first, second := dialAs(t, s, "b", "x"), dialAs(t, s, "a", "x"), dialAs(t, s, "a", "x")
	reload(t, s, config("limits { max_connections: 1 }"))
	second.Expect("-ERR 'maximum account active connections exceeded'")
	second.ExpectClosed()
	first.Flush()
	b.Flush()
}

// TestReloadApplies changes one option each and looks at its effect.
func TestReloadApplies(t *testing.T) {
	type varz struct {
		Tags        []string `json:"tags"`
		Metadata    map[string]string
		PingMax     int    `json:"ping_max"`
		ControlLine int    `json:"max_control_line"`
		Write       int64  `json:"write_deadline"`
		Digest      string `json:"config_digest"`
	}
	const base = "http_port: -1\n"
	tests := []struct {
		name, config string
		effect       func(t *testing.T, s *server.Server, c *servertest.Client)
	}{
		{"ping_interval: 10ms", "ping_interval: 10ms", func(t *testing.T, s *server.Server, _ *servertest.Client) {
			servertest.DialQuiet(t, s).Expect("PING")
		}},
		{"max_control_line", "max_control_line: 32", func(t *testing.T, _ *server.Server, c *servertest.Client) {
			c.Send("SUB " + strings.Repeat("x", 40) + " 1\r\n")
			c.Expect("-ERR 'maximum control line exceeded'")
		}},
		{"client_advertise", `client_advertise: "a.example:99"`, func(t *testing.T, _ *server.Server, c *servertest.Client) {
			c.ReadInfo()
			if c.Info()["host"] != "a.example" || c.Info()["port"] != 99.0 {
				t.Errorf("INFO = %v, want the new address", c.Info())
			}
		}},
		{"authorization timeout", "authorization { token: x, timeout: 20ms }", func(t *testing.T, s *server.Server, _ *servertest.Client) {
			servertest.Dial(t, s).Expect("-ERR 'Authentication Timeout'")
		}},
		{"what monitoring shows", "server_tags: [t], server_metadata { k: v }, ping_max: 7, max_control_line: 5000, write_deadline: 3s", func(t *testing.T, s *server.Server, _ *servertest.Client) {
			v := page[varz](t, s, "/varz")
			if len(v.Tags) != 1 || v.Metadata["k"] != "v" || v.PingMax != 7 || v.ControlLine != 5000 || v.Write != int64(3*time.Second) {
				t.Errorf("varz = %+v, want the new values", v)
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := servertest.Start(t, base)
			c := servertest.DialQuiet(t, s)
			c.ReadInfo()
			was := page[varz](t, s, "/varz").Digest
			reload(t, s, base+tt.config)
			if is := page[varz](t, s, "/varz").Digest; is == was {
				t.Errorf("config_digest is still %s", is)
			}
			tt.effect(t, s, c)
		})
	}
}

// TestReloadNeedsRestart checks that an option which needs a restart is reported with its old and new value
// and left out, while the rest of the file is applied.
func TestReloadNeedsRestart(t *testing.T) {
	const base = "http_port: -1, max_payload: 100\nserver_name: one\nwebsocket { port: -1, no_tls: true }\n"
	tests := []struct{ config, key, old, young string }{
		{strings.Replace(base, "one", "two", 1), "server_name", "one", "two"},
		{base + "port: 4223", "port", "-1", "4223"},
		{base + "max_subscriptions: 5", "max_subscriptions", "0", "5"},
		{base + "max_subscription_tokens: 5", "max_subscription_tokens", "0", "5"},
		{base + "max_pending: 2MB", "max_pending", "67108864", "2097152"},
		{base + "max_closed_clients: 5", "max_closed_clients", "10000", "5"},
		{base + "no_header_support: true", "no_header_support", "false", "true"},
		{base + "lame_duck_duration: 1h", "lame_duck_duration", "2m", "1h"},
		{base + "http_base_path: /x", "http_base_path", "/", "/x"},
		{strings.Replace(base, "no_tls", "same_origin: true, no_tls", 1), "websocket.same_origin", "false", "true"},
		{base + "allow_non_tls: true", "allow_non_tls", "false", "true"},
		{base + "no_system_account: true", "no_system_account", "false", "true"},
	}
	type varz struct {
		Name       string `json:"server_name"`
		MaxPayload int    `json:"max_payload"`
		MaxPending int    `json:"max_pending"`
		Port       int
	}
	s := servertest.Start(t, base)
	c := servertest.DialQuiet(t, s)
	was := page[varz](t, s, "/varz")
	for i, tt := range tests {
		size := 50 + i
		changes := reload(t, s, strings.Replace(tt.config, "max_payload: 100", fmt.Sprint("max_payload: ", size), 1))
		var left []string
		for _, change := range changes {
			if !change.Reloadable {
				left = append(left, server.RestartNeeded(change))
			}
		}
		want := fmt.Sprintf("config reload not supported for %s: old=%s, new=%s", tt.key, tt.old, tt.young)
		if len(left) != 1 || !strings.HasPrefix(left[0], want) {
			t.Errorf("got %q, want only %q", left, want)
		}
		was.MaxPayload = size
		if is := page[varz](t, s, "/varz"); is != was {
			t.Errorf("%s: varz = %+v, want %+v", tt.key, is, was)
		}
	}
	c.Flush()
	servertest.DialQuiet(t, s)

	// What comes or goes as a whole block cannot be told from the rest.
	for _, config := range []string{"http_port: -1, max_payload: 7\nserver_name: one\n", base + "ocsp: true\n"} {
		if _, err := s.Reload(servertest.Options(t, config)); err == nil {
			t.Errorf("%s: accepted", config)
		}
	}
	if is := page[varz](t, s, "/varz"); is.MaxPayload == 7 {
		t.Error("a refused reload has changed max_payload")
	}
}

// TestReloadInvalid checks that options which cannot work change nothing.
func TestReloadInvalid(t *testing.T) {
	s := servertest.Start(t, usersOf("{user: a, password: x}"))
	a := dialAs(t, s, "a", "x")
	for _, config := range []string{
		usersOf("{user: b, password: x}") + "mqtt { port: -1 }",
		usersOf("{user: b, password: x}") + `tls { cert_file: "/nowhere.pem", key_file: "/nowhere.key" }`,
	} {
		if changes, err := s.Reload(servertest.Options(t, config)); err == nil {
			t.Errorf("%s: accepted, changes %v", config, changes)
		}
		a.Flush()
		dialAs(t, s, "a", "x")
	}
}

// TestReloadRequest asks for a reload over the system account, with a file that is good, broken, and gone.
func TestReloadRequest(t *testing.T) {
	const config = "listen: \"127.0.0.1:-1\"\nmax_payload: 100\naccounts { A { users: [{user: a, password: x}] }, $SYS { users: [{user: sys, password: x}] } }\n"
	file, o := writeConfig(t, config)
	s := servertest.StartOptions(t, o)
	nc := servertest.Connect(t, s, nats.UserInfo("sys", "x"))
	service := "$SYS.REQ.SERVER." + s.ID() + ".RELOAD"
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(strings.Replace(config, "100", "200", 1))
	got := request(t, nc, service, "")
	if strings.Contains(got, "error") {
		t.Errorf("answer = %s, want no error", got)
	}
	mustContain(t, "answer", got, `"data":{"changes":["max_payload: old=\"100\", new=\"200\""]}`)
	if got := request(t, nc, service, ""); strings.Contains(got, "changes") {
		t.Errorf("answer = %s, want no changes the second time", got)
	}
	if got := dialAs(t, s, "a", "x").Info()["max_payload"]; got != 200.0 {
		t.Errorf("max_payload = %v, want 200", got)
	}
	write(config + "prot: 1\n")
	mustContain(t, "answer", request(t, nc, service, ""), `"code":500`, "prot", file, ":4:1")
	write(strings.Replace(config, "max_payload: 100", "max_payload: 300, max_pending: 2MB", 1))
	mustContain(t, "answer", request(t, nc, service, ""), "max_pending", "67108864", "2097152")
	if got := dialAs(t, s, "a", "x").Info()["max_payload"]; got != 300.0 {
		t.Errorf("max_payload = %v, want 300, though another option needs a restart", got)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	mustContain(t, "answer", request(t, nc, service, ""), `"code":500`, file)
	if got := dialAs(t, s, "a", "x").Info()["max_payload"]; got != 300.0 {
		t.Errorf("max_payload = %v, want still 300", got)
	}

	// Whoever embeds the server decides what a request does.
	s.OnReloadRequest(func() ([]conf.Change, error) { return nil, fmt.Errorf("not today") })
	mustContain(t, "answer", request(t, nc, service, ""), "not today")
}

// TestReloadNewAccount checks that the services of the server reach an account that a reload has brought.
func TestReloadNewAccount(t *testing.T) {
	s := servertest.Start(t, `accounts { A { users: [{user: a, password: x}] } }`)
	reload(t, s, `accounts { A { users: [{user: a, password: x}] }, B { users: [{user: b, password: x}] } }`)
	nc := servertest.Connect(t, s, nats.UserInfo("b", "x"))
	mustContain(t, "user info", request(t, nc, "$SYS.REQ.USER.INFO", ""), `"account":"B"`)
}

// TestReloadUnderLoad reloads again and again while messages flow: none is lost and the order stays.
func TestReloadUnderLoad(t *testing.T) {
	configs := []string{
		usersOf("{user: a, password: x}, {user: b, password: y}"),
		usersOf("{user: a, password: x, permissions { subscribe: [\"m\", \"_INBOX.>\"] } }") + "max_payload: 1000",
	}
	s := servertest.Start(t, configs[0])
	sender, receiver := servertest.Connect(t, s, nats.UserInfo("a", "x")), servertest.Connect(t, s, nats.UserInfo("a", "x"))
	sub, err := receiver.SubscribeSync("m")
	if err != nil {
		t.Fatal(err)
	}
	if err := receiver.Flush(); err != nil {
		t.Fatal(err)
	}
	const n = 20_000
	done := make(chan error, 1)
	go func() {
		for i := range n {
			if err := sender.Publish("m", []byte(strconv.Itoa(i))); err != nil {
				done <- err
				return
			}
		}
		done <- sender.Flush()
	}()
	for i := range n {
		if i%2000 == 0 {
			reload(t, s, configs[(i/2000)%2])
		}
		if m := next(t, sub); string(m.Data) != strconv.Itoa(i) {
			t.Fatalf("got message %s, want %d", m.Data, i)
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
