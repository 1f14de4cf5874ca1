package fault

import (
	"context"
	"errors"
	"time"

	"runnel/chaos/process"
)

// endings are faults of processes.
func endings() []Kind {
	return []Kind{
		{Name: "kill", Text: "one server is killed and started again", Takes: One, do: kill},
		{Name: "kill-minority", Text: "as many as may fail are killed at once", Takes: Minority, do: kill},
		{Name: "kill-majority", Text: "more than may fail are killed at once", Takes: Majority, do: kill},
		{Name: "kill-all", Text: "all are killed at once", Takes: All, do: kill},
		{Name: "pause", Text: "one server stands still", Takes: One, do: pause},
		{Name: "pause-majority", Text: "more than may fail stand still", Takes: Majority, do: pause},
		{Name: "restart", Text: "one server is asked to end, and started again", Takes: One, do: restart},
		{Name: "rolling-restart", Text: "one after the other leaves in lame duck mode and comes back, each when the one before is ready", Takes: All, do: rolling},
	}
}

// kill ends servers without a warning: what they have not synced the system still has, unlike with forget.
func kill(ctx context.Context, r *Runner, s Step, servers []*process.Server) error {
	if err := process.Each(servers, (*process.Server).Kill); err != nil {
		return err
	}
	return r.last(ctx, s.For, func(ctx context.Context) error { return start(ctx, servers) })
}

// start starts servers that are down.
func start(ctx context.Context, servers []*process.Server) error {
	return process.Each(servers, func(s *process.Server) error {
		if s.Running() {
			return nil
		}
		return s.Start(ctx)
	})
}

// pause has servers stand still, with all connections open: the others learn of it by their silence only.
func pause(ctx context.Context, r *Runner, s Step, servers []*process.Server) error {
	if err := process.Each(servers, (*process.Server).Pause); err != nil {
		return errors.Join(err, process.Each(servers, resume))
	}
	return r.last(ctx, s.For, func(context.Context) error { return process.Each(servers, resume) })
}

// resume lets a server go on that may be paused.
func resume(s *process.Server) error {
	if !s.Paused() {
		return nil
	}
	return s.Resume()
}

// restart asks servers to end, which have the time to hand over and to close what they have.
func restart(ctx context.Context, r *Runner, s Step, servers []*process.Server) error {
	for _, server := range servers {
		if err := server.Stop(ctx); err != nil {
			return err
		}
	}
	return r.last(ctx, s.For, func(ctx context.Context) error { return start(ctx, servers) })
}

// readyTime is how long a server of a rolling restart may take to be one that the next need not wait for.
const readyTime = time.Minute

// rolling never has two servers away at once, so there is a majority all the time, and clients must find it.
func rolling(ctx context.Context, r *Runner, _ Step, servers []*process.Server) error {
	for _, s := range servers {
		if err := s.LameDuck(ctx); err != nil {
			return err
		}
		err := r.last(ctx, 0, func(ctx context.Context) error { return start(ctx, []*process.Server{s}) })
		if err != nil {
			return err
		}
		limited, cancel := context.WithTimeout(ctx, readyTime)
		err = r.Cluster.WaitReady(limited)
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}
