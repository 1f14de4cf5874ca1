package server_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/nats-io/nats.go"

	"runnel/server/servertest"
)

const twoAccounts = `http_port: -1, accounts {
	A { users: [{user: a, password: x}] }
	B { users: [{user: b, password: x}], limits { max_connections: 2, max_subscriptions: 3, max_payload: 16 } }
	$SYS { users: [{user: sys, password: x}] }
}`

func TestIsolation(t *testing.T) {
	s := servertest.Start(t, twoAccounts)
	a, b, sys := dialAs(t, s, "a", "x"), dialAs(t, s, "b", "x"), dialAs(t, s, "sys", "x")
	for _, c := range []*servertest.Client{a, b} {
		c.Send("SUB > 1\r\nSUB m q 2\r\n")
		c.Flush()
	}
	sys.Send("SUB m 1\r\n")
	sys.Flush()
	b.Send("PUB m 2\r\nhi\r\n")
	got := map[string]bool{}
	for range 2 {
		got[b.Line()] = true
		b.Expect("hi")
	}
	if !got["MSG m 1 2"] || !got["MSG m 2 2"] {
		t.Errorf("in the account itself: got %v, want both subscriptions", got)
	}
	b.Flush()
	a.Flush()
	sys.Flush()

	// Requests do not cross either: nobody is there to answer.
	nc := servertest.Connect(t, s, nats.UserInfo("sys", "x"))
	if _, err := nc.Request("svc", nil, servertest.Patience); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("request: got %v, want no responders", err)
	}
}

// TestSystemSubjects checks that an ordinary account has nothing of the system account but what is meant
// for it.
func TestSystemSubjects(t *testing.T) {
	s := servertest.Start(t, twoAccounts)
	nc := servertest.Connect(t, s, nats.UserInfo("a", "x"))
	for _, subject := range []string{"$SYS.REQ.SERVER.PING", "$SYS.REQ.SERVER.PING.VARZ", "$SYS.REQ.SERVER." + s.ID() + ".KICK", "$SYS.REQ.ACCOUNT.B.CONNZ"} {
		if _, err := nc.Request(subject, nil, servertest.Patience); !errors.Is(err, nats.ErrNoResponders) {
			t.Errorf("%s: got %v, want no responders", subject, err)
		}
	}
	var answer struct {
		Data struct{ User, Account string }
	}
	if err := json.Unmarshal([]byte(request(t, nc, "$SYS.REQ.USER.INFO", "")), &answer); err != nil {
		t.Fatal(err)
	}
	if answer.Data.User != "a" || answer.Data.Account != "A" {
		t.Errorf("user info = %+v, want a of A", answer.Data)
	}
	// Its events stay in the system account, even for a subscription to everything.
	sub, err := nc.SubscribeSync("$SYS.>")
	if err != nil {
		t.Fatal(err)
	}
	dialAs(t, s, "a", "x").Close()
	dialAs(t, s, "sys", "x")
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	if n, _, err := sub.Pending(); err != nil || n != 0 {
		t.Errorf("%d events in an ordinary account, %v", n, err)
	}
}

func TestAccountLimits(t *testing.T) {
	s := servertest.Start(t, twoAccounts)
	first, second := dialAs(t, s, "b", "x"), dialAs(t, s, "b", "x")

	// max_connections counts those of the account only.
	dialAs(t, s, "a", "x")
	third := servertest.Dial(t, s)
	third.Send(user("b", "x"))
	third.Expect("-ERR 'maximum account active connections exceeded'")
	third.ExpectClosed()
	if got := closedReasons(t, s, 1)[0]; got != "Maximum Account Connections Exceeded" {
		t.Errorf("reason = %q", got)
	}
	_, err := nats.Connect(s.ClientURL(), nats.UserInfo("b", "x"))
	if !errors.Is(err, nats.ErrMaxAccountConnectionsExceeded) {
		t.Errorf("nats.go: got %v, want ErrMaxAccountConnectionsExceeded", err)
	}
	second.Close()
	servertest.Eventually(t, "the place to be free", func() bool { return page[connz](t, s, "/connz?acc=B&auth=1").Total == 1 })
	dialAs(t, s, "b", "x").Close()

	// Who logs in to another account makes room in the first.
	mover := dialAs(t, s, "b", "x")
	mover.Send(user("a", "x"))
	mover.Flush()
	dialAs(t, s, "b", "x").Close()

	// max_payload is told after CONNECT, holds, and leaves other accounts alone.
	first.ReadInfo()
	if got := first.Info()["max_payload"]; got != 16.0 {
		t.Errorf("max_payload in INFO = %v, want 16", got)
	}
	first.Send("PUB m 16\r\n0123456789abcdef\r\n")
	first.Flush()
	first.Send("PUB m 17\r\n")
	first.Expect("-ERR 'Maximum Payload Violation'")
	first.ExpectClosed()
	a := dialAs(t, s, "a", "x")
	a.Send("PUB m 17\r\n0123456789abcdefg\r\n")
	a.Flush()
}

func TestAccountSubscriptionLimit(t *testing.T) {
	s := servertest.Start(t, twoAccounts)
	one, two := dialAs(t, s, "b", "x"), dialAs(t, s, "b", "x")
	one.Send("SUB m 1\r\nSUB m 2\r\n")
	one.Flush()
	two.Send("SUB m 1\r\nSUB m 2\r\n")
	two.Expect("-ERR 'maximum subscriptions exceeded'")
	one.Send("UNSUB 1\r\n")
	one.Flush()
	two.Send("SUB m 2\r\n")
	two.Flush()
	one.Close()
	servertest.Eventually(t, "the places to be free", func() bool {
		two.Send("SUB m 3\r\nPING\r\n")
		line := two.Line()
		if line != "PONG" {
			two.Expect("PONG")
		}
		return line == "PONG"
	})
}
