package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"runnel/server/accounts"
	"runnel/server/engine"
)

// witness notes what it is shown at server 0, and keeps what nobody got if it is told to.
type witness struct {
	keeps atomic.Bool
	mu    sync.Mutex // guards shown
	shown []string
}

// routes is what a cluster's servers are given: only requests for the next of something, and one subject that can have no witness.
func (w *witness) routes(server int) engine.RouteConfig {
	return engine.RouteConfig{Witness: func(_ *accounts.Account, subject string) func(*engine.Message) {
		if !strings.HasPrefix(subject, "$JS.next.") && subject != "other" {
			return nil
		}
		return func(m *engine.Message) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.shown = append(w.shown, fmt.Sprintf("%d: %s %s %s %d %s", server, m.Subject, m.Reply, m.Payload, m.Got, m.Peer))
			if w.keeps.Load() && m.Got == 0 {
				m.Keep()
			}
		}
	}}
}

// expect compares what was shown since the last time.
func (w *witness) expect(t *testing.T, what string, want ...string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Equal(w.shown, want) {
		t.Errorf("%s: shown %q, want %q", what, w.shown, want)
	}
	w.shown = nil
}

// TestWitness: the server where a message is published shows it to its witness when all others have it, and no other server does. What the
// witness keeps has a responder. A server that is silent is not sent what has a witness.
func TestWitness(t *testing.T) {
	both(t, func(t *testing.T, pollers int) {
		var w witness
		all := startCluster(t, clusterConfig{nodes: 2, pollers: pollers, routes: w.routes})
		c := all[0].connect()
		c.send("SUB inbox 9\r\n")
		c.flush()
		ask := func() { c.send("PUB $JS.next.c inbox 2\r\nhi\r\n") }

		ask()
		if m := c.message(); m.subject != "inbox" || !strings.HasPrefix(m.header, "NATS/1.0 503") {
			t.Errorf("got %+v, want that nobody is there", m)
		}
		w.expect(t, "nobody", "0: $JS.next.c inbox hi 0 ")
		w.keeps.Store(true)
		ask()
		c.flush()
		w.expect(t, "kept", "0: $JS.next.c inbox hi 0 ")

		other := all[1].connect()
		other.send("SUB $JS.next.c 1\r\nSUB other 2\r\nSUB $JS.last 3\r\n")
		other.flush()
		all[0].awaitRemotes(global, "$JS.next.c", 1, 0)
		all[0].awaitRemotes(global, "$JS.last", 1, 0)
		ask()
		other.got("$JS.next.c", "1", "inbox", "hi")
		w.expect(t, "another server", "0: $JS.next.c inbox hi 1 node1")
		all[0].engine.Publish(all[0].account(global), "$JS.next.c", "", nil, []byte("own"))
		other.got("$JS.next.c", "1", "", "own")
		w.expect(t, "of the server itself", "0: $JS.next.c  own 1 node1")

		all[0].engine.PeerSilent("node1", true)
		ask()
		c.send("PUB $JS.last 2\r\nhi\r\n") // has no witness
		other.got("$JS.last", "3", "", "hi")
		w.expect(t, "a silent server", "0: $JS.next.c inbox hi 0 ")
		all[0].engine.PeerSilent("node1", false)
		c.send("PUB other 2\r\nhi\r\n") // may have none
		ask()
		other.got("other", "2", "", "hi")
		other.got("$JS.next.c", "1", "inbox", "hi")
		w.expect(t, "a server that is heard again", "0: $JS.next.c inbox hi 1 node1")
	})
}
