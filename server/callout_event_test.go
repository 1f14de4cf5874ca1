package server_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"runnel/server/servertest"
)

// TestCalloutTellsRefusals checks that the account of a service is told whom it has not let in, and nobody else there is.
func TestCalloutTellsRefusals(t *testing.T) {
	w := newCalloutWorld(t, "", "")
	nc := servertest.Connect(t, w.server, nats.UserInfo("auth", "x"))
	refused, err := nc.SubscribeSync("$SYS.ACCOUNT.CLIENT.AUTH.ERR")
	if err == nil {
		err = nc.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	for reason, spoil := range map[string]func(*reply){
		"go away":   func(r *reply) { r.response.Error, r.response.Jwt = "go away", "" },
		`"NOWHERE"`: func(r *reply) { r.user.Audience = "NOWHERE" },
		"issue":     func(r *reply) { r.userBy, _ = newKey(t, nkeys.CreateAccount) },
	} {
		w.spoilWith(spoil)
		c := servertest.Dial(t, w.server)
		c.Send(user("eve", "secret"))
		c.Expect("-ERR 'Authorization Violation'")
		m := next(t, refused)
		var e struct {
			Type, Reason string
			Client       struct{ Acc, User, Host string }
		}
		if err := json.Unmarshal(m.Data, &e); err != nil {
			t.Fatal(err)
		}
		if e.Type != "io.nats.server.advisory.v1.client_disconnect" || e.Client.Acc != "AUTH" || e.Client.User != "eve" || e.Client.Host == "" ||
			!strings.Contains(e.Reason, reason) || strings.Contains(string(m.Data), "secret") {
			t.Errorf("got %s, want that eve was refused: %s", m.Data, reason)
		}
	}
}
