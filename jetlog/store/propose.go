package store

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/findings"
	"runnel/jetlog/layer"
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
func (t *Stream) Start(ctx context.Context, c command.Command, f func(jetlog.Result, error)) error {
	return t.start(ctx, entry{stream: t, command: c, answers: done(f)})
}

func (t *Stream) start(ctx context.Context, e entry) error {
	kind := e.kind()
	if err := t.store.allow(kind); err != nil {
		return err
	}
	if taken, err := t.startReplicated(ctx, &e); taken {
		return err
	}
	if t.log() == nil {
		return t.startInMemory(ctx, &e)
	}
	if kind.Stores() {
		if err := t.store.admit(ctx); err != nil {
			return err
		}
	}
	if err := t.shard.admit(ctx); err != nil {
		return err
	}
	var changed <-chan struct{}
	for {
		wakes := t.log().Idle()
		err := t.append(&e, kind.Stores())
		if err == nil && wakes && e.command == nil {
			// The writer takes this thread over, and the caller another one. Without this it would be the other way
			// round, which takes longer, above all when the caller goes into a system call now: the writer had to be
			// taken out of its hands. Only who starts a pack is through with what there is to start: the writer would
			// begin to sync the first of several single commands, and the others had to wait for that.
			runtime.Gosched()
		}
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

// allow refuses commands of a kind that others may not know yet.
func (s *Store) allow(kind command.Kind) error {
	if !s.allowed[kind] {
		return fmt.Errorf("command of kind %d: feature level is %d: %w", kind, s.cfg.Level, ErrNewer)
	}
	return nil
}

// append puts an entry into the log and into the queue of its shard. It does not wait: the error is
// context.Canceled when the log would have.
func (t *Stream) append(e *entry, publish bool) error {
	t.gate.Lock()
	defer t.gate.Unlock()
	if err := t.usable(); err != nil {
		return err
	}
	if t.turning || t.replica.Load() != nil {
		return ErrNotLeader // since a moment ago
	}
	n := uint64(e.count())
	r := &t.record[0]
	*r = wal.Record{Group: t.id, Index: t.appended.Add(n), Relaxed: t.relaxed && !t.syncing.always.Load()}
	t.encoded, r.Kind = e.encode(t.encoded[:0])
	r.Payload = t.encoded
	var err error
	if publish {
		e.position, err = t.store.log.Append(t.store.never, t.record[:]...)
	} else {
		e.position, err = t.store.log.AppendReserved(t.store.never, t.record[:]...)
	}
	if err != nil {
		t.appended.Add(-n)
		return t.store.refusal(err)
	}
	if cap(t.encoded) > encodedMax {
		t.encoded = nil
	}
	t.shard.push(e)
	return nil
}

// encodedMax is how large a buffer for commands a stream keeps.
const encodedMax = 512 << 10

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

// step is a command on its way through apply.
type step struct {
	command  command.Command
	position wal.Position
	outcome
}

// apply carries out commands that are safe, and answers them. With a failure of the store they are only
// answered.
// It is false, and nothing is done, if somebody is to be waited for who looks at the stream, and the applier does not.
func (t *Stream) apply(w *applier, batch []entry, failure error) bool {
	last := batch[len(batch)-1].position
	if failure == nil && t.syncing.always.Load() {
		// The log, or the shard, promises less than this stream does.
		if err := t.log().WaitSynced(context.Background(), last); err != nil {
			failure = t.halt(t.store.refusal(err))
		}
	}
	if w.hasty && !t.mu.TryLock() {
		return false
	} else if !w.hasty {
		t.mu.Lock()
	}
	steps := w.expand(batch, failure)
	n := 0
	if failure == nil {
		n = t.applySome(&w.asker, steps)
	} else {
		t.mu.Unlock()
	}
	for w.learn(); failure == nil && n < len(steps); w.learn() {
		t.mu.Lock()
		n += t.applySome(&w.asker, steps[n:])
	}
	if failure == nil {
		t.hasten(last)
	}
	w.answer(batch)
	return true
}

// applySome carries commands out under one lock, up to one that has to ask a file, and returns how many. The
// first that cannot be read halts the stream: those behind it must not be applied to a state that lacks
// it. What the asker knows is for the first command. The caller has locked mu, which is given back.
func (t *Stream) applySome(a *layer.Asker, steps []step) int {
	defer t.mu.Unlock()
	for n := range steps {
		s := &steps[n]
		if s.err = t.Err(); s.err != nil {
			t.strand(s)
			continue
		}
		t.body.Asker = a
		s.result, s.err = t.state.Apply(s.command, t.messages)
		t.body.Asker = nil
		if s.err != nil {
			if again, err := a.Pending(); again && err == nil {
				return n
			}
			s.err = t.halt(findings.Of(t.id, t.name, s.err))
			t.strand(s)
			continue
		}
		t.position = s.position
		a.Forget()
		if s.command.Kind() == command.KindConfigure {
			t.promise(t.state.Config())
		}
	}
	return len(steps)
}

// startInMemory carries out what a stream without a log is to do. With a context that has ended it does not wait for
// who looks at the stream.
func (t *Stream) startInMemory(ctx context.Context, e *entry) error {
	if err := t.usable(); err != nil {
		return err
	}
	var single [1]outcome
	outcomes := single[:]
	if n := e.count(); n > 1 {
		outcomes = make([]outcome, n)
	}
	if !t.lockFor(ctx) {
		return fmt.Errorf("wait for readers: %w", ctx.Err())
	}
	t.applyAll(e, outcomes)
	for i := range outcomes {
		o := &outcomes[i]
		if configure, ok := e.at(i).(*command.Configure); ok && o.err == nil && o.result.Code == 0 {
			o.err = t.store.remember(t, configure.Config)
		}
		e.answers.Answer(i, o.result, o.err)
	}
	if f := e.answers.Answered(); f != nil {
		f.Flush()
	}
	return nil
}

// lockFor locks mu. It is false, and mu is not locked, if that takes waiting and the context has ended.
func (t *Stream) lockFor(ctx context.Context) bool {
	if ctx.Err() != nil {
		return t.mu.TryLock()
	}
	t.mu.Lock()
	return true
}

// applyAll carries out the commands of an entry, and gives mu back. The stream may be deleted meanwhile.
func (t *Stream) applyAll(e *entry, outcomes []outcome) {
	defer t.mu.Unlock()
	for i := range outcomes {
		o := &outcomes[i]
		if o.err = t.Err(); o.err == nil && t.replica.Load() != nil {
			o.err = ErrNotLeader // since a moment ago
		} else if o.err == nil {
			o.result, o.err = t.state.Apply(e.at(i), t.messages)
		}
	}
}

// remember notes the configuration of a stream in memory, which is all that a restart leaves of it.
func (s *Store) remember(stream *Stream, cfg config.Stream) error {
	empty := jetlog.New(stream.id, cfg, stream.state.Created())
	e := manifest.StreamEdit{Advanced: true}
	e.ID, e.Snapshot = stream.id, empty.AppendSnapshot(nil)
	return s.commit(&manifest.Edit{Streams: []manifest.StreamEdit{e}})
}
