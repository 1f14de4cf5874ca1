package quota

import (
	"fmt"

	"runnel/server/jetstream/api"
)

// ByTier is what an account has by the number of replicas of its streams. The bytes are of all replicas; those that
// are reserved count once for each stream.
type ByTier map[int]*api.Usage

// Of returns what there is of a number of replicas, to be changed.
func (b ByTier) Of(replicas int) *api.Usage {
	n := max(replicas, 1)
	if b[n] == nil {
		b[n] = &api.Usage{}
	}
	return b[n]
}

// Add adds what another one has.
func (b ByTier) Add(more ByTier) {
	for n, u := range more {
		add(b.Of(n), u)
	}
}

// add adds all but the limits.
func add(sum, u *api.Usage) {
	sum.Memory, sum.Store = sum.Memory+u.Memory, sum.Store+u.Store
	sum.ReservedMemory, sum.ReservedStore = sum.ReservedMemory+u.ReservedMemory, sum.ReservedStore+u.ReservedStore
	sum.Streams, sum.Consumers = sum.Streams+u.Streams, sum.Consumers+u.Consumers
}

// Show tells what an account has and may have, all together, and for each tier if the limits have such.
func (b ByTier) Show(l *Limits) (all api.Usage, tiers map[string]api.Tier) {
	for _, u := range b {
		add(&all, u)
	}
	all.Limits = l.Show()
	if l == nil || !l.Tiered() {
		return all, nil
	}
	tiers = make(map[string]api.Tier, len(l.Tiers))
	for n, tier := range l.Tiers {
		var u api.Usage
		if b[n] != nil {
			u = *b[n]
		}
		u.Limits = tier.Show()
		tiers[fmt.Sprintf("R%d", n)] = api.Tier{Usage: u}
	}
	return all, tiers
}
