package meta

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
)

// logWriter takes raft's log lines and passes on what is worth it.
type logWriter struct{ logger *slog.Logger }

// Write takes lines such as `2026-01-02T15:04:05.000Z [WARN]  raft: text: key=value`.
func (w logWriter) Write(b []byte) (int, error) {
	for line := range bytes.Lines(b) {
		_, text, ok := strings.Cut(strings.TrimSpace(string(line)), "[")
		if !ok {
			continue
		}
		level, text, _ := strings.Cut(text, "]")
		_, text, _ = strings.Cut(text, "raft: ")
		at := slog.LevelDebug // raft warns, often, of all that happens when another server is not there
		if level == "ERROR" && !strings.Contains(text, "peer=") && !strings.Contains(text, "target=") {
			at = slog.LevelWarn
		}
		w.logger.Log(context.Background(), at, "meta group: "+text)
	}
	return len(b), nil
}
