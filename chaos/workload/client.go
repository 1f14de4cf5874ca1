package workload

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"runnel/chaos/history"
)

// client is one process: a connection to one server, used by one goroutine.
//
// The connection is given up for another one only by its own goroutine (see crash of worker). What others may look at meanwhile is the
// progress, which has a mutex of its own.
type client struct {
	load    *load
	process int
	node    Node // its place; who is there may change, see at
	nc      *nats.Conn
	js      jetstream.JetStream
	chance  *rand.Rand // of the load's seed and the process

	values   int // how many it has made
	pace     pace
	progress progress
}

// connect gives the client a connection, in the place of one that it may have. It does not wait until that is there.
func (c *client) connect() error {
	if c.nc != nil {
		c.nc.Close()
	}
	nc, err := c.node.Connect(connectOptions(fmt.Sprintf("%s %d", c.load.name, c.process), c.load.cfg.CallTimeout)...)
	if err != nil {
		return fmt.Errorf("connect to %s: %w", c.node.Name, err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		nc.Close()
		return fmt.Errorf("use streams at %s: %w", c.node.Name, err)
	}
	c.nc, c.js = nc, js
	return nil
}

// connectOptions are those of a connection that stays with its server and is tried for ever. Nothing is buffered while it is
// broken, since that would be sent after its operation is over.
func connectOptions(name string, timeout time.Duration) []nats.Option {
	return []nats.Option{
		nats.Name(name),
		nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(100 * time.Millisecond), nats.ReconnectJitter(100*time.Millisecond, 0),
		nats.IgnoreDiscoveredServers(), nats.ReconnectBufSize(-1),
		nats.Timeout(timeout), nats.FlusherTimeout(timeout), nats.PingInterval(timeout / 2), nats.MaxPingsOutstanding(2),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // whoever asks is told
	}
}

// value is a new value of this process.
func (c *client) value() string {
	c.values++
	return valueOf(c.process, c.values)
}

// next waits until the next operation is due and the server is there. It returns false when the work is over.
func (c *client) next(ctx context.Context) bool {
	if !pause(ctx, c.pace.wait(time.Now(), c.chance)) {
		return false
	}
	return c.connected(ctx)
}

// pace is how fast a client works.
type pace struct {
	interval time.Duration // from one operation to the next, on average; 0 for as soon as possible
	due      time.Time     // when the next operation is
}

// wait is how long to wait for the next operation. Half of the interval is chance, so that clients do not march in step. What was
// missed is not made up for.
func (p *pace) wait(now time.Time, chance *rand.Rand) time.Duration {
	if p.interval == 0 {
		return 0
	}
	if p.due.Before(now) {
		p.due = now
	}
	wait := p.due.Sub(now)
	p.due = p.due.Add(p.interval/2 + time.Duration(chance.Int64N(int64(p.interval)+1)))
	return wait
}

// connected waits for the connection. It returns false when ctx ends before.
func (c *client) connected(ctx context.Context) bool {
	for !c.nc.IsConnected() {
		if !pause(ctx, 20*time.Millisecond) {
			return false
		}
	}
	return ctx.Err() == nil
}

// one reports true once in n times.
func (c *client) one(n int) bool { return c.chance.IntN(n) == 0 }

// at is the server that the client is connected to, by what that says of itself: another one may have taken its place. While there
// is no connection it is the one that was meant.
func (c *client) at() string { return cmp.Or(c.nc.ConnectedServerName(), c.node.Name) }

// begin is the operation that starts now.
func (c *client) begin(o history.Operation) history.Operation {
	o.Process, o.Node, o.Workload, o.Start = c.process, c.at(), c.load.name, c.load.now()
	c.progress.begin(o.Kind, o.Start)
	return o
}

// end records an operation that was begun, with what came of it.
func (c *client) end(o history.Operation, err error) {
	o.End, o.Result, o.Error = c.load.now(), resultOf(err), textOf(err)
	c.progress.end(o.End, o.Result != history.Unknown)
	c.load.cfg.Recorder.Record(o)
}

// do is an operation: a call that may note in it what the server has said. The call is brought to an end even if ctx ends, within
// its time limit.
func (c *client) do(ctx context.Context, o history.Operation, call func(context.Context, *history.Operation) error) error {
	o = c.begin(o)
	ctx, cancel := c.limit(ctx)
	defer cancel()
	err := call(ctx, &o)
	c.end(o, err)
	return err
}

// look is do for reads: one that fails is not recorded.
func (c *client) look(ctx context.Context, o history.Operation, call func(context.Context, *history.Operation) error) error {
	o = c.begin(o)
	ctx, cancel := c.limit(ctx)
	defer cancel()
	err := call(ctx, &o)
	if err == nil {
		c.end(o, nil)
	} else {
		c.progress.end(c.load.now(), resultOf(err) != history.Unknown)
	}
	return err
}

// limit is the time that a call has, whether the work is over or not.
func (c *client) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), c.load.cfg.CallTimeout)
}

// publish stores a value with an operation of this kind. Headers may ask for more.
func (c *client) publish(ctx context.Context, o history.Operation, subject string, header nats.Header) (*jetstream.PubAck, error) {
	var ack *jetstream.PubAck
	err := c.do(ctx, o, func(ctx context.Context, o *history.Operation) (err error) {
		m := &nats.Msg{Subject: subject, Header: header, Data: body(o.Value, c.load.cfg.PayloadBytes)}
		ack, err = c.send(ctx, m)
		if err == nil {
			o.Sequence = ack.Sequence
		}
		return err
	})
	return ack, err
}

// send publishes a message once.
func (c *client) send(ctx context.Context, m *nats.Msg) (*jetstream.PubAck, error) {
	return c.js.PublishMsg(ctx, m, jetstream.WithRetryAttempts(0))
}

// try repeats a call that is no operation, each time with its limit, until it succeeds or ctx ends.
func (c *client) try(ctx context.Context, what string, call func(context.Context) error) error {
	for {
		err := ctx.Err()
		if c.connected(ctx) {
			limited, cancel := context.WithTimeout(ctx, c.load.cfg.CallTimeout)
			err = call(limited)
			cancel()
		}
		if err == nil && ctx.Err() == nil {
			return nil
		}
		if !pause(ctx, 200*time.Millisecond) {
			if err == nil {
				err = ctx.Err()
			}
			return fmt.Errorf("%s at %s: %w", what, c.node.Name, err)
		}
	}
}

// pause waits. It returns false when ctx ends before.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
