package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"runnel/client"
	"runnel/server/servertest"
)

// TestDLQ looks at dead letters, puts some back and throws others away.
func TestDLQ(t *testing.T) {
	url, js := orders(t)
	if text, _ := ran(t, 0, "dlq", "ls", "--url", url); text != "No consumer has a dead-letter stream, and no stream has dead letters.\n" {
		t.Errorf("none: got\n%s", text)
	}
	for _, queue := range []bool{false, true} {
		cfg := &nats.StreamConfig{Name: "DEAD", Subjects: []string{"dead"}}
		if queue {
			cfg.Name, cfg.Subjects, cfg.Retention = "DEADQUEUE", []string{"deadqueue"}, nats.WorkQueuePolicy
		}
		if _, err := js.AddStream(cfg); err != nil {
			t.Fatal(err)
		}
		name := strings.ToLower(cfg.Name)
		if _, err := js.AddConsumer("ORDERS", &nats.ConsumerConfig{
			Durable: name, AckPolicy: nats.AckExplicitPolicy, Metadata: map[string]string{"runnel.dead_letter": cfg.Name},
		}); err != nil {
			t.Fatal(err)
		}
		sub, err := js.PullSubscribe("", "", nats.Bind("ORDERS", name))
		if err != nil {
			t.Fatal(err)
		}
		list, err := sub.Fetch(4, nats.MaxWait(servertest.Patience))
		if err != nil || len(list) != 4 {
			t.Fatalf("fetch: %d messages, %v", len(list), err)
		}
		for _, m := range list {
			if err := m.Term(); err != nil {
				t.Fatal(err)
			}
		}
		servertest.Eventually(t, "four dead letters", func() bool {
			info, err := js.StreamInfo(cfg.Name)
			return err == nil && info.State.Msgs == 4
		})
		text, _ := ran(t, 0, "dlq", "ls", "--url", url)
		if !strings.Contains(text, cfg.Name+"  ") || !strings.Contains(text, "ORDERS."+name) {
			t.Errorf("ls: got\n%s", text)
		}
		text, _ = ran(t, 0, "dlq", "show", cfg.Name, "--url", url, "--limit", "3")
		if lines := strings.Split(text, "\n"); len(lines) != 7 || strings.Join(strings.Fields(lines[1])[:5], " ") != "1 orders.eu ORDERS."+name+" terminated 1" ||
			!strings.Contains(text, "--from 4 goes on") {
			t.Errorf("show: got\n%s", text)
		}
		text, _ = ran(t, 0, "dlq", "show", cfg.Name, "--url", url, "--seq", "2")
		for _, part := range []string{"2 of " + cfg.Name, "message 2 of ORDERS, on orders.eu, given up by consumer " + name, "terminated", "Attempts     1\n"} {
			if !strings.Contains(text, part) {
				t.Errorf("show one: got\n%s\nwant %q in it", text, part)
			}
		}
		var letter client.DeadLetter
		text, _ = ran(t, 0, "dlq", "show", cfg.Name, "--url", url, "--seq", "3", "--json")
		if err := json.Unmarshal([]byte(text), &letter); err != nil || letter.Sequence != 3 || !strings.Contains(text, `"attempts": 1`) {
			t.Errorf("show one as JSON: got %v\n%s", err, text)
		}
		text, _ = ran(t, 0, "dlq", "show", cfg.Name, "--url", url, "--from", "4", "--json")
		var letters []client.DeadLetter
		if err := json.Unmarshal([]byte(text), &letters); err != nil || len(letters) != 1 || letters[0].Origin.Sequence != 4 {
			t.Errorf("show as JSON: got %v\n%s", err, text)
		}
		said := func(want string, args ...string) {
			t.Helper()
			if text, _ := ran(t, 0, append([]string{"dlq", args[0], cfg.Name, "--url", url}, args[1:]...)...); text != want+"\n" {
				t.Errorf("%q: got %q, want %q", args, text, want)
			}
		}
		before, err := js.StreamInfo("ORDERS")
		if err != nil {
			t.Fatal(err)
		}
		said("1 dead letter discarded", "discard", "--seq", "2")
		said("3 dead letters would be put back", "redrive", "--dry-run", "--all")
		said("0 dead letters put back", "redrive", "--reason", "expired")
		said("1 dead letter put back", "redrive", "--seq", "1", "--to", "subject")
		said("1 dead letter being put back", "redrive", "--seq", "3", "--detach")
		servertest.Eventually(t, "the end of that", func() bool {
			text, _ := ran(t, 0, "dlq", "redrive", cfg.Name, "--url", url, "--all", "--dry-run")
			return text == "1 dead letter would be put back\n"
		})
		text, _ = ran(t, 0, "dlq", "redrive", cfg.Name, "--url", url, "--reason", "terminated", "--consumer", name, "--rate", "1000", "--json")
		var state client.RedriveState
		if err := json.Unmarshal([]byte(text), &state); err != nil || state.Done != 1 || state.Failed != 0 || state.Ended == nil || state.Rate != 1000 {
			t.Errorf("redrive as JSON: got %v\n%s", err, text)
		}
		after, err := js.StreamInfo("ORDERS")
		if err != nil || after.State.Msgs != before.State.Msgs+3 {
			t.Errorf("ORDERS has %d messages, before %d, %v", after.State.Msgs, before.State.Msgs, err)
		}
		said("0 dead letters discarded", "discard", "--all")
	}
	for args, want := range map[string]string{
		"dlq discard DEAD":                 "say which",
		"dlq bury DEAD":                    "there is ls, show, redrive, stop and discard",
		"dlq show":                         "runnel dlq -h",
		"dlq show DEAD --limit 0":          "must be above 0",
		"dlq show NONE":                    "stream not found",
		"dlq show DEAD --seq 77":           "runnel dlq show DEAD lists them",
		"dlq show DEAD --reason fitler":    `reason "fitler" is none of max_deliver, retry_limit, terminated, expired, filter`,
		"dlq discard DEAD --subject a..b":  `subject "a..b" is no pattern`,
		"dlq redrive DEAD --reason x":      `reason "x" is none`,
		"dlq redrive DEAD":                 "say which",
		"dlq redrive DEAD --all --to moon": "it is consumer or subject",
		"dlq stop DEAD":                    "no redrive of stream DEAD runs",
		"dlq redrive DEAD --seq 3":         "message 3 is none",
	} {
		if _, complaint := ran(t, 1, append(strings.Fields(args), "--url", url)...); !strings.Contains(complaint, want) {
			t.Errorf("%s: got %q, want %q", args, complaint, want)
		}
	}
}
