package store

import (
	"context"
	"errors"
	"fmt"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/manifest"
	"runnel/jetlog/wal"
)

// commandRecord is the kind of a record with a command in the log.
const commandRecord = 1

// Propose carries a command out and returns its result once it is as safe as the stream's policy says.
// Commands that are proposed at the same time share a sync. An error means that there is no result: with
// ErrFull nothing was logged; with others, the context's among them, it may still be carried out.
func (t *Stream) Propose(ctx context.Context, c command.Command) (jetlog.Result, error) {
	w := t.store.pools.waiters.get()
	if err := t.Start(ctx, c, w.done); err != nil {
		t.store.pools.waiters.put(w)
		return jetlog.Result{}, err
	}
	select {
	case o := <-w.outcome:
		t.store.pools.waiters.put(w)
		return o.result, o.err
	case <-ctx.Done():
		return jetlog.Result{}, fmt.Errorf("wait for the result of a command: %w", ctx.Err())
	}
}

// Start is Propose for many in flight: it returns when the command is in the log's queue, and done is
// called with the result later. Commands that one goroutine starts are carried out in that order. done
// runs on the goroutine that applies: it must be quick, and must not wait for another command. With an
// error it is not called. The command must not change any more.
func (t *Stream) Start(ctx context.Context, c command.Command, done func(jetlog.Result, error)) error {
	if !t.store.allowed[c.Kind()] {
		return fmt.Errorf("command of kind %d: feature level is %d: %w", c.Kind(), t.store.cfg.Level, ErrNewer)
	}
	if t.log() == nil {
		return t.startInMemory(c, done)
	}
	publish := c.Kind().Stores()
	if publish {
		if err := t.store.admit(ctx); err != nil {
			return err
		}
	}
	if err := t.shard.admit(ctx); err != nil {
		return err
	}
	var changed <-chan struct{}
	for {
		err := t.append(c, publish, done)
		if !errors.Is(err, context.Canceled) {
			return err
		}
		// The log takes nothing at the moment. The channel is taken before one more attempt, so that
		// no change is missed.
		if changed == nil {
			changed = t.log().Changed()
			continue
		}
		t.store.nudge()
		select {
		case <-changed:
			changed = nil
		case <-ctx.Done():
			return fmt.Errorf("append to the log: %w", ctx.Err())
		}
	}
}

// append puts a command into the log and into the queue of its shard. It does not wait: the error is
// context.Canceled when the log would have.
func (t *Stream) append(c command.Command, publish bool, done func(jetlog.Result, error)) error {
	t.gate.Lock()
	defer t.gate.Unlock()
	if err := t.usable(); err != nil {
		return err
	}
	t.encoded = command.Append(t.encoded[:0], c)
	t.record[0] = wal.Record{
		Group: t.id, Kind: commandRecord, Index: t.appended.Add(1), Payload: t.encoded,
		Relaxed: t.relaxed && !t.syncing.always.Load(),
	}
	var position wal.Position
	var err error
	if publish {
		position, err = t.store.log.Append(t.store.never, t.record[:]...)
	} else {
		position, err = t.store.log.AppendReserved(t.store.never, t.record[:]...)
	}
	if err != nil {
		t.appended.Add(^uint64(0))
		return t.store.refusal(err)
	}
	if cap(t.encoded) > encodedMax {
		t.encoded = nil
	}
	t.shard.push(entry{stream: t, command: c, position: position, done: done})
	return nil
}

// encodedMax is how large a buffer for commands a stream keeps.
const encodedMax = 64 << 10

// refusal makes errors of the log those of the store.
func (s *Store) refusal(err error) error {
	switch {
	case errors.Is(err, wal.ErrNoSpace):
		return fmt.Errorf("%w: %w", ErrFull, err)
	case errors.Is(err, wal.ErrClosed):
		return ErrClosed
	case errors.Is(err, wal.ErrPoisoned):
		return fmt.Errorf("%w: %w", ErrFailed, err)
	}
	return err
}

// apply carries out commands that are safe, and answers them. With a failure of the store they are only
// answered.
func (t *Stream) apply(a *asker, batch []entry, outcomes []outcome, failure error) {
	if failure == nil && t.syncing.always.Load() {
		// The log, or the shard, promises less than this stream does.
		if err := t.log().WaitSynced(context.Background(), batch[len(batch)-1].position); err != nil {
			failure = t.halt(t.store.refusal(err))
		}
	}
	for n := 0; failure == nil && n < len(batch); {
		n += t.applySome(a, batch[n:], outcomes[n:])
		if a.asked {
			a.learn()
		}
	}
	if failure == nil {
		t.hasten(batch[len(batch)-1].position)
	}
	for i := range batch {
		if failure != nil {
			outcomes[i].err = failure
		}
		batch[i].done(outcomes[i].result, outcomes[i].err)
		outcomes[i] = outcome{}
	}
}

// applySome carries commands out under one lock, up to one that has to ask a file, and returns how many. The
// first that cannot be read halts the stream: those behind it must not be applied to a state that lacks
// it. What the asker knows is for the first command.
func (t *Stream) applySome(a *asker, batch []entry, outcomes []outcome) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	for n := range batch {
		e, o := &batch[n], &outcomes[n]
		if o.err = t.Err(); o.err != nil {
			t.strand(e)
			continue
		}
		t.body.asker = a
		o.result, o.err = t.state.Apply(e.command, t.messages)
		t.body.asker = nil
		if o.err != nil {
			if again, err := a.pending(); again && err == nil {
				return n
			}
			o.err = t.halt(damageOf(t.id, t.name, o.err))
			t.strand(e)
			continue
		}
		t.position = e.position
		a.forget()
		if e.command.Kind() == command.KindConfigure {
			t.promise(t.state.Config())
		}
	}
	return len(batch)
}

// startInMemory carries out a command of a stream without a log.
func (t *Stream) startInMemory(c command.Command, done func(jetlog.Result, error)) error {
	if err := t.usable(); err != nil {
		return err
	}
	result, err := t.applyOne(c)
	if configure, ok := c.(*command.Configure); ok && err == nil && result.Code == 0 {
		err = t.store.remember(t, configure.Config)
	}
	done(result, err)
	return nil
}

func (t *Stream) applyOne(c command.Command) (jetlog.Result, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state.Apply(c, t.messages)
}

// remember notes the configuration of a stream in memory, which is all that a restart leaves of it.
func (s *Store) remember(stream *Stream, cfg config.Stream) error {
	empty := jetlog.New(stream.id, cfg, stream.state.Created())
	e := manifest.StreamEdit{Advanced: true}
	e.ID, e.Snapshot = stream.id, empty.AppendSnapshot(nil)
	return s.commit(&manifest.Edit{Streams: []manifest.StreamEdit{e}})
}
