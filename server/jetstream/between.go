package jetstream

import (
	"context"
	"fmt"

	"runnel/jetlog/causes"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/clustered"
	"runnel/server/jetstream/delays"
	"runnel/server/jetstream/handover"
	"runnel/server/jetstream/ingest"
	"runnel/server/jetstream/own"
	"runnel/server/jetstream/receipts"
	"runnel/server/jetstream/redrive"
)

// newPutter returns what puts the server's own messages into streams.
func newPutter(s *Service) *handover.Putter {
	p := &handover.Putter{Local: s.takes}
	if s.cluster != nil {
		p.Asker = &s.cluster.asker
	}
	return p
}

// takes returns how messages get into a stream of a server alone.
func (s *Service) takes(account, stream string) (*ingest.Stream, error) {
	a := s.named(account)
	if a == nil {
		return nil, api.NewError(api.NotEnabledForAccount)
	}
	switch t := a.stream(stream); {
	case t == nil:
		return nil, api.NewError(api.StreamNotFound)
	case !t.leads():
		return nil, api.NewError(api.StreamOffline, stream)
	default:
		return t.ingest, nil
	}
}

// newOrigin lets acknowledgements of the stream's messages be published with others.
func (t *stream) newOrigin() *receipts.Origin {
	return &receipts.Origin{
		Log: t.log, Sent: t.deliver.Sent, Now: t.clock.Now, Propose: t.log.Propose,
		Settled: func(consumer string, sequences []uint64) {
			t.countIfKnown()
			t.deliver.Acked(consumer, sequences...)
		},
	}
}

// newReceipts lets messages be published to the stream with acknowledgements, and pays what is owed.
func (t *stream) newReceipts() *receipts.Stream {
	a, s := t.account, t.account.service
	cfg := receipts.Config{
		Account: a.name(), Domain: s.cfg.Domain, Local: a.origin, Now: t.clock.Now, Propose: t.log.Propose, Logger: s.logger,
		Exists: func(id uint64) bool { return s.cfg.Store.StreamByID(id) != nil },
	}
	if s.cluster != nil {
		cfg.Asker = &s.cluster.asker
	}
	return receipts.Open(t.log, cfg)
}

// cause is [ingest.Hooks.Cause].
func (t *stream) cause(ack string, found ingest.Found) (*causes.Cause, *api.Error, bool) {
	if r := t.receipts.Get(t.newReceipts); r != nil {
		return r.Find(ack, found)
	}
	return nil, api.NewError(api.AckUnreachable, t.log.Name()), true
}

// alreadyMade is [ingest.Hooks.Settle].
func (t *stream) alreadyMade(c *causes.Cause, done func(bool)) bool {
	if r := t.receipts.Get(t.newReceipts); r != nil {
		return r.Settle(c, done)
	}
	done(false)
	return false
}

// owed is [ingest.Hooks.Owed].
func (t *stream) owed(c *causes.Cause) {
	if c.ID == t.log.ID() {
		t.deliver.Acked(c.Consumer, 0) // at once, or when the delivery is in the state
	}
	t.pay()
}

// pay pays what the stream owes.
func (t *stream) pay() {
	if r := t.receipts.Get(t.newReceipts); r != nil {
		r.Owed()
	}
}

// origin returns a stream whose deliveries are acknowledged, nil if it is not led here, or nothing can be decided about it.
func (a *account) origin(stream string) *receipts.Origin {
	if t := a.stream(stream); t.leads() && !t.stranded() {
		return t.origin.Get(t.newOrigin)
	}
	return nil
}

// aboutReceipts answers a question of another server about the stream's deliveries.
func (t *stream) aboutReceipts(ctx context.Context, q *clustered.Question) *clustered.Reply {
	if t.stranded() {
		return &clustered.Reply{}
	}
	part := t.origin.Get(t.newOrigin).Answer(ctx, q.Body)
	return &clustered.Reply{Led: part != nil, Part: part}
}

// newDelays lets messages be published to the stream later.
func (t *stream) newDelays() *delays.Keeper {
	a, s := t.account, t.account.service
	return delays.NewKeeper(delays.KeeperConfig{
		Account: a.account, Target: t.config, Outlet: func() delays.Outlet { return s.newOutlet() }, Ensure: a.ensure,
		Logger: s.logger, Clock: s.cfg.Clock,
	})
}

// delay is [ingest.Hooks.Delay].
func (t *stream) delay(subject, reply string, header, payload []byte) (taken bool, rest []byte, refusal *api.Error) {
	if t.account.service.level() < command.KindPaid.Level() {
		return false, nil, api.NewError(api.LevelTooLow, "Runnel-Delay")
	}
	if k := t.delays.Get(t.newDelays); k != nil {
		return k.Take(subject, reply, header, payload)
	}
	return false, nil, api.NewError(api.DelayImpossible, "the stream is led by another server")
}

// redriven returns what puts the stream's dead letters back.
func (t *stream) redriven() *redrive.Stream {
	s := t.account.service
	return t.redrives.Get(func() *redrive.Stream {
		return redrive.Open(redrive.Config{
			Account: t.account.name(), Log: t.log, Put: s.putter.Put, Now: t.clock.Now, Clock: s.cfg.Clock, Changed: t.changed,
			Ended: func(e *api.RedriveEnded) { s.events.Tell(t.account.account, e) }, Logger: s.logger,
		})
	})
}

// own is the stream as calls of our own see it.
func (t *stream) own() own.Stream {
	return own.Stream{Log: t.log, Deliver: t.deliver, Redrive: t.redriven}
}

// beginDebts does what the stream has left from before it was led here: it pays what it owes, and moves what it keeps for another stream.
func (t *stream) beginDebts() {
	if receipts.Owes(t.log) {
		t.pay()
	}
	if redrive.Runs(t.log) {
		t.redriven()
	}
	a, s := t.account, t.account.service
	if target := t.config().Metadata[config.MetadataDelayed]; target != "" {
		t.mover = delays.NewMover(delays.MoverConfig{
			Log: t.log, Target: target, Now: t.clock.Now, Logger: s.logger,
			Put: func(ctx context.Context, stream string, list []handover.Message) ([]handover.Outcome, error) {
				return s.putter.Put(ctx, a.name(), stream, list)
			},
		})
	}
}

// endDebts ends all that.
func (t *stream) endDebts() {
	t.delays.End().Close()
	t.mover.Close()
	t.redrives.End().Close()
	t.receipts.End().Close()
}

// ensure makes a stream unless there is one of that name.
func (a *account) ensure(_ context.Context, cfg config.Stream) error {
	if there := a.configOf(cfg.Name); there != nil {
		if there.Metadata[config.MetadataDelayed] != cfg.Metadata[config.MetadataDelayed] {
			return fmt.Errorf("stream %s is somebody's own: delete it, the server needs one of this name", cfg.Name)
		}
		return nil
	}
	cfg, err := cfg.Normalized(a.service.limits(), false)
	if err != nil {
		return err
	}
	if a.service.cluster == nil {
		_, err = a.create(&cfg)
		return err
	}
	limits, err := a.limitsOf(&cfg)
	if err == nil {
		_, _, err = a.service.cluster.directory.Create(a.name(), cfg, limits)
	}
	return err
}
