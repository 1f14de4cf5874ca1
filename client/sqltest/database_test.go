package sqltest

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	"github.com/nats-io/nats.go/jetstream"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"runnel/client"
	"runnel/server/servertest"
)

func TestMain(m *testing.M) {
	url, stop, err := postgres()
	if err != nil {
		fmt.Fprintln(os.Stderr, "no PostgreSQL:", err)
	}
	postgresURL = url
	code := m.Run()
	stop()
	os.Exit(code)
}

// postgresURL is where PostgreSQL is, empty for nowhere.
var postgresURL string

// serial makes names of tables that no other test has.
var serial atomic.Int64

// database is one in which a test has a table for itself.
type database struct {
	*sql.DB
	dialect client.Dialect
	table   string
}

// each runs a test with every kind of database that there is.
func each(t *testing.T, test func(t *testing.T, db *database)) {
	t.Run("SQLite", func(t *testing.T) {
		// A transaction that is going to write says so when it begins, and waits for others.
		file := filepath.Join(t.TempDir(), "db")
		test(t, open(t, client.SQLite, "sqlite", "file:"+file+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_txlock=immediate"))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		if postgresURL == "" {
			t.Skip("there is none")
		}
		test(t, open(t, client.PostgreSQL, "pgx", postgresURL))
	})
}

func open(t *testing.T, d client.Dialect, driver, url string) *database {
	t.Helper()
	db, err := sql.Open(driver, url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	out := &database{db, d, fmt.Sprintf("t%d_%d", os.Getpid(), serial.Add(1))}
	out.exec(t, `CREATE TABLE `+out.effects()+` (what TEXT NOT NULL)`)
	return out
}

// effects is a table in which tests see what has happened.
func (d *database) effects() string { return d.table + "_effects" }

func (d *database) exec(t *testing.T, text string, args ...any) {
	t.Helper()
	if _, err := d.ExecContext(t.Context(), text, args...); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// happen notes something in a transaction. The texts are those of tests.
func (d *database) happen(ctx context.Context, tx *sql.Tx, what string) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO `+d.effects()+` (what) VALUES ('`+what+`')`)
	return err
}

// happened returns what was noted, in the order of the alphabet.
func (d *database) happened(t *testing.T) string {
	t.Helper()
	rows, err := d.QueryContext(t.Context(), `SELECT what FROM `+d.effects()+` ORDER BY what`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var list []string
	for rows.Next() {
		var what string
		if err := rows.Scan(&what); err != nil {
			t.Fatal(err)
		}
		list = append(list, what)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(list, " ")
}

// inTx does something in a transaction.
func (d *database) inTx(t *testing.T, do func(tx *sql.Tx) error) {
	t.Helper()
	tx, err := d.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := do(tx); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

// server starts one with streams.
func server(t *testing.T) jetstream.JetStream {
	t.Helper()
	nc := servertest.Connect(t, servertest.Start(t, fmt.Sprintf("jetstream { store_dir: %q, sync: os }", t.TempDir())))
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}
