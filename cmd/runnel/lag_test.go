package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"runnel/client"
	"runnel/server/servertest"
)

// orders starts a server with a stream and two consumers: billing has got something and not acknowledged it. It returns the
// server's address and a client.
func orders(t *testing.T) (url string, js nats.JetStreamContext) {
	t.Helper()
	s := servertest.Start(t, fmt.Sprintf("jetstream { store_dir: %q, sync: os }", t.TempDir()))
	nc := servertest.Connect(t, s)
	js, err := nc.JetStream()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.AddStream(&nats.StreamConfig{Name: "ORDERS", Subjects: []string{"orders.>"}}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"billing", "mail"} {
		if _, err := js.AddConsumer("ORDERS", &nats.ConsumerConfig{Durable: name, AckPolicy: nats.AckExplicitPolicy, MaxAckPending: 2}); err != nil {
			t.Fatal(err)
		}
	}
	for range 5 {
		if _, err := js.Publish("orders.eu", nil); err != nil {
			t.Fatal(err)
		}
	}
	sub, err := js.PullSubscribe("", "", nats.Bind("ORDERS", "billing"))
	if err != nil {
		t.Fatal(err)
	}
	if m, err := sub.Fetch(2, nats.MaxWait(servertest.Patience)); err != nil || len(m) != 2 {
		t.Fatalf("fetch: %d messages, %v", len(m), err)
	}
	return "nats://" + s.Addr().String(), js
}

// ran runs a command and checks its exit code.
func ran(t *testing.T, want int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, complaints strings.Builder
	if code := run(t.Context(), args, &out, &complaints); code != want {
		t.Errorf("%q: got exit code %d, want %d; %s%s", args, code, want, out.String(), complaints.String())
	}
	return out.String(), complaints.String()
}

// TestAskDenied asks as a user that may not: each command says at once what is missing, and once.
func TestAskDenied(t *testing.T) {
	s := servertest.Start(t, fmt.Sprintf(`jetstream { store_dir: %q, sync: os }
		authorization { users: [ { user: u, password: p, permissions: { publish: { deny: "$RUNNEL.API.>" } } } ] }`, t.TempDir()))
	for args, subject := range map[string]string{
		"lag": "LAG", "lag S c": "CONSUMER.LAG.S.c", "explain consumer S c": "CONSUMER.EXPLAIN.S.c", "key S c": "CONSUMER.KEYS.S.c",
		"dlq ls": "DLQ.LIST", "dlq show S": "DLQ.GET.S", "delay ls S": "DELAY.LIST.S",
	} {
		_, complaint := ran(t, 1, append(strings.Fields(args), "--url", s.ClientURL(), "--user", "u", "--password", "p", "--timeout", "1m")...)
		want := fmt.Sprintf("runnel: request %s: the user may not ask that: it needs the permission to publish to $RUNNEL.API.%s\n", subject, subject)
		if complaint != want {
			t.Errorf("%s: got %q, want %q", args, complaint, want)
		}
	}
}

// TestAskHint asks for what there is not: it is said how to find what there is.
func TestAskHint(t *testing.T) {
	url, _ := orders(t)
	for args, want := range map[string]string{
		"lag ORDERS nobody": "consumer not found (10014): runnel lag lists", "explain consumer NONE c": "stream not found (10059): nats stream ls lists",
	} {
		if _, complaint := ran(t, 1, append(strings.Fields(args), "--url", url)...); !strings.Contains(complaint, want) {
			t.Errorf("%s: got %q, want %q in it", args, complaint, want)
		}
	}
}

func TestLag(t *testing.T) {
	url, _ := orders(t)
	text, _ := ran(t, 0, "lag", "--url", url)
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "LAG") {
		t.Fatalf("got table\n%s", text)
	}
	for i, want := range []string{"ORDERS billing 3 2", "ORDERS mail 5 0 0 - no_requests"} {
		if got := strings.Join(strings.Fields(lines[i+1])[1:], " "); !strings.HasPrefix(got, want) {
			t.Errorf("line %d: got %q, want %q", i+1, got, want)
		}
	}
	if text, _ := ran(t, 0, "lag", "ORDERS", "mail", "--url", url); strings.Count(text, "\n") != 2 || !strings.Contains(text, "mail") {
		t.Errorf("one consumer: got\n%s", text)
	}
	if text, _ := ran(t, 0, "lag", "--url", url, "--limit", "1", "ORDERS"); !strings.Contains(text, "and 1 more") {
		t.Errorf("limited: got\n%s", text)
	}
	text, _ = ran(t, 0, "lag", "--server", url, "--json")
	var lags client.Lags
	if err := json.Unmarshal([]byte(text), &lags); err != nil || lags.Total != 2 || lags.Consumers[0].Messages != 5 {
		t.Errorf("JSON: got %v, %s", err, text)
	}
	if _, complaint := ran(t, exitLate, "lag", "--url", url, "--max", "1ns"); !strings.Contains(complaint, "behind, which is more than 1ns") {
		t.Errorf("late: got %q", complaint)
	}
	ran(t, 0, "lag", "--url", url, "--max", "1h")
}

func TestLagRefusals(t *testing.T) {
	url, _ := orders(t)
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"NONE"}, "stream not found (10059)"},
		{[]string{"ORDERS", "none"}, "consumer not found (10014)"},
		{[]string{"ORDERS", "mail", "x"}, "at most a stream and a consumer"},
		{[]string{"--interval", "0s"}, "--interval"},
		{[]string{"--limit", "0"}, "--limit"},
		{[]string{"--watch", "--max", "1s"}, "leave out --watch"},
		{[]string{"--nkey", "/none"}, "/none"},
		{[]string{"--none"}, "Usage:"},
	} {
		if _, complaint := ran(t, 1, append([]string{"lag", "--url", url}, tt.args...)...); !strings.Contains(complaint, tt.want) {
			t.Errorf("%q: got %q, want %q in it", tt.args, complaint, tt.want)
		}
	}
	if _, complaint := ran(t, 1, "lag", "--url", "nats://127.0.0.1:1"); !strings.Contains(complaint, "connect to nats://127.0.0.1:1") {
		t.Errorf("no server: got %q", complaint)
	}
	plain := servertest.Start(t, "")
	if _, complaint := ran(t, 1, "lag", "--url", "nats://"+plain.Addr().String()); !strings.Contains(complaint, "$RUNNEL.API") {
		t.Errorf("no JetStream: got %q", complaint)
	}
	if _, help := ran(t, 0, "lag", "-h"); !strings.Contains(help, "runnel lag ORDERS billing") || !strings.Contains(help, "-interval") {
		t.Errorf("help: got %q", help)
	}
}

// TestLagWatch looks until it is told to end.
func TestLagWatch(t *testing.T) {
	url, _ := orders(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w := &ending{after: 3, end: cancel}
	var complaints strings.Builder
	if code := run(ctx, []string{"lag", "--url", url, "--watch", "--interval", "1ms"}, w, &complaints); code != 0 {
		t.Errorf("got exit code %d, %s", code, complaints.String())
	}
	if w.writes != 3 || strings.Count(w.text, "LAG ") != 3 || strings.Contains(w.text, redraw) {
		t.Errorf("got %d tables, want 3 and nothing for a terminal:\n%s", w.writes, w.text)
	}
}

// ending ends a command after some writes.
type ending struct {
	text   string
	writes int
	after  int
	end    func()
}

func (e *ending) Write(b []byte) (int, error) {
	e.text += string(b)
	if e.writes++; e.writes == e.after {
		e.end()
	}
	return len(b), nil
}

func TestShortAge(t *testing.T) {
	for seconds, want := range map[float64]string{
		0: "0s", 0.001: "0.1s", 1.26: "1.3s", 9.94: "9.9s", 12.6: "13s", 61: "1m01s", 3600: "1h00m", 7384: "2h03m", 90000: "1d01h", 1e300: "104166d16h",
	} {
		if got := shortAge(seconds); got != want {
			t.Errorf("%v seconds: got %s, want %s", seconds, got, want)
		}
	}
}

// TestLagTable shows what a server rarely has.
func TestLagTable(t *testing.T) {
	now, hour := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), 3600.0
	until := now.Add(90 * time.Second)
	text := string(lagTable(&client.Lags{Total: 3, Missing: []string{"LOST"}, Consumers: []client.ConsumerLag{{
		Stream: "S", Consumer: "c", Seconds: 90061, Served: 1234.5, DrainSeconds: &hour, Time: now,
		Undelivered: client.Backlog{Messages: 7}, Unacked: client.Backlog{Messages: 2, Seconds: 12, Since: "delivered"},
		Stalled: &client.Stalled{Reason: "paused", Until: &until},
	}}}))
	want := "LAG     STREAM   CONSUMER   WAITING   UNACKED    SERVED/S   DRAINED   HELD UP\n" +
		"1d01h   S        c          7         2 (12sd)   1234       1h00m     paused (1m30s)\n" +
		"and 2 more, which are not as far behind\nno leader of LOST has answered\n"
	if text != want {
		t.Errorf("got\n%swant\n%s", text, want)
	}
	if text := string(lagTable(&client.Lags{})); text != "There are no consumers.\n" {
		t.Errorf("nothing: got %q", text)
	}
}

func TestExplainConsumer(t *testing.T) {
	url, js := orders(t)
	text, _ := ran(t, exitHeldUp, "explain", "--url", url, "consumer", "ORDERS", "billing")
	for _, part := range []string{"ORDERS billing\n", "2 deliveries wait for an answer", "Next: Look whether the workers"} {
		if !strings.Contains(text, part) {
			t.Errorf("got %q, want %q in it", text, part)
		}
	}
	text, _ = ran(t, exitHeldUp, "explain", "consumer", "ORDERS", "mail", "--json", "--url", url)
	var e client.Explanation
	if err := json.Unmarshal([]byte(text), &e); err != nil || e.Delivers || e.Reasons[0].Code != "no_requests" || e.Lag.Messages != 5 {
		t.Errorf("JSON: got %v, %s", err, text)
	}
	if err := js.PurgeStream("ORDERS"); err != nil {
		t.Fatal(err)
	}
	ran(t, 0, "explain", "consumer", "ORDERS", "mail", "--url", url)
	for want, args := range map[string][]string{
		"consumer not found": {"consumer", "ORDERS", "none"}, "say which consumer": {"ORDERS", "mail"}, "Usage:": nil,
	} {
		if _, complaint := ran(t, 1, append([]string{"explain", "--url", url}, args...)...); !strings.Contains(complaint, want) {
			t.Errorf("%q: got %q, want %q in it", args, complaint, want)
		}
	}
}
