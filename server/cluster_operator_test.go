package server_test

import (
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"

	"runnel/conf"
	"runnel/server"
	"runnel/server/servertest"
)

// TestClusterOperator: an account's JWT that was pushed to one server is known to all: to those that keep all accounts at once,
// or as soon as they are there again, and to one that asks.
func TestClusterOperator(t *testing.T) {
	w := newOperatorWorld(t)
	config := fmt.Sprintf("operator: %s\nresolver: { type: full, dir: \"%s/{{name}}\", interval: \"100ms\" }\n", w.operatorJWT(nil), t.TempDir())
	c := servertest.StartClusterOptions(t, 3, config+w.preload(nil), func(i int, o *conf.Options) {
		if i == 2 {
			o.Operator.Resolver.Type = "cache"
		}
	})
	admin := servertest.Connect(t, c.Servers[0], credentials(w.admin, w.userJWT(w.sys, w.sys, w.admin, nil)))
	push := func(account pair) {
		t.Helper()
		mustContain(t, "answer to a push", request(t, admin, "$SYS.REQ.CLAIMS.UPDATE", w.accountJWT(account, nil)), `"code":200`, account.public)
	}
	letsIn := func(s *server.Server, account, user pair) {
		t.Helper()
		token := w.userJWT(account, account, user, nil)
		servertest.Eventually(t, "a user to be let in at "+s.Name(), func() bool {
			nc, err := nats.Connect(s.ClientURL(), credentials(user, token), nats.NoReconnect())
			if err == nil {
				nc.Close()
			}
			return err == nil
		})
	}
	push(w.a)
	for _, s := range c.Servers {
		letsIn(s, w.a, w.ua)
	}
	c.Stop(1)
	push(w.b)
	c.Start(1)
	for _, s := range c.Servers {
		letsIn(s, w.b, w.ub)
	}

	// Interest of an account counts wherever it comes into use.
	var nc []*nats.Conn
	for _, s := range c.Servers {
		nc = append(nc, servertest.Connect(t, s, credentials(w.ua, w.userJWT(w.a, w.a, w.ua, nil))))
	}
	sub := subscribe(t, nc[2], "news", "", nc[0], nc[1])
	for _, from := range nc[:2] {
		if err := from.Publish("news", nil); err != nil {
			t.Fatal(err)
		}
		next(t, sub)
	}
}
