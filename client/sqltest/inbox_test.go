package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"runnel/client"
	"runnel/server/servertest"
)

func inbox(t *testing.T, db *database, name string) *client.Inbox {
	t.Helper()
	i := &client.Inbox{DB: db.DB, Dialect: db.dialect, Table: db.table, Name: name}
	for range 2 { // the second time it is there
		if err := i.Create(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return i
}

// TestInbox makes effects once for each message and name, and not at all if they fail.
func TestInbox(t *testing.T) {
	each(t, func(t *testing.T, db *database) {
		a, b := inbox(t, db, "a"), inbox(t, db, "b")
		fails := errors.New("it fails")
		for _, tt := range []struct {
			inbox *client.Inbox
			id    string
			err   error
			made  bool
		}{
			{a, "1", nil, true},
			{a, "1", nil, false},
			{b, "1", nil, true},
			{a, "2", fails, false},
			{a, "2", nil, true},
			{a, "2", fails, false},
		} {
			made, err := tt.inbox.Once(t.Context(), tt.id, func(ctx context.Context, tx *sql.Tx) error {
				return errors.Join(db.happen(ctx, tx, tt.inbox.Name+tt.id), tt.err)
			})
			if wanted := tt.err != nil && !strings.Contains(db.happened(t), tt.inbox.Name+tt.id); made != tt.made || errors.Is(err, fails) != wanted {
				t.Errorf("%s %s: got %v, %v", tt.inbox.Name, tt.id, made, err)
			}
		}
		if got := db.happened(t); got != "a1 a2 b1" {
			t.Errorf("got %s", got)
		}
		db.exec(t, `UPDATE `+db.table+` SET at = 0 WHERE id = '1'`)
		if n, err := a.Clean(t.Context()); n != 1 || err != nil {
			t.Errorf("clean: got %d, %v", n, err)
		}
		for inbox, want := range map[*client.Inbox]bool{a: true, b: false} {
			if made, err := inbox.Once(t.Context(), "1", func(context.Context, *sql.Tx) error { return nil }); made != want || err != nil {
				t.Errorf("after cleaning, %s: got %v, %v", inbox.Name, made, err)
			}
		}
	})
}

// TestInboxTogether: of many that have the same message at the same time one makes the effect.
func TestInboxTogether(t *testing.T) {
	each(t, func(t *testing.T, db *database) {
		i := inbox(t, db, "a")
		var workers sync.WaitGroup
		for range 8 {
			workers.Go(func() {
				for n := range 10 {
					_, err := i.Once(t.Context(), fmt.Sprint(n), func(ctx context.Context, tx *sql.Tx) error { return db.happen(ctx, tx, fmt.Sprint(n)) })
					if err != nil {
						t.Errorf("message %d: %v", n, err)
					}
				}
			})
		}
		workers.Wait()
		if got := db.happened(t); got != "0 1 2 3 4 5 6 7 8 9" {
			t.Errorf("got %s", got)
		}
	})
}

// TestInboxProcess: messages that come again after their effect, since their acknowledgement was lost, have it once.
func TestInboxProcess(t *testing.T) {
	each(t, func(t *testing.T, db *database) {
		js, i := server(t), inbox(t, db, "work")
		if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}}); err != nil {
			t.Fatal(err)
		}
		consumer, err := js.CreateConsumer(t.Context(), "S", jetstream.ConsumerConfig{Durable: "work", AckPolicy: jetstream.AckExplicitPolicy})
		if err != nil {
			t.Fatal(err)
		}
		for n := range 10 {
			if _, err := js.Publish(t.Context(), "s", fmt.Append(nil, n)); err != nil {
				t.Fatal(err)
			}
		}
		effect := client.Effect(i, func(ctx context.Context, tx *sql.Tx, m *client.Message[string]) error {
			return db.happen(ctx, tx, m.Value)
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			done <- client.Process(ctx, js, client.Work[string]{Stream: "S", Consumer: "work", Workers: 3, Handle: func(ctx context.Context, m *client.Message[string]) error {
				err := effect(ctx, m)
				if err == nil && m.Deliveries == 1 {
					err = errors.New("as if the acknowledgement were lost")
				}
				return err
			}})
		}()
		servertest.Eventually(t, "all to be processed", func() bool {
			info, err := consumer.Info(t.Context())
			return err == nil && info.NumPending == 0 && info.NumAckPending == 0
		})
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if got := db.happened(t); got != "0 1 2 3 4 5 6 7 8 9" {
			t.Errorf("got %s", got)
		}
	})
}

func TestTableNames(t *testing.T) {
	each(t, func(t *testing.T, db *database) {
		for _, name := range []string{"a b", "x;--", "1a", "a.b.c", strings.Repeat("x", 60)} {
			i := &client.Inbox{DB: db.DB, Dialect: db.dialect, Table: name}
			o := client.NewOutbox(db.DB, db.dialect, "S")
			o.Table = name
			if i.Create(t.Context()) == nil || o.Create(t.Context()) == nil {
				t.Errorf("%q is taken for a name", name)
			}
		}
	})
}
