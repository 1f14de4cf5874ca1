package fault

import (
	"context"
	"errors"

	"runnel/chaos/disk"
	"runnel/chaos/process"
)

// pairs are two faults that meet: a minority is away, and while it is, one of those that go on without it is lost and the rest of them
// stand still, so that a majority forms of which some were not there.
func pairs() []Kind {
	return []Kind{
		{Name: "pause-kill", Text: "a minority stands still; then one of the others is killed, the rest stand still and the minority goes on", Takes: Minority, Least: 3, do: pauseKill},
		{Name: "cut-kill", Text: "a minority is cut off; then one of the others is killed, the rest are cut off and the minority comes back", Takes: Minority, Least: 3, do: cutKill},
		{Name: "forgetful-majority", Text: "one server is away; then another one is killed, loses what it has not synced, and the two go on without the rest", Takes: One, Least: 3, do: forgetful, missing: func(*Runner) error { return disk.Tracing() }},
	}
}

// pauseKill has those that stood still meet one that was killed: of what was acknowledged meanwhile only its disk knows.
func pauseKill(ctx context.Context, r *Runner, s Step, servers []*process.Server) error {
	others := r.Cluster.Others(servers...)
	victim, rest := others[0], others[1:]
	if err := process.Each(servers, (*process.Server).Pause); err != nil {
		return errors.Join(err, process.Each(servers, resume))
	}
	err := r.last(ctx, s.For/3, func(ctx context.Context) error {
		return errors.Join(victim.Kill(), process.Each(rest, (*process.Server).Pause), process.Each(servers, resume), start(ctx, []*process.Server{victim}))
	})
	return errors.Join(err, r.last(ctx, s.For/3, func(context.Context) error { return process.Each(rest, resume) }))
}

// cutKill is the same with a network: those that were cut off have gone on, and may have held elections.
func cutKill(ctx context.Context, r *Runner, s Step, servers []*process.Server) error {
	others := r.Cluster.Others(servers...)
	victim, rest := others[0], others[1:]
	part(r.Cluster, servers)
	err := r.last(ctx, s.For/3, func(ctx context.Context) error {
		err := victim.Kill()
		r.Cluster.Mesh().Heal()
		part(r.Cluster, rest)
		return errors.Join(err, start(ctx, []*process.Server{victim}))
	})
	return errors.Join(err, r.last(ctx, s.For/3, func(context.Context) error {
		r.Cluster.Mesh().Heal()
		return nil
	}))
}
