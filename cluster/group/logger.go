package group

import (
	"context"
	"log/slog"
	"strings"

	"github.com/hashicorp/go-hclog"
)

// raftLogger gives raft's lines to slog. Most of what raft warns of is its daily business (a peer that does not answer, an
// election), of which the host knows from its own watch, and with thousands of groups it would be a flood: that is for debugging.
type raftLogger struct {
	hclog.Logger // what raft does not use does nothing
	out          *slog.Logger
	args         []any
}

// newRaftLogger returns a logger whose lines begin with args. Unlike those of a slog.Logger they are written anew for each line: there
// are many groups, and few lines.
func newRaftLogger(out *slog.Logger, args ...any) hclog.Logger {
	return &raftLogger{Logger: hclog.NewNullLogger(), out: out, args: args}
}

// daily are the beginnings of errors that are no cause for concern by themselves.
var daily = [...]string{
	"failed to heartbeat to", "failed to appendEntries to", "failed to make requestVote RPC", "failed to pipeline appendEntries",
	"failed to start pipeline replication", "failed to get log", "failed to send snapshot to", "failed to install snapshot",
	"failed to persist vote", "peer has newer term", "failed to create snapshot to install",
}

// level is how loud a line is for us.
func level(l hclog.Level, msg string) slog.Level {
	if l < hclog.Error {
		return slog.LevelDebug
	}
	for _, d := range daily {
		if strings.HasPrefix(msg, d) {
			return slog.LevelDebug
		}
	}
	return slog.LevelWarn
}

// Log implements hclog.Logger, like all below.
func (l *raftLogger) Log(at hclog.Level, msg string, args ...any) {
	if lv := level(at, msg); l.out.Enabled(context.Background(), lv) {
		l.out.Log(context.Background(), lv, "raft: "+msg, append(l.args[:len(l.args):len(l.args)], args...)...)
	}
}

func (l *raftLogger) Trace(msg string, args ...any) { l.Log(hclog.Trace, msg, args...) }
func (l *raftLogger) Debug(msg string, args ...any) { l.Log(hclog.Debug, msg, args...) }
func (l *raftLogger) Info(msg string, args ...any)  { l.Log(hclog.Info, msg, args...) }
func (l *raftLogger) Warn(msg string, args ...any)  { l.Log(hclog.Warn, msg, args...) }
func (l *raftLogger) Error(msg string, args ...any) { l.Log(hclog.Error, msg, args...) }

func (l *raftLogger) debugs() bool  { return l.out.Enabled(context.Background(), slog.LevelDebug) }
func (l *raftLogger) IsTrace() bool { return l.debugs() }
func (l *raftLogger) IsDebug() bool { return l.debugs() }
func (l *raftLogger) IsInfo() bool  { return l.debugs() }
func (l *raftLogger) IsWarn() bool  { return true }
func (l *raftLogger) IsError() bool { return true }

// With implements hclog.Logger.
func (l *raftLogger) With(args ...any) hclog.Logger {
	c := *l
	c.args = append(l.args[:len(l.args):len(l.args)], args...)
	return &c
}

// GetLevel implements hclog.Logger.
func (l *raftLogger) GetLevel() hclog.Level {
	if l.debugs() {
		return hclog.Debug
	}
	return hclog.Warn
}
