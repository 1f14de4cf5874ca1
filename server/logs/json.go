package logs

import (
	"context"
	"log/slog"
)

// jsonHandler is slog's own handler with our levels and switches.
type jsonHandler struct {
	slog.Handler
	log *Log
}

func newJSONHandler(l *Log) *jsonHandler {
	return &jsonHandler{
		log: l,
		Handler: slog.NewJSONHandler(currentSink{l}, &slog.HandlerOptions{
			Level:       LevelTrace,
			ReplaceAttr: l.replaceAttr,
		}),
	}
}

// Enabled reports whether records of this level are wanted now.
func (h *jsonHandler) Enabled(_ context.Context, level slog.Level) bool {
	return h.log.enabled(level)
}

// WithAttrs returns a handler that adds attributes to each record.
func (h *jsonHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &jsonHandler{h.Handler.WithAttrs(attrs), h.log}
}

// WithGroup returns a handler that puts the attributes to come into an object.
func (h *jsonHandler) WithGroup(name string) slog.Handler {
	return &jsonHandler{h.Handler.WithGroup(name), h.log}
}

// replaceAttr applies the time switches and names the levels that slog does
// not know.
func (l *Log) replaceAttr(groups []string, a slog.Attr) slog.Attr {
	if len(groups) > 0 {
		return a
	}
	switch {
	case a.Key == slog.TimeKey && a.Value.Kind() == slog.KindTime:
		cfg := &l.current.Load().cfg
		if !cfg.Time {
			return slog.Attr{}
		}
		if cfg.UTC {
			a.Value = slog.TimeValue(a.Value.Time().UTC())
		}
	case a.Key == slog.LevelKey:
		switch a.Value.Any() {
		case LevelTrace:
			a.Value = slog.StringValue("TRACE")
		case LevelFatal:
			a.Value = slog.StringValue("FATAL")
		}
	}
	return a
}

// currentSink writes to what the log is at the moment. slog's handler calls
// it once a record.
type currentSink struct{ log *Log }

func (c currentSink) Write(line []byte) (int, error) {
	t := c.log.current.Load()
	if t.sink == nil {
		return 0, errClosed
	}
	if err := c.log.write(t, slog.LevelInfo, line); err != nil {
		return 0, err
	}
	return len(line), nil
}
