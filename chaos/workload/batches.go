package workload

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"runnel/chaos/history"
)

// batchesLoad is W8. The first message of a batch is acknowledged, so that batches that cannot begin are not sent; the others are
// sent without waiting, and the commit is answered for all. Batches that are not committed stay open for some seconds, and a stream
// may have 50 open ones, so there are only two a second of them.
type batchesLoad struct{ *load }

const (
	batchMin      = 2
	batchMax      = 20
	batchID       = "Nats-Batch-Id"
	batchSequence = "Nats-Batch-Sequence"
	batchCommit   = "Nats-Batch-Commit"
)

func openBatches(l *load) part { return &batchesLoad{l} }

func (w *batchesLoad) setup(ctx context.Context) error {
	cfg := w.stream(BatchesStream, "w8.>")
	cfg.AllowAtomicPublish = true
	return w.create(ctx, cfg)
}

// run has each process send batch after batch. The rate of the load counts batches here, not messages.
func (w *batchesLoad) run(ctx context.Context) error {
	return w.work(ctx, w.cfg.Processes, func(ctx context.Context, c *client) {
		every := time.Duration(w.cfg.Processes) * time.Second / 2
		abandoned := -every // when this process did not commit one
		for c.next(ctx) {
			abandon := c.one(5) && w.now()-abandoned > every
			if abandon {
				abandoned = w.now()
			}
			w.batch(ctx, c, abandon)
		}
	})
}

func (w *batchesLoad) finish(ctx context.Context) error {
	return w.finals(ctx, BatchesStream, subjectKey, true)
}

// batch sends one batch, or all of it but the commit.
func (w *batchesLoad) batch(ctx context.Context, c *client, abandon bool) {
	size := batchMin + c.chance.IntN(batchMax-batchMin+1)
	id, subject := "b"+c.value(), keyed("w8")
	for n := 1; n <= size; n++ {
		o := history.Operation{Kind: history.Add, Stream: BatchesStream, Batch: id, Key: subject(c), Value: c.value()}
		m := &nats.Msg{Subject: o.Key, Data: body(o.Value, w.cfg.PayloadBytes), Header: nats.Header{batchID: {id}, batchSequence: {strconv.Itoa(n)}}}
		var err error
		switch {
		case n == size && abandon:
			return
		case n == size:
			o.Kind, o.Expected = history.Commit, uint64(size)
			m.Header.Set(batchCommit, "1")
			err = c.do(ctx, o, func(ctx context.Context, o *history.Operation) error { return commit(ctx, c, m, o) })
		case n == 1:
			err = c.do(ctx, o, func(ctx context.Context, _ *history.Operation) error { return opened(ctx, c, m) })
		default:
			o = c.begin(o)
			if err = c.nc.PublishMsg(m); err == nil {
				c.end(o, errUnconfirmed)
			} else {
				c.end(o, err)
			}
		}
		if err != nil {
			return
		}
	}
}

// opened sends the first message of a batch. A batch that is open is acknowledged with nothing.
func opened(ctx context.Context, c *client, m *nats.Msg) error {
	answer, err := c.nc.RequestMsgWithContext(ctx, m)
	if err != nil || len(answer.Data) == 0 {
		return err
	}
	return refused(answer.Data)
}

// commit sends the last message of a batch.
func commit(ctx context.Context, c *client, m *nats.Msg, o *history.Operation) error {
	answer, err := c.nc.RequestMsgWithContext(ctx, m)
	if err != nil {
		return err
	}
	var ack struct {
		Sequence uint64 `json:"seq"`
		Batch    string `json:"batch"`
		Count    uint64 `json:"count"`
	}
	switch err := json.Unmarshal(answer.Data, &ack); {
	case err != nil:
		return err
	case ack.Sequence == 0 || ack.Batch != o.Batch || ack.Count != o.Expected:
		if err := refused(answer.Data); err != nil {
			return err
		}
		return errors.New("the answer is not about the batch")
	}
	o.Sequence = ack.Sequence
	return nil
}
