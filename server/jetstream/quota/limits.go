package quota

import (
	"math"

	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
)

// Limits are what one account may use. -1 is no limit.
type Limits struct {
	// MaxMemoryBytes and MaxStoreBytes are of all replicas together; in a tier each message counts once.
	MaxMemoryBytes, MaxStoreBytes int64
	MaxStreams                    int
	// MaxConsumers is of one stream.
	MaxConsumers  int
	MaxAckPending int
	// MaxMemoryStreamBytes and MaxStoreStreamBytes bound the max_bytes of one stream; 0 is no limit too.
	MaxMemoryStreamBytes, MaxStoreStreamBytes int64
	// MaxBytesRequired asks that every stream has max_bytes.
	MaxBytesRequired bool
	// Tiers are the limits for streams of one number of replicas each. If there are some the others mean nothing, and streams of other
	// numbers of replicas are not allowed. A tier has no tiers.
	Tiers map[int]*Limits
}

// Unlimited are the limits of an account that has none.
func Unlimited() *Limits {
	return &Limits{MaxMemoryBytes: -1, MaxStoreBytes: -1, MaxStreams: -1, MaxConsumers: -1, MaxAckPending: -1}
}

// Tiered tells whether limits depend on the number of replicas.
func (l *Limits) Tiered() bool { return len(l.Tiers) > 0 }

// Of returns the limits that hold for streams of so many replicas, or the error that there are none.
func (l *Limits) Of(replicas int) (*Limits, error) {
	if !l.Tiered() {
		return l, nil
	}
	if tier := l.Tiers[max(replicas, 1)]; tier != nil {
		return tier, nil
	}
	return nil, api.NewError(api.NoTier)
}

// OfConsumer returns what a consumer of a stream of so many replicas is made within, where the server allows all this. Without limits that is all.
func (l *Limits) OfConsumer(all config.Limits, replicas int) config.Limits {
	if l == nil {
		return all
	}
	own, err := l.Of(replicas)
	if err == nil && own.MaxAckPending > 0 && (all.MaxAckPending <= 0 || own.MaxAckPending < all.MaxAckPending) {
		all.MaxAckPending = own.MaxAckPending
	}
	return all
}

// MaxBytes is what all streams of a kind of storage may have.
func (l *Limits) MaxBytes(kind config.Storage) int64 {
	if kind == config.MemoryStorage {
		return l.MaxMemoryBytes
	}
	return l.MaxStoreBytes
}

// bounded tells whether bytes are limited at all.
func (l *Limits) bounded() bool {
	for _, tier := range l.Tiers {
		if tier.bounded() {
			return true
		}
	}
	return !l.Tiered() && (l.MaxMemoryBytes >= 0 || l.MaxStoreBytes >= 0)
}

// CheckStream tells why the limits do not allow a stream, whatever others there are. They are those that Of returns for it.
func (l *Limits) CheckStream(cfg *config.Stream) error {
	own := l.MaxStoreStreamBytes
	if cfg.Storage == config.MemoryStorage {
		own = l.MaxMemoryStreamBytes
	}
	switch {
	case l.MaxBytesRequired && cfg.MaxBytes <= 0:
		return api.NewError(api.MaxBytesRequired)
	case own > 0 && cfg.MaxBytes > own:
		return api.NewError(api.MaxBytesExceeds)
	}
	return nil
}

// Show are the limits as an answer has them. Where they depend on the number of replicas it has none.
func (l *Limits) Show() api.AccountLimits {
	switch {
	case l == nil:
		return api.Unlimited()
	case l.Tiered():
		return api.AccountLimits{}
	}
	return api.AccountLimits{
		MaxMemory: l.MaxMemoryBytes, MaxStore: l.MaxStoreBytes,
		MaxStreams: l.MaxStreams, MaxConsumers: l.MaxConsumers, MaxAckPending: l.MaxAckPending,
		MemoryStreamBytes: orUnlimited(l.MaxMemoryStreamBytes), StoreStreamBytes: orUnlimited(l.MaxStoreStreamBytes),
		MaxBytesRequired: l.MaxBytesRequired,
	}
}

// orUnlimited shows no limit as -1.
func orUnlimited(n int64) int64 {
	if n <= 0 {
		return -1
	}
	return n
}

// AddBytes is a sum that stays at the largest number.
func AddBytes(a, b int64) int64 {
	if sum := a + b; sum >= a {
		return sum
	}
	return math.MaxInt64
}
