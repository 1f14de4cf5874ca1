package quota

import (
	"sync/atomic"

	"runnel/jetlog/config"
)

// Occupied counts the bytes that streams have on a server. It is what publishes are compared with, so it costs nothing to ask;
// it lags behind by what is under way.
type Occupied struct{ memory, file atomic.Int64 }

// Of is the count for a kind of storage.
func (s *Occupied) Of(kind config.Storage) *atomic.Int64 {
	if kind == config.MemoryStorage {
		return &s.memory
	}
	return &s.file
}

// near is how near a limit may be before it is counted for each message.
const near = 32 << 20

// Fits reports whether so many bytes more stay within a limit, -1 for none. What is used is brought up to date where that may decide:
// by count first, then by all.
func Fits(limit, bytes int64, used func() int64, count, all func()) bool {
	if limit < 0 {
		return true
	}
	room := limit - bytes
	if used() <= room-near {
		return true
	}
	count()
	if used() > room {
		all()
	}
	return used() <= room
}
