package jetstream

import (
	"time"

	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/quota"
)

// count brings the counts to what the stream has now.
func (t *stream) count() { t.countAs(int64(t.log.State().Bytes)) }

// countIfKnown is count for who applies commands, and must not wait for those who read: if it would have to, the next
// does it.
func (t *stream) countIfKnown() {
	if state, known := t.log.PeekState(); known {
		t.countAs(int64(state.Bytes))
	}
}

// countAs brings the counts to so many bytes of the stream: those of the server, and those of its account if it is led here.
func (t *stream) countAs(bytes int64) {
	cfg := t.config()
	if more := bytes - t.counted.Swap(bytes); more != 0 {
		t.account.service.stored.Of(cfg.Storage).Add(more)
	}
	if t.speaks() {
		t.account.used.Set(t.log.ID(), cfg, bytes)
	}
}

// speaks tells whether what the stream has counts here for its account.
func (t *stream) speaks() bool { return t.account.service.cluster == nil || t.term != 0 }

// uncount takes what the stream has off the counts. In a cluster it still has it: another server will say so.
func (t *stream) uncount() {
	t.account.service.stored.Of(t.config().Storage).Add(-t.counted.Swap(0))
	switch {
	case t.account.service.cluster == nil:
		t.account.used.Remove(t.log.ID())
	case t.speaks():
		t.account.used.Rest(t.log.ID())
	}
}

const (
	// countEvery is after how many messages of a stream the counts are brought up to date,
	countEvery = 16
	// countAgain is how often all streams are counted while a limit is reached: acknowledgements make room too.
	countAgain = 100 * time.Millisecond
)

// admit tells ingest why a message of some bytes is not stored: the account or the server has no room for it.
func (t *stream) admit(bytes int) *api.Error {
	l := t.account.limits.Load()
	if l == nil {
		return api.NewError(api.NotEnabledForAccount)
	}
	cfg := t.config()
	own, err := l.Of(cfg.Replicas)
	if err != nil {
		return api.FromConfig(err)
	}
	if !t.fits(own.MaxBytes(cfg.Storage), l.Weight(cfg)*int64(bytes), func() int64 { return t.account.used.Bytes(l, cfg) }) {
		return api.NewError(api.AccountExceeded)
	}
	s := t.account.service
	if !s.allowed.Load().fits(t, cfg.Storage, bytes) {
		return api.NewError(api.InsufficientResources)
	}
	return nil
}

// fits tells whether the server has room for so many bytes more of a stream.
func (l *Limits) fits(t *stream, kind config.Storage, bytes int) bool {
	limit := l.MaxStoreBytes
	if kind == config.MemoryStorage {
		limit = l.MaxMemoryBytes
	}
	return t.fits(limit, int64(bytes), t.account.service.stored.Of(kind).Load)
}

// fits tells whether so many bytes more stay within a limit, -1 for none.
func (t *stream) fits(limit, bytes int64, used func() int64) bool {
	return quota.Fits(limit, bytes, used, t.count, t.account.service.recount)
}

// recount counts all streams, unless that was done a moment ago.
func (s *Service) recount() {
	now := s.now()
	last := s.counted.Load()
	if passed := now - last; passed >= 0 && passed < int64(countAgain) || !s.counted.CompareAndSwap(last, now) {
		return
	}
	for _, a := range s.all() {
		for _, t := range a.all() {
			if !t.offline() {
				t.count()
			}
		}
	}
}
