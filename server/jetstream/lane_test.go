package jetstream_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"runnel/server/accounts"
	"runnel/server/engine"
	"runnel/server/jetstream"
	"runnel/server/servertest"
)

// nowhere is an outlet of which nothing comes.
type nowhere struct{}

func (nowhere) Publish(*accounts.Account, string, string, []byte, []byte) int { return 0 }
func (nowhere) Deliver(*accounts.Account, string, string, string, string, []byte, []byte) int {
	return 0
}
func (nowhere) Blocked(*accounts.Account, string, string, interface{ Wake() }) bool { return false }
func (nowhere) NoResponders(*engine.Conn, string, string) bool                      { return false }
func (nowhere) Flush()                                                              {}
func (nowhere) Close()                                                              {}

// TestLanes has one stream's requests wait while those of others go on.
func TestLanes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held := make(chan struct{})
		var mu sync.Mutex
		seen := map[string][]string{}
		lanes := jetstream.NewLanes(3, 1000, nowhere{}, func(stream, number string) {
			if stream == "held" {
				<-held
			}
			mu.Lock()
			defer mu.Unlock()
			seen[stream] = append(seen[stream], number)
		})
		for i := range 200 {
			for _, stream := range []string{"held", "a", "b"} {
				if !lanes.Offer(stream, strconv.Itoa(i), 10) {
					t.Fatalf("request %d of %s is dropped", i, stream)
				}
			}
		}
		synctest.Wait()
		mu.Lock()
		for _, stream := range []string{"a", "b"} {
			if len(seen[stream]) != 200 {
				t.Errorf("%s: %d requests were carried out while another stream's waited", stream, len(seen[stream]))
			}
		}
		mu.Unlock()
		close(held)
		synctest.Wait()
		for stream, numbers := range seen {
			for i, number := range numbers {
				if number != strconv.Itoa(i) {
					t.Fatalf("%s: request %s comes as number %d", stream, number, i)
				}
			}
		}
		if len(seen["held"]) != 200 {
			t.Errorf("held: %d requests", len(seen["held"]))
		}
		if n := lanes.Workers(); n > 2 {
			t.Errorf("%d workers stay with nothing to do", n)
		}
		lanes.Close()
	})
}

// TestLanesAreBounded drops what comes when too much waits, and carries out what it took before it closes.
func TestLanesAreBounded(t *testing.T) {
	for name, test := range map[string]struct{ limit, bytes, want int }{
		"number": {limit: 10, bytes: 1, want: 10},
		"bytes":  {limit: 1000, bytes: 16 << 20, want: 4},
		"large":  {limit: 10, bytes: 100 << 20, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				held := make(chan struct{})
				carried := 0
				lanes := jetstream.NewLanes(1, test.limit, nowhere{}, func(stream, number string) {
					<-held
					carried++
				})
				lanes.Offer("s", "first", 0)
				synctest.Wait() // the worker has it, so it does not wait any more
				taken := 0
				for i := range 20 {
					if lanes.Offer(fmt.Sprint(i), "", test.bytes) {
						taken++
					}
				}
				if taken != test.want {
					t.Errorf("%d requests were taken, want %d", taken, test.want)
				}
				close(held)
				lanes.Close()
				if carried != taken+1 {
					t.Errorf("%d requests were carried out, %d taken", carried, taken+1)
				}
				if lanes.Offer("s", "late", 0) {
					t.Error("a request was taken after the end")
				}
			})
		})
	}
}

// TestTooManyRequests drops requests, and says so to the system account.
func TestTooManyRequests(t *testing.T) {
	s := servertest.Start(t, fmt.Sprintf(`
		server_name: busy
		jetstream { store_dir: %q, sync: os, request_queue_limit: 100, info_queue_limit: 2 }
		accounts { A { users: [{user: a, password: a}], jetstream: enabled }, SYS { users: [{user: s, password: s}] } }
		system_account: SYS`, t.TempDir()))
	system := servertest.Connect(t, s, nats.UserInfo("s", "s"))
	told, err := system.SubscribeSync("$JS.EVENT.ADVISORY.API.LIMIT_REACHED")
	if err != nil {
		t.Fatal(err)
	}
	if err := system.Flush(); err != nil {
		t.Fatal(err)
	}
	nc := servertest.Connect(t, s, nats.UserInfo("a", "a"))
	const requests = 5000
	for range requests {
		if err := nc.PublishRequest("$JS.API.INFO", "answer", nil); err != nil {
			t.Fatal(err)
		}
	}
	m, err := told.NextMsg(servertest.Patience)
	if err != nil {
		t.Fatal(err)
	}
	var advisory struct {
		Type, Server string
		Dropped      int
	}
	if err := json.Unmarshal(m.Data, &advisory); err != nil {
		t.Fatal(err)
	}
	if advisory.Type != "io.nats.jetstream.advisory.v1.api_limit_reached" || advisory.Server != "busy" ||
		advisory.Dropped < 1 || advisory.Dropped > requests {
		t.Errorf("got %s", m.Data)
	}
	servertest.Eventually(t, "an answer after that", func() bool {
		_, err := nc.Request("$JS.API.INFO", nil, time.Second)
		return err == nil
	})
}
