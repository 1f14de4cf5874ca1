package store

import (
	"sync/atomic"
	"time"

	"runnel/jetlog/config"
	"runnel/jetlog/wal"
)

// syncing is what a stream promises besides what the log does.
type syncing struct {
	always   atomic.Bool   // results wait for a sync although the log, or the shard, does not
	interval atomic.Int64  // after which a sync has to follow, 0 if nobody has to see to that
	armed    atomic.Bool   // timer runs
	position atomic.Uint64 // that has to be synced when it ends
	timer    *time.Timer   // belongs to the applier
}

// stop ends the timer, when no applier runs any more.
func (y *syncing) stop() {
	if y.timer != nil {
		y.timer.Stop()
	}
}

// policyOf is what results of a stream wait for, by its configuration and that of the store.
func (s *Store) policyOf(cfg *config.Stream) wal.Policy {
	if cfg.Storage != config.FileStorage {
		return s.cfg.Policy
	}
	switch cfg.Sync().Policy {
	case config.SyncAlways:
		return wal.Always
	case config.SyncInterval:
		return wal.Interval
	case config.SyncOS:
		return wal.OS
	}
	return s.cfg.Policy
}

// assign gives the stream its shard, while no command is on its way.
func (t *Stream) assign() {
	s, cfg := t.store, t.state.Config()
	shards := s.shards
	if t.relaxed = s.cfg.Policy == wal.Always && s.policyOf(cfg) != wal.Always; t.relaxed {
		shards = s.relaxed
	}
	t.shard = shards[t.id%uint64(len(shards))]
	t.promise(cfg)
}

// promise takes over the policy of a configuration. A stream that was opened with a policy no less strict than
// that of the store keeps to it until it is opened again: its commands would be carried out in another order
// than that of the log. Whatever is stricter holds at once.
func (t *Stream) promise(cfg *config.Stream) {
	if !t.file.Load() {
		return
	}
	s := t.store
	policy := s.policyOf(cfg)
	t.syncing.always.Store(policy == wal.Always && (t.relaxed || s.cfg.Policy != wal.Always))
	every := cfg.Sync().Interval
	if policy != wal.Interval || s.cfg.Policy == wal.Interval && s.cfg.Interval <= every {
		every = 0 // nobody asks for it, or the log does it by itself
	}
	t.syncing.interval.Store(int64(every))
}

// hasten sees to it that what was carried out is synced before the interval of the stream is over.
func (t *Stream) hasten(p wal.Position) {
	y := &t.syncing
	every := time.Duration(y.interval.Load())
	if every == 0 {
		return
	}
	y.position.Store(uint64(p))
	if y.armed.Swap(true) {
		return
	}
	y.timer = time.AfterFunc(every, func() {
		y.armed.Store(false)
		t.log().Hasten(wal.Position(y.position.Load()))
	})
}
