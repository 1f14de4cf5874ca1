package workload

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"runnel/chaos/history"
)

// dedupLoad is W4. A value is sent again when its acknowledgement did not come, and now and then although it came, to the same
// server or to the next one.
type dedupLoad struct{ *load }

const (
	// dedupTries is how often a value is sent at most.
	dedupTries = 5
	// DuplicateWindow is how long the streams of W4 and W11 remember ids. It is longer than any fault takes, since what a broken
	// network holds back may still arrive when it is healed.
	DuplicateWindow = 10 * time.Minute
)

func openDedup(l *load) part { return &dedupLoad{l} }

func (w *dedupLoad) setup(ctx context.Context) error {
	return w.create(ctx, w.stream(DedupStream, "w4.>"))
}

// run gives each process a second connection, so that the same value comes from two servers.
func (w *dedupLoad) run(ctx context.Context) error {
	return w.work(ctx, w.cfg.Processes, func(ctx context.Context, c *client) {
		twin, err := c.twin()
		if err != nil {
			return
		}
		defer twin.nc.Close()
		subject := keyed("w4")
		for c.next(ctx) {
			w.send(ctx, c, twin, subject(c))
		}
	})
}

// send sends a new value until it was acknowledged, and one to five times in all.
func (w *dedupLoad) send(ctx context.Context, c, twin *client, subject string) {
	o := history.Operation{Kind: history.Publish, Stream: DedupStream, Key: subject, Value: c.value()}
	acked, wanted := false, 1+c.chance.IntN(dedupTries)
	for try := 1; try <= dedupTries && (try <= wanted || !acked); try++ {
		by := c
		if c.one(2) && twin.nc.IsConnected() {
			by = twin
		}
		_, err := by.publish(ctx, o, subject, nats.Header{jetstream.MsgIDHeader: {o.Value}})
		acked = acked || err == nil
		if c.one(4) {
			pause(ctx, time.Duration(c.chance.IntN(500))*time.Millisecond)
		}
		if !c.connected(ctx) {
			return
		}
	}
}

func (w *dedupLoad) finish(ctx context.Context) error {
	return w.finals(ctx, DedupStream, subjectKey, true)
}

// twin is the same process with a connection to the next server.
func (c *client) twin() (*client, error) {
	nodes := c.load.cfg.Nodes
	t := &client{load: c.load, process: c.process, node: nodes[(c.load.index(c.node.Name)+1)%len(nodes)], chance: c.chance}
	return t, t.connect()
}
