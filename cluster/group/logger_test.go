package group_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"runnel/cluster/group"
)

func TestRaftLogger(t *testing.T) {
	tests := []struct {
		name string
		log  func(hclog.Logger)
		want string // beginning of the line; empty for none
	}{
		{"daily business", func(l hclog.Logger) { l.Error("failed to heartbeat to", "peer", "a") }, ""},
		{"a warning", func(l hclog.Logger) { l.Warn("heartbeat timeout reached, starting election") }, ""},
		{"information", func(l hclog.Logger) { l.Info("entering follower state") }, ""},
		{"an error", func(l hclog.Logger) { l.Error("failed to commit logs", "error", errors.New("x")) }, `level=WARN msg="raft: failed to commit logs" group=7 error=x`},
		{"with more", func(l hclog.Logger) { l.With("id", 1).Error("failed to list snapshots") }, `level=WARN msg="raft: failed to list snapshots" group=7 id=1`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var b bytes.Buffer
			out := slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
				if a.Key == slog.TimeKey {
					return slog.Attr{}
				}
				return a
			}}))
			l := group.NewRaftLogger(out, "group", 7)
			test.log(l)
			if got := strings.TrimSpace(b.String()); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if l.IsDebug() || l.IsTrace() || l.IsInfo() || !l.IsWarn() || !l.IsError() || l.GetLevel() != hclog.Warn {
				t.Error("its level is not that of warnings")
			}
		})
	}
}

func TestRaftLoggerDebugs(t *testing.T) {
	var b bytes.Buffer
	l := group.NewRaftLogger(slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug})))
	l.Trace("one")
	l.Debug("two")
	if got := strings.Count(b.String(), "level=DEBUG"); got != 2 || l.GetLevel() != hclog.Debug {
		t.Errorf("%d lines in %q, want 2", got, b.String())
	}
}
