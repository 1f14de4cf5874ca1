package clustered

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"runnel/server/jetstream/quota"
)

// countsTime bounds how long other servers are waited for.
const countsTime = 2 * time.Second

// Counts keeps what a server knows of the bytes that streams have which other servers lead. Its methods are safe for concurrent
// use. All fields that can be set are required.
type Counts struct {
	Asker  *Asker
	Quotas *quota.Table
	// Accounts returns the names of the accounts that are served here.
	Accounts func() []string

	hearing atomic.Bool // others are being asked
	pruned  uint64      // Position when streams that are no more were last left out; used by who is hearing

	mu    sync.Mutex            // guards marks
	marks map[string]quota.Mark // how much is known of what each server leads
}

// Hear asks the other servers what the streams have that they lead, if there are accounts whose bytes are limited, unless they are being
// asked already.
func (c *Counts) Hear(ctx context.Context) {
	if !c.Quotas.Bounded() || !c.hearing.CompareAndSwap(false, true) {
		return
	}
	defer c.hearing.Store(false)
	ctx, cancel := context.WithTimeout(ctx, countsTime)
	defer cancel()
	var asking sync.WaitGroup
	for _, node := range c.Asker.Online() {
		if node != c.Asker.Cluster.Self().ID {
			asking.Go(func() { c.hearOf(ctx, node) })
		}
	}
	asking.Wait()
	if now := c.Asker.Cluster.Position(); now != c.pruned {
		c.pruned = now
		c.prune()
	}
}

// hearOf asks one server. What it does not answer now it answers the next time.
func (c *Counts) hearOf(ctx context.Context, node string) {
	c.mu.Lock()
	mark := c.marks[node]
	c.mu.Unlock()
	r, err := c.Asker.One(ctx, node, &Question{Kind: KindStored, Mark: mark})
	if err != nil || r.Stored == nil {
		return
	}
	c.Quotas.Hear(r.Stored)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.marks == nil {
		c.marks = make(map[string]quota.Mark)
	}
	c.marks[node] = r.Stored.Mark
}

// prune takes streams off the counts that there are no more.
func (c *Counts) prune() {
	for _, account := range c.Accounts() {
		there := make(map[uint64]bool)
		for _, s := range c.Asker.Cluster.Streams(account) {
			there[s.ID] = true
		}
		c.Quotas.Account(account).Keep(func(id uint64) bool { return there[id] })
	}
}

// Forget takes a stream that a question is about off the counts if it was deleted.
func (c *Counts) Forget(q *Question) {
	for _, name := range q.Names {
		if a, ok := c.Asker.Cluster.Stream(q.Account, name); !ok || a.ID != q.ID {
			c.Quotas.Account(q.Account).Remove(q.ID)
		}
	}
}
