package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"runnel/client"
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
