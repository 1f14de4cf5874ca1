package client

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The headers of a producer that numbers what it publishes.
const (
	producerHeader = "Runnel-Producer"
	numberHeader   = "Runnel-Producer-Seq"
)

// lookEvery is how often the relay looks for messages if nobody wakes it.
const lookEvery = time.Second

// entry is a message of the outbox that has its number.
type entry struct {
	number  int64
	message *nats.Msg
}

// Run publishes what is in the outbox, and what comes, until the context ends; then it returns nil. What goes wrong it tries
// again, the messages in the same order: a stream that is full or gone holds them up, and loses none. Only a server that does not
// remember producers is an error, [ErrNoAPI], before anything is published. The user of the connection must be allowed to publish
// to $RUNNEL.API.LAG.
func (o *Outbox) Run(ctx context.Context, js jetstream.JetStream) error {
	known, pause := false, pauseLeast
	for ctx.Err() == nil {
		var more bool
		var err error
		if !known {
			_, err = AllLags(ctx, js.Conn(), LagQuery{Stream: o.Stream, Limit: 1})
			known = err == nil
		}
		if known {
			more, err = o.relay(ctx, js)
		}
		wait := lookEvery
		switch {
		case errors.Is(err, ErrNoAPI):
			return fmt.Errorf("relay the outbox to stream %s: %w", o.Stream, err)
		case err != nil && ctx.Err() == nil:
			if o.Failed != nil {
				o.Failed(fmt.Errorf("relay the outbox to stream %s: %w", o.Stream, err))
			}
			wait, pause = pause, min(2*pause, pauseMost)
		case more:
			pause = pauseLeast
			continue
		}
		o.wait(ctx, wait)
	}
	return nil
}

// wait waits until it is time to look again.
func (o *Outbox) wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-o.wake:
	case <-ctx.Done():
	}
}

// relay publishes one batch, and reports whether there may be more.
func (o *Outbox) relay(ctx context.Context, js jetstream.JetStream) (more bool, err error) {
	fresh, err := o.fresh(ctx)
	if err == nil && fresh {
		err = o.number(ctx)
	}
	if err != nil {
		return false, err
	}
	list, err := o.numbered(ctx)
	if err != nil || len(list) == 0 {
		return false, err
	}
	published, err := o.publish(ctx, js, list)
	if published > 0 {
		if _, failed := o.exec(ctx, o.DB, `DELETE FROM {} WHERE number <= ?`, published); failed != nil {
			err = errors.Join(err, failed)
		}
	}
	return err == nil, err
}

// fresh reports whether there are messages without a number. It asks without a lock: most looks find none.
func (o *Outbox) fresh(ctx context.Context) (are bool, err error) {
	query, err := o.statement(`SELECT EXISTS (SELECT 1 FROM {} WHERE number IS NULL)`)
	if err != nil {
		return false, err
	}
	err = o.DB.QueryRowContext(ctx, query).Scan(&are)
	return are, err
}

// number gives numbers to messages that have none, in their order. Whoever does so holds the row with the last number until it is
// done, so that no number is given twice and none is left out.
func (o *Outbox) number(ctx context.Context) error {
	tx, err := o.DB.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it means nothing
	if _, err := o.exec(ctx, tx, `UPDATE {}_state SET number = number WHERE one = 1`); err != nil {
		return err
	}
	query, err := o.statement(`SELECT number FROM {}_state WHERE one = 1`)
	if err != nil {
		return err
	}
	var last int64
	if err := tx.QueryRowContext(ctx, query).Scan(&last); err != nil {
		return err
	}
	ids, err := o.unnumbered(ctx, tx)
	if err != nil || len(ids) == 0 {
		return err
	}
	for _, id := range ids {
		last++
		if _, err := o.exec(ctx, tx, `UPDATE {} SET number = ? WHERE id = ?`, last, id); err != nil {
			return err
		}
	}
	if _, err := o.exec(ctx, tx, `UPDATE {}_state SET number = ? WHERE one = 1`, last); err != nil {
		return err
	}
	return tx.Commit()
}

// unnumbered returns the first messages that have no number.
func (o *Outbox) unnumbered(ctx context.Context, tx *sql.Tx) (ids []int64, err error) {
	query, err := o.statement(`SELECT id FROM {} WHERE number IS NULL ORDER BY id LIMIT ?`)
	if err != nil {
		return nil, err
	}
	rows, err := tx.QueryContext(ctx, query, cmp.Or(o.Batch, defaultBatch))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// numbered returns the first messages that have a number.
func (o *Outbox) numbered(ctx context.Context) (list []entry, err error) {
	query, err := o.statement(`SELECT number, subject, header, payload FROM {} WHERE number IS NOT NULL ORDER BY number LIMIT ?`)
	if err != nil {
		return nil, err
	}
	rows, err := o.DB.QueryContext(ctx, query, cmp.Or(o.Batch, defaultBatch))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		e := entry{message: nats.NewMsg("")}
		var header string
		if err := rows.Scan(&e.number, &e.message.Subject, &header, &e.message.Data); err != nil {
			return nil, err
		}
		if err := json.Unmarshal([]byte(header), &e.message.Header); err != nil {
			return nil, fmt.Errorf("header of message %d: %w", e.number, err)
		}
		list = append(list, e)
	}
	return list, rows.Err()
}

// publish publishes messages, and returns the number up to which the stream has them. The first goes alone: of a producer that it does
// not know yet a stream takes any number, so that the second could come in the place of a first one that was refused. The rest is
// on its way at the same time. If one of these is refused those behind it are gaps, which the stream refuses too.
func (o *Outbox) publish(ctx context.Context, js jetstream.JetStream, list []entry) (upTo int64, err error) {
	for _, part := range [][]entry{list[:1], list[1:]} {
		last, err := o.publishPart(ctx, js, part)
		if upTo = max(upTo, last); err != nil {
			return upTo, err
		}
	}
	return upTo, nil
}

// publishPart publishes messages that are on their way at the same time.
func (o *Outbox) publishPart(ctx context.Context, js jetstream.JetStream, list []entry) (upTo int64, err error) {
	table, err := tableName(o.Table, defaultOutbox)
	if err != nil {
		return 0, err
	}
	producer := cmp.Or(o.Producer, "outbox."+table)
	futures := make([]jetstream.PubAckFuture, 0, len(list))
	for _, e := range list {
		e.message.Header.Set(producerHeader, producer)
		e.message.Header.Set(numberHeader, strconv.FormatInt(e.number, 10))
		// Whether to try again is decided here, with all that follow.
		f, err := js.PublishMsgAsync(e.message, jetstream.WithExpectStream(o.Stream), jetstream.WithRetryAttempts(0))
		if err != nil {
			return 0, err
		}
		futures = append(futures, f)
	}
	for i, f := range futures {
		m := &list[i]
		select {
		case <-f.Ok():
			upTo = m.number
		case err := <-f.Err():
			return upTo, fmt.Errorf("message %d for %s: %w", m.number, m.message.Subject, err)
		case <-time.After(answerTime):
			return upTo, fmt.Errorf("message %d for %s: no answer", m.number, m.message.Subject)
		case <-ctx.Done():
			return upTo, ctx.Err()
		}
	}
	return upTo, nil
}
