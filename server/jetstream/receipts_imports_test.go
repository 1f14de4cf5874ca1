package jetstream_test

import (
	"testing"

	"github.com/nats-io/nats.go"

	"runnel/server/servertest"
)

// TestReceiptsOfOthers: a stream that keeps what is imported from another account follows no acknowledgement there, since its publisher
// has nothing to say here.
func TestReceiptsOfOthers(t *testing.T) {
	srv := servertest.Start(t, `
		jetstream { store_dir: "`+t.TempDir()+`", sync: os }
		accounts {
			A { users: [{user: a, password: a}], jetstream: enabled
				imports: [{stream: {account: B, subject: "out.>"}}] }
			B { users: [{user: b, password: b}], exports: [{stream: "out.>"}] }
		}`)
	connect := func(user string) *nats.Conn {
		nc, err := nats.Connect(srv.ClientURL(), nats.UserInfo(user, user))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		return nc
	}
	s := &site{t: t, server: srv, conn: connect("a")}
	s.stream("IN", `"subjects":["in.>"]`)
	s.stream("OUT", `"subjects":["out.>","mine.>"]`)
	s.consumer("IN", "c", "")
	s.stores(1, "in.a", "job")
	job := s.next("IN", "c", 1)[0]
	s.rejects(11055, "out.a", "x", "Runnel-Ack", job.Reply)
	other := connect("b")
	m := nats.NewMsg("out.a")
	m.Header.Set("Runnel-Ack", job.Reply)
	if err := other.PublishMsg(m); err != nil {
		t.Fatal(err)
	}
	if err := other.Publish("out.a", []byte("plain")); err != nil {
		t.Fatal(err)
	}
	servertest.Eventually(t, "the other message", func() bool { return s.state("OUT").Messages == 1 })
	if got := s.consumerState("IN", "c").AckPending; got != 1 {
		t.Errorf("%d wait for an answer, want 1", got)
	}
	s.stores(2, "mine.a", "x", "Runnel-Ack", job.Reply)
	s.acknowledged("IN", "c")
}
