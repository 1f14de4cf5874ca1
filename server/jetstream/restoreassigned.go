package jetstream

import (
	"context"
	"time"

	"github.com/nats-io/nuid"

	"runnel/jetlog/config"
	"runnel/server/engine"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/backup"
	"runnel/server/jetstream/clustered"
	"runnel/server/jetstream/rebuild"
)

// In a cluster a stream is restored by the server that leads it. The leader of the meta group makes it with the configuration
// that it has until it is whole; a stream with that is not served, and does not show. Who restores it gives it its
// configuration in the end, and tells the meta group.

// abandonedAfter is how long a stream may be there that is not whole and that nobody restores.
const abandonedAfter = time.Minute

// restoreAssigned is streamRestore in a cluster.
func (s *Service) restoreAssigned(_ Outlet, r *request) (api.Answer, error) {
	cfg, err := s.restoreRequest(r)
	if err != nil {
		return nil, err
	}
	limits, err := r.account.limitsOf(&cfg)
	if err != nil {
		return nil, err
	}
	id := nuid.Next()
	if err := s.cluster.directory.Restore(r.account.name(), rebuild.Staged(&cfg), &cfg, id, limits); err != nil {
		return nil, api.OfRestoredName(err)
	}
	return &api.RestoreAnswer{DeliverSubject: api.RestoreSubject(cfg.Name, id)}, nil
}

// takeBackup lets a stream that is led here and not whole take a backup in, if it is not at it.
func (r *replica) takeBackup(q *clustered.Question) *clustered.Reply {
	r.mu.Lock()
	t := r.stream
	r.mu.Unlock()
	if t == nil || t.term == 0 || !t.unfinished || t.resting.Load() {
		return &clustered.Reply{}
	}
	if !t.taking.CompareAndSwap(false, true) {
		return &clustered.Reply{Led: true, Error: api.NewError(api.RestoreNameExists)}
	}
	how := &restoring{
		make: func(ctx context.Context, in *backup.Reader) (*stream, error) {
			if err := t.rebuild(ctx, q.Config, in); err != nil {
				return nil, err
			}
			return r.whole(ctx, q.Config)
		},
		drop:  r.abandon,
		enter: func(*stream) {},
	}
	made := &request{account: t.account, message: &engine.Message{}, restore: q.Restore}
	if err := t.account.service.receive(made, q.Config, how); err != nil {
		t.taking.Store(false)
		return &clustered.Reply{Led: true, Error: api.FromConfig(err)}
	}
	return &clustered.Reply{Led: true}
}

// whole tells the cluster that the stream is whole, and returns it as it is served then.
func (r *replica) whole(ctx context.Context, cfg *config.Stream) (*stream, error) {
	a := r.cluster.service.named(r.log.Account())
	if a == nil {
		return nil, api.NewError(api.NotEnabledForAccount)
	}
	limits, err := a.limitsOf(cfg)
	if err != nil {
		return nil, err
	}
	assigned, err := r.cluster.Update(ctx, r.log.Account(), *cfg, limits)
	if err != nil {
		return nil, err
	}
	r.want(func() {})
	r.settle()
	if t := r.leader(); t != nil {
		r.cluster.directory.Spread(assigned)
		return t, nil
	}
	return nil, api.NewError(api.ClusterUnavailable)
}

// adopt tells the cluster of a stream that is whole, and of which who has restored it could not tell any more.
func (r *replica) adopt(t *stream) {
	if !t.taking.CompareAndSwap(false, true) {
		return
	}
	s := t.account.service
	s.running.Go(func() {
		defer t.taking.Store(false)
		ctx, cancel := context.WithTimeout(s.ctx, settleTime)
		defer cancel()
		cfg := t.log.Config()
		if _, err := r.whole(ctx, &cfg); err != nil {
			s.logger.Warn("the cluster does not take a stream that was restored; trying again",
				"account", r.log.Account(), "stream", r.log.Name(), "error", err)
		}
	})
}

// abandon has a stream removed that was not restored to the end.
func (r *replica) abandon() {
	a, ok := r.cluster.Stream(r.log.Account(), r.log.Name())
	if !ok || a.ID != r.log.ID() {
		return
	}
	s := r.cluster.service
	s.running.Go(func() {
		ctx, cancel := context.WithTimeout(s.ctx, settleTime)
		defer cancel()
		if err := r.cluster.Delete(ctx, a); err != nil {
			s.logger.Error("cannot remove a stream that was not restored to the end; trying again",
				"account", r.log.Account(), "stream", r.log.Name(), "error", err)
		}
	})
}
