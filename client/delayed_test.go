package client_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"runnel/client"
)

// TestDelayed lists what is delayed over more than one page, and cancels it.
func TestDelayed(t *testing.T) {
	nc := start(t)
	js, err := nc.JetStream()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.AddStream(&nats.StreamConfig{Name: "S", Subjects: []string{"s.>"}}); err != nil {
		t.Fatal(err)
	}
	const messages = 300 // more than a page has
	begin := time.Now()
	for i := range messages {
		m := nats.NewMsg(fmt.Sprint("s.", i%3))
		m.Header.Set("Runnel-Delay", "1h")
		m.Header.Set(nats.MsgIdHdr, fmt.Sprint(i))
		if _, err := js.PublishMsgAsync(m); err != nil {
			t.Fatal(err)
		}
	}
	<-js.PublishAsyncComplete()
	d := &client.Delayed{Conn: nc, Stream: "S"}
	n, last := 0, uint64(0)
	for m, err := range d.All(t.Context(), client.DelayFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if m.Sequence <= last || m.State != "waiting" || m.At.Sub(begin) < time.Hour || m.Subject[:2] != "s." || m.ID == "" || m.Size == 0 || m.Time.Before(begin.Add(-time.Second)) {
			t.Errorf("after %d: got %+v", last, m)
		}
		n, last = n+1, m.Sequence
	}
	if n != messages {
		t.Errorf("%d messages, want %d", n, messages)
	}
	if page, err := d.List(t.Context(), 0, client.DelayFilter{ID: "7"}); err != nil || len(page.Delayed) != 1 || page.Messages != messages || page.First == nil {
		t.Errorf("by id: got %+v, %v", page, err)
	}
	if err := d.Cancel(t.Context(), last); err != nil {
		t.Error(err)
	}
	var refused *client.Error
	if err := d.Cancel(t.Context(), last); !errors.As(err, &refused) || refused.Code != 11062 {
		t.Errorf("again: got %v", err)
	}
	for _, step := range []struct {
		filter client.DelayFilter
		dry    bool
		want   int
	}{
		{client.DelayFilter{Subject: "s.1"}, true, 100},
		{client.DelayFilter{Subject: "s.1"}, false, 100},
		{client.DelayFilter{Subject: "s.1"}, false, 0},
		{client.DelayFilter{}, false, messages - 101},
	} {
		if got, err := d.CancelAll(t.Context(), step.filter, step.dry); err != nil || got != step.want {
			t.Errorf("cancel %+v: got %d, %v, want %d", step, got, err, step.want)
		}
	}
	due := &client.Delayed{Conn: nc, Stream: "S", Due: true}
	if got, err := due.CancelAll(t.Context(), client.DelayFilter{}, false); err != nil || got != 0 {
		t.Errorf("what is due: got %d, %v", got, err)
	}
	for _, err := range (&client.Delayed{Conn: nc, Stream: "NONE"}).All(t.Context(), client.DelayFilter{}) {
		if !errors.As(err, &refused) || refused.Code != 10059 {
			t.Errorf("no stream: got %v", err)
		}
	}
}
