package jetstream_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"

	"runnel/server/jetstream"
	"runnel/server/jetstream/quota"
	"runnel/server/servertest"
)

// limit gives account A these limits on all servers.
func (w *world) limit(l *quota.Limits) {
	for _, m := range w.members {
		m.service.SetAccount(jetstream.AccountConfig{Account: w.policy.Account("A"), Limits: l})
	}
}

// fill publishes messages of 1,000 bytes until one is refused, and returns how many were stored.
func (w *world) fill(nc *nats.Conn, subject string) int {
	w.t.Helper()
	for n := range 10_000 {
		if code := w.publish(nc, subject); code != 0 {
			if code != 10002 {
				w.t.Fatalf("publish to %s: refused with %d", subject, code)
			}
			return n
		}
	}
	w.t.Fatalf("%s takes everything", subject)
	return 0
}

// publish publishes a message of 1,000 bytes, and returns the code of the error.
func (w *world) publish(nc *nats.Conn, subject string) int {
	w.t.Helper()
	m, err := nc.Request(subject, make([]byte, 1000), servertest.Patience)
	for errors.Is(err, nats.ErrNoResponders) { // who leads is known, and is about to subscribe
		m, err = nc.Request(subject, make([]byte, 1000), servertest.Patience)
	}
	if err != nil {
		w.t.Fatalf("publish to %s: %v", subject, err)
	}
	var a struct {
		Error struct {
			Code int `json:"err_code"`
		}
	}
	if err := json.Unmarshal(m.Data, &a); err != nil {
		w.t.Fatal(err)
	}
	return a.Error.Code
}

// make creates a stream that is led by one of the servers.
func (w *world) make(nc *nats.Conn, name string, replicas, leader int) {
	w.t.Helper()
	w.must(nc, "STREAM.CREATE."+name, fmt.Sprintf(`{"name":%q,"subjects":[%q],"num_replicas":%d}`, name, name, replicas), nil)
	if replicas > 1 {
		w.elect(nc, name, leader)
	}
}

// elect lets another server lead a stream, and waits until it does.
func (w *world) elect(nc *nats.Conn, name string, leader int) {
	w.t.Helper()
	w.group(name).elect(leader)
	w.must(nc, "STREAM.INFO."+name, "", nil)
}

// TestClusterLimits: the bytes of an account are limited for all servers together, and each replica counts.
func TestClusterLimits(t *testing.T) {
	w := newWorld(t, 3)
	nc := w.connect()
	l := quota.Unlimited()
	l.MaxStoreBytes = 100_000
	w.limit(l)
	w.make(nc, "S", 3, 0)
	w.make(nc, "T", 3, 1)
	first := w.fill(nc, "S")
	if first < 28 || first > 34 {
		t.Errorf("a stream with three replicas took %d messages of 1,000 bytes within 100,000", first)
	}
	// The leader of the other one hears of it. That one never has more than one message, so it cannot reach the limit by itself.
	w.must(nc, "STREAM.UPDATE.T", `{"name":"T","subjects":["T"],"num_replicas":3,"max_msgs":1}`, nil)
	w.until("the other stream to take nothing", func() bool { return w.publish(nc, "T") == 10002 })
	// Who leads then does not count twice what the old leader has told.
	w.must(nc, "STREAM.PURGE.S", "", nil)
	for range 15 {
		if code := w.publish(nc, "S"); code != 0 {
			t.Fatalf("half of the room is free, and a message is refused with %d", code)
		}
	}
	w.must(nc, "STREAM.DELETE.T", "", nil)
	for _, leader := range []int{1, 2, 0} {
		w.elect(nc, "S", leader)
		if code := w.publish(nc, "S"); code != 0 {
			t.Errorf("n%d leads, and a message is refused with %d", leader+1, code)
		}
	}
	// What is deleted counts no more, on any server.
	w.must(nc, "STREAM.DELETE.S", "", nil)
	w.make(nc, "U", 3, 2)
	if again := w.fill(nc, "U"); again != first {
		t.Errorf("after all was deleted a stream took %d messages, %d before", again, first)
	}
}

// TestClusterTiers: with limits by the number of replicas each has its own, each message counts once there, and the info has
// both.
func TestClusterTiers(t *testing.T) {
	w := newWorld(t, 3)
	nc := w.connect()
	tier := func(bytes int64, consumers int) *quota.Limits {
		l := quota.Unlimited()
		l.MaxStoreBytes, l.MaxConsumers, l.MaxAckPending = bytes, consumers, 20
		return l
	}
	w.limit(&quota.Limits{Tiers: map[int]*quota.Limits{1: tier(50_000, 1), 3: tier(100_000, 2)}})
	w.make(nc, "S", 3, 2)
	w.make(nc, "R", 1, 0)
	if r := w.ask(nc, "STREAM.CREATE.X", `{"name":"X","subjects":["x"],"num_replicas":2}`); r.code != 10120 {
		t.Errorf("two replicas: got %d %s, want 10120", r.code, r.text)
	}
	if n := w.fill(nc, "S"); n < 90 || n > 100 {
		t.Errorf("three replicas: %d messages of 1,000 bytes within 100,000", n)
	}
	if n := w.fill(nc, "R"); n < 45 || n > 50 {
		t.Errorf("one replica: %d messages of 1,000 bytes within 50,000", n)
	}
	for i, want := range []int{0, 0, 10026} {
		body := fmt.Sprintf(`{"stream_name":"S","config":{"durable_name":"c%d","ack_policy":"explicit"}}`, i)
		if r := w.ask(nc, fmt.Sprintf("CONSUMER.CREATE.S.c%d", i), body); r.code != want {
			t.Errorf("consumer %d: got %d %s, want %d", i+1, r.code, r.text, want)
		}
	}
	for lead := range 3 {
		w.lead(lead)
		var info struct {
			Storage, Streams, Consumers int
			Limits                      map[string]any
			Tiers                       map[string]struct {
				Storage, Streams, Consumers int
				Limits                      struct {
					Storage int `json:"max_storage"`
				}
			}
		}
		w.must(nc, "INFO", "", &info)
		one, three := info.Tiers["R1"], info.Tiers["R3"]
		if len(info.Tiers) != 2 || info.Limits["max_storage"] != 0.0 || info.Streams != 2 || info.Consumers != 2 || info.Storage != one.Storage+three.Storage {
			t.Errorf("n%d leads: got %+v", lead+1, info)
		}
		if one.Streams != 1 || one.Consumers != 0 || one.Limits.Storage != 50_000 || one.Storage < 45_000 || one.Storage > 51_000 {
			t.Errorf("n%d leads, R1: got %+v", lead+1, one)
		}
		if three.Streams != 1 || three.Consumers != 2 || three.Limits.Storage != 100_000 || three.Storage < 270_000 || three.Storage > 306_000 {
			t.Errorf("n%d leads, R3, all replicas: got %+v", lead+1, three)
		}
	}
}
