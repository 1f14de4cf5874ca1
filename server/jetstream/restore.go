package jetstream

import (
	"context"

	"github.com/nats-io/nuid"

	"runnel/jetlog/config"
	"runnel/jetlog/store"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/backup"
	"runnel/server/jetstream/quota"
	"runnel/server/jetstream/rebuild"
	"runnel/server/jetstream/transfer"
)

// restoreRequest reads the configuration of a stream that is to be restored, complete and valid.
func (s *Service) restoreRequest(r *request) (config.Stream, error) {
	var q api.RestoreRequest
	if err := s.decode(r, &q); err != nil {
		return config.Stream{}, err
	}
	switch {
	case q.Config.Name == "":
		return config.Stream{}, api.NewError(config.BadRequest)
	case q.Config.Name != r.call.Stream:
		return config.Stream{}, api.NewError(api.StreamNameMismatch)
	case r.account.configOf(r.call.Stream) != nil:
		return config.Stream{}, api.NewError(api.RestoreNameExists)
	}
	cfg, err := q.Config.Normalized(s.limits(), false)
	if err != nil {
		return config.Stream{}, err
	}
	if cfg.Replicas > 1 && s.cluster == nil {
		return config.Stream{}, api.NewError(api.ReplicasNotSupported)
	}
	rebuild.Unmark(&cfg)
	if err := r.account.checkSources(&cfg); err != nil {
		return config.Stream{}, err
	}
	api.PersistStream(&cfg)
	return cfg, nil
}

// streamRestore begins to take a backup in. All else happens on a goroutine of its own.
func (s *Service) streamRestore(_ Outlet, r *request) (api.Answer, error) {
	cfg, err := s.restoreRequest(r)
	if err != nil {
		return nil, err
	}
	a := r.account
	if err := a.reserve(&cfg, nil); err != nil {
		return nil, api.OfRestoredName(err)
	}
	err = s.receive(r, &cfg, &restoring{
		make:  func(ctx context.Context, in *backup.Reader) (*stream, error) { return a.rebuild(ctx, &cfg, in) },
		drop:  func() { a.release(cfg.Name, nil) },
		enter: func(t *stream) { t.open(); a.release(cfg.Name, t) },
	})
	if err != nil {
		a.release(cfg.Name, nil)
		return nil, err
	}
	return &api.RestoreAnswer{DeliverSubject: api.RestoreSubject(cfg.Name, r.restore)}, nil
}

// restoring is how a stream is made of a backup, and what becomes of it.
type restoring struct {
	make  func(context.Context, *backup.Reader) (*stream, error)
	drop  func()        // when nothing has come of it
	enter func(*stream) // when it is whole
}

// receive begins to take a backup in, whose id the request gets.
func (s *Service) receive(r *request, cfg *config.Stream, how *restoring) error {
	if r.restore == "" {
		r.restore = nuid.Next()
	}
	i := transfer.NewIncoming(cfg.Name, r.account.account, s.cfg.SpoolDir, r.account.spoolMost(cfg))
	if err := r.account.transfers.Receive(s.ctx, r.restore, i, func(ctx context.Context) { s.takeBackup(ctx, i, r, cfg, how) }); err != nil {
		return err
	}
	s.events.RestoreCreated(r.account.account, cfg.Name, r.message.From)
	return nil
}

// spoolMost is how many bytes of a backup may be in a file meanwhile.
func (a *account) spoolMost(cfg *config.Stream) int64 {
	const more = 64 << 20 // what the form of the backup may have besides the messages
	account, server := int64(-1), a.service.allowed.Load()
	if l := a.limits.Load(); l != nil {
		if own, err := l.Of(cfg.Replicas); err == nil {
			account = own.MaxBytes(cfg.Storage)
		}
	}
	switch {
	case account >= 0:
		return quota.AddBytes(account, more)
	case server.MaxStoreBytes > 0:
		return quota.AddBytes(server.MaxStoreBytes, more)
	}
	return 1<<63 - 1
}

// takeBackup makes the stream of what comes in. It is there for others only when it is whole.
func (s *Service) takeBackup(ctx context.Context, i *transfer.Incoming, r *request, cfg *config.Stream, how *restoring) {
	start := s.cfg.Clock().UTC()
	out := s.newOutlet()
	defer out.Close()
	i.Use(out)
	var t *stream
	in, err := backup.NewReader(i)
	if err == nil {
		i.Settled()
		t, err = how.make(ctx, in)
	}
	if failed := i.Close(); failed != nil {
		s.logger.Warn("cannot close the file of a backup", "error", failed)
	}
	if err != nil {
		how.drop()
		s.logger.Warn("restore has failed", "account", r.account.account.Name(), "stream", cfg.Name, "error", err)
		s.events.RestoreComplete(r.account.account, cfg.Name, r.message.From, start, i.Received(), err)
		i.Fail(api.CallStreamCreate.Refuse(api.OfRestore(err)))
		return
	}
	how.enter(t)
	s.sourcing.Appeared(r.account.account, cfg.Name)
	r.account.action(cfg.Name, api.ActionCreate)
	s.events.RestoreComplete(r.account.account, cfg.Name, r.message.From, start, i.Received(), nil)
	i.Accept(s.restoredAnswer(t))
}

// restoredAnswer is what the end of a backup is answered with: the stream, as if it had been created. Clients do not
// learn that it was: did_create stays away.
func (s *Service) restoredAnswer(t *stream) []byte {
	info, _, err := t.info(detail{})
	if err != nil {
		return api.CallStreamCreate.Refuse(api.NewError(api.RestoreFailed, err.Error()))
	}
	return api.CallStreamCreate.Encode(&api.StreamCreateAnswer{StreamInfo: info})
}

// rebuild makes the stream, and leaves nothing of it when that fails.
func (a *account) rebuild(ctx context.Context, cfg *config.Stream, in *backup.Reader) (*stream, error) {
	log, err := a.service.cfg.Store.Create(a.account.Name(), rebuild.Staged(cfg))
	if err != nil {
		return nil, err
	}
	t := newStream(a, log)
	if err := t.rebuild(ctx, cfg, in); err != nil {
		t.uncount()
		a.discard(log)
		return nil, err
	}
	return t, nil
}

// rebuild puts what a backup has into the stream, which has nothing.
func (t *stream) rebuild(ctx context.Context, final *config.Stream, in *backup.Reader) error {
	a := t.account
	err := rebuild.Run(ctx, rebuild.Config{
		Log: t.log, Final: final, Now: a.service.now, Level: a.service.level(), Admit: t.admit, Stored: t.count, Limits: a.consumerLimits(final.Replicas),
		MaxConsumers: func() (int, error) { return a.maxConsumers(final) },
	}, in)
	if err != nil {
		return err
	}
	cfg := t.log.Config()
	t.cfg.Store(&cfg)
	return nil
}

// discard removes a stream that was not restored to the end.
func (a *account) discard(log *store.Stream) {
	s := a.service
	if err := s.cfg.Store.Delete(log); err != nil {
		s.logger.Error("cannot remove a stream that was not restored to the end; it goes at the next start",
			"account", log.Account(), "stream", log.Name(), "error", err)
		return
	}
	s.logger.Info("removed a stream that was not restored to the end", "account", log.Account(), "stream", log.Name())
}

// maxConsumers is how many consumers a stream that is restored may have, 0 for any number.
func (a *account) maxConsumers(final *config.Stream) (int, error) {
	l := a.limits.Load()
	if l == nil {
		return 0, api.NewError(api.NotEnabledForAccount)
	}
	l, err := l.Of(final.Replicas)
	if err != nil {
		return 0, err
	}
	most := a.service.allowed.Load().DefaultMaxConsumers
	if final.MaxConsumers > 0 {
		most = final.MaxConsumers
	}
	if l.MaxConsumers > 0 && (final.MaxConsumers <= 0 || l.MaxConsumers < most) {
		most = l.MaxConsumers
	}
	return most, nil
}
