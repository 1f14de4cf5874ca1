package jetstream_test

import (
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"

	"runnel/server/servertest"
)

// TestClusterKnown: what is acknowledged every server knows, also those that hear of a decision last. The stream is led by a server
// that does not lead the meta group.
func TestClusterKnown(t *testing.T) {
	for _, replicas := range []int{1, 3} {
		t.Run(fmt.Sprint(replicas, " replicas"), func(t *testing.T) {
			w := newWorld(t, 3)
			nc := w.connect()
			w.mu.Lock()
			w.late = true
			w.mu.Unlock()
			for lead := range 3 {
				w.lead(lead)
				w.must(nc, "STREAM.CREATE.S", fmt.Sprintf(`{"name":"S","subjects":["s.>"],"num_replicas":%d}`, replicas), nil)
				w.must(nc, "STREAM.CREATE.M", `{"name":"M","mirror":{"name":"S"}}`, nil)
				w.expectAlternates(nc, "S", 2)
				w.expectAlternates(nc, "M", 2)
				w.must(nc, "STREAM.DELETE.M", "", nil)
				w.expectAlternates(nc, "S", 0)
				w.must(nc, "STREAM.DELETE.S", "", nil)
				for _, subject := range []string{"STREAM.INFO.S", "STREAM.PURGE.S", "CONSUMER.NAMES.S"} {
					if r := w.ask(nc, subject, ""); r.code != 10059 {
						t.Errorf("n%d leads, %s of a stream that is deleted: got %d %s", lead+1, subject, r.code, r.text)
					}
				}
				if m, err := nc.Request("s.x", nil, servertest.Patience); err != nats.ErrNoResponders {
					t.Errorf("n%d leads, publish to a stream that is deleted: got %v, %v", lead+1, m, err)
				}
			}
		})
	}
}

// expectAlternates fails the test unless a stream's info has so many alternates.
func (w *world) expectAlternates(nc *nats.Conn, stream string, want int) {
	w.t.Helper()
	var s answered
	w.must(nc, "STREAM.INFO."+stream, "", &s)
	if len(s.Alternates) != want {
		w.t.Errorf("alternates of %s: got %+v, want %d", stream, s.Alternates, want)
	}
}

// TestClusterReachable: a client of any server of a real cluster reaches a stream as soon as it is acknowledged, on subjects that were
// added too, and nobody once it is deleted.
func TestClusterReachable(t *testing.T) {
	c := servertest.StartCluster(t, 3, fmt.Sprintf("jetstream { store_dir: %q }", t.TempDir()+"/"+servertest.ServerName))
	ask := func(nc *nats.Conn, subject, body string, want int) {
		t.Helper()
		if got, err := codeOf(nc, subject, body); err != nil || got != want {
			t.Fatalf("%s: got %d, %v, want %d", subject, got, err, want)
		}
	}
	var clients []*nats.Conn
	for _, s := range c.Servers {
		clients = append(clients, servertest.Connect(t, s))
	}
	servertest.Eventually(t, "somebody to lead", func() bool {
		code, err := codeOf(clients[0], "INFO", "")
		return err == nil && code == 0
	})
	for i := range 12 {
		nc := clients[i%3]
		stream := func(subjects string) string {
			return fmt.Sprintf(`{"name":"S","subjects":[%s],"num_replicas":%d}`, subjects, 1+2*(i%2))
		}
		ask(nc, "STREAM.CREATE.S", stream(`"s.*.x"`), 0)
		if _, err := nc.Request("s.1.x", nil, servertest.Patience); err != nil {
			t.Errorf("s%d: publish to a new stream: %v", i%3+1, err)
		}
		ask(nc, "STREAM.UPDATE.S", stream(`"s.*.x","more.>"`), 0)
		if _, err := nc.Request("more.of.it", nil, servertest.Patience); err != nil {
			t.Errorf("s%d: publish on a new subject: %v", i%3+1, err)
		}
		ask(nc, "STREAM.DELETE.S", "", 0)
		ask(nc, "STREAM.INFO.S", "", 10059)
	}
}
