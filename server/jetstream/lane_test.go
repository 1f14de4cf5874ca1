package jetstream_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"runnel/server/servertest"
)

// TestTooManyRequests drops requests, and says so to the system account.
func TestTooManyRequests(t *testing.T) {
	s := servertest.Start(t, fmt.Sprintf(`
		server_name: busy
		jetstream { store_dir: %q, sync: os, request_queue_limit: 100, info_queue_limit: 2 }
		accounts { A { users: [{user: a, password: a}], jetstream: enabled }, SYS { users: [{user: s, password: s}] } }
		system_account: SYS`, t.TempDir()))
	system := servertest.Connect(t, s, nats.UserInfo("s", "s"))
	told, err := system.SubscribeSync("$JS.EVENT.ADVISORY.API.LIMIT_REACHED")
	if err != nil {
		t.Fatal(err)
	}
	if err := system.Flush(); err != nil {
		t.Fatal(err)
	}
	nc := servertest.Connect(t, s, nats.UserInfo("a", "a"))
	const requests = 5000
	for range requests {
		if err := nc.PublishRequest("$JS.API.INFO", "answer", nil); err != nil {
			t.Fatal(err)
		}
	}
	m, err := told.NextMsg(servertest.Patience)
	if err != nil {
		t.Fatal(err)
	}
	var advisory struct {
		Type, Server string
		Dropped      int
	}
	if err := json.Unmarshal(m.Data, &advisory); err != nil {
		t.Fatal(err)
	}
	if advisory.Type != "io.nats.jetstream.advisory.v1.api_limit_reached" || advisory.Server != "busy" ||
		advisory.Dropped < 1 || advisory.Dropped > requests {
		t.Errorf("got %s", m.Data)
	}
	servertest.Eventually(t, "an answer after that", func() bool {
		_, err := nc.Request("$JS.API.INFO", nil, time.Second)
		return err == nil
	})
}
