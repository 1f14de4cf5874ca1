package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"runnel/client"
	"runnel/server/servertest"
)

func outbox(t *testing.T, db *database) *client.Outbox {
	t.Helper()
	o := client.NewOutbox(db.DB, db.dialect, "S")
	o.Table, o.Batch = db.table, 7
	for range 2 { // the second time it is there
		if err := o.Create(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

// add writes messages down in one transaction.
func add(t *testing.T, db *database, o *client.Outbox, texts ...string) {
	t.Helper()
	db.inTx(t, func(tx *sql.Tx) error { return addTo(t.Context(), tx, o, texts...) })
	o.Wake()
}

func addTo(ctx context.Context, tx *sql.Tx, o *client.Outbox, texts ...string) error {
	for _, text := range texts {
		if err := o.Add(ctx, tx, &nats.Msg{Subject: "s.x", Data: []byte(text), Header: nats.Header{"Text": {text, "more"}}}); err != nil {
			return err
		}
	}
	return nil
}

// relay runs some relays until the function that it returns is called.
func relay(t *testing.T, js jetstream.JetStream, o *client.Outbox, n int) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for range n {
		running.Go(func() {
			if err := o.Run(ctx, js); err != nil {
				t.Errorf("relay: %v", err)
			}
		})
	}
	end = sync.OnceFunc(func() { cancel(); running.Wait() })
	t.Cleanup(end)
	return end
}

// sent waits until the outbox is empty.
func sent(t *testing.T, o *client.Outbox) {
	t.Helper()
	servertest.Eventually(t, "all to be published", func() bool {
		n, err := o.Waiting(t.Context())
		return err == nil && n == 0
	})
}

// texts are the messages of the stream, in its order.
func texts(t *testing.T, js jetstream.JetStream) []string {
	t.Helper()
	s, err := js.Stream(t.Context(), "S")
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for sequence := range s.CachedInfo().State.LastSeq {
		m, err := s.GetMsg(t.Context(), sequence+1)
		if err != nil {
			t.Fatal(err)
		}
		if m.Subject != "s.x" || m.Header.Get("Text") != string(m.Data) || len(m.Header.Values("Text")) != 2 {
			t.Errorf("got %s %s %v", m.Subject, m.Data, m.Header)
		}
		list = append(list, string(m.Data))
	}
	return list
}

func stream(t *testing.T, js jetstream.JetStream, cfg jetstream.StreamConfig) {
	t.Helper()
	cfg.Name, cfg.Subjects = "S", []string{"s.>"}
	if _, err := js.CreateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
}

// TestOutbox publishes what is committed, and nothing else, in order; also again, after a relay that died before it had noted what it
// has published.
func TestOutbox(t *testing.T) {
	each(t, func(t *testing.T, db *database) {
		js, o := server(t), outbox(t, db)
		stream(t, js, jetstream.StreamConfig{})
		add(t, db, o, "1", "2")
		end := relay(t, js, o, 1)
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(addTo(t.Context(), tx, o, "never"), tx.Rollback()); err != nil {
			t.Fatal(err)
		}
		for i := range 20 {
			add(t, db, o, fmt.Sprint(i+3))
		}
		sent(t, o)
		end()
		want := "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22"
		if got := strings.Join(texts(t, js), " "); got != want {
			t.Errorf("got %s", got)
		}
		for n := 15; n <= 22; n++ { // as if they had not been removed
			db.exec(t, fmt.Sprintf(`INSERT INTO %s (number, subject, header, payload) VALUES (%d, 's.x', '{"Text":["%d","more"]}', '%d')`, db.table, n, n, n))
		}
		add(t, db, o, "23")
		relay(t, js, o, 1)
		sent(t, o)
		if got := strings.Join(texts(t, js), " "); got != want+" 23" {
			t.Errorf("again: got %s", got)
		}
	})
}

// TestOutboxRelays runs several relays, and several who write: each message is there once, those of a writer in its order.
func TestOutboxRelays(t *testing.T) {
	each(t, func(t *testing.T, db *database) {
		js, o := server(t), outbox(t, db)
		stream(t, js, jetstream.StreamConfig{})
		relay(t, js, o, 3)
		var writers sync.WaitGroup
		for w := range 4 {
			writers.Go(func() {
				for i := range 25 {
					add(t, db, o, fmt.Sprintf("%d-%d", w, 2*i), fmt.Sprintf("%d-%d", w, 2*i+1))
				}
			})
		}
		writers.Wait()
		sent(t, o)
		next := map[int]int{}
		for _, text := range texts(t, js) {
			var w, i int
			if _, err := fmt.Sscanf(text, "%d-%d", &w, &i); err != nil || next[w] != i {
				t.Fatalf("writer %d: got message %d, want %d", w, i, next[w])
			}
			next[w]++
		}
		for w := range 4 {
			if next[w] != 50 {
				t.Errorf("writer %d: got %d messages, want 50", w, next[w])
			}
		}
	})
}

// TestOutboxWaits: what a stream does not take waits until it does.
func TestOutboxWaits(t *testing.T) {
	each(t, func(t *testing.T, db *database) {
		js, o := server(t), outbox(t, db)
		told := make(chan error, 1)
		o.Failed = func(err error) {
			select {
			case told <- err:
			default:
			}
		}
		stream(t, js, jetstream.StreamConfig{MaxMsgs: 2, Discard: jetstream.DiscardNew})
		add(t, db, o, "1", "2", "3", "4")
		relay(t, js, o, 2)
		if err := <-told; !strings.Contains(err.Error(), "relay the outbox to stream S: message") {
			t.Errorf("got %v", err)
		}
		cfg := jetstream.StreamConfig{Name: "S", Subjects: []string{"s.>"}, MaxMsgs: 10, Discard: jetstream.DiscardNew}
		if _, err := js.UpdateStream(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		o.Wake()
		sent(t, o)
		if got := strings.Join(texts(t, js), " "); got != "1 2 3 4" {
			t.Errorf("got %s", got)
		}
	})
}

// TestOutboxElsewhere: a server that does not remember producers is told apart before anything is published.
func TestOutboxElsewhere(t *testing.T) {
	each(t, func(t *testing.T, db *database) {
		o := outbox(t, db)
		js, err := jetstream.New(servertest.Connect(t, servertest.Start(t, "")))
		if err != nil {
			t.Fatal(err)
		}
		if err := o.Run(t.Context(), js); !errors.Is(err, client.ErrNoAPI) {
			t.Errorf("got %v", err)
		}
	})
}

// TestOutboxFirst: a message that the stream refuses, when it does not know the producer yet, is not overtaken by the next: then it would
// be taken for one that the stream has had.
func TestOutboxFirst(t *testing.T) {
	each(t, func(t *testing.T, db *database) {
		js, o := server(t), outbox(t, db)
		var failed atomic.Int64
		o.Failed = func(error) { failed.Add(1) }
		stream(t, js, jetstream.StreamConfig{MaxMsgSize: 500})
		large := strings.Repeat("large", 200)
		add(t, db, o, large, "small")
		relay(t, js, o, 1)
		servertest.Eventually(t, "two attempts to fail", func() bool { return failed.Load() >= 2 })
		if got := texts(t, js); len(got) != 0 {
			t.Errorf("got %d messages before the first is taken", len(got))
		}
		if _, err := js.UpdateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s.>"}, MaxMsgSize: 5000}); err != nil {
			t.Fatal(err)
		}
		sent(t, o)
		if got := texts(t, js); len(got) != 2 || got[0] != large || got[1] != "small" {
			t.Errorf("got %d messages, want the large and the small one", len(got))
		}
	})
}

// TestOutboxCluster relays through the end of the server that leads the stream.
func TestOutboxCluster(t *testing.T) {
	each(t, func(t *testing.T, db *database) {
		c := servertest.StartCluster(t, 3, fmt.Sprintf("jetstream { store_dir: %q, sync: os }", t.TempDir()+"/"+servertest.ServerName))
		var urls []string
		for _, s := range c.Servers {
			urls = append(urls, s.ClientURL())
		}
		nc, err := nats.Connect(strings.Join(urls, ","), nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		js, err := jetstream.New(nc)
		if err != nil {
			t.Fatal(err)
		}
		var made jetstream.Stream
		servertest.Eventually(t, "a stream", func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			made, err = js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"s.>"}, Replicas: 3})
			return err == nil
		})
		o := outbox(t, db)
		relay(t, js, o, 2)
		var want []string
		for i := range 60 {
			want = append(want, fmt.Sprint(i))
			add(t, db, o, want[i])
			if i == 30 {
				leader := made.CachedInfo().Cluster.Leader
				c.Stop(int(leader[1] - '1')) // they are called s1 to s3
			}
		}
		sent(t, o)
		if got := strings.Join(texts(t, js), " "); got != strings.Join(want, " ") {
			t.Errorf("got %s", got)
		}
	})
}
