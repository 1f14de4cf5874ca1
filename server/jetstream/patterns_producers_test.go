package jetstream_test

import (
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"

	"runnel/server/jetstream/api"
	"runnel/server/servertest"
)

// producersMost is how many producers a stream knows, as documented.
const producersMost = 65_536

// TestPatternProducersForgotten lists the producers of a stream, also page by page, and has some forgotten: those begin anywhere, the
// others are known as before, also when the server was started again.
func TestPatternProducersForgotten(t *testing.T) {
	s := newSite(t, "")
	s.stream("S", `"subjects":["s.>"]`)
	s.stream("DEAD", `"subjects":["dead"]`)
	for i, name := range []string{"c", "a", "b"} {
		s.stores(uint64(i+1), "s.a", "x", numbered(name, 10*(i+1))...)
	}
	list := func(stream, body string) (a api.ProducerListAnswer, names string) {
		t.Helper()
		if code := own(t, s.conn, "PRODUCER.LIST."+stream, body, &a); code != 0 {
			t.Fatalf("%s: got %d", body, code)
		}
		for _, p := range a.Producers {
			names += fmt.Sprintf("%s@%d@%d ", p.Name, p.Number, p.Sequence)
		}
		return a, names
	}
	if a, names := list("S", ""); names != "a@20@2 b@30@3 c@10@1 " || a.Total != 3 || a.Most != producersMost || a.Next != "" || a.Producers[0].Time == nil {
		t.Errorf("got %s%+v", names, a)
	}
	if a, names := list("S", `{"limit":2}`); names != "a@20@2 b@30@3 " || a.Next != "b" {
		t.Errorf("the first page: got %s%+v", names, a)
	}
	if a, names := list("S", `{"limit":2,"after":"b"}`); names != "c@10@1 " || a.Next != "" {
		t.Errorf("the second page: got %s%+v", names, a)
	}
	for body, want := range map[string]int{
		`{}`: 11004, ``: 11004, `{"idle":"often"}`: 11004, `{"idle":"-1h"}`: 11004, `{"idle":"1h","producers":["a"]}`: 11004, `{"producer":"a"}`: 10025,
	} {
		if code := own(t, s.conn, "PRODUCER.FORGET.S", body, nil); code != want {
			t.Errorf("forget %q: got %d, want %d", body, code, want)
		}
	}
	forget := func(stream, body string, want int) {
		t.Helper()
		var a api.ProducerForgetAnswer
		if code := own(t, s.conn, "PRODUCER.FORGET."+stream, body, &a); code != 0 || a.Forgotten != want {
			t.Errorf("forget %s: got %d, %+v, want %d", body, code, a, want)
		}
	}
	forget("S", `{"producers":["a","x"],"dry_run":true}`, 1)
	forget("S", `{"idle":"1h"}`, 0)
	forget("S", `{"producers":["a","x"]}`, 1)
	s.stores(4, "s.a", "x", numbered("a", 1)...)
	s.restart()
	if _, names := list("S", ""); names != "a@1@4 b@30@3 c@10@1 " {
		t.Errorf("after a restart: got %s", names)
	}
	s.rejects(11002, "s.a", "x", numbered("b", 32)...)

	// Those of the server itself are apart.
	s.consumer("S", "c", dead("DEAD"))
	s.acknowledge(s.next("S", "c", 1)[0], "+TERM")
	s.buried("DEAD", 1)
	if a, names := list("DEAD", ""); names != "" || a.Total != 1 {
		t.Errorf("a dead-letter stream has producers %s%+v", names, a)
	}
	if a, _ := list("DEAD", `{"server":true}`); len(a.Producers) != 1 || a.Producers[0].Number != 1 {
		t.Errorf("got %+v, want the one in whose name dead letters are put", a)
	}
	forget("DEAD", `{"idle":"1ns"}`, 0)
	forget("DEAD", `{"idle":"1ns","server":true}`, 1)
}

// TestPatternProducersFull fills the table of producers: a further one is refused with what to do, and that helps.
func TestPatternProducersFull(t *testing.T) {
	s := newSite(t, "")
	s.stream("S", `"subjects":["s.>"],"storage":"memory","max_msgs":1`)
	acks := s.subscribe("acks")
	const atOnce = 1024
	for i := range producersMost {
		m := &nats.Msg{Subject: "s.a", Reply: "acks", Header: nats.Header{"Runnel-Producer": {fmt.Sprint("p", i)}, "Runnel-Producer-Seq": {"1"}}}
		if err := s.conn.PublishMsg(m); err != nil {
			t.Fatal(err)
		}
		if i%atOnce != atOnce-1 {
			continue
		}
		for range atOnce {
			if _, err := acks.NextMsg(servertest.Patience); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.rejects(11003, "s.a", "x", numbered("new", 1)...)
	s.stores(producersMost+1, "s.a", "x", numbered("p7", 2)...)
	var a api.ProducerForgetAnswer
	servertest.Eventually(t, "some producers to be forgotten", func() bool { // the time of the stream may be a little ahead
		a = api.ProducerForgetAnswer{}
		return own(t, s.conn, "PRODUCER.FORGET.S", `{"idle":"1ns"}`, &a) == 0 && a.Forgotten > 0
	})
	if a.Forgotten != api.ProducerMax || !a.More {
		t.Fatalf("got %+v, want %d, and more", a, api.ProducerMax)
	}
	s.stores(producersMost+2, "s.a", "x", numbered("new", 1)...)
}

// TestPatternProducerRestored restores a stream: what was published before the backup is known as a duplicate.
func TestPatternProducerRestored(t *testing.T) {
	nc := start(t, "")
	s := &site{t: t, conn: nc}
	s.stream("S", `"subjects":["s.>"]`)
	s.stores(1, "s.a", "x", numbered("p", 7)...)
	s.stores(2, "s.a", "x", numbered("q", 3)...)
	s.must("STREAM.PURGE.S", `{"seq":2}`, nil) // the producer is known although its message has gone
	b := backUp(t, nc, "S", "")
	s.must("STREAM.DELETE.S", "", nil)
	r := begin(t, nc, "S", `{"name":"S","subjects":["s.>"]}`, "{}")
	if r = send(t, nc, r.Deliver, b.data, 500); r.Error != nil {
		t.Fatalf("got %+v", r.Error)
	}
	for name, number := range map[string]int{"p": 7, "q": 3} {
		if a := s.publish("s.a", "x", numbered(name, number)...); !a.Duplicate {
			t.Errorf("%s %d again: got %+v, want a duplicate", name, number, a)
		}
	}
	s.rejects(11002, "s.a", "x", numbered("p", 9)...)
	s.stores(3, "s.a", "x", numbered("p", 8)...)
}
