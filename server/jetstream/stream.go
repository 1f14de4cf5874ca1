package jetstream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/store"
	"runnel/server/engine"
	"runnel/server/jetstream/clock"
	"runnel/server/jetstream/clustered"
	"runnel/server/jetstream/delays"
	"runnel/server/jetstream/delivery"
	"runnel/server/jetstream/due"
	"runnel/server/jetstream/ingest"
	"runnel/server/jetstream/lazily"
	"runnel/server/jetstream/reads"
	"runnel/server/jetstream/receipts"
	"runnel/server/jetstream/redrive"
	"runnel/server/jetstream/sourcing"
)

// stream joins what the store has of a stream with its publishers and its consumers. In a cluster it is that only where
// the stream is led, and as long: a leader that ceases to be one is followed by another value, which has neither.
//
// Invariant: ingest, deliver and sources are nil unless open was called, and do not change then.
type stream struct {
	account *account
	log     *store.Stream
	cfg     atomic.Pointer[config.Stream]        // as it was last applied
	seen    atomic.Pointer[clustered.Assignment] // whose configuration it has, nil for none
	clock   *clock.Clock                         // its time while it is led here
	ingest  *ingest.Stream
	deliver *delivery.Stream
	sources *sourcing.Stream
	// receipts are for what is published here with the acknowledgement of another message, origin for messages of this
	// stream that are acknowledged so.
	receipts lazily.Value[receipts.Stream]
	origin   lazily.Value[receipts.Origin]
	delays   lazily.Value[delays.Keeper]  // for what is published here later
	mover    *delays.Mover                // of a stream that keeps that for another one, nil for others
	redrives lazily.Value[redrive.Stream] // puts its dead letters back
	due      *due.Keeper                  // does what time asks for
	term     uint64                       // in which it is led here; 0 where it is not, and on a server alone
	resting  atomic.Bool                  // it is not led here any more
	taking   atomic.Bool                  // it takes a backup in, or has
	since    time.Time                    // when it became known
	// unfinished is set while the stream is not whole, and is not served for that.
	unfinished bool
	failed     atomic.Bool  // it could not be opened
	counted    atomic.Int64 // bytes that are in the counts of the account and of the server
	claimed    []string     // subjects, as the account has noted; it guards them
	fence      uint32       // what others sent before it was for who led before
	// subjects counts the subjects for infos.
	subjects reads.SubjectCount

	mu         sync.Mutex // guards everything below
	subscribed map[string]*engine.Internal
	services   []*engine.Internal // of requests that only a member of a cluster takes by the stream, nil for none
	reads      []*engine.Internal // of direct gets that several servers take,
	readers    []string           // for streams of these names
	closed     bool
}

// newStream returns a stream that does nothing yet.
func newStream(a *account, log *store.Stream) *stream {
	t := &stream{account: a, log: log, subscribed: make(map[string]*engine.Internal)}
	t.subjects.Log, t.since = log, time.Now()
	cfg := log.Config()
	t.cfg.Store(&cfg)
	t.clock = clock.New(a.service.cfg.Clock)
	t.due = t.newKeeper()
	return t
}

// config returns the configuration, which must not be changed.
func (t *stream) config() *config.Stream { return t.cfg.Load() }

// open lets the stream take messages and deliver them. A stream that did not start is known, and does neither.
func (t *stream) open() {
	if t.begin(); !t.offline() {
		t.attend()
	}
}

// begin makes the stream ready to take messages and to deliver them.
func (t *stream) begin() {
	if err := t.log.Err(); err != nil {
		t.failed.Store(true)
		t.account.service.logger.Error("stream is offline", "account", t.log.Account(), "stream", t.log.Name(), "error", err)
		return
	}
	t.due.Reach()
	s := t.account.service
	t.fence = s.cfg.Engine.Fence() // before anybody finds the stream
	t.ingest = s.ingest.Open(t.account.account, t.log, ingest.Hooks{
		Stored:    t.stored,
		Withdrawn: t.withdrawn,
		Abandoned: func(batch, reason string) { s.events.BatchAbandoned(t.account.account, t.log.Name(), batch, reason) },
		Wanted:    t.wanted,
		Admit:     t.admit,
		Cause:     t.cause,
		Settle:    t.alreadyMade,
		Imported:  t.account.account.Imports,
		Owed:      t.owed,
		Delay:     t.delay,
		Now:       t.clock.Now,
	})
	t.deliver = s.delivery.Open(t.account.account, t.log, t.clock)
	t.beginDebts()
	t.sources = s.sourcing.Open(t.account.account, t.log, sourcing.Hooks{
		Stored:    t.copied,
		Withdrawn: t.withdrawn,
		Admit:     t.admit,
	})
	t.count()
}

// attend lets messages come, and time pass.
func (t *stream) attend() {
	t.subscribe()
	t.due.Watch()
}

// unled tells of an error that a command has failed since the stream is not led here, or was not any more when it came.
func unled(err error) bool {
	return errors.Is(err, store.ErrNotLeader) || errors.Is(err, store.ErrLeadershipLost)
}

// offline tells whether the stream could not be opened.
func (t *stream) offline() bool { return t.failed.Load() }

// leads tells whether there is a stream that takes messages and delivers them here.
func (t *stream) leads() bool { return t != nil && t.ingest != nil && !t.resting.Load() }

// subscribe lets the stream capture what is published on its subjects, and on no others.
func (t *stream) subscribe() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	wanted := make(map[string]bool)
	for _, subject := range t.config().Subjects {
		wanted[subject] = true
		if t.subscribed[subject] == nil {
			t.subscribed[subject] = t.account.service.cfg.Engine.SubscribeTraced(t.account.account, subject, "", t.take)
		}
	}
	for subject, i := range t.subscribed {
		if !wanted[subject] {
			i.Unsubscribe()
			delete(t.subscribed, subject)
		}
	}
	if t.account.service.cluster != nil && t.services == nil {
		t.services = t.serve()
	}
}

// close ends the stream's service. What it has stays in the store.
func (t *stream) close() { t.end((*delivery.Stream).Close) }

// end is close; deliver ends the deliveries, and says why to those who wait for messages.
func (t *stream) end(deliver func(*delivery.Stream)) {
	t.silence()
	t.due.Stop()
	t.subjects.Close()
	if t.ingest != nil {
		t.sources.Close()
		deliver(t.deliver)
		t.endDebts()
		t.ingest.Close()
	}
	t.uncount()
}

// silence ends all subscriptions. It is quick.
func (t *stream) silence() {
	t.mu.Lock()
	t.closed = true
	ended := slices.Concat(slices.Collect(maps.Values(t.subscribed)), t.services, t.reads)
	t.subscribed, t.services, t.reads = nil, nil, nil
	t.mu.Unlock()
	for _, i := range ended {
		i.Unsubscribe()
	}
}

// stored is called for each message, once it is safe.
func (t *stream) stored(subject string, sequence uint64) {
	t.deliver.Stored(subject, sequence)
	t.mover.Wake()
	if sequence%countEvery == 0 {
		t.countIfKnown()
	}
	t.due.Stored(t.config())
}

// withdrawn is told of messages that have gone while consumers awaited an answer to them. It is quick.
func (t *stream) withdrawn(list []jetlog.Withdrawn) {
	for i := range list {
		if list[i].Dead {
			t.deliver.Dead()
			continue
		}
		t.account.service.events.Withdrawn(t.account.account, t.log.Name(), &list[i])
	}
}

// changed lets everything follow that messages have gone, or come, by something else than a publish.
func (t *stream) changed() {
	t.count()
	t.deliver.Changed()
}

// waiting waits for the result of a command that was started: until the service's end at most, or until nobody can tell.
type waiting func() (jetlog.Result, error)

// undecidedTime is how long a command is waited for while too few of the stream's servers can be reached: together with settleTime
// that is 5 s.
const undecidedTime = 3 * time.Second

// errUndecided is what the client learns then; what becomes of the command nobody knows.
var errUndecided = fmt.Errorf("too few of its servers can be reached: %w", store.ErrLeadershipLost)

// stranded tells whether too few of the servers that have the stream can be reached from here to decide anything about it.
func (t *stream) stranded() bool {
	c := t.account.service.cluster
	if c == nil {
		return false
	}
	a, ok := c.Stream(t.log.Account(), t.log.Name())
	return ok && a.ID == t.log.ID() && !c.Majority(a)
}

// start starts a command, which is completed once it is waited for.
func (t *stream) start(c command.Command) (waiting, error) {
	wait, err := t.begun(c)
	if err != nil {
		return nil, t.named(err)
	}
	return func() (jetlog.Result, error) { return t.complete(wait()) }, nil
}

// begun starts a command.
func (t *stream) begun(c command.Command) (waiting, error) {
	type outcome struct {
		result jetlog.Result
		err    error
	}
	ctx, done := t.account.service.ctx, make(chan outcome, 1)
	err := t.log.Start(ctx, c, func(result jetlog.Result, err error) { done <- outcome{result, err} })
	if err != nil {
		return nil, err
	}
	return func() (jetlog.Result, error) {
		for {
			select {
			case o := <-done:
				return o.result, o.err
			case <-ctx.Done():
				return jetlog.Result{}, ctx.Err()
			case <-time.After(undecidedTime):
				if t.stranded() {
					return jetlog.Result{}, errUndecided
				}
			}
		}
	}, nil
}

// carryOut starts a command and waits for it.
func (t *stream) carryOut(c command.Command) (jetlog.Result, error) {
	wait, err := t.begun(c)
	if err != nil {
		return jetlog.Result{}, err
	}
	return wait()
}

// propose carries a command out; the service's end is waited for at most.
func (t *stream) propose(c command.Command) (jetlog.Result, error) {
	result, err := t.carryOut(c)
	if c.Kind() == command.KindExpire { // who expires goes on himself
		t.withdrawn(result.Withdrawn)
		return result, t.named(err)
	}
	return t.complete(result, err)
}

// complete goes on until nothing is left of what was asked for: it may be too much for one command.
func (t *stream) complete(result jetlog.Result, err error) (jetlog.Result, error) {
	t.withdrawn(result.Withdrawn)
	for err == nil && result.More {
		var next jetlog.Result
		next, err = t.carryOut(&command.Continue{Time: t.account.service.now()})
		result.Removed += next.Removed
		result.More = next.More
		t.withdrawn(next.Withdrawn)
	}
	return result, t.named(err)
}

// named says of an error which stream it is about.
func (t *stream) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("stream %q: %w", t.log.Name(), err)
}

// settle waits until what clients have published before is applied, so that what is read next has it.
func (t *stream) settle(ctx context.Context) error {
	return t.ingest.Barrier(ctx)
}

// newKeeper returns what does in the stream what is due.
func (t *stream) newKeeper() *due.Keeper {
	s := t.account.service
	return due.New(due.Config{
		Log: t.log, Clock: t.clock, Propose: t.propose, Changed: t.changed, Failed: t.timedFailed, Go: s.running.Go,
		Fired: func(m jetlog.Message, result jetlog.Result) { t.ingest.Announce(m, result) },
	})
}

// timedFailed logs what went wrong when its time had come; it is false if the stream has ended here.
func (t *stream) timedFailed(what string, err error) bool {
	s := t.account.service
	if errors.Is(err, store.ErrClosed) || errors.Is(err, store.ErrNotFound) || unled(err) || s.ctx.Err() != nil {
		return false
	}
	s.logger.Error(what+"; trying again later", "account", t.log.Account(), "stream", t.log.Name(), "error", err)
	return true
}
