package server_test

import (
	"os"
	"regexp"
	"strings"
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
	giveUp(t, js)
	if _, err := js.AddStream(&nats.StreamConfig{Name: "M", Mirror: &nats.StreamSource{Name: "S"}}); err != nil {
		t.Fatal(err)
	}
	var text string
	servertest.Eventually(t, "dead letters to wait", func() bool {
		_, text = get(t, s, "/metrics")
		return strings.Contains(text, "runnel_consumer_dead_letters_waiting_seconds{") && strings.Contains(text, "runnel_dead_letter_messages{")
	})
	names := regexp.MustCompile(`runnel_[a-z_]+`).FindAllString(string(rules), -1)
	if len(names) < 10 {
		t.Errorf("the rules have %d series, want some more", len(names))
	}
	for _, name := range names {
		if name == "runnel_stream_owed_acks_seconds" {
			continue // there while something is owed, which is not for long; the page has it in a test of package monitor
		}
		if !regexp.MustCompile(`(?m)^` + name + `[ {]`).MatchString(text) {
			t.Errorf("the rules ask for %s, which the server does not have", name)
		}
	}
}
