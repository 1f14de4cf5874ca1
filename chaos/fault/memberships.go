package fault

import (
	"context"
	"errors"

	"runnel/chaos/process"
)

// memberships are changes of who belongs to the cluster, while something else is wrong.
func memberships() []Kind {
	return []Kind{
		{Name: "wipe", Text: "one server loses its disk and comes back under its name as a new one", Takes: One, Least: 3, do: wipe},
		{Name: "replace", Text: "one server is removed for good, and another takes its place", Takes: One, Least: 3, do: replace},
		{Name: "replace-cut", Text: "one server is replaced while another one is cut off", Takes: Two, Least: 5, do: replaceCut},
		{Name: "replace-cut-kill", Text: "one server is replaced while another one is cut off, and then a third is killed", Takes: Three, Least: 5, do: replaceCutKill},
	}
}

// wipe has a server forget who it was in all but its name: it must not vote as if it still knew what it has once acknowledged.
func wipe(ctx context.Context, r *Runner, s Step, servers []*process.Server) error {
	for _, server := range servers {
		if err := errors.Join(server.Kill(), server.Wipe()); err != nil {
			return err
		}
	}
	err := r.last(ctx, s.For, func(ctx context.Context) error { return start(ctx, servers) })
	return errors.Join(err, r.settle(ctx))
}

func replace(ctx context.Context, r *Runner, _ Step, servers []*process.Server) error {
	return errors.Join(r.replaceOne(ctx, servers[0]), r.settle(ctx))
}

// replaceCut replaces a server with as few others at hand as there may be: of five one is new and one is away.
func replaceCut(ctx context.Context, r *Runner, s Step, servers []*process.Server) error {
	part(r.Cluster, servers[1:2])
	err := r.replaceOne(ctx, servers[0])
	err = errors.Join(err, r.last(ctx, s.For, func(context.Context) error {
		r.Cluster.Mesh().Heal()
		return nil
	}))
	return errors.Join(err, r.settle(ctx))
}

// replaceCutKill kills a third while the second is still cut off: of a stream that these three had only the new one is there then.
func replaceCutKill(ctx context.Context, r *Runner, s Step, servers []*process.Server) error {
	part(r.Cluster, servers[1:2])
	err := r.replaceOne(ctx, servers[0])
	err = errors.Join(err, r.last(ctx, s.For/3, func(context.Context) error { return servers[2].Kill() }))
	err = errors.Join(err, r.last(ctx, s.For/3, func(context.Context) error {
		r.Cluster.Mesh().Heal()
		return nil
	}))
	err = errors.Join(err, r.last(ctx, s.For/3, func(ctx context.Context) error { return start(ctx, servers[2:]) }))
	return errors.Join(err, r.settle(ctx))
}

// replaceOne replaces a server, in a time that has an end.
func (r *Runner) replaceOne(ctx context.Context, s *process.Server) error {
	limited, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	_, err := r.Cluster.Replace(limited, s)
	return err
}

// settle waits until all servers are ready: who takes another one away before the new one has what the old one had takes away what
// is nowhere else, which is a fault of its own.
func (r *Runner) settle(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	return r.Cluster.WaitReady(limited)
}
