package server_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"runnel/server"
	"runnel/server/servertest"
)

const withSystem = `server_name: srv, server_tags: [east], accounts {
	A { users: [{user: a, password: x}, {user: p, password: x, permissions { publish { allow: ["$SYS.REQ.USER.INFO", "m"], deny: "no" }, subscribe: "_INBOX.>" } }] }
	B { users: [{user: b, password: x}] }
	$SYS { users: [{user: sys, password: x}] }
}`

// startSystem starts a server with a user of the system account.
func startSystem(t testing.TB) (*server.Server, *nats.Conn) {
	t.Helper()
	s := servertest.Start(t, withSystem)
	return s, servertest.Connect(t, s, nats.UserInfo("sys", "x"), nats.Name("watch"))
}

// answer is an envelope of a service.
type answer struct {
	Server struct {
		Name, ID, Ver string
		Seq           uint64
		Tags          []string
	}
	Data   json.RawMessage
	Statsz json.RawMessage
	Error  *struct {
		Code        int
		Description string
	}
}

func ask(t testing.TB, nc *nats.Conn, subject, body string) answer {
	t.Helper()
	var a answer
	text := request(t, nc, subject, body)
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		t.Fatalf("%s: %v in %s", subject, err, text)
	}
	return a
}

// TestServices asks each service, of all servers and of this one.
func TestServices(t *testing.T) {
	s, nc := startSystem(t)
	dialAs(t, s, "a", "x").Flush()
	tests := []struct{ name, body, want string }{
		{"STATSZ", "", `"total_connections":2`},
		{"VARZ", "", `"max_payload":1048576`},
		{"CONNZ", `{"auth":true,"acc":"A"}`, `"authorized_user":"a"`},
		{"SUBSZ", `{"test":"$SYS.REQ.SERVER.PING"}`, `"total":1`},
		{"ROUTEZ", "", `"routes":[]`},
		{"GATEWAYZ", "", `"outbound_gateways":{}`},
		{"LEAFZ", "", `"leafs":[]`},
		{"ACCOUNTZ", "", `"accounts":["$G","$SYS","A","B"]`},
		{"JSZ", "", `"disabled":true`},
		{"HEALTHZ", "", `"status":"ok"`},
		{"EXPVARZ", "", `"memstats"`},
		{"IPQUEUESZ", "", `{`},
		{"RAFTZ", "", ``},
	}
	for _, tt := range tests {
		for _, subject := range []string{"$SYS.REQ.SERVER.PING." + tt.name, "$SYS.REQ.SERVER." + s.ID() + "." + tt.name} {
			a := ask(t, nc, subject, tt.body)
			if a.Error != nil || a.Server.ID != s.ID() || a.Server.Name != "srv" || a.Server.Ver != server.NATSVersion {
				t.Errorf("%s: got %+v", subject, a)
			}
			data := string(a.Data) + string(a.Statsz)
			if !strings.Contains(strings.ReplaceAll(data, " ", ""), tt.want) {
				t.Errorf("%s: got %.500s, want %s in it", subject, data, tt.want)
			}
		}
	}
	if a := ask(t, nc, "$SYS.REQ.SERVER.PING", ""); a.Statsz == nil || a.Data != nil || len(a.Server.Tags) != 1 {
		t.Errorf("PING: got %+v, want statsz beside the server", a)
	}
	var id struct{ Name, Host, ID string }
	if err := json.Unmarshal([]byte(request(t, nc, "$SYS.REQ.SERVER.PING.IDZ", "")), &id); err != nil || id.ID != s.ID() {
		t.Errorf("IDZ: got %+v, %v", id, err)
	}
	if got := request(t, nc, "$SYS.DEBUG.SUBSCRIBERS", "$SYS.REQ.SERVER.PING"); got != "1" {
		t.Errorf("subscribers = %s, want 1", got)
	}
}

// TestServiceFilters checks that a request for other servers is not answered, which is not "no responders".
func TestServiceFilters(t *testing.T) {
	_, nc := startSystem(t)
	inbox, err := nc.SubscribeSync(nc.NewInbox())
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{`{"server_name":"other"}`, `{"tags":["west"]}`, `{"cluster":"c"}`, `{"server_name":"srv","exact_match":true}`} {
		if err := nc.PublishRequest("$SYS.REQ.SERVER.PING.VARZ", inbox.Subject, []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	mustContain(t, "the only answer", string(next(t, inbox).Data), `"name":"srv"`)
	if n, _, err := inbox.Pending(); n != 0 || err != nil {
		t.Errorf("%d more answers, %v", n, err)
	}
}

// TestAccountServices asks for figures of accounts, as the system account and as an ordinary one.
func TestAccountServices(t *testing.T) {
	s, nc := startSystem(t)
	a, b := servertest.Connect(t, s, nats.UserInfo("a", "x")), servertest.Connect(t, s, nats.UserInfo("b", "x"))
	if err := b.Flush(); err != nil {
		t.Fatal(err)
	}
	mustContain(t, "CONNZ", string(ask(t, nc, "$SYS.REQ.ACCOUNT.A.CONNZ", `{"auth":true}`).Data), `"num_connections":1`, `"authorized_user":"a"`)
	mustContain(t, "INFO", string(ask(t, nc, "$SYS.REQ.ACCOUNT.A.INFO", "").Data), `"account_name":"A"`)
	mustContain(t, "CONNS", request(t, nc, "$SYS.REQ.ACCOUNT.A.CONNS", ""), `account_connections"`, `"acc":"A"`, `"conns":1`)
	mustContain(t, "STATZ", string(ask(t, nc, "$SYS.REQ.ACCOUNT.PING.STATZ", `{"accounts":["A"]}`).Data), `"acc":"A"`)

	// An ordinary account sees itself, whatever it asks for.
	for _, subject := range []string{"$SYS.REQ.ACCOUNT.PING.CONNZ", "$SYS.REQ.SERVER.PING.CONNZ"} {
		for _, body := range []string{"", `{"acc":"B","auth":true}`} {
			data := string(ask(t, a, subject, body).Data)
			mustContain(t, subject, data, `"num_connections":1`)
			if strings.Contains(data, `"account":"B"`) {
				t.Errorf("%s %s: %s shows another account", subject, body, data)
			}
		}
	}
	data := string(ask(t, a, "$SYS.REQ.ACCOUNT.PING.STATZ", `{"accounts":["B"]}`).Data)
	if strings.Contains(data, `"acc":"B"`) {
		t.Errorf("STATZ: %s shows another account", data)
	}
}

func TestUserInfo(t *testing.T) {
	s, nc := startSystem(t)
	type info struct {
		User, Account string
		Permissions   *struct {
			Publish, Subscribe *struct{ Allow, Deny []string }
		}
	}
	get := func(nc *nats.Conn) info {
		var i info
		if err := json.Unmarshal(ask(t, nc, "$SYS.REQ.USER.INFO", "").Data, &i); err != nil {
			t.Fatal(err)
		}
		return i
	}
	if got := get(nc); got.User != "sys" || got.Account != "$SYS" || got.Permissions != nil {
		t.Errorf("system user: %+v", got)
	}
	got := get(servertest.Connect(t, s, nats.UserInfo("p", "x")))
	if got.User != "p" || got.Account != "A" || got.Permissions == nil || fmt.Sprint(got.Permissions.Publish.Allow, got.Permissions.Publish.Deny, got.Permissions.Subscribe.Allow) != "[$SYS.REQ.USER.INFO m] [no] [_INBOX.>]" {
		t.Errorf("user with permissions: %+v", got)
	}
	if got := get(servertest.Connect(t, servertest.Start(t, ""))); got.Account != "$G" {
		t.Errorf("without users: %+v", got)
	}
}

// TestKickAndLameDuck acts on one client.
func TestKickAndLameDuck(t *testing.T) {
	s, nc := startSystem(t)
	c, other := dialAs(t, s, "a", "x"), dialAs(t, s, "a", "x")
	c.ReadInfo()
	body := fmt.Sprintf(`{"cid":%v}`, c.Info()["client_id"])
	service := "$SYS.REQ.SERVER." + s.ID() + "."
	if a := ask(t, nc, service+"LDM", body); a.Error != nil {
		t.Errorf("LDM: %+v", a.Error)
	}
	c.ReadInfo()
	if c.Info()["ldm"] != true {
		t.Errorf("INFO = %v, want ldm", c.Info())
	}
	c.Flush()
	if a := ask(t, nc, service+"KICK", body); a.Error != nil {
		t.Errorf("KICK: %+v", a.Error)
	}
	c.ExpectClosed()
	other.Flush()
	for _, name := range []string{"KICK", "LDM"} {
		if a := ask(t, nc, service+name, body); a.Error == nil || a.Error.Code != 500 {
			t.Errorf("%s of nobody: got %+v, want error 500", name, a.Error)
		}
	}
	if data := string(ask(t, nc, "$SYS.REQ.SERVER.PING.CONNZ", `{"state":"closed"}`).Data); !strings.Contains(data, `"reason":"Kicked"`) {
		t.Errorf("closed connections: %s, want one that was kicked", data)
	}
}

// TestEvents follows a client through the events that it causes.
func TestEvents(t *testing.T) {
	s, nc := startSystem(t)
	subscribe := func(subject string) *nats.Subscription {
		sub, err := nc.SubscribeSync(subject)
		if err != nil {
			t.Fatal(err)
		}
		return sub
	}
	connects, ends, conns := subscribe("$SYS.ACCOUNT.A.CONNECT"), subscribe("$SYS.ACCOUNT.A.DISCONNECT"), subscribe("$SYS.ACCOUNT.A.SERVER.CONNS")
	refused, stats := subscribe("$SYS.SERVER.*.CLIENT.AUTH.ERR"), subscribe("$SYS.SERVER."+s.ID()+".STATSZ")
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}

	type event struct {
		Type   string
		Server struct{ ID string }
		Client struct {
			ID                         uint64
			Acc, User, Name, Host, Ver string
			Lang                       string
		}
		Sent, Received struct{ Msgs, Bytes int }
		Reason         string
		Conns          int
	}
	decode := func(sub *nats.Subscription) event {
		t.Helper()
		var e event
		if err := json.Unmarshal(next(t, sub).Data, &e); err != nil {
			t.Fatal(err)
		}
		if e.Server.ID != s.ID() {
			t.Errorf("%s: from server %s", sub.Subject, e.Server.ID)
		}
		return e
	}
	c := servertest.Dial(t, s)
	c.Send(login(`"user":"a","pass":"x","name":"me","lang":"go","version":"1"`) + "SUB m 1\r\nPUB m 3\r\nabc\r\n")
	c.Expect("MSG m 1 3", "abc")
	e := decode(connects)
	if e.Type != "io.nats.server.advisory.v1.client_connect" || e.Client.Acc != "A" || e.Client.User != "a" || e.Client.Name != "me" ||
		e.Client.Host != "127.0.0.1" || e.Client.Lang != "go" || e.Client.Ver != "1" || float64(e.Client.ID) != c.Info()["client_id"] {
		t.Errorf("connect event = %+v", e)
	}
	if e := decode(conns); e.Conns != 1 {
		t.Errorf("connections = %+v, want 1", e)
	}
	c.Close()
	e = decode(ends)
	if e.Type != "io.nats.server.advisory.v1.client_disconnect" || e.Reason != "Client Closed" || e.Client.Name != "me" ||
		e.Sent.Msgs != 1 || e.Received.Bytes != 3 {
		t.Errorf("disconnect event = %+v", e)
	}

	wrong := servertest.Dial(t, s)
	wrong.Send(user("a", "wrong"))
	wrong.Expect("-ERR 'Authorization Violation'")
	e = decode(refused)
	if e.Reason != "Authentication Failure" || e.Client.User != "a" || e.Client.Acc != "" {
		t.Errorf("refusal = %+v, want one of somebody who says to be a", e)
	}
	wrong = servertest.Dial(t, s)
	wrong.Send(login(`"auth_token":"s3cr3t"`))
	wrong.Expect("-ERR 'Authorization Violation'")
	if e = decode(refused); e.Client.User != "[REDACTED]" {
		t.Errorf("refusal = %+v, want one without the token", e)
	}
	var z answer
	if err := json.Unmarshal(next(t, stats).Data, &z); err != nil || z.Statsz == nil {
		t.Errorf("statsz event: %+v, %v", z, err)
	}
}

// TestNoSystemAccount checks that a server does without.
func TestNoSystemAccount(t *testing.T) {
	s := servertest.Start(t, "no_system_account: true, http_port: -1")
	nc := servertest.Connect(t, s)
	if _, err := nc.Request("$SYS.REQ.SERVER.PING", nil, servertest.Patience); err == nil {
		t.Error("somebody answered")
	}
	if got := page[struct {
		System string `json:"system_account"`
	}](t, s, "/varz").System; got != "" {
		t.Errorf("system account = %q, want none", got)
	}
}

// TestNamedSystemAccount checks a system account of another name.
func TestNamedSystemAccount(t *testing.T) {
	s := servertest.Start(t, `system_account: OPS, accounts { OPS { users: [{user: o, password: x}] }, A { users: [{user: a, password: x}] } }`)
	nc := servertest.Connect(t, s, nats.UserInfo("o", "x"))
	if a := ask(t, nc, "$SYS.REQ.SERVER.PING", ""); a.Server.ID != s.ID() {
		t.Errorf("got %+v", a)
	}
	c := dialAs(t, s, "o", "x")
	c.ReadInfo()
	if c.Info()["acc_is_sys"] != true {
		t.Errorf("INFO = %v, want acc_is_sys", c.Info())
	}
}
