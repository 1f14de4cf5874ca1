package transfer

import (
	"context"
	"errors"
	"sync"

	"runnel/server/engine"
	"runnel/server/jetstream/api"
)

// most bounds the backups that one account has under way, and likewise the restores: each has a goroutine
// and some MiB of memory.
const most = 8

// ErrEnding ends what is under way when the account or the service ends.
var ErrEnding = errors.New("the server ends, or the account has no JetStream any more")

// Transfers are the backups and restores of an account that are under way. The zero value has none. Its methods are safe
// for concurrent use.
type Transfers struct {
	mu       sync.Mutex // guards everything below
	backups  map[string]*Outgoing
	restores map[string]*Incoming
	ctx      context.Context // of what is under way, nil while nothing is
	stop     context.CancelFunc
	closed   bool // for good
	running  sync.WaitGroup
}

// begin returns the context of one more transfer, nil when there are too many already, or may be no more.
func (x *Transfers) begin(parent context.Context, have int) context.Context {
	if have >= most || x.closed {
		return nil
	}
	if x.ctx == nil {
		x.ctx, x.stop = context.WithCancel(parent)
		x.backups, x.restores = make(map[string]*Outgoing), make(map[string]*Incoming)
	}
	return x.ctx
}

// Send lets acknowledgements of chunks reach a backup, and run send it on a goroutine of its own. run gets a context that
// ends with parent, or with Close.
func (x *Transfers) Send(parent context.Context, id string, c *Outgoing, run func(context.Context)) error {
	return start(x, parent, &x.backups, id, c, &c.ctx, run)
}

// Receive lets chunks reach a restore, and run read them on a goroutine of its own, with a context as Send has it.
func (x *Transfers) Receive(parent context.Context, id string, i *Incoming, run func(context.Context)) error {
	return start(x, parent, &x.restores, id, i, &i.ctx, run)
}

// start has a transfer in its table for as long as it runs. ctx is where the transfer keeps its context.
func start[T any](
	x *Transfers, parent context.Context, table *map[string]T, id string, transfer T, ctx *context.Context, run func(context.Context),
) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	begun := x.begin(parent, len(*table))
	if begun == nil {
		return api.NewError(api.InsufficientResources)
	}
	(*table)[id] = transfer
	*ctx = begun
	x.running.Go(func() {
		defer x.finish(func() { delete(*table, id) })
		run(begun)
	})
	return nil
}

// finish lets a transfer leave its table.
func (x *Transfers) finish(leave func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	leave()
}

func (x *Transfers) backup(id string) *Outgoing {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.backups[id]
}

func (x *Transfers) restore(id string) *Incoming {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.restores[id]
}

// Close ends all transfers, and returns when they have; for good, nothing begins afterwards.
func (x *Transfers) Close(forGood bool) {
	x.mu.Lock()
	stop := x.stop
	x.closed = x.closed || forGood
	x.ctx, x.stop = nil, nil
	x.mu.Unlock()
	if stop != nil {
		stop()
	}
	x.running.Wait()
}

// TakeAck hands the acknowledgement of a chunk to its backup. It is quick.
func (x *Transfers) TakeAck(m *engine.Message) {
	stream, id, bytes, _, ok := api.ParseSnapshotAck(string(m.Subject))
	if !ok {
		return
	}
	if c := x.backup(id); c != nil && c.stream == stream {
		c.acknowledged(bytes)
	}
}

// TakeChunk hands a chunk of a backup to its restore. It is quick, and keeps a copy.
func (x *Transfers) TakeChunk(m *engine.Message) {
	stream, id, ok := api.ParseRestoreSubject(string(m.Subject))
	if !ok {
		return
	}
	if i := x.restore(id); i != nil && i.stream == stream {
		i.offer(m.Clone())
	}
}
