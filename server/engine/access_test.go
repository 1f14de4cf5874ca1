package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"runnel/server/accounts"
	"runnel/server/engine"
)

// users are what the tests of permissions log in as; the password is the name.
func users() accounts.Config {
	user := func(name string, p *accounts.Permissions) accounts.UserConfig {
		return accounts.UserConfig{Username: name, Password: name, Permissions: p}
	}
	rules := func(allow, deny string) accounts.Rules {
		return accounts.Rules{Allow: strings.Fields(allow), Deny: strings.Fields(deny)}
	}
	return accounts.Config{Accounts: []accounts.AccountConfig{
		{Name: "A", Users: []accounts.UserConfig{
			user("admin", nil),
			user("alice", &accounts.Permissions{Publish: rules("foo.* bar", "foo.secret"), Subscribe: rules("foo.> _INBOX.>", "foo.secret")}),
			user("service", &accounts.Permissions{
				Publish: rules("stats", ""), Subscribe: rules("q.*", ""),
				Responses: &accounts.ResponsePermission{Max: 2},
			}),
		}},
		{Name: "B", Limits: accounts.Limits{MaxSubscriptions: 2, MaxPayload: 100}, Users: []accounts.UserConfig{user("bob", nil)}},
	}}
}

// login is dial and the CONNECT of a user.
func (h *harness) login(user string) *client {
	h.t.Helper()
	c := h.dial()
	c.send("%s", credentials(user))
	c.flush()
	return c
}

func credentials(user string) string {
	return fmt.Sprintf(`CONNECT {"verbose":false,"pedantic":false,"headers":true,"no_responders":true,"user":%q,"pass":%q}`+"\r\n", user, user)
}

// publishViolation and subscribeViolation are what a client is told that tries what it may not.
func publishViolation(subject string) string {
	return fmt.Sprintf(`-ERR 'Permissions Violation for Publish to "%s"'`, subject)
}

func subscribeViolation(subject string) string {
	return fmt.Sprintf(`-ERR 'Permissions Violation for Subscription to "%s"'`, subject)
}

func TestPublishPermissions(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, users(), nil)
		admin, alice := h.login("admin"), h.login("alice")
		admin.send("SUB > 1\r\n")
		admin.flush()
		for range 2 { // again, from what was remembered
			alice.send("%s%s%s%s", pub("foo.a", "1"), pub("foo.secret", "2"), pub("bar", "3"), pub("baz", "4"))
			alice.expect(publishViolation("foo.secret"), publishViolation("baz"))
			alice.flush()
			admin.expect("MSG foo.a 1 1", "1", "MSG bar 1 1", "3")
		}
		admin.flush()
	})
}

// TestDeniedDelivery: a subscription that is wider than a denied subject does not get around the denial.
func TestDeniedDelivery(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, users(), nil)
		admin, alice := h.login("admin"), h.login("alice")
		alice.send("SUB foo.* 1\r\nSUB foo.> q 2\r\nSUB foo.secret 3\r\nSUB foo.secret q 4\r\nSUB > 5\r\n")
		alice.expect(
			subscribeViolation("foo.secret"),
			`-ERR 'Permissions Violation for Subscription to "foo.secret" using queue "q"'`,
			subscribeViolation(">"),
		)
		alice.flush()
		for range 3 {
			admin.send("%s%s", pub("foo.secret", "no"), pub("foo.open", "yes"))
			admin.flush()
			for range 2 {
				if m := alice.message(); m.subject != "foo.open" {
					t.Fatalf("got %+v", m)
				}
			}
		}
		// Of a queue group, a member that may have it gets it.
		admin.send("SUB foo.> q 1\r\n%s", pub("foo.secret", "mine"))
		admin.expect("MSG foo.secret 1 4", "mine")
		// And with no one left who may, nobody responds.
		admin.send("UNSUB 1\r\nSUB reply 2\r\nPUB foo.secret reply 0\r\n\r\n")
		if m := admin.message(); m.sid != "2" || !strings.HasPrefix(m.header, "NATS/1.0 503\r\n") {
			t.Errorf("got %+v, want no responders", m)
		}
		alice.flush()
	})
}

func TestResponsePermissions(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, users(), nil)
		admin, service := h.login("admin"), h.login("service")
		service.send("SUB q.* 1\r\n%s", pub("answer", "too early"))
		service.expect(publishViolation("answer"))
		service.flush()
		admin.send("SUB answer 1\r\nSUB stats 2\r\n")
		for range 2 {
			admin.send("PUB q.1 answer 3\r\nask\r\n")
			service.expect("MSG q.1 1 answer 3", "ask")
			service.send("%s%s%s%s%s", pub("answer", "1"), pub("answer", "2"), pub("answer", "3"), pub("other", "4"), pub("stats", "5"))
			service.expect(publishViolation("answer"), publishViolation("other"))
			service.flush()
			admin.expect("MSG answer 1 1", "1", "MSG answer 1 1", "2", "MSG stats 2 1", "5")
		}
		// A message without a reply subject asks for nothing.
		admin.send("%s", pub("q.1", "no reply"))
		service.message()
		service.send("%s", pub("answer", "x"))
		service.expect(publishViolation("answer"))
	})
}

// TestSecondConnect: whoever logs in again begins anew. What was subscribed to before is gone, whether or not the
// account is another one.
func TestSecondConnect(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		for _, to := range []string{"admin", "alice", "bob"} {
			h := start(t, pollers, users(), nil)
			c := h.login("admin")
			c.send("SUB foo.secret 1\r\nSUB foo.* 2\r\nSUB > 3\r\n%s", pub("foo.secret", ""))
			for range 3 {
				c.message()
			}
			a := h.served(c).Account()
			c.send("%s", credentials(to))
			c.flush()
			if n := a.Subscriptions(); n != 0 {
				t.Errorf("admin to %s: the account counts %d subscriptions of nobody", to, n)
			}
			admin, bob := h.login("admin"), h.login("bob")
			for _, other := range []*client{admin, bob} {
				other.send("%s%s", pub("foo.secret", ""), pub("foo.x", ""))
				other.flush()
			}
			c.flush()
			if got := h.served(c).Identity().Username; got != to {
				t.Errorf("identity = %q, want %q", got, to)
			}
			c.send("SUB foo.* 1\r\n")
			c.flush()
			from, same := admin, bob
			if to == "bob" {
				from, same = bob, admin
			}
			same.send("%s", pub("foo.x", "not ours"))
			same.flush()
			from.send("%s", pub("foo.x", to))
			if m := c.message(); m.payload != to {
				t.Errorf("admin to %s: got %+v", to, m)
			}
			_ = c.nc.Close()
			h.waitClosed()
			if n := a.Subscriptions(); n != 0 {
				t.Errorf("admin to %s: the account counts %d subscriptions of nobody", to, n)
			}
		}
	})
}

// TestSubscribeThenConnect: a first CONNECT changes nothing for one that was let in without.
func TestSubscribeThenConnect(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, accounts.Config{}, nil)
		c := h.dial()
		c.send("SUB a 1\r\n")
		c.expect("+OK")
		c.send("%s%s", quiet, pub("a", "x"))
		c.expect("MSG a 1 1", "x")
	})
}

// TestSecondConnectFails: a client that shows wrong credentials later is out.
func TestSecondConnectFails(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, users(), nil)
		c := h.login("admin")
		c.send(`CONNECT {"user":"admin","pass":"wrong"}` + "\r\n")
		c.expect("-ERR 'Authorization Violation'")
		c.expectEOF()
		if got := h.waitClosed(); got != engine.ReasonAuthFailure {
			t.Errorf("reason = %q, want %q", got, engine.ReasonAuthFailure)
		}
	})
}

// TestHeadersOff: who says that it no longer takes headers gets none.
func TestHeadersOff(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, accounts.Config{}, nil)
		c, publisher := h.connect(), h.connect()
		const text = "HPUB a 12 14\r\nNATS/1.0\r\n\r\nhi\r\n"
		c.send("SUB a 1\r\n")
		c.flush()
		publisher.send(text)
		c.expect("HMSG a 1 12 14", "NATS/1.0", "", "hi")
		c.send(`CONNECT {"verbose":false}` + "\r\nSUB a 1\r\n")
		c.flush()
		publisher.send(text)
		c.expect("MSG a 1 2", "hi")
		c.send("%sSUB a 1\r\n", quiet)
		c.flush()
		publisher.send(text)
		c.expect("HMSG a 1 12 14", "NATS/1.0", "", "hi")
	})
}

func TestAccountsAreApart(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, users(), nil)
		admin, bob := h.login("admin"), h.login("bob")
		admin.send("SUB > 1\r\n")
		bob.send("SUB > 1\r\n")
		admin.flush()
		bob.flush()
		admin.send("%s", pub("a", "A"))
		bob.send("%s", pub("a", "B"))
		admin.expect("MSG a 1 1", "A")
		bob.expect("MSG a 1 1", "B")
		admin.flush()
		bob.flush()
	})
}

func TestMaxSubscriptions(t *testing.T) {
	const refused = "-ERR 'maximum subscriptions exceeded'"
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, users(), func(s *engine.Settings) { s.MaxSubscriptions = 3 })
		admin, bob, bob2 := h.login("admin"), h.login("bob"), h.login("bob")
		admin.send("SUB a 1\r\nSUB b 2\r\nSUB c 3\r\nSUB d 4\r\n")
		admin.expect(refused)
		admin.send("SUB x 3\r\n") // in use: ignored, not counted
		admin.flush()
		admin.send("UNSUB 2\r\nSUB d 4\r\n%s", pub("d", "x"))
		admin.expect("MSG d 4 1", "x")

		bob.send("SUB a 1\r\n")
		bob.flush()
		bob2.send("SUB a 1\r\nSUB b 2\r\n") // the limit of their account is 2
		bob2.expect(refused)
		_ = bob.nc.Close()
		h.waitClosed()
		bob2.send("SUB b 2\r\n%s", pub("b", "x"))
		bob2.expect("MSG b 2 1", "x")
		// One that ends by its maximum makes room too.
		bob2.send("UNSUB 2 2\r\n%sSUB c 3\r\n%s", pub("b", "y"), pub("c", "z"))
		bob2.expect("MSG b 2 1", "y", "MSG c 3 1", "z")
		bob2.flush()
	})
}

func TestMaxSubscriptionTokens(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, accounts.Config{}, func(s *engine.Settings) { s.MaxSubscriptionTokens = 3 })
		c := h.connect()
		c.send("SUB a.b.c 1\r\nSUB a.b.> 2\r\nSUB a.b.c.d 3\r\nSUB a.b.c.> 4\r\n")
		c.expect(
			`-ERR 'Permissions Violation for Subscription to "a.b.c.d", too many tokens'`,
			`-ERR 'Permissions Violation for Subscription to "a.b.c.>", too many tokens'`,
		)
		c.flush()
	})
}

// TestAccountPayload: the limit of an account holds from its CONNECT on, also when that comes in one piece with
// what follows, and so does a higher one.
func TestAccountPayload(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, users(), nil)
		fits, over := pub("a", strings.Repeat("x", 100)), pub("a", strings.Repeat("x", 101))
		c := h.dial()
		c.send("%sSUB a 1\r\n%s%sSUB a 1\r\n%s", credentials("bob"), fits, credentials("admin"), over)
		for _, want := range []int{100, 101} {
			if got := len(c.message().payload); got != want {
				t.Errorf("payload of %d bytes, want %d", got, want)
			}
		}
		c.send("%s%s", credentials("bob"), over)
		c.expect("-ERR 'Maximum Payload Violation'")
		c.expectEOF()
		if got := h.waitClosed(); got != engine.ReasonMaxPayload {
			t.Errorf("reason = %q, want %q", got, engine.ReasonMaxPayload)
		}
	})
}

// TestVerboseRefusals: what is refused is not confirmed.
func TestVerboseRefusals(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, users(), nil)
		c := h.dial()
		c.send("%s", `CONNECT {"user":"alice","pass":"alice"}`+"\r\nSUB > 1\r\nSUB foo.a 1\r\n"+pub("baz", "x")+pub("bar", "x")+"UNSUB 9\r\nPING\r\n")
		c.expect("+OK", subscribeViolation(">"), "+OK", publishViolation("baz"), "+OK", "+OK", "PONG")
	})
}

// TestReload: a connection that is bound anew meets the new permissions with its next message.
func TestReload(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, users(), nil)
		c, admin := h.login("admin"), h.login("admin")
		c.send("SUB foo.* 1\r\nSUB foo.secret 2\r\n")
		c.flush()
		identity, err := h.policy.Authenticate(accounts.Credentials{Username: "alice", Password: "alice"})
		if err != nil {
			t.Fatal(err)
		}
		served := h.served(c)
		if !served.Rebind(served.Identity(), identity) {
			t.Fatal("the connection has another identity than it had")
		}
		for _, sub := range served.Subscriptions() {
			if sub.SID == "2" {
				served.Unsubscribe(sub)
			}
		}
		identity.Account.Interest().Invalidate()
		c.expect(`-ERR 'Permissions Violation for Subscription to "foo.secret" (sid "2")'`)
		c.send("%s", pub("baz", "x"))
		c.expect(publishViolation("baz"))
		admin.send("%s%s", pub("foo.secret", "x"), pub("foo.a", "y"))
		c.expect("MSG foo.a 1 1", "y")
		c.flush()
	})
}
