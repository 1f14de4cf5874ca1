package jetstream

import (
	"context"

	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/clustered"
	"runnel/server/jetstream/delays"
	"runnel/server/jetstream/handover"
	"runnel/server/jetstream/ingest"
	"runnel/server/jetstream/receipts"
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

// put puts what another server has asked for into a stream that is led here.
func (t *stream) put(ctx context.Context, q *clustered.Question) *clustered.Reply {
	part, known := handover.Answer(ctx, t.ingest, q.Body)
	return &clustered.Reply{Led: known, Part: part}
}

// openReceipts lets messages be published to the stream with acknowledgements, and those of its own messages be published.
func (t *stream) openReceipts() {
	a, s := t.account, t.account.service
	t.origin = &receipts.Origin{
		Log: t.log, Sent: t.deliver.Sent, Now: t.clock.Now, Propose: t.log.Propose,
		Settled: func(consumer string) {
			t.countIfKnown()
			t.deliver.Acked(consumer)
		},
	}
	cfg := receipts.Config{
		Account: a.name(), Domain: s.cfg.Domain, Local: a.origin, Now: t.clock.Now, Propose: t.log.Propose, Logger: s.logger,
		Exists: func(id uint64) bool { return s.cfg.Store.StreamByID(id) != nil },
	}
	if s.cluster != nil {
		cfg.Asker = &s.cluster.asker
	}
	t.receipts = receipts.Open(t.log, cfg)
}

// imports tells whether messages on a subject may come from another account.
func (a *account) imports(subject string) bool {
	if x := a.account.Crossings(); x != nil {
		for range x.Sources(subject) {
			return true
		}
	}
	return false
}

// origin returns a stream whose deliveries are acknowledged, nil if it is not led here, or nothing can be decided about it.
func (a *account) origin(stream string) *receipts.Origin {
	if t := a.stream(stream); t.leads() && !t.stranded() {
		return t.origin
	}
	return nil
}

// aboutReceipts answers a question of another server about the stream's deliveries.
func (t *stream) aboutReceipts(ctx context.Context, q *clustered.Question) *clustered.Reply {
	if t.stranded() {
		return &clustered.Reply{}
	}
	part := t.origin.Answer(ctx, q.Body)
	return &clustered.Reply{Led: part != nil, Part: part}
}

// openDelays lets messages be published to the stream later, and moves those that it keeps for another stream.
func (t *stream) openDelays() {
	a, s := t.account, t.account.service
	t.delays = delays.NewKeeper(delays.KeeperConfig{
		Account: a.account, Target: t.config, Outlet: func() delays.Outlet { return s.newOutlet() }, Ensure: a.ensure,
		Logger: s.logger, Clock: s.cfg.Clock,
	})
	if target := t.config().Metadata[config.MetadataDelayed]; target != "" {
		t.mover = delays.NewMover(delays.MoverConfig{
			Log: t.log, Target: target, Now: t.clock.Now, Logger: s.logger,
			Put: func(ctx context.Context, stream string, list []handover.Message) ([]handover.Outcome, error) {
				return s.putter.Put(ctx, a.name(), stream, list)
			},
		})
	}
}

// ensure makes a stream unless there is one of that name.
func (a *account) ensure(_ context.Context, cfg config.Stream) error {
	if a.configOf(cfg.Name) != nil {
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
