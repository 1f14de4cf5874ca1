package jetstream

import (
	"context"

	"runnel/server/jetstream/clustered"
)

// known returns when this server has done what was decided about a stream, or the context ends. Whoever asked for it is told
// only then that it is done: with what he does next he may reach any server.
func (c *cluster) known(ctx context.Context, q *clustered.Question) {
	if r := c.replica(q.ID); r != nil && r.deleted() {
		select {
		case <-r.gone:
		case <-ctx.Done():
		}
		return
	}
	c.counts.Forget(q)
	for _, name := range q.Names {
		a, ok := c.Stream(q.Account, name)
		ac := c.service.named(q.Account)
		if ok && a.ID == q.ID && ac != nil && !ac.stream(name).leads() {
			clustered.AwaitReach(ctx, a, func(subject string, tell func(bool)) func() {
				return c.service.cfg.Engine.WatchInterest(ac.account, subject, "", tell)
			})
		}
	}
}
