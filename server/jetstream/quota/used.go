package quota

import (
	"sync"
	"sync/atomic"

	"runnel/jetlog/config"
)

// replicasMost is the largest number of replicas.
const replicasMost = 5

// Used is what the streams of one account have. Its methods are safe for concurrent use.
type Used struct {
	table *Table
	// bounded tells whether anybody needs to know.
	bounded atomic.Bool
	// sums are the bytes by number of replicas and storage, of one replica each. They are changed with mu held.
	sums [replicasMost + 1][2]atomic.Int64

	mu      sync.Mutex // guards streams
	streams map[uint64]*entry
}

// entry is a stream that has something, or had.
type entry struct {
	Stored
	here   bool   // it is led here
	change uint64 // of the table, when that changed
}

// Stored is what a stream has.
type Stored struct {
	ID       uint64 `json:"id"`
	Replicas int    `json:"replicas"`
	Memory   bool   `json:"memory,omitempty"`
	Bytes    int64  `json:"bytes"` // of one replica
}

// place is where the bytes of a stream count.
func (u *Used) place(s *Stored) *atomic.Int64 {
	kind := 0
	if s.Memory {
		kind = 1
	}
	return &u.sums[min(max(s.Replicas, 1), replicasMost)][kind]
}

// SetLimits notes what limits the account has, nil for none.
func (u *Used) SetLimits(l *Limits) {
	bounded := l != nil && l.bounded()
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.bounded.Swap(bounded) || !bounded {
		return
	}
	for _, e := range u.streams { // of which others were not told so far
		e.change = u.table.changes.Add(1)
	}
}

// Set tells what a stream has that is led here.
func (u *Used) Set(id uint64, cfg *config.Stream, bytes int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	s := Stored{ID: id, Replicas: cfg.Replicas, Memory: cfg.Storage == config.MemoryStorage, Bytes: bytes}
	e := u.streams[id]
	if e != nil && e.here && e.Stored == s {
		return
	}
	u.putLocked(s, true).change = u.table.changes.Add(1)
}

// putLocked notes what a stream has. The caller holds mu.
func (u *Used) putLocked(s Stored, here bool) *entry {
	e := u.streams[s.ID]
	if e == nil {
		e = &entry{}
		u.streams[s.ID] = e
	} else {
		u.place(&e.Stored).Add(-e.Bytes)
	}
	e.Stored, e.here = s, here
	u.place(&s).Add(s.Bytes)
	return e
}

// Rest tells that a stream is not led here any more: what it has others say from now on.
func (u *Used) Rest(id uint64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if e := u.streams[id]; e != nil {
		e.here = false
	}
}

// Remove tells that there is a stream no more.
func (u *Used) Remove(id uint64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.removeLocked(id)
}

func (u *Used) removeLocked(id uint64) {
	if e := u.streams[id]; e != nil {
		u.place(&e.Stored).Add(-e.Bytes)
		delete(u.streams, id)
	}
}

// Keep removes all streams that there are no more.
func (u *Used) Keep(there func(id uint64) bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for id := range u.streams {
		if !there(id) {
			u.removeLocked(id)
		}
	}
}

// since returns what has changed of what is led here behind a change of the table.
func (u *Used) since(change uint64) (list []Stored) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, e := range u.streams {
		if e.here && e.change > change {
			list = append(list, e.Stored)
		}
	}
	return list
}

// hear takes in what another server says. What is led here that one cannot know.
func (u *Used) hear(list []Stored) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, s := range list {
		if e := u.streams[s.ID]; e == nil || !e.here {
			u.putLocked(s, false)
		}
	}
}

// Bytes is what counts against the limits of an account for a stream of this configuration.
func (u *Used) Bytes(l *Limits, cfg *config.Stream) int64 {
	kind, n := 0, min(max(cfg.Replicas, 1), replicasMost)
	if cfg.Storage == config.MemoryStorage {
		kind = 1
	}
	if l.Tiered() {
		return u.sums[n][kind].Load()
	}
	sum := int64(0)
	for n := 1; n <= replicasMost; n++ {
		sum += int64(n) * u.sums[n][kind].Load()
	}
	return sum
}

// Weight is how often a message of a stream counts.
func (l *Limits) Weight(cfg *config.Stream) int64 {
	if l.Tiered() {
		return 1
	}
	return int64(max(cfg.Replicas, 1))
}
