package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nuid"

	"runnel/jetlog/config"
	"runnel/server/engine"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/backup"
	"runnel/server/jetstream/transfer"
)

// streamRestore begins to take a backup in. All else happens on a goroutine of its own.
func (s *Service) streamRestore(_ Outlet, r *request) (api.Answer, error) {
	var q api.RestoreRequest
	if err := s.decode(r, &q); err != nil {
		return nil, err
	}
	a := r.account
	switch {
	case q.Config.Name == "":
		return nil, api.NewError(config.BadRequest)
	case q.Config.Name != r.call.Stream:
		return nil, api.NewError(api.StreamNameMismatch)
	case r.stream != nil:
		return nil, api.NewError(api.RestoreNameExists)
	}
	cfg, err := q.Config.Normalized(s.limits(), false)
	if err != nil {
		return nil, err
	}
	if cfg.Replicas > 1 {
		return nil, api.NewError(api.ReplicasNotSupported)
	}
	delete(cfg.Metadata, restoringKey)
	if err := a.checkSources(&cfg); err != nil {
		return nil, err
	}
	api.PersistStream(&cfg)
	if err := a.reserve(&cfg, nil); err != nil {
		return nil, restoreName(err)
	}
	id := nuid.Next()
	i := transfer.NewIncoming(cfg.Name, a.account, s.cfg.SpoolDir, a.spoolMost(&cfg))
	if err := a.transfers.Receive(s.ctx, id, i, func(ctx context.Context) { s.takeBackup(ctx, i, r, &cfg) }); err != nil {
		a.release(cfg.Name, nil)
		return nil, err
	}
	s.events.restoreCreated(r, cfg.Name)
	return &api.RestoreAnswer{DeliverSubject: api.RestoreSubject(cfg.Name, id)}, nil
}

// restoreName says of a name that is in use what it means here.
func restoreName(err error) error {
	var known *api.Error
	if errors.As(err, &known) && known.ErrCode == int(api.StreamNameExists) {
		return api.NewError(api.RestoreNameExists)
	}
	return err
}

// spoolMost is how many bytes of a backup may be in a file meanwhile.
func (a *account) spoolMost(cfg *config.Stream) int64 {
	const more = 64 << 20 // what the form of the backup may have besides the messages
	account, server := int64(-1), a.service.allowed.Load()
	if l := a.limits.Load(); l != nil {
		account = l.MaxStoreBytes
		if cfg.Storage == config.MemoryStorage {
			account = l.MaxMemoryBytes
		}
	}
	switch {
	case account >= 0:
		return addBytes(account, more)
	case server.MaxStoreBytes > 0:
		return addBytes(server.MaxStoreBytes, more)
	}
	return 1<<63 - 1
}

// takeChunk hands a chunk of a backup to its restore.
func (a *account) takeChunk(m *engine.Message) { a.transfers.TakeChunk(m) }

// takeBackup makes the stream of what comes in. It is there for others only when it is whole.
func (s *Service) takeBackup(ctx context.Context, i *transfer.Incoming, r *request, cfg *config.Stream) {
	start := s.cfg.Clock().UTC()
	out := s.newOutlet()
	defer out.Close()
	i.Use(out)
	t, err := s.rebuild(ctx, i, r.account, cfg)
	if failed := i.Close(); failed != nil {
		s.logger.Warn("cannot close the file of a backup", "error", failed)
	}
	if err != nil {
		r.account.release(cfg.Name, nil)
		s.logger.Warn("restore has failed", "account", r.account.account.Name(), "stream", cfg.Name, "error", err)
		s.events.restoreComplete(r, cfg.Name, start, i.Received(), err)
		i.Fail(api.CallStreamCreate.Refuse(restoreRefusal(err)))
		return
	}
	t.open()
	r.account.release(cfg.Name, t)
	s.sourcing.Appeared(r.account.account, cfg.Name)
	s.events.streamAction(t, api.ActionCreate)
	s.events.restoreComplete(r, cfg.Name, start, i.Received(), nil)
	i.Accept(s.restoredAnswer(t))
}

// restoreRefusal makes what went wrong an error of the API.
func restoreRefusal(err error) *api.Error {
	var known *api.Error
	var wrong *config.Error
	if errors.As(err, &known) || errors.As(err, &wrong) {
		return api.FromConfig(err)
	}
	return api.NewError(api.RestoreFailed, err.Error())
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
func (s *Service) rebuild(ctx context.Context, i *transfer.Incoming, a *account, cfg *config.Stream) (*stream, error) {
	in, err := backup.NewReader(i)
	if err != nil {
		return nil, err
	}
	i.Settled()
	b, err := a.stage(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if err := b.run(in); err != nil {
		b.stream.countAs(0)
		a.discard(b.stream.log)
		return nil, err
	}
	return b.stream, nil
}

// snapshotCreated tells that a backup has begun.
func (e *events) snapshotCreated(t *stream, r *request, state *api.StreamState) {
	e.tell(t.account.account, &api.SnapshotCreated{Stream: t.log.Name(), State: *state, Client: e.clientOf(r), Domain: e.domain()})
}

// snapshotComplete tells that a backup has ended, and why if it was before its end.
func (e *events) snapshotComplete(t *stream, r *request, start time.Time, err error) {
	e.tell(t.account.account, &api.SnapshotComplete{
		Stream: t.log.Name(), Start: start, End: e.service.cfg.Clock().UTC(), Error: reasonOf(err),
		Client: e.clientOf(r), Domain: e.domain(),
	})
}

// restoreCreated tells that a restore has begun.
func (e *events) restoreCreated(r *request, stream string) {
	e.tell(r.account.account, &api.RestoreCreated{Stream: stream, Client: e.clientOf(r), Domain: e.domain()})
}

// restoreComplete tells that a restore has ended, how many bytes came, and why if nothing has come of it.
func (e *events) restoreComplete(r *request, stream string, start time.Time, bytes int64, err error) {
	e.tell(r.account.account, &api.RestoreComplete{
		Stream: stream, Start: start, End: e.service.cfg.Clock().UTC(), Bytes: bytes, Error: reasonOf(err),
		Client: e.clientOf(r), Domain: e.domain(),
	})
}

// clientOf is who made the request, nil if the server did.
func (e *events) clientOf(r *request) *api.Client {
	if r.message.From == nil {
		return nil
	}
	return client(r.message.From, e.service.cfg.ServerName)
}

// reasonOf is an error as an event has it, empty for none.
func reasonOf(err error) string {
	if err == nil {
		return ""
	}
	return fmt.Sprint(err)
}
