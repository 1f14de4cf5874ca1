package meta

import (
	"log/slog"

	"github.com/hashicorp/raft"

	"runnel/jetlog/vfs"
)

// Snapshots returns the snapshots of a directory.
func Snapshots(disk vfs.FS, dir string) raft.SnapshotStore { return &snapshots{disk, dir} }

// SplitSnapshot reads a snapshot file.
func SplitSnapshot(b []byte) (state []byte, err error) {
	_, state, err = splitSnapshot(b)
	return state, err
}

// Guard lets a store be used no more once a write has failed.
func Guard(s Store, fail func(error)) Store { return &guarded{Store: s, fail: fail} }

// LogWriter takes raft's log lines.
func LogWriter(l *slog.Logger) interface{ Write([]byte) (int, error) } { return logWriter{l} }

// Unsettled is what is said of who votes.
func Unsettled(members []Peer, voters int, self string) error {
	return unsettled(members, voters, self)
}
