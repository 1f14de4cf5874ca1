package client_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"runnel/client"
	"runnel/server/servertest"
)

// TestDLQ looks through what workers have given up, and deletes it.
func TestDLQ(t *testing.T) {
	s := newShop(t, nil)
	s.stream(jetstream.StreamConfig{Name: "DEAD", Subjects: []string{"dead.none"}})
	consumer, err := s.js.UpdateConsumer(t.Context(), "ORDERS", jetstream.ConsumerConfig{
		Durable: "work", AckPolicy: jetstream.AckExplicitPolicy, Metadata: map[string]string{"runnel.dead_letter": "DEAD"},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.consumer = consumer
	process(s, client.Work[string]{Workers: 1, Handle: func(_ context.Context, m *client.Message[string]) error {
		return client.Permanent(errors.New("no " + m.Value))
	}})
	s.publish("milk", "tea", "bread")
	q := client.DLQ{Conn: s.nc, Stream: "DEAD"}
	servertest.Eventually(t, "all to be dead letters", func() bool {
		info, err := q.Info(t.Context())
		return err == nil && info.Messages == 3 && info.Waiting == 0
	})
	info, err := q.Info(t.Context())
	if err != nil || len(info.Counts) != 1 || info.Counts[0] != (client.DeadCount{Stream: "ORDERS", Consumer: "work", Reason: "terminated", Messages: 3}) {
		t.Errorf("info: got %+v, %v", info, err)
	}
	streams, missing, err := client.DeadStreams(t.Context(), s.nc)
	if err != nil || len(missing) > 0 || len(streams) != 1 || streams[0].Stream != "DEAD" || streams[0].Messages != 3 || streams[0].Oldest == nil {
		t.Errorf("streams: got %+v, %v, %v", streams, missing, err)
	}
	var seen []string
	for letter, err := range q.All(t.Context(), client.DeadFilter{Consumer: "work"}) {
		if err != nil {
			t.Fatal(err)
		}
		o := letter.Origin
		if o.Stream != "ORDERS" || o.Subject != "orders.new" || o.Consumer != "work" || o.Attempts != 1 || o.First.IsZero() || o.Given.IsZero() || letter.Subject != "orders.new" {
			t.Errorf("got %+v", letter)
		}
		seen = append(seen, fmt.Sprintf("%d %s: %s", o.Sequence, letter.Data, o.Error))
	}
	if got := fmt.Sprint(seen); got != "[1 milk: no milk 2 tea: no tea 3 bread: no bread]" {
		t.Errorf("got %s", got)
	}
	for _, tt := range []struct {
		sequence uint64
		filter   client.DeadFilter
		dry      bool
		want     int
	}{
		{0, client.DeadFilter{}, true, 3},
		{2, client.DeadFilter{}, false, 1},
		{0, client.DeadFilter{Consumer: "other"}, false, 0},
		{0, client.DeadFilter{Reason: "terminated"}, false, 2},
		{0, client.DeadFilter{}, false, 0},
	} {
		if n, err := q.Discard(t.Context(), tt.sequence, tt.filter, tt.dry); n != tt.want || err != nil {
			t.Errorf("discard %+v: got %d, %v", tt, n, err)
		}
	}
	if list, next, err := q.Get(t.Context(), 0, client.DeadFilter{}); len(list) > 0 || next != 0 || err != nil {
		t.Errorf("at the end: got %v, %d, %v", list, next, err)
	}
	none := client.DLQ{Conn: s.nc, Stream: "NONE"}
	var refused *client.Error
	if _, err := none.Info(t.Context()); !errors.As(err, &refused) || refused.Code != 10059 {
		t.Errorf("no stream: got %v", err)
	}
}

// TestRedrive puts dead letters back: to the consumer that has given them up, to all, and at a rate that is stopped.
func TestRedrive(t *testing.T) {
	s := newShop(t, nil)
	s.stream(jetstream.StreamConfig{Name: "DEAD", Subjects: []string{"dead.none"}})
	consumer, err := s.js.UpdateConsumer(t.Context(), "ORDERS", jetstream.ConsumerConfig{
		Durable: "work", AckPolicy: jetstream.AckExplicitPolicy, Metadata: map[string]string{"runnel.dead_letter": "DEAD"},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.publish("milk", "tea", "bread", "salt", "eggs")
	batch, err := consumer.Fetch(5)
	if err != nil {
		t.Fatal(err)
	}
	for m := range batch.Messages() {
		if err := m.TermWithReason("sold out"); err != nil {
			t.Fatal(err)
		}
	}
	q := client.DLQ{Conn: s.nc, Stream: "DEAD"}
	servertest.Eventually(t, "five dead letters", func() bool {
		info, err := q.Info(t.Context())
		return err == nil && info.Messages == 5
	})
	plan, err := q.RedrivePlan(t.Context(), client.Redrive{Filter: client.DeadFilter{Consumer: "work"}})
	if err != nil || plan.Matched != 5 || plan.Redrive != nil || len(plan.Sets) != 1 || plan.Sets[0] != (client.RedriveSet{Stream: "ORDERS", Consumer: "work", Messages: 5}) {
		t.Errorf("the plan is %+v, %v", plan, err)
	}
	state, err := q.Redrive(t.Context(), client.Redrive{Sequence: 2})
	if err != nil || state.Done != 1 || state.Failed != 0 || state.Ended == nil || state.To != "consumer" {
		t.Errorf("one: %+v, %v", state, err)
	}
	if plan, err = q.RedriveStart(t.Context(), client.Redrive{Rate: 1, ToSubject: true}); err != nil || plan.Redrive == nil || plan.Matched != 4 {
		t.Fatalf("all: %+v, %v", plan, err)
	}
	var refused *client.Error
	if _, err := q.Redrive(t.Context(), client.Redrive{}); !errors.As(err, &refused) || refused.Code != 11012 {
		t.Errorf("a second one: got %v", err)
	}
	stopped, err := q.RedriveStop(t.Context())
	if err != nil || !stopped.Stopped || stopped.To != "subject" || stopped.Rate != 1 || stopped.Done > 2 {
		t.Errorf("stopped: %+v, %v", stopped, err)
	}
	if _, err := q.RedriveStop(t.Context()); !errors.As(err, &refused) || refused.Code != 11013 {
		t.Errorf("stopped again: got %v", err)
	}
	info, err := q.Info(t.Context())
	if err != nil || info.Redrive == nil || !info.Redrive.Stopped || info.Messages != 4-stopped.Done {
		t.Errorf("the info says %+v, %v", info, err)
	}
	told := 0
	state, err = q.Redrive(t.Context(), client.Redrive{Rate: 5, Progress: func(client.RedriveState) { told++ }})
	if err != nil || state.Done != 4-stopped.Done || told == 0 {
		t.Errorf("the rest: %+v, %v, told %d times", state, err, told)
	}
	if err := s.js.DeleteConsumer(t.Context(), "ORDERS", "work"); err != nil {
		t.Fatal(err)
	}
	if state, err := q.Redrive(t.Context(), client.Redrive{}); err != nil || state.Done != 0 {
		t.Errorf("nothing is left: %+v, %v", state, err)
	}
}
