package jetstream

import (
	"runnel/jetlog"
	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/reads"
)

// usage is what the account has now. A stream that could not be opened counts as a stream; what it has nobody knows.
// Reserved is what streams with max_bytes may have, whether they have it or not.
func (a *account) usage() api.Usage {
	var u api.Usage
	for _, t := range a.all() {
		u.Streams++
		if t.offline() {
			continue
		}
		cfg := t.config()
		_ = t.log.View(func(state *jetlog.Stream, _ jetlog.Messages) error {
			u.Consumers += reads.State(state).Consumers
			return nil
		})
		stored, reserved := &u.Store, &u.ReservedStore
		if cfg.Storage == config.MemoryStorage {
			stored, reserved = &u.Memory, &u.ReservedMemory
		}
		*stored += t.log.State().Bytes
		*reserved += uint64(max(cfg.MaxBytes, 0))
	}
	u.Limits = shownLimits(a.limits.Load())
	return u
}

// shownLimits are an account's limits as an answer has them.
func shownLimits(l *AccountLimits) api.AccountLimits {
	out := api.Unlimited()
	if l == nil {
		return out
	}
	out.MaxMemory, out.MaxStore = l.MaxMemoryBytes, l.MaxStoreBytes
	out.MaxStreams, out.MaxConsumers, out.MaxAckPending = l.MaxStreams, l.MaxConsumers, l.MaxAckPending
	out.MemoryStreamBytes, out.StoreStreamBytes = orUnlimited(l.MaxMemoryStreamBytes), orUnlimited(l.MaxStoreStreamBytes)
	out.MaxBytesRequired = l.MaxBytesRequired
	return out
}

// orUnlimited shows no limit as -1.
func orUnlimited(n int64) int64 {
	if n <= 0 {
		return -1
	}
	return n
}

// accountInfo tells what the account has and may have.
func (s *Service) accountInfo(_ Outlet, r *request) (api.Answer, error) {
	return r.account.about(r.account.usage()), nil
}

// about tells what the account has, which is u but for the limits, and may have.
func (a *account) about(u api.Usage) *api.AccountInfoAnswer {
	u.Limits = shownLimits(a.limits.Load())
	return &api.AccountInfoAnswer{AccountInfo: &api.AccountInfo{
		Usage:  u,
		Domain: a.service.cfg.Domain,
		API:    api.APIStats{Level: api.Level, Total: uint64(a.calls.Load()), Errors: uint64(a.errors.Load())},
	}}
}

// checkLimits tells why a stream may not be made, or changed from old, next to the others of its account. The caller
// holds mu.
func (a *account) checkLimits(cfg *config.Stream, old *stream) error {
	l := a.limits.Load()
	if l == nil {
		return api.NewError(api.NotEnabledForAccount)
	}
	if old == nil && l.MaxStreams >= 0 && len(a.streams)+len(a.making) >= l.MaxStreams {
		return api.NewError(api.MaximumStreams)
	}
	if err := l.checkStream(cfg); err != nil {
		return err
	}
	server := a.service.allowed.Load()
	all, total := l.MaxStoreBytes, server.MaxStoreBytes
	short := api.InsufficientStorage
	if cfg.Storage == config.MemoryStorage {
		all, total = l.MaxMemoryBytes, server.MaxMemoryBytes
		short = api.InsufficientMemory
	}
	if cfg.MaxBytes <= 0 {
		return nil // nothing is reserved
	}
	reserved := cfg.MaxBytes
	for o := range a.others(old) {
		if o.Storage == cfg.Storage {
			reserved = addBytes(reserved, max(o.MaxBytes, 0))
		}
	}
	if all >= 0 && reserved > all || total >= 0 && reserved > total {
		return api.NewError(short)
	}
	return nil
}

// checkStream tells why the limits do not allow a stream, whatever others there are.
func (l *AccountLimits) checkStream(cfg *config.Stream) error {
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

// addBytes is a sum that stays at the largest number.
func addBytes(a, b int64) int64 {
	if sum := a + b; sum >= a {
		return sum
	}
	return 1<<63 - 1
}
