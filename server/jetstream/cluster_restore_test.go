package jetstream_test

import (
	"fmt"
	"testing"

	"runnel/server/servertest"
)

// TestClusterRestore takes a backup of a stream on three servers, and puts it back under every leader of the meta group.
func TestClusterRestore(t *testing.T) {
	w := newWorld(t, 3)
	nc := w.connect()
	w.must(nc, "STREAM.CREATE.S", `{"name":"S","subjects":["s.>"],"num_replicas":3,"allow_direct":true}`, nil)
	for i := range 50 {
		if _, err := nc.Request(fmt.Sprintf("s.%d", i%7), fmt.Append(nil, i), servertest.Patience); err != nil {
			t.Fatal(err)
		}
	}
	w.must(nc, "CONSUMER.CREATE.S.c", `{"stream_name":"S","config":{"durable_name":"c","ack_policy":"explicit"}}`, nil)
	before := backUp(t, nc, "S", "")
	for lead := range 3 {
		w.lead(lead)
		w.must(nc, "STREAM.DELETE.S", "", nil)
		if got := putBack(t, nc, "S", before); got.code() != 0 || got.State.Messages != 50 || got.State.Last != 50 {
			t.Fatalf("n%d leads: got %+v %v", lead+1, got, got.Error)
		}
		after := backUp(t, nc, "S", "")
		same(t, after.data, before.data)
		if _, err := nc.Request("s.x", nil, servertest.Patience); err != nil {
			t.Errorf("publish: %v", err)
		}
		var s answered
		w.must(nc, "STREAM.INFO.S", "", &s)
		if len(s.Cluster.Replicas) != 2 || s.State.Consumers != 1 {
			t.Errorf("n%d leads: got %+v", lead+1, s)
		}
		w.group("S").drain()
	}
	if r := begin(t, nc, "S", string(before.Config), string(before.State)); r.code() != 10130 {
		t.Errorf("a stream that there is: got %d", r.code())
	}
}

// TestClusterRestoreFails: what is not restored to the end does not show, and goes.
func TestClusterRestoreFails(t *testing.T) {
	w := newWorld(t, 3)
	nc := w.connect()
	w.must(nc, "STREAM.CREATE.S", `{"name":"S","subjects":["s.>"],"num_replicas":3}`, nil)
	for i := range 10 {
		if _, err := nc.Request("s.x", fmt.Append(nil, i), servertest.Patience); err != nil {
			t.Fatal(err)
		}
	}
	b := backUp(t, nc, "S", "")
	w.must(nc, "STREAM.DELETE.S", "", nil)
	gone := func(what string) {
		t.Helper()
		servertest.Eventually(t, what, func() bool { _, ok := w.members[0].Stream("A", "S"); return !ok })
	}
	r := begin(t, nc, "S", string(b.Config), string(b.State))
	if r.code() != 0 {
		t.Fatalf("got %+v", r.Error)
	}
	var names answered
	if w.must(nc, "STREAM.NAMES", "", &names); names.Streams != nil {
		t.Errorf("a stream that is not whole shows: %v", names.Streams)
	}
	if m, err := nc.Request(r.Deliver, []byte("this is no backup"), servertest.Patience); err != nil {
		t.Fatalf("got %v, %v", m, err)
	}
	if _, err := nc.Request(r.Deliver, nil, servertest.Patience); err != nil {
		t.Fatal(err)
	}
	gone("what cannot be read to go")
	r = begin(t, nc, "S", string(b.Config), string(b.State))
	if r.code() != 0 {
		t.Fatalf("again: got %+v", r.Error)
	}
	w.group("S").elect(2) // in the middle of it
	_, _ = nc.Request(r.Deliver, b.data, servertest.Patience)
	if end := send(t, nc, r.Deliver, nil, 1<<10); end.code() == 0 {
		t.Error("a restore was completed whose stream another server leads")
	}
	gone("what was left by its leader to go")
	if got := putBack(t, nc, "S", b); got.code() != 0 {
		t.Errorf("in the end: got %+v", got.Error)
	}
}
