package server_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"runnel/conf"
	"runnel/server"
	"runnel/server/servertest"
)

// A server inside a program: options from a text, a file ([conf.ParseFile]) or from the defaults, changed.
func ExampleOpen() {
	options := conf.Defaults()
	options.Host, options.Port = "127.0.0.1", -1 // a free port
	options.ServerName = "embedded"
	if err := options.Validate(); err != nil {
		log.Fatal(err)
	}
	s, err := server.Open(options, slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err != nil {
		log.Fatal(err)
	}

	nc, err := nats.Connect(s.ClientURL())
	if err != nil {
		log.Fatal(err)
	}
	if _, err := nc.Subscribe("greet.*", func(m *nats.Msg) { _ = m.Respond([]byte("hello " + string(m.Data))) }); err != nil {
		log.Fatal(err)
	}
	answer, err := nc.Request("greet.one", []byte("world"), time.Second)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s says %s\n", nc.ConnectedServerName(), answer.Data)
	nc.Close()

	// Clients have five seconds to receive what is queued for them.
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		log.Fatal(err)
	}
	// Output: embedded says hello world
}

// A client in the same program needs no socket: the server itself is an option of nats.go.
func ExampleServer_InProcessConn() {
	options, err := conf.Parse("embedded", []byte(`
		listen: "127.0.0.1:-1"
		authorization { users: [{user: app, password: secret}] }
	`))
	if err != nil {
		log.Fatal(err)
	}
	s, err := server.Open(options, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = s.Close() }()

	nc, err := nats.Connect("", nats.InProcessServer(s), nats.UserInfo("app", "secret"))
	if err != nil {
		log.Fatal(err)
	}
	defer nc.Close()
	sub, err := nc.SubscribeSync("news")
	if err != nil {
		log.Fatal(err)
	}
	if err := nc.Publish("news", []byte("no socket")); err != nil {
		log.Fatal(err)
	}
	m, err := sub.NextMsg(time.Second)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(m.Data))
	// Output: no socket
}

// In the tests of a program that uses NATS, package servertest is shorter: the server ends with the test.
func Example_servertest() {
	var t *testing.T // the argument of the test

	s := servertest.Start(t, `max_payload: 64KB`)
	nc := servertest.Connect(t, s, nats.Name("mine"))
	if got := nc.MaxPayload(); got != 64<<10 {
		t.Errorf("max_payload = %d, want 64 KiB", got)
	}
}
