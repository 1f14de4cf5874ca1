package jetstream

import (
	"cmp"

	"runnel/jetlog"
	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/quota"
	"runnel/server/jetstream/reads"
)

// usage is what the account has on this server. A stream that could not be opened counts as a stream; what it has nobody knows.
// Reserved is what streams with max_bytes may have, whether they have it or not.
func (a *account) usage() quota.ByTier {
	all := make(quota.ByTier)
	for _, t := range a.all() {
		cfg := t.config()
		u := all.Of(cfg.Replicas)
		u.Streams++
		if t.offline() {
			continue
		}
		t.addConsumers(all)
		stored, reserved := &u.Store, &u.ReservedStore
		if cfg.Storage == config.MemoryStorage {
			stored, reserved = &u.Memory, &u.ReservedMemory
		}
		*stored += t.log.State().Bytes
		*reserved += uint64(max(cfg.MaxBytes, 0))
	}
	return all
}

// addConsumers counts the consumers of the stream, each for the number of replicas that it was asked for with.
func (t *stream) addConsumers(all quota.ByTier) {
	replicas := t.config().Replicas
	_ = t.log.View(func(state *jetlog.Stream, _ jetlog.Messages) error { // a stream that has gone has none
		for _, c := range state.Consumers() {
			if !reads.Hidden(c) {
				all.Of(cmp.Or(c.Common().Replicas, replicas)).Consumers++
			}
		}
		return nil
	})
}

// accountInfo tells what the account has and may have.
func (s *Service) accountInfo(_ Outlet, r *request) (api.Answer, error) {
	return r.account.about(r.account.usage()), nil
}

// about tells what the account has and may have.
func (a *account) about(has quota.ByTier) *api.AccountInfoAnswer {
	all, tiers := has.Show(a.limits.Load())
	return &api.AccountInfoAnswer{AccountInfo: &api.AccountInfo{
		Usage:  all,
		Domain: a.service.cfg.Domain,
		API:    api.APIStats{Level: api.Level, Total: uint64(a.calls.Load()), Errors: uint64(a.errors.Load())},
		Tiers:  tiers,
	}}
}

// checkLimits tells why a stream may not be made, or changed from old, next to the others of its account. The caller
// holds mu.
func (a *account) checkLimits(cfg *config.Stream, old *stream) error {
	l := a.limits.Load()
	if l == nil {
		return api.NewError(api.NotEnabledForAccount)
	}
	own, err := l.Of(cfg.Replicas)
	if err != nil {
		return err
	}
	if old == nil && own.MaxStreams >= 0 && len(a.streams)+len(a.making) >= own.MaxStreams {
		return api.NewError(api.MaximumStreams)
	}
	if err := own.CheckStream(cfg); err != nil {
		return err
	}
	server := a.service.allowed.Load()
	total, short := server.MaxStoreBytes, api.InsufficientStorage
	if cfg.Storage == config.MemoryStorage {
		total, short = server.MaxMemoryBytes, api.InsufficientMemory
	}
	if cfg.MaxBytes <= 0 {
		return nil // nothing is reserved
	}
	reserved := cfg.MaxBytes
	for o := range a.others(old) {
		if o.Storage == cfg.Storage {
			reserved = quota.AddBytes(reserved, max(o.MaxBytes, 0))
		}
	}
	if all := own.MaxBytes(cfg.Storage); all >= 0 && reserved > all || total >= 0 && reserved > total {
		return api.NewError(short)
	}
	return nil
}
