package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"runnel/client"
	"runnel/server/servertest"
)

func TestKey(t *testing.T) {
	url, js := orders(t)
	_, stderr := ran(t, 1, "key", "ORDERS", "mail", "--url", url)
	if !strings.Contains(stderr, "consumer mail has no keys: metadata runnel.key says") {
		t.Errorf("without keys: got %q", stderr)
	}
	if _, err := js.AddConsumer("ORDERS", &nats.ConsumerConfig{
		Durable: "keys", AckPolicy: nats.AckExplicitPolicy, MaxDeliver: 1, Metadata: map[string]string{"runnel.key": "token:2", "runnel.key_failed": "block"},
	}); err != nil {
		t.Fatal(err)
	}
	if text, _ := ran(t, 0, "key", "ORDERS", "keys", "--url", url); text != "0 keys with a message out, 0 of them blocked; 0 messages wait for their key, 5 are undelivered in all\n" {
		t.Errorf("nothing out: got\n%s", text)
	}
	sub, err := js.PullSubscribe("", "", nats.Bind("ORDERS", "keys"))
	if err != nil {
		t.Fatal(err)
	}
	next := func() *nats.Msg {
		t.Helper()
		m, err := sub.Fetch(1, nats.MaxWait(servertest.Patience))
		if err != nil || len(m) != 1 {
			t.Fatalf("fetch: %d messages, %v", len(m), err)
		}
		return m[0]
	}
	first := next()
	text, _ := ran(t, 0, "key", "ORDERS", "keys", "--url", url)
	if fields := strings.Fields(strings.Split(text, "\n")[1]); strings.Join(fields[:6], " ") != "eu in flight 1 orders.eu 1" {
		t.Errorf("in flight: got\n%s", text)
	}
	if err := first.Term(); err != nil {
		t.Fatal(err)
	}
	servertest.Eventually(t, "the key is blocked", func() bool {
		text, _ = ran(t, 0, "key", "ORDERS", "keys", "--url", url)
		return strings.Contains(text, "blocked   1         orders.eu   given up")
	})
	if !strings.Contains(text, "runnel key ORDERS keys --settle MESSAGE") {
		t.Errorf("blocked: got\n%s", text)
	}
	_, stderr = ran(t, 1, "key", "ORDERS", "keys", "--url", url, "--settle", "4")
	if !strings.Contains(stderr, "no key has this message out") {
		t.Errorf("settle another one: got %q", stderr)
	}
	text, _ = ran(t, 0, "key", "ORDERS", "keys", "--url", url, "--settle", "1", "--json")
	var keys client.Keys
	if err := json.Unmarshal([]byte(text), &keys); err != nil || keys.Blocked != 0 || keys.Key != "token:2" || keys.Failed != "block" {
		t.Errorf("settled: got %s, %v", text, err)
	}
	if about, err := next().Metadata(); err != nil || about.Sequence.Stream != 2 {
		t.Errorf("then: got %+v, %v, want message 2", about, err)
	}
}

func TestKeyTable(t *testing.T) {
	text := string(keyTable(&client.Keys{InFlight: 1, Keys: []client.KeyHold{
		{Key: "", State: "rests", Sequence: 7, Subject: "a", Deliveries: 3, Behind: 1024, More: true}, {Alone: true, State: "due", Sequence: 8, Subject: "b", Deliveries: 1},
	}}))
	for _, want := range []string{`""    rests   7         a         3           -       1024+`, `-     due     8         b         1           -       0`, "1 key with a message out"} {
		if !strings.Contains(text, want) {
			t.Errorf("got\n%s\nwant %q in it", text, want)
		}
	}
}

func TestKeyUsage(t *testing.T) {
	for _, args := range [][]string{{"key"}, {"key", "S"}, {"key", "S", "C", "D"}, {"key", "S", "C", "--limit", "0"}} {
		ran(t, 1, args...)
	}
	if _, stderr := ran(t, 1, "key"); !strings.Contains(stderr, "Who holds what") {
		t.Errorf("without arguments: got %q", stderr)
	}
}
