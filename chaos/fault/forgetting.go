package fault

import (
	"context"
	"errors"
	"fmt"

	"runnel/chaos/disk"
	"runnel/chaos/process"
)

// forget has some servers lose, all at the same instant, what they have written during the step and not synced.
func forget(ctx context.Context, r *Runner, s Step, servers []*process.Server) error {
	memories, err := r.remember(ctx, servers)
	if err != nil {
		return err
	}
	err = r.last(ctx, s.For, func(ctx context.Context) error { return errors.Join(r.forget(memories), start(ctx, servers)) })
	return errors.Join(err, closeAll(memories), r.settle(ctx))
}

// forgetful has a majority come about of which neither was there for all that was acknowledged, or remembers it unless it has synced it: one
// server is away while the others work, then another one forgets what it did meanwhile, the rest stand still, and the first comes back.
func forgetful(ctx context.Context, r *Runner, s Step, servers []*process.Server) error {
	away := servers[0]
	others := r.Cluster.Others(away)
	victim, rest := others[0], others[1:]
	if err := r.settle(ctx); err != nil {
		return err
	}
	if err := away.Kill(); err != nil {
		return err
	}
	memories, err := r.remember(ctx, []*process.Server{victim})
	err = errors.Join(err, r.last(ctx, s.For/2, func(ctx context.Context) error {
		return errors.Join(
			r.forget(memories), process.Each(rest, (*process.Server).Pause), start(ctx, []*process.Server{away, victim}),
		)
	}))
	err = errors.Join(err, r.last(ctx, s.For/2, func(context.Context) error { return process.Each(rest, resume) }))
	return errors.Join(err, closeAll(memories), r.settle(ctx))
}

// memory is what a server had when it began to forget.
type memory struct {
	server *process.Server
	disk   *disk.Forgetting
}

// remember has servers begin to forget.
func (r *Runner) remember(ctx context.Context, servers []*process.Server) (memories []memory, err error) {
	for _, s := range servers {
		f, err := disk.BeginForgetting(ctx, s, s.StoreDir()+".kept")
		if err != nil {
			return nil, errors.Join(err, closeAll(memories))
		}
		memories = append(memories, memory{s, f})
	}
	return memories, nil
}

// forget kills servers, all of which stand still from the same instant on, and has them forget.
func (r *Runner) forget(memories []memory) error {
	var servers []*process.Server
	for _, m := range memories {
		servers = append(servers, m.server)
		expectDamage(r.Cluster, m.server)
	}
	err := errors.Join(process.Each(servers, (*process.Server).Pause), process.Each(servers, (*process.Server).Kill))
	for _, m := range memories {
		lost, failed := m.disk.Forget()
		switch {
		case failed == nil:
			r.note(fmt.Sprintf("%s: %s", m.server.Name(), lost))
		case errors.Is(failed, disk.ErrSynced):
			failed = fmt.Errorf("not runnable here: %w", failed)
		}
		err = errors.Join(err, failed)
	}
	return err
}

func closeAll(memories []memory) (err error) {
	for _, m := range memories {
		err = errors.Join(err, m.disk.Close())
	}
	return err
}
