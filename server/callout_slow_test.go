package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"runnel/server/servertest"
)

// slowCallout is a callout whose service answers only when it is told to.
type slowCallout struct {
	*calloutWorld
	questions chan *nats.Msg
}

// newSlowCallout starts a server with one, which takes its time up to timeout. most bounds the questions under way.
func newSlowCallout(t testing.TB, timeout string, most int) *slowCallout {
	t.Helper()
	w := &slowCallout{calloutWorld: &calloutWorld{t: t}, questions: make(chan *nats.Msg, most)}
	w.issuer, w.public = newKey(t, nkeys.CreateAccount)
	w.server, w.log = startLogged(t, strings.Replace(w.config("", "max_connections: 10000"), "timeout: 30", "timeout: "+timeout, 1))
	nc := servertest.Connect(t, w.server, nats.UserInfo("auth", "x"))
	if _, err := nc.Subscribe(calloutSubject, func(m *nats.Msg) { w.questions <- m }); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	return w
}

// wait has n clients wait for an answer.
func (w *slowCallout) wait(n int) (clients []*servertest.Client) {
	for range n {
		c := servertest.Dial(w.t, w.server)
		c.Send(user("u", "p") + "PING\r\n")
		clients = append(clients, c)
	}
	servertest.Eventually(w.t, fmt.Sprintf("%d questions", n), func() bool { return len(w.questions) == n })
	return clients
}

// answerAll answers all questions that there are.
func (w *slowCallout) answerAll() {
	for range len(w.questions) {
		m := <-w.questions
		c, err := jwt.DecodeAuthorizationRequestClaims(string(m.Data))
		if err != nil {
			w.t.Fatal(err)
		}
		if err := m.Respond(w.answer(c)); err != nil {
			w.t.Fatal(err)
		}
	}
}

// TestCalloutSlow: while many clients wait for a slow service, others are served and log in, and the waiting ones get
// in when it answers. Some go before; nobody minds.
func TestCalloutSlow(t *testing.T) {
	const clients = 200
	w := newSlowCallout(t, "60", clients)
	one, two := dialAs(t, w.server, "auth", "x"), dialAs(t, w.server, "auth", "x")
	one.Send("SUB a 1\r\n")
	one.Flush()
	waiting := w.wait(clients)
	for _, c := range waiting[:10] {
		c.Close()
	}
	for range 100 {
		two.Send("PUB a 0\r\n\r\n")
		one.Expect("MSG a 1 0", "")
	}
	dialAs(t, w.server, "auth", "x")
	w.answerAll()
	for _, c := range waiting[10:] {
		c.Expect("PONG")
	}
}

// TestCalloutSlowEnd: a server ends at once, whoever waits for a slow service; so does a reload that takes it away.
func TestCalloutSlowEnd(t *testing.T) {
	w := newSlowCallout(t, "60", 10)
	waiting := w.wait(10)
	reload(t, w.server, calloutAccounts)
	for _, c := range waiting {
		c.Expect("-ERR 'Authorization Violation'")
		c.ExpectClosed()
	}
	w = newSlowCallout(t, "60", 10)
	w.wait(10)
	ended := make(chan error, 1)
	go func() { ended <- w.server.Close() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(servertest.Patience):
		t.Fatal("the server waits for the service")
	}
}

// BenchmarkRequestBesideCallout is a message to and fro between two clients, while others wait for a service that does
// not answer: it must cost the same however many these are.
func BenchmarkRequestBesideCallout(b *testing.B) {
	for _, clients := range []int{0, 500} {
		b.Run(fmt.Sprint("waiting=", clients), func(b *testing.B) {
			w := newSlowCallout(b, "600", clients)
			one, two := dialAs(b, w.server, "auth", "x"), dialAs(b, w.server, "auth", "x")
			one.Send("SUB a 1\r\n")
			two.Send("SUB b 1\r\n")
			one.Flush()
			two.Flush()
			w.wait(clients)
			b.ReportAllocs()
			for b.Loop() {
				two.Send("PUB a 0\r\n\r\n")
				one.Expect("MSG a 1 0", "")
				one.Send("PUB b 0\r\n\r\n")
				two.Expect("MSG b 1 0", "")
			}
		})
	}
}

// BenchmarkCalloutLogin is a login that a service on the same machine decides about.
func BenchmarkCalloutLogin(b *testing.B) {
	w := newCalloutWorld(b, "", "")
	for b.Loop() {
		w.login().Close()
	}
}

// TestCalloutReload: who was vouched for stays while the callout does, and goes with it; who would be asked about now
// goes too.
func TestCalloutReload(t *testing.T) {
	_, curve := newKey(t, nkeys.CreateCurveKeys)
	without := func(w *calloutWorld) string { return calloutAccounts }
	tests := []struct {
		name               string
		before, after      func(w *calloutWorld) string
		vouched, auth, app bool // who stays: a client of the callout, that of the service, a user of APP
	}{
		{"nothing changed", nil, func(w *calloutWorld) string { return w.config("", "") }, true, true, false},
		{"something else changed", nil, func(w *calloutWorld) string { return w.config("", "max_payload: 1000") }, true, true, false},
		{"another issuer", nil, func(w *calloutWorld) string {
			_, w.public = newKey(t, nkeys.CreateAccount)
			return w.config("", "")
		}, false, true, false},
		{"another xkey", nil, func(w *calloutWorld) string { return w.config(", xkey: "+curve, "") }, false, true, false},
		{"other accounts allowed", nil, func(w *calloutWorld) string { return w.config(", allowed_accounts: [SECOND]", "") }, false, true, false},
		{"its account gone", nil, func(w *calloutWorld) string {
			return strings.Replace(w.config("", ""), "APP {", "APP2 {", 1)
		}, false, true, false},
		{"callout gone", nil, without, false, true, false},
		{"service's user gone", nil, func(w *calloutWorld) string {
			return strings.Replace(w.config("", ""), "{user: auth, password: x}, ", "", 1)
		}, true, false, false},
		{"callout new", without, func(w *calloutWorld) string { return w.config("", "") }, false, true, false},
		{"none at all", without, without, false, true, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := &calloutWorld{t: t}
			w.issuer, w.public = newKey(t, nkeys.CreateAccount)
			before := w.config("", "")
			if tt.before != nil {
				before = tt.before(w)
			}
			w.server, w.log = startLogged(t, before)
			auth := dialAs(t, w.server, "auth", "x")
			var vouched, app *servertest.Client
			if tt.before == nil {
				w.serve(servertest.Connect(t, w.server, nats.UserInfo("auth", "x"), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})))
				vouched = w.login()
			} else {
				app = dialAs(t, w.server, "app", "x")
			}
			reload(t, w.server, tt.after(w))
			for _, c := range []struct {
				name   string
				client *servertest.Client
				stays  bool
			}{{"vouched for", vouched, tt.vouched}, {"of the service", auth, tt.auth}, {"of the configuration", app, tt.app}} {
				switch {
				case c.client == nil:
				case c.stays:
					c.client.Flush()
				default:
					c.client.Expect("-ERR 'Authorization Violation'")
					c.client.ExpectClosed()
				}
			}
		})
	}
}
