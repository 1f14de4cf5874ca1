package server_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"runnel/conf"
	"runnel/server"
	"runnel/server/servertest"
)

// startExample runs a config file of docs/examples, on free ports.
func startExample(t *testing.T, file string) *server.Server {
	t.Helper()
	o, err := conf.ParseFile("../docs/examples/" + file)
	if err != nil {
		t.Fatal(err)
	}
	o.Authorization.Timeout = time.Minute // the hashes are slow on a busy machine
	o.Host, o.Port, o.Monitor.Port = "127.0.0.1", -1, -1
	return servertest.StartOptions(t, o)
}

// TestExampleAccounts: docs/examples/accounts.conf shares what it says, and nothing else.
func TestExampleAccounts(t *testing.T) {
	s := startExample(t, "accounts.conf")
	connect := func(user string) *nats.Conn {
		return servertest.Connect(t, s, nats.UserInfo(user, user), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	}
	shop, ship, watch := connect("shop"), connect("ship"), connect("watch")
	if _, err := shop.Subscribe("prices.*", func(m *nats.Msg) { _ = m.Respond([]byte("7 for " + m.Subject)) }); err != nil {
		t.Fatal(err)
	}
	seen, err := watch.SubscribeSync("shop.>")
	if err != nil {
		t.Fatal(err)
	}
	orders, err := shop.SubscribeSync("orders.*")
	if err != nil {
		t.Fatal(err)
	}
	for _, nc := range []*nats.Conn{shop, watch} {
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if got := request(t, ship, "shop.prices.book", ""); got != "7 for prices.book" {
		t.Errorf("price = %q", got)
	}
	if _, err := watch.Request("shop.prices.book", nil, time.Second); err == nil {
		t.Error("an account that does not import the service got an answer")
	}
	for _, subject := range []string{"events.money.paid", "events.sold"} {
		if err := shop.Publish(subject, nil); err != nil {
			t.Fatal(err)
		}
	}
	if m := next(t, seen); m.Subject != "shop.events.sold" {
		t.Errorf("seen %s, want shop.events.sold only", m.Subject)
	}
	if err := shop.Publish("orders.new", nil); err != nil {
		t.Fatal(err)
	}
	if m := next(t, orders); !strings.HasPrefix(m.Subject, "orders.v") {
		t.Errorf("the order went to %s, want orders.v1 or orders.v2", m.Subject)
	}
	connect("operate")
}

// exampleIssuer and exampleCurve are the seeds of the keys in docs/examples/callout.conf. They open nothing.
const (
	exampleIssuer = "SAAA3ZO5474U5NBSYXN7EWCG5FZFKV4P6QRB43Z33EFVKUAXUTE3CV7VRQ"
	exampleCurve  = "SXAKWJWZM5UPNFSDOJRARCC34XNAXYFNOLP6NEDWXUNKBYTESZBW3NGKMI"
)

// TestExampleCallout: with docs/examples/callout.conf a service of some lines decides who may log in.
func TestExampleCallout(t *testing.T) {
	s := startExample(t, "callout.conf")
	issuer, err := nkeys.FromSeed([]byte(exampleIssuer))
	if err != nil {
		t.Fatal(err)
	}
	curve, err := nkeys.FromCurveSeed([]byte(exampleCurve))
	if err != nil {
		t.Fatal(err)
	}
	nc := servertest.Connect(t, s, nats.UserInfo("callout", "callout"))
	_, err = nc.QueueSubscribe("$SYS.REQ.USER.AUTH", "callout", func(m *nats.Msg) {
		body, err := curve.Open(m.Data, m.Header.Get("Nats-Server-Xkey"))
		if err != nil {
			t.Errorf("open: %v", err)
			return
		}
		request, err := jwt.DecodeAuthorizationRequestClaims(string(body))
		if err != nil {
			t.Errorf("decode: %v", err)
			return
		}
		response := jwt.NewAuthorizationResponseClaims(request.UserNkey)
		response.Audience = request.Server.ID
		if o := request.ConnectOptions; o.Username == "joe" && o.Password == "secret" {
			user := jwt.NewUserClaims(request.UserNkey)
			user.Name, user.Audience = o.Username, "APP"
			user.Pub.Allow.Add("joe.>")
			response.Jwt, err = user.Encode(issuer)
		} else {
			response.Error = "unknown user, or another password"
		}
		if err != nil {
			t.Errorf("encode: %v", err)
			return
		}
		token, err := response.Encode(issuer)
		if err != nil {
			t.Errorf("encode: %v", err)
			return
		}
		_ = m.Respond([]byte(token)) // the connection may be closed by then
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	joe := servertest.Connect(t, s, nats.UserInfo("joe", "secret"))
	if err := joe.Publish("joe.a", nil); err != nil {
		t.Fatal(err)
	}
	if err := joe.Flush(); err != nil {
		t.Fatal(err)
	}
	if _, err := nats.Connect(s.ClientURL(), nats.UserInfo("joe", "wrong")); err == nil {
		t.Error("a wrong password is accepted")
	}
}
