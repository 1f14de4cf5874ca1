package engine_test

import (
	"fmt"
	"testing"

	"runnel/headers"
	"runnel/server/accounts"
)

// withAck publishes a message with the acknowledgement of another one.
func withAck(subject, reply, ack string) string {
	header := headers.Build(headers.Field{Name: "Runnel-Ack", Value: ack})
	return fmt.Sprintf("HPUB %s %s %d %d\r\n%sx\r\n", subject, reply, len(header), len(header)+1, header)
}

// TestAcknowledgePermissions: who publishes with an acknowledgement may do so only where it might send that by itself.
func TestAcknowledgePermissions(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		cfg := users()
		alice := &cfg.Accounts[0].Users[1]
		alice.Permissions.Publish = accounts.Rules{Allow: []string{"foo.*", "$JS.ACK.MINE.>"}}
		h := start(t, pollers, cfg, nil)
		admin, few, service := h.login("admin"), h.login("alice"), h.login("service")
		admin.send("SUB foo.> 1\r\nSUB stats 2\r\n")
		admin.flush()
		const mine, others = "$JS.ACK.MINE.c.1.2.3.4.5", "$JS.ACK.OTHERS.c.1.2.3.4.5"
		few.send("%s%s", withAck("foo.a", "", others), withAck("foo.b", "", mine))
		few.expect(publishViolation(others))
		few.flush()
		if m := admin.message(); m.subject != "foo.b" {
			t.Errorf("got %+v", m)
		}
		// Who may only answer may acknowledge what it was sent.
		service.send("SUB q.* 1\r\n%s", withAck("stats", "", mine))
		service.expect(publishViolation(mine))
		service.flush()
		admin.send("%s", withAck("foo.c", "", others))
		if m := admin.message(); m.subject != "foo.c" {
			t.Errorf("got %+v", m)
		}
	})
}

// TestAcknowledgeAcrossAccounts: what another account takes in has no acknowledgement with it.
func TestAcknowledgeAcrossAccounts(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		h := start(t, pollers, sharing(
			accounts.AccountConfig{Name: "A", Exports: exports{exportService("orders")}},
			accounts.AccountConfig{Name: "B", Imports: imports{importService("A", "orders", "orders")}},
		), nil)
		a, b := h.login("a"), h.login("b")
		a.sub("orders 1")
		b.send("SUB inbox 1\r\n%s", withAck("orders", "inbox", "$JS.ACK.S.c.1.2.3.4.5"))
		b.expect(`-ERR 'Permissions Violation for Publish to another account with Runnel-Ack of "$JS.ACK.S.c.1.2.3.4.5"'`)
		b.flush()
		b.pub("orders", "inbox", "plain")
		a.asked("orders", "1", "{", "plain")
	})
}
