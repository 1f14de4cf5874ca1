package group

import (
	"math"
	"time"

	"github.com/hashicorp/raft"
)

// Timing are the delays of a group. They are long: an idle group should cost nothing, and it is not by silence within a group that
// a dead server is found but by the host, which has groups campaign.
type Timing struct {
	// Heartbeat is after how long a follower that hears nothing campaigns; 10 s if zero. Leaders are heard of every tenth of it.
	Heartbeat time.Duration
	// Election is how long a candidate waits for votes; 10 s if zero, and not less than Heartbeat.
	Election time.Duration
	// Lease is after how long a leader that hears of no majority stops leading; 4 s if zero, and not more than Heartbeat.
	Lease time.Duration
	// Commit is when an idle follower is told of the commit index at the latest, if the transport does not; 30 s if zero.
	Commit time.Duration
}

// year is never, for raft.
const year = 365 * 24 * time.Hour

// Limits of the traffic of one group.
const (
	entryBytes  = 256 << 10 // records of a packed entry; a proposal that is larger goes alone
	maxAppend   = 64        // entries of one request
	maxInFlight = 16        // entries that raft has got and not returned; raft's buffer has room for all of them
)

// raftConfig is how raft is run: no snapshots, no output of its own, no end of the process.
func (g *Group) raftConfig() *raft.Config {
	or := func(d, usual time.Duration) time.Duration {
		if d == 0 {
			return usual
		}
		return d
	}
	t := g.cfg.Timing
	return &raft.Config{
		ProtocolVersion:          raft.ProtocolVersionMax,
		LocalID:                  raft.ServerID(g.cfg.Self),
		HeartbeatTimeout:         or(t.Heartbeat, 10*time.Second),
		ElectionTimeout:          or(t.Election, 10*time.Second),
		LeaderLeaseTimeout:       or(t.Lease, 4*time.Second),
		CommitTimeout:            or(t.Commit, 30*time.Second),
		MaxAppendEntries:         maxAppend,
		BatchApplyCh:             true,
		ShutdownOnRemove:         false,
		SnapshotInterval:         year, // raft adds a random part
		SnapshotThreshold:        math.MaxUint64,
		TrailingLogs:             math.MaxUint64,
		NoSnapshotRestoreOnStart: true,
		NoLegacyTelemetry:        true,
		Logger:                   newRaftLogger(g.logger, "group", g.cfg.ID),
	}
}
