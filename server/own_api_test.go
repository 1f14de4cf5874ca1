package server_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"runnel/server/servertest"
)

// TestOwnAPIOfAnotherAccount: what is below $RUNNEL.API is a service like any other: it can be shared, and only what is shared is, and
// who may publish there may ask.
func TestOwnAPIOfAnotherAccount(t *testing.T) {
	s := servertest.Start(t, fmt.Sprintf(`
		jetstream { store_dir: %q, sync: os }
		accounts {
			A {
				jetstream: enabled
				users: [{user: a, password: a}, {user: mute, password: a, permissions: {publish: {deny: "$RUNNEL.API.>"}}}]
				exports: [{service: "$RUNNEL.API.CONSUMER.LAG.S.c"}]
			}
			B { users: [{user: b, password: b}], imports: [{service: {account: A, subject: "$RUNNEL.API.CONSUMER.LAG.S.c"}}] }
			C { users: [{user: c, password: c}] }
		}`, t.TempDir()))
	a := servertest.Connect(t, s, nats.UserInfo("a", "a"))
	request(t, a, "$JS.API.STREAM.CREATE.S", `{"name":"S","subjects":["s"]}`)
	request(t, a, "$JS.API.CONSUMER.CREATE.S.c", `{"stream_name":"S","config":{"durable_name":"c","ack_policy":"explicit"}}`)
	const lag = "$RUNNEL.API.CONSUMER.LAG.S.c"
	b := servertest.Connect(t, s, nats.UserInfo("b", "b"))
	for name, nc := range map[string]*nats.Conn{"its own account": a, "one that imports it": b} {
		mustContain(t, name, request(t, nc, lag, ""), `"stream":"S","consumer":"c"`)
	}
	if _, err := b.Request("$RUNNEL.API.LAG", nil, servertest.Patience); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("what is not shared: got %v", err)
	}
	mustContain(t, "an account without JetStream", request(t, servertest.Connect(t, s, nats.UserInfo("c", "c")), lag, ""), "10039")
	refused := make(chan error, 1)
	mute := servertest.Connect(t, s, nats.UserInfo("mute", "a"), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err }))
	if err := mute.PublishRequest(lag, nats.NewInbox(), nil); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-refused:
		if !strings.Contains(strings.ToLower(err.Error()), "permissions violation") {
			t.Errorf("without permission: got %v", err)
		}
	case <-time.After(servertest.Patience):
		t.Error("without permission: nobody says so")
	}
}
