package jetstream

import (
	"context"
	"sync"
	"time"

	"runnel/server/jetstream/clustered"
)

// hearTime bounds how long other servers are waited for.
const hearTime = 2 * time.Second

// hear asks the other servers what the streams have that they lead, in accounts whose bytes are limited. It does not wait.
func (c *cluster) hear() {
	s := c.service
	if !s.quotas.Bounded() || !c.hearing.CompareAndSwap(false, true) {
		return
	}
	s.running.Go(func() {
		defer c.hearing.Store(false)
		ctx, cancel := context.WithTimeout(s.ctx, hearTime)
		defer cancel()
		var asking sync.WaitGroup
		for _, node := range c.asker.Online() {
			if node != c.Self().ID {
				asking.Go(func() { c.hearOf(ctx, node) })
			}
		}
		asking.Wait()
		if now := c.Position(); now != c.pruned {
			c.pruned = now
			c.prune()
		}
	})
}

// hearOf asks one server. What it does not answer now it answers the next time.
func (c *cluster) hearOf(ctx context.Context, node string) {
	c.mu.Lock()
	mark := c.marks[node]
	c.mu.Unlock()
	r, err := c.asker.One(ctx, node, &clustered.Question{Kind: clustered.KindStored, Mark: mark})
	if err != nil || r.Stored == nil {
		return
	}
	c.service.quotas.Hear(r.Stored)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.marks[node] = r.Stored.Mark
}

// prune takes streams off the counts that there are no more.
func (c *cluster) prune() {
	for _, a := range c.service.served() {
		there := make(map[uint64]bool)
		for _, s := range c.Streams(a.account.Name()) {
			there[s.ID] = true
		}
		a.used.Keep(func(id uint64) bool { return there[id] })
	}
}

// forget takes a stream off the counts if it was deleted.
func (c *cluster) forget(q *clustered.Question) {
	for _, name := range q.Names {
		if a, ok := c.Stream(q.Account, name); !ok || a.ID != q.ID {
			c.service.quotas.Account(q.Account).Remove(q.ID)
		}
	}
}
