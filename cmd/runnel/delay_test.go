package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"runnel/client"
	"runnel/server/servertest"
)

// TestDelay looks at what is delayed, and cancels it in all ways.
func TestDelay(t *testing.T) {
	url, js := orders(t)
	if text, _ := ran(t, 0, "delay", "ls", "ORDERS", "--url", url); text != "0 messages delayed in all\n" {
		t.Errorf("none: got\n%s", text)
	}
	for i := range 5 {
		m := nats.NewMsg("orders.later")
		m.Header.Set("Runnel-Delay", "90m")
		m.Header.Set(nats.MsgIdHdr, fmt.Sprint("order-", i))
		if ack, err := js.PublishMsg(m); err != nil || ack.Stream != "RUNNEL-DELAYED-ORDERS" || ack.Sequence != uint64(i+1) {
			t.Fatalf("publish: %+v, %v", ack, err)
		}
	}
	text, _ := ran(t, 0, "delay", "ls", "ORDERS", "--url", url, "--limit", "3")
	lines := strings.Split(text, "\n")
	if len(lines) != 8 || strings.Join(strings.Fields(lines[1])[:3], " ") != "1 orders.later waiting" || !strings.HasSuffix(lines[3], "order-2") ||
		!strings.HasPrefix(lines[5], "5 messages delayed in all, the next is due in ") || !strings.Contains(lines[6], "--seq 4 goes on") {
		t.Errorf("ls: got\n%s", text)
	}
	text, _ = ran(t, 0, "delay", "ls", "ORDERS", "--url", url, "--seq", "4", "--json")
	var page client.DelayedPage
	if err := json.Unmarshal([]byte(text), &page); err != nil || len(page.Delayed) != 2 || page.Messages != 5 || page.Delayed[1].ID != "order-4" ||
		time.Until(page.Delayed[1].At) > 90*time.Minute {
		t.Errorf("ls as JSON: got %v\n%s", err, text)
	}
	for _, step := range []struct {
		args string
		code int
		want string
	}{
		{"cancel ORDERS --seq 2", 0, "1 message cancelled"},
		{"cancel ORDERS --seq 2", 1, "message 2 does not wait"},
		{"cancel ORDERS --seq 2 --due", 1, "message 2 does not wait"},
		{"cancel ORDERS --id order-3 --dry-run", 0, "1 message would be cancelled"},
		{"cancel ORDERS --id order-3", 0, "1 message cancelled"},
		{"cancel ORDERS --id order-3", 1, "nothing of that waits"},
		{"cancel ORDERS --subject orders.later --due --dry-run", 0, "3 messages would be cancelled"},
		{"cancel ORDERS --all --json", 0, `"cancelled": 3`},
		{"cancel ORDERS", 1, "say which"},
		{"cancel ORDERS --seq 2 --all", 1, "names one message"},
		{"cancel ORDERS --id x --all", 1, "exclude each other"},
		{"cancel ORDERS --subject a..b", 1, "no pattern"},
		{"ls NONE", 1, "stream not found"},
		{"ls", 1, "say which stream"},
		{"ls ORDERS --limit 0", 1, "must be above 0"},
		{"hurry ORDERS", 1, "there is ls and cancel"},
	} {
		out, complaint := ran(t, step.code, append(strings.Fields("delay "+step.args), "--url", url)...)
		if !strings.Contains(out+complaint, step.want) {
			t.Errorf("%s: got %q, %q, want %q", step.args, out, complaint, step.want)
		}
	}
}

// TestDelayTable shows what there is in the words of a person: times as they are to come, and what has come already.
func TestDelayTable(t *testing.T) {
	now := time.Date(2026, 12, 24, 18, 0, 0, 0, time.UTC)
	next := now.Add(90 * time.Second)
	row := func(seq uint64, state string, in time.Duration, id string) client.DelayedMessage {
		return client.DelayedMessage{Sequence: seq, Subject: "orders.later", State: state, At: now.Add(in), Size: 7, ID: id}
	}
	at := func(in time.Duration) string { return now.Add(in).Local().Format("2006-01-02 15:04:05") }
	for _, c := range []struct {
		name string
		page client.DelayedPage
		want []string // words of each line
	}{
		{"nothing", client.DelayedPage{}, []string{"0 messages delayed in all"}},
		{
			"one, and it is all",
			client.DelayedPage{Messages: 1, First: &next, Delayed: []client.DelayedMessage{row(3, "waiting", 90*time.Second, "")}},
			[]string{"SEQ SUBJECT STATE IN AT SIZE ID", "3 orders.later waiting 1m30s " + at(90*time.Second) + " 7 -", "", "1 message delayed in all, the next is due in 1m30s"},
		},
		{
			"due, and others that are not shown",
			client.DelayedPage{Messages: 9, Next: 5, Delayed: []client.DelayedMessage{
				row(3, "due", -time.Hour, "a b"), row(4, "waiting", -time.Second, "x"), // its clock is behind ours
			}},
			[]string{
				"SEQ SUBJECT STATE IN AT SIZE ID", "3 orders.later due - " + at(-time.Hour) + " 7 a b", "4 orders.later waiting 0s " + at(-time.Second) + " 7 x", "",
				"9 messages delayed in all", "There may be more: --seq 5 goes on.",
			},
		},
		{
			"a long id",
			client.DelayedPage{Messages: 1, Delayed: []client.DelayedMessage{row(1, "due", 0, strings.Repeat("i", 100))}},
			[]string{"SEQ SUBJECT STATE IN AT SIZE ID", "1 orders.later due - " + at(0) + " 7 " + strings.Repeat("i", 60), "", "1 message delayed in all"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			lines := strings.Split(strings.TrimSuffix(string(delayTable(&c.page, now)), "\n"), "\n")
			if len(lines) != len(c.want) {
				t.Fatalf("got\n%s", strings.Join(lines, "\n"))
			}
			for i, line := range lines {
				if got := strings.Join(strings.Fields(line), " "); got != c.want[i] {
					t.Errorf("line %d: got %q, want %q", i, got, c.want[i])
				}
			}
		})
	}
}

// TestDelayHelp: the help names every flag, and every example in it is a command line that is understood.
func TestDelayHelp(t *testing.T) {
	_, help := ran(t, 0, "delay", "-h")
	for _, want := range []string{"-seq", "-id", "-subject", "-all", "-due", "-dry-run", "-limit", "-json"} {
		if !strings.Contains(help, want) {
			t.Errorf("the help does not name %s", want)
		}
	}
	for line := range strings.Lines(delayHelp) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "runnel delay") || strings.Contains(line, "[flags]") {
			continue
		}
		command, _, _ := strings.Cut(line, "  ")
		command = strings.ReplaceAll(strings.TrimPrefix(command, "runnel "), "'", "")
		if i := strings.Index(command, " the one"); i > 0 {
			command = command[:i]
		}
		// Nobody listens there, so what is wrong with a command line is said before.
		_, complaint := ran(t, 1, append(strings.Fields(command), "--url", "127.0.0.1:1")...)
		if !strings.Contains(complaint, "connect to") {
			t.Errorf("%s: got %q", command, complaint)
		}
	}
}

// TestDelayOfFullStream shows what is due and cannot be stored, and takes it out of the way, which somebody has to say in so many words.
func TestDelayOfFullStream(t *testing.T) {
	url, js := orders(t)
	if _, err := js.AddStream(&nats.StreamConfig{Name: "FULL", Subjects: []string{"full"}, MaxMsgs: 1, Discard: nats.DiscardNew}); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish("full", nil); err != nil {
		t.Fatal(err)
	}
	m := nats.NewMsg("full")
	m.Header.Set("Runnel-Delay", "1ms")
	if _, err := js.PublishMsg(m); err != nil {
		t.Fatal(err)
	}
	var page client.DelayedPage
	servertest.Eventually(t, "the message to be due", func() bool {
		text, _ := ran(t, 0, "delay", "ls", "FULL", "--url", url, "--json")
		page = client.DelayedPage{}
		if err := json.Unmarshal([]byte(text), &page); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		return len(page.Delayed) == 1 && page.Delayed[0].State == "due"
	})
	seq := fmt.Sprint(page.Delayed[0].Sequence)
	for _, step := range []struct {
		flags string
		code  int
		want  string
	}{
		{"--seq " + seq, 1, "its time has come"},
		{"--all --dry-run", 0, "0 messages would be cancelled"},
		{"--all", 1, "nothing of that waits"},
		{"--seq " + seq + " --due", 0, "1 message cancelled"},
		{"--all --due --dry-run", 0, "0 messages would be cancelled"},
	} {
		out, complaint := ran(t, step.code, append(strings.Fields("delay cancel FULL "+step.flags), "--url", url)...)
		if !strings.Contains(out+complaint, step.want) {
			t.Errorf("%s: got %q, %q, want %q", step.flags, out, complaint, step.want)
		}
	}
}
