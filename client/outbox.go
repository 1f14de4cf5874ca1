package client

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/nats-io/nats.go"
)

// Outbox is a table of messages that are to be published. They are written in the transactions in which what they tell of
// happens, so that there is a message if and only if that was committed; [Outbox.Run] brings them to a stream, in order and each
// once.
//
// For that it numbers them, one after the other without a gap, and publishes them as a producer whose numbers the stream
// remembers (Runnel-Producer). A relay that dies after it has published publishes again, and the stream knows. So several relays
// may run at the same time, and any of them may die at any time.
//
// NewOutbox makes one. Its methods are safe for concurrent use.
type Outbox struct {
	DB      *sql.DB
	Dialect Dialect
	// Table has the messages, and Table_state, beside it, the numbers; default runnel_outbox. All messages of a table are for one
	// stream.
	Table string
	// Stream is the one that they are for. A message for another one is refused, and holds up those behind it.
	Stream string
	// Producer is the name under which the stream remembers the numbers; default outbox. and the name of the table. Databases
	// that publish to the same stream need one each. So does one that was restored from a backup: its numbers begin again where they were
	// then, and the stream would take new messages for old ones.
	Producer string

	// Batch is how many messages are on their way at the same time; default 128.
	Batch int
	// Failed is told why messages cannot be published, each time before it is tried again; nil for nobody.
	Failed func(error)

	wake chan struct{}
}

const (
	defaultOutbox = "runnel_outbox"
	defaultBatch  = 128
)

// NewOutbox returns an outbox for a stream, in a database.
func NewOutbox(db *sql.DB, d Dialect, stream string) *Outbox {
	return &Outbox{DB: db, Dialect: d, Stream: stream, wake: make(chan struct{}, 1)}
}

// statement returns a statement with the table's name.
func (o *Outbox) statement(text string) (string, error) {
	table, err := tableName(o.Table, defaultOutbox)
	return o.Dialect.statement(text, table), err
}

// exec carries out a statement, in a transaction or the database, and returns how many rows it was about.
func (o *Outbox) exec(ctx context.Context, in interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}, text string, args ...any,
) (rows int64, err error) {
	if text, err = o.statement(text); err != nil {
		return 0, err
	}
	result, err := in.ExecContext(ctx, text, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// Create makes the tables unless they are there.
func (o *Outbox) Create(ctx context.Context) error {
	for _, text := range []string{
		`CREATE TABLE IF NOT EXISTS {} (
			id {serial}, number BIGINT UNIQUE, subject TEXT NOT NULL, header TEXT NOT NULL, payload {bytes})`,
		// One row: the last number that was given out. Who gives out numbers locks it.
		`CREATE TABLE IF NOT EXISTS {}_state (one INTEGER PRIMARY KEY, number BIGINT NOT NULL)`,
		`INSERT INTO {}_state (one, number) VALUES (1, 0) ON CONFLICT DO NOTHING`,
	} {
		if _, err := o.exec(ctx, o.DB, text); err != nil {
			return fmt.Errorf("create the outbox: %w", err)
		}
	}
	return nil
}

// Add writes a message down in a transaction. It is published once that is committed: messages of one transaction in the order in
// which they were added, and those of transactions that follow one another in that order. Call [Outbox.Wake] after the commit, so
// that it is published at once and not at the next look.
func (o *Outbox) Add(ctx context.Context, tx *sql.Tx, m *nats.Msg) error {
	for _, name := range []string{"Runnel-Delay", "Runnel-Deliver-At"} {
		if m.Header.Get(name) != "" {
			return fmt.Errorf("outbox: message for %s: %s: numbered messages are stored in their order, and not later: have who receives it publish the delayed one", m.Subject, name)
		}
	}
	header := []byte("{}")
	if len(m.Header) > 0 {
		var err error
		if header, err = json.Marshal(m.Header); err != nil {
			return fmt.Errorf("outbox: header of a message for %s: %w", m.Subject, err)
		}
	}
	payload := m.Data
	if payload == nil {
		payload = []byte{}
	}
	if _, err := o.exec(ctx, tx, `INSERT INTO {} (subject, header, payload) VALUES (?, ?, ?)`, m.Subject, string(header), payload); err != nil {
		return fmt.Errorf("outbox: add a message for %s: %w", m.Subject, err)
	}
	return nil
}

// Wake has Run look at once whether there is something to publish. It does not wait, and may be called at any time.
func (o *Outbox) Wake() {
	select {
	case o.wake <- struct{}{}:
	default: // somebody has said so already
	}
}

// Waiting returns how many messages are not published yet, or not known to be.
func (o *Outbox) Waiting(ctx context.Context) (messages int64, err error) {
	text, err := o.statement(`SELECT COUNT(*) FROM {}`)
	if err == nil {
		err = o.DB.QueryRowContext(ctx, text).Scan(&messages)
	}
	if err != nil {
		return 0, fmt.Errorf("count what waits in the outbox: %w", err)
	}
	return messages, nil
}
