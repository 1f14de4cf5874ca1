package jetstream

import (
	"sync/atomic"
	"time"

	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
)

// stored counts the bytes that streams have: of one account, or of the whole server. It is what publishes are compared
// with, so it costs nothing to ask; it lags behind by what is under way.
type stored struct{ memory, file atomic.Int64 }

// of is the count for a kind of storage.
func (s *stored) of(kind config.Storage) *atomic.Int64 {
	if kind == config.MemoryStorage {
		return &s.memory
	}
	return &s.file
}

// count brings the counts to what the stream has now.
func (t *stream) count() { t.countAs(int64(t.log.State().Bytes)) }

// countIfKnown is count for who applies commands, and must not wait for those who read: if it would have to, the next
// does it.
func (t *stream) countIfKnown() {
	if state, known := t.log.PeekState(); known {
		t.countAs(int64(state.Bytes))
	}
}

// countAs brings the counts to so many bytes of the stream.
func (t *stream) countAs(bytes int64) {
	more := bytes - t.counted.Swap(bytes)
	if more == 0 {
		return
	}
	kind := t.config().Storage
	t.account.stored.of(kind).Add(more)
	t.account.service.stored.of(kind).Add(more)
}

const (
	// countEvery is after how many messages of a stream the counts are brought up to date,
	countEvery = 16
	// countNear is how near a limit may be before that is done for each message,
	countNear = 32 << 20
	// countAgain is how often all streams are counted while a limit is reached: acknowledgements make room too.
	countAgain = 100 * time.Millisecond
)

// admit tells ingest why a message of some bytes is not stored: the account or the server has no room for it.
func (t *stream) admit(bytes int) *api.Error {
	l := t.account.limits.Load()
	if l == nil {
		return api.NewError(api.NotEnabledForAccount)
	}
	all := t.account.service.allowed.Load()
	kind := t.config().Storage
	most, total := l.MaxStoreBytes, all.MaxStoreBytes
	if kind == config.MemoryStorage {
		most, total = l.MaxMemoryBytes, all.MaxMemoryBytes
	}
	if !t.fits(&t.account.stored, kind, bytes, most) {
		return api.NewError(api.AccountExceeded)
	}
	if !t.fits(&t.account.service.stored, kind, bytes, total) {
		return api.NewError(api.InsufficientResources)
	}
	return nil
}

// fits tells whether so many bytes more stay within a limit, -1 for none.
func (t *stream) fits(used *stored, kind config.Storage, bytes int, limit int64) bool {
	if limit < 0 {
		return true
	}
	count := used.of(kind)
	room := limit - int64(bytes)
	if count.Load() <= room-countNear {
		return true
	}
	t.count()
	if count.Load() > room {
		t.account.service.recount()
	}
	return count.Load() <= room
}

// recount counts all streams, unless that was done a moment ago.
func (s *Service) recount() {
	now := s.now()
	last := s.counted.Load()
	if now-last < int64(countAgain) || !s.counted.CompareAndSwap(last, now) {
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
