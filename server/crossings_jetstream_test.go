package server_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"runnel/server/servertest"
)

// TestJetStreamOfAnotherAccount: an account without JetStream uses the streams of another by imports, and is told that
// nobody answers what it does not import.
func TestJetStreamOfAnotherAccount(t *testing.T) {
	s := servertest.Start(t, fmt.Sprintf(`
jetstream { store_dir: %q }
accounts {
  A {
    jetstream: true, users [{user: a, password: a}]
    exports [
      {service: "$JS.API.INFO"}, {service: "$JS.API.STREAM.INFO.S"}, {service: "$JS.API.CONSUMER.MSG.NEXT.S.C", response_type: stream},
      {service: "$JS.ACK.S.>"}, {service: "in.*"}, {stream: "push.>"}
    ]
  }
  B {
    users [{user: b, password: b}]
    imports [
      {service: {account: A, subject: "$JS.API.INFO"}}, {service: {account: A, subject: "$JS.API.STREAM.INFO.S"}},
      {service: {account: A, subject: "$JS.API.CONSUMER.MSG.NEXT.S.C"}}, {service: {account: A, subject: "$JS.ACK.S.>"}},
      {service: {account: A, subject: "in.*"}, to: "out.*"}, {stream: {account: A, subject: "push.>"}, to: "mine.>"}
    ]
  }
}`, t.TempDir()))
	a := servertest.Connect(t, s, nats.UserInfo("a", "a"))
	b := servertest.Connect(t, s, nats.UserInfo("b", "b"))
	request(t, a, "$JS.API.STREAM.CREATE.S", `{"name":"S","subjects":["in.*"]}`)
	request(t, a, "$JS.API.CONSUMER.CREATE.S.C", `{"stream_name":"S","config":{"durable_name":"C","ack_policy":"explicit"}}`)
	if got := request(t, b, "out.x", "hello"); !strings.Contains(got, `"stream":"S","seq":1`) {
		t.Errorf("publishing: %s", got)
	}
	for _, subject := range []string{"$JS.API.INFO", "$JS.API.STREAM.INFO.S"} {
		if got := request(t, b, subject, ""); strings.Contains(got, `"error":`) {
			t.Errorf("%s: %s", subject, got)
		}
	}
	if _, err := b.Request("$JS.API.STREAM.NAMES", nil, servertest.Patience); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("what is not imported: %v, want %v", err, nats.ErrNoResponders)
	}
	m, err := b.Request("$JS.API.CONSUMER.MSG.NEXT.S.C", []byte("1"), servertest.Patience)
	if err != nil || string(m.Data) != "hello" || m.Subject != "in.x" {
		t.Fatalf("pulled %v, %v", m, err)
	}
	if _, err := b.Request(m.Reply, []byte("+ACK"), servertest.Patience); err != nil {
		t.Errorf("acknowledge %s: %v", m.Reply, err)
	}
	pushed, err := b.SubscribeSync("mine.p")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Flush(); err != nil {
		t.Fatal(err)
	}
	request(t, a, "$JS.API.CONSUMER.CREATE.S.P", `{"stream_name":"S","config":{"durable_name":"P","deliver_subject":"push.p","ack_policy":"none"}}`)
	if m, err := pushed.NextMsg(servertest.Patience); err != nil || string(m.Data) != "hello" {
		t.Errorf("pushed %v, %v", m, err)
	}
}
