// Package allowance is what accounts may keep, as the options or the claims of an account say.
package allowance

import (
	"runnel/conf"
	"runnel/server/jetstream/quota"
	"runnel/server/operator"
)

// Configured is what an account of the options may keep, nil if it may not keep anything.
func Configured(o *conf.Options, account string) *quota.Limits {
	l := o.JetStreamOf(account)
	if l == nil {
		return nil
	}
	return &quota.Limits{
		MaxMemoryBytes:       l.MaxMemoryBytes,
		MaxStoreBytes:        l.MaxStoreBytes,
		MaxStreams:           l.MaxStreams,
		MaxConsumers:         l.MaxConsumers,
		MaxAckPending:        l.MaxAckPending,
		MaxMemoryStreamBytes: l.MemoryMaxStreamBytes,
		MaxStoreStreamBytes:  l.StoreMaxStreamBytes,
		MaxBytesRequired:     l.MaxBytesRequired,
	}
}

// Claimed is what the claims of an account let it keep, nil for nothing.
func Claimed(l *operator.JetStream) *quota.Limits {
	if l == nil {
		return nil
	}
	limits := &quota.Limits{
		MaxMemoryBytes:       l.MaxMemoryBytes,
		MaxStoreBytes:        l.MaxStoreBytes,
		MaxStreams:           int(l.MaxStreams),
		MaxConsumers:         int(l.MaxConsumers),
		MaxAckPending:        int(l.MaxAckPending),
		MaxMemoryStreamBytes: l.MaxMemoryStreamBytes,
		MaxStoreStreamBytes:  l.MaxStoreStreamBytes,
		MaxBytesRequired:     l.MaxBytesRequired,
	}
	for replicas, tier := range l.Tiers {
		if limits.Tiers == nil {
			limits.Tiers = make(map[int]*quota.Limits)
		}
		limits.Tiers[replicas] = Claimed(tier)
	}
	return limits
}
