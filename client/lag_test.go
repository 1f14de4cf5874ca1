package client_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"

	"runnel/client"
	"runnel/server/servertest"
)

// start runs a server with streams and returns a client of it.
func start(t testing.TB) *nats.Conn {
	t.Helper()
	return servertest.Connect(t, servertest.Start(t, fmt.Sprintf("jetstream { store_dir: %q, sync: os }", t.TempDir())))
}

func TestLag(t *testing.T) {
	nc := start(t)
	js, err := nc.JetStream()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.AddStream(&nats.StreamConfig{Name: "S", Subjects: []string{"s"}}); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if _, err := js.AddConsumer("S", &nats.ConsumerConfig{Durable: fmt.Sprint("c", i), AckPolicy: nats.AckExplicitPolicy}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := js.Publish("s", nil); err != nil {
		t.Fatal(err)
	}
	l, err := client.Lag(t.Context(), nc, "S", "c1")
	if err != nil || l.Consumer != "c1" || l.Messages != 1 || l.Undelivered.Since != "stored" || l.Stalled == nil || l.Time.IsZero() {
		t.Errorf("got %+v, %v", l, err)
	}
	all, err := client.AllLags(t.Context(), nc, client.LagQuery{Stream: "S", Offset: 1, Limit: 1})
	if err != nil || all.Total != 3 || all.Offset != 1 || len(all.Consumers) != 1 || all.Consumers[0].Consumer != "c1" {
		t.Errorf("got %+v, %v", all, err)
	}
	e, err := client.Explain(t.Context(), nc, "S", "c2")
	if err != nil || e.Delivers || len(e.Reasons) != 1 || e.Reasons[0].Code != "no_requests" || e.Reasons[0].Text == "" {
		t.Errorf("got %+v, %v", e, err)
	}
	var refused *client.Error
	if _, err := client.Lag(t.Context(), nc, "S", "none"); !errors.As(err, &refused) || refused.Code != 10014 || refused.Status != 404 {
		t.Errorf("no consumer: got %v", err)
	}
}

// TestNoAPI: who asks another server, or one without JetStream, is told so.
func TestNoAPI(t *testing.T) {
	nc := servertest.Connect(t, servertest.Start(t, ""))
	_, lag := client.Lag(t.Context(), nc, "S", "c")
	_, all := client.AllLags(t.Context(), nc, client.LagQuery{})
	_, why := client.Explain(t.Context(), nc, "S", "c")
	for _, err := range []error{lag, all, why} {
		if !errors.Is(err, client.ErrNoAPI) {
			t.Errorf("got %v", err)
		}
	}
	if _, err := nc.Subscribe("$RUNNEL.API.>", func(m *nats.Msg) { _ = m.Respond([]byte("no")) }); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Lag(t.Context(), nc, "S", "c"); err == nil || errors.Is(err, client.ErrNoAPI) {
		t.Errorf("an answer that is none: got %v", err)
	}
}
