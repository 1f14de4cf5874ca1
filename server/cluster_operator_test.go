package server_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

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

// TestClusterOperatorStreams: an account whose only client is at one server has streams on all, with limits by the number of replicas. It
// has them from the first request on, whoever leads the meta group, and on servers that were started again.
func TestClusterOperatorStreams(t *testing.T) {
	w := newOperatorWorld(t)
	limits := func(c *jwt.AccountClaims) {
		c.Limits.JetStreamTieredLimits = jwt.JetStreamTieredLimits{
			"R1": {DiskStorage: 1 << 20, Streams: 5}, "R3": {DiskStorage: 2 << 20, MemoryStorage: -1, Streams: 6, MaxAckPending: 9},
		}
	}
	none := newPair(t, nkeys.CreateAccount)
	tokens := map[pair]string{w.a: w.accountJWT(w.a, limits), w.b: w.accountJWT(w.b, limits), none: w.accountJWT(none, nil)}
	config := fmt.Sprintf("operator: %s\nresolver: MEMORY\njetstream { store_dir: %q }\n", w.operatorJWT(nil), t.TempDir()+"/"+servertest.ServerName)
	c := servertest.StartCluster(t, 3, config+w.preload(tokens))
	admin := servertest.Connect(t, c.Servers[0], credentials(w.admin, w.userJWT(w.sys, w.sys, w.admin, nil)))
	servertest.Eventually(t, "somebody to lead the meta group", func() bool {
		return strings.Contains(request(t, admin, "$SYS.REQ.SERVER."+c.Servers[0].ID()+".JSZ", ""), `"leader":"`)
	})
	for _, s := range c.Servers {
		user := newPair(t, nkeys.CreateUser)
		nc := servertest.Connect(t, s, credentials(user, w.userJWT(none, none, user, nil)))
		mustContain(t, "an account without JetStream", request(t, nc, "$JS.API.STREAM.INFO.X", ""), "10039")
	}
	for i, account := range []struct{ account, user pair }{{w.a, w.ua}, {w.b, w.ub}} {
		nc := servertest.Connect(t, c.Servers[i], credentials(account.user, w.userJWT(account.account, account.account, account.user, nil)))
		mustContain(t, "the first request of an account", request(t, nc, "$JS.API.INFO", ""), `"R1"`, `"max_storage":1048576`, `"R3"`, `"max_storage":2097152`)
		js, err := nc.JetStream(nats.MaxWait(servertest.Patience))
		if err != nil {
			t.Fatal(err)
		}
		for n := range 3 { // on one server each
			one, three := fmt.Sprint("R1-", n), fmt.Sprint("R3-", n)
			if _, err := js.AddStream(&nats.StreamConfig{Name: one, Subjects: []string{one}}); err != nil {
				t.Fatal(err)
			}
			if _, err := js.AddStream(&nats.StreamConfig{Name: three, Subjects: []string{three}, Replicas: 3}); err != nil {
				t.Fatal(err)
			}
			for _, subject := range []string{one, three} {
				if _, err := js.Publish(subject, []byte("m")); err != nil {
					t.Fatal(err)
				}
			}
		}
		mustContain(t, "two replicas", request(t, nc, "$JS.API.STREAM.CREATE.X", `{"name":"X","subjects":["x"],"num_replicas":2}`), "10120")
		c.Stop(2)
		c.Start(2)
		servertest.Eventually(t, "all streams to be led", func() bool {
			for n := range 3 {
				for _, name := range []string{fmt.Sprint("R1-", n), fmt.Sprint("R3-", n)} {
					if info, err := js.StreamInfo(name, nats.MaxWait(servertest.Patience)); err != nil || info.State.Msgs != 1 {
						return false
					}
				}
			}
			return true
		})
	}
}
