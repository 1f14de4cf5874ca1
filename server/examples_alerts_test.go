package server_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/nats-io/nats.go"

	"runnel/server/servertest"
)

// TestExampleAlerts: the alert rules ask for series that a server has.
func TestExampleAlerts(t *testing.T) {
	rules, err := os.ReadFile("../docs/examples/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s := servertest.Start(t, `http_port: -1, jetstream { store_dir: "`+t.TempDir()+`" }`)
	nc := servertest.Connect(t, s)
	js, err := nc.JetStream()
	if err != nil {
		t.Fatal(err)
	}
	for _, cfg := range []*nats.StreamConfig{{Name: "S", Subjects: []string{"s"}}, {Name: "M", Mirror: &nats.StreamSource{Name: "S"}}} {
		if _, err := js.AddStream(cfg); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := js.AddConsumer("S", &nats.ConsumerConfig{Durable: "c", AckPolicy: nats.AckExplicitPolicy}); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish("s", nil); err != nil {
		t.Fatal(err)
	}
	_, text := get(t, s, "/metrics")
	names := regexp.MustCompile(`runnel_[a-z_]+`).FindAllString(string(rules), -1)
	if len(names) < 10 {
		t.Errorf("the rules have %d series, want some more", len(names))
	}
	for _, name := range names {
		if !regexp.MustCompile(`(?m)^` + name + `[ {]`).MatchString(text) {
			t.Errorf("the rules ask for %s, which the server does not have", name)
		}
	}
}
