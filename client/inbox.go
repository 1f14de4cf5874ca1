package client

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Inbox remembers in a table which messages have had their effect, in the transaction that makes the effect. So a message that
// comes twice has it once: after a crash between the commit and the acknowledgement, after an acknowledgement that was lost,
// and when two workers have the same message.
//
// Its methods are safe for concurrent use.
type Inbox struct {
	// DB is the database in which the effects are.
	DB      *sql.DB
	Dialect Dialect
	// Name tells apart those who have an effect each of the same message, say the consumer's name.
	Name string
	// Table is where it is remembered; default runnel_inbox. Several inboxes may share it.
	Table string
	// Keep is how long a message is remembered; default 7 days. It must be longer than a message can come again: than
	// max_deliver times ack_wait, than a consumer may be paused, than you may redrive dead letters.
	Keep time.Duration
}

const (
	defaultInbox = "runnel_inbox"
	defaultKeep  = 7 * 24 * time.Hour
)

// statement returns a statement with the table's name.
func (i *Inbox) statement(text string) (string, error) {
	table, err := tableName(i.Table, defaultInbox)
	return i.Dialect.statement(text, table), err
}

// Create makes the table unless it is there.
func (i *Inbox) Create(ctx context.Context) error {
	text, err := i.statement(`CREATE TABLE IF NOT EXISTS {} (
		name TEXT NOT NULL, id TEXT NOT NULL, at BIGINT NOT NULL, PRIMARY KEY (name, id))`)
	if err == nil {
		_, err = i.DB.ExecContext(ctx, text)
	}
	if err != nil {
		return fmt.Errorf("create the inbox: %w", err)
	}
	return nil
}

// Once makes an effect unless the message of this id has had it, and reports whether it made it. What effect does in the
// transaction is committed together with the id, or, if it returns an error, neither is. It must not commit or roll back by
// itself, and what it does outside of the transaction happens as often as it is called.
//
// Of two calls with the same id at the same time one waits for the other, or fails with the database's error for a conflict
// and can be tried again, which [Process] does.
func (i *Inbox) Once(ctx context.Context, id string, effect func(context.Context, *sql.Tx) error) (made bool, err error) {
	insert, err := i.statement(`INSERT INTO {} (name, id, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`)
	if err != nil {
		return false, fmt.Errorf("inbox: %w", err)
	}
	tx, err := i.DB.BeginTx(ctx, nil)
	if err != nil {
		return false, fmt.Errorf("inbox: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // after a commit it means nothing
	// The id first: whoever else has the same message waits here, before it does anything.
	result, err := tx.ExecContext(ctx, insert, i.Name, id, time.Now().Unix())
	if err != nil {
		return false, fmt.Errorf("inbox: note message %q: %w", id, err)
	}
	switch n, err := result.RowsAffected(); {
	case err != nil:
		return false, fmt.Errorf("inbox: note message %q: %w", id, err)
	case n == 0:
		return false, nil
	}
	if err := effect(ctx, tx); err != nil {
		return false, err
	}
	if err := tx.Commit(); err != nil {
		return false, fmt.Errorf("inbox: commit the effect of message %q: %w", id, err)
	}
	return true, nil
}

// Clean forgets messages that were noted longer than Keep ago, and returns how many.
func (i *Inbox) Clean(ctx context.Context) (forgotten int64, err error) {
	text, err := i.statement(`DELETE FROM {} WHERE name = ? AND at < ?`)
	if err == nil {
		var result sql.Result
		if result, err = i.DB.ExecContext(ctx, text, i.Name, time.Now().Add(-cmp.Or(i.Keep, defaultKeep)).Unix()); err == nil {
			forgotten, err = result.RowsAffected()
		}
	}
	if err != nil {
		return 0, fmt.Errorf("clean the inbox: %w", err)
	}
	return forgotten, nil
}

// Effect is a handler for [Work.Handle] that makes an effect once for each message, by its [Message.ID].
func Effect[T any](i *Inbox, effect func(context.Context, *sql.Tx, *Message[T]) error) func(context.Context, *Message[T]) error {
	return func(ctx context.Context, m *Message[T]) error {
		_, err := i.Once(ctx, m.ID(), func(ctx context.Context, tx *sql.Tx) error { return effect(ctx, tx, m) })
		return err
	}
}
