package server_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"runnel/server/servertest"
)

// TestMetricsOfDeadLetters gives up three messages into a dead-letter stream that has room for one: the metrics and the page show what
// is there and what waits, and nothing when all is done.
func TestMetricsOfDeadLetters(t *testing.T) {
	s := servertest.Start(t, fmt.Sprintf("http_port: -1\njetstream { store_dir: %q }", t.TempDir()))
	js, err := servertest.Connect(t, s).JetStream()
	if err != nil {
		t.Fatal(err)
	}
	dead := giveUp(t, js)
	shows := func(what string, lines ...string) {
		t.Helper()
		servertest.Eventually(t, what, func() bool {
			_, text := get(t, s, "/metrics")
			for _, line := range lines {
				if !strings.Contains(text, line) {
					return false
				}
			}
			return true
		})
	}
	shows("what waits has series", `runnel_dead_letter_messages{account="$G",stream="DEAD"} 1`+"\n", `runnel_dead_letter_oldest_seconds{account="$G",stream="DEAD"} `,
		`runnel_consumer_dead_letters_waiting{account="$G",consumer="c",stream="S"} 2`+"\n",
		`runnel_consumer_stalled{account="$G",consumer="c",reason="dead_letter",stream="S"} 1`+"\n")
	if _, text := get(t, s, "/jsz?consumers=1"); !strings.Contains(text, `"waiting": 2,`) || !strings.Contains(text, `"dead_letters": {`) {
		t.Errorf("/jsz does not say what waits: %s", text)
	}
	dead.MaxMsgs = 3
	if _, err := js.UpdateStream(dead); err != nil {
		t.Fatal(err)
	}
	shows("all are there", `runnel_dead_letter_messages{account="$G",stream="DEAD"} 3`+"\n")
	servertest.Eventually(t, "nothing waits any more", func() bool {
		_, text := get(t, s, "/metrics")
		return !strings.Contains(text, "runnel_consumer_dead_letters_waiting{")
	})
}

// giveUp makes a stream whose consumer gives up three messages to another stream, which has room for one. That one is returned.
func giveUp(t *testing.T, js nats.JetStreamContext) *nats.StreamConfig {
	t.Helper()
	dead := &nats.StreamConfig{Name: "DEAD", Subjects: []string{"dead"}, MaxMsgs: 1, Discard: nats.DiscardNew}
	for _, c := range []*nats.StreamConfig{{Name: "S", Subjects: []string{"s"}}, dead} {
		if _, err := js.AddStream(c); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := js.AddConsumer("S", &nats.ConsumerConfig{
		Durable: "c", AckPolicy: nats.AckExplicitPolicy, Metadata: map[string]string{"runnel.dead_letter": "DEAD"},
	}); err != nil {
		t.Fatal(err)
	}
	sub, err := js.PullSubscribe("", "", nats.Bind("S", "c"))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := js.Publish("s", nil); err != nil {
			t.Fatal(err)
		}
	}
	list, err := sub.Fetch(3)
	if err != nil || len(list) != 3 {
		t.Fatalf("got %d messages, %v", len(list), err)
	}
	for _, m := range list {
		if err := m.Term(); err != nil {
			t.Fatal(err)
		}
	}
	return dead
}
