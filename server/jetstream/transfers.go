package jetstream

import (
	"context"
	"errors"
	"sync"

	"runnel/server/engine"
	"runnel/server/jetstream/api"
)

// transfersMost bounds the backups that one account has under way, and likewise the restores: each has a goroutine
// and some MiB of memory.
const transfersMost = 8

// errEnding ends what is under way when the account or the service ends.
var errEnding = errors.New("the server ends, or the account has no JetStream any more")

// transfers are the backups and restores of an account that are under way.
type transfers struct {
	mu       sync.Mutex // guards everything below
	backups  map[string]*chunks
	restores map[string]*inlet
	ctx      context.Context // of what is under way, nil while nothing is
	stop     context.CancelFunc
	closed   bool // for good
	running  sync.WaitGroup
}

// begin returns the context of one more transfer, nil when there are too many already, or may be no more.
func (x *transfers) begin(parent context.Context, have int) context.Context {
	if have >= transfersMost || x.closed {
		return nil
	}
	if x.ctx == nil {
		x.ctx, x.stop = context.WithCancel(parent)
		x.backups, x.restores = make(map[string]*chunks), make(map[string]*inlet)
	}
	return x.ctx
}

// addBackup lets acknowledgements of chunks reach a backup, and run send it on a goroutine of its own.
func (x *transfers) addBackup(parent context.Context, id string, c *chunks, run func(context.Context)) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	ctx := x.begin(parent, len(x.backups))
	if ctx == nil {
		return api.NewError(api.InsufficientResources)
	}
	x.backups[id] = c
	c.ctx = ctx
	x.running.Go(func() {
		defer x.removeBackup(id)
		run(ctx)
	})
	return nil
}

func (x *transfers) removeBackup(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.backups, id)
}

// addRestore lets chunks reach a restore, and run read them on a goroutine of its own.
func (x *transfers) addRestore(parent context.Context, id string, i *inlet, run func(context.Context)) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	ctx := x.begin(parent, len(x.restores))
	if ctx == nil {
		return api.NewError(api.InsufficientResources)
	}
	x.restores[id] = i
	i.ctx = ctx
	x.running.Go(func() {
		defer x.removeRestore(id)
		run(ctx)
	})
	return nil
}

func (x *transfers) removeRestore(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.restores, id)
}

func (x *transfers) backup(id string) *chunks {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.backups[id]
}

func (x *transfers) restore(id string) *inlet {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.restores[id]
}

// close ends all transfers, and returns when they have; for good, nothing begins afterwards.
func (x *transfers) close(forGood bool) {
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

// takeSnapshotAck hands the acknowledgement of a chunk to its backup.
func (a *account) takeSnapshotAck(m *engine.Message) {
	stream, id, bytes, _, ok := api.ParseSnapshotAck(string(m.Subject))
	if !ok {
		return
	}
	if c := a.transfers.backup(id); c != nil && c.stream == stream {
		c.acknowledged(bytes)
	}
}

// takeChunk hands a chunk of a backup to its restore.
func (a *account) takeChunk(m *engine.Message) {
	stream, id, ok := api.ParseRestoreSubject(string(m.Subject))
	if !ok {
		return
	}
	if i := a.transfers.restore(id); i != nil && i.stream == stream {
		i.offer(m.Clone())
	}
}
