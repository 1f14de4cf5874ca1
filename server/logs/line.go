package logs

import (
	"context"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"
)

// timeFormat is the stamp of a line.
const timeFormat = "2006/01/02 15:04:05.000000"

// lineHandler makes lines of records.
type lineHandler struct {
	log     *Log
	buffers *sync.Pool // of *[]byte, shared by all handlers of a log
	pid     int
	prefix  string // groups that are open, as "a.b."
	attrs   string // attributes of the logger, formatted
}

func newLineHandler(l *Log) *lineHandler {
	return &lineHandler{
		log:     l,
		buffers: &sync.Pool{New: func() any { return new([]byte) }},
		pid:     os.Getpid(),
	}
}

// Enabled reports whether records of this level are wanted now.
func (h *lineHandler) Enabled(_ context.Context, level slog.Level) bool {
	return h.log.enabled(level)
}

// Handle writes one record in one write.
func (h *lineHandler) Handle(_ context.Context, r slog.Record) error {
	t := h.log.current.Load()
	if t.sink == nil {
		return errClosed
	}
	buf := h.buffers.Get().(*[]byte)
	defer h.buffers.Put(buf)
	b := (*buf)[:0]
	if !t.sink.bare() {
		b = h.appendHead(b, t.cfg, r)
	}
	b = appendText(b, r.Message)
	b = append(b, h.attrs...)
	r.Attrs(func(a slog.Attr) bool {
		b = appendAttr(b, h.prefix, a)
		return true
	})
	b = append(b, '\n')
	*buf = b
	return h.log.write(t, r.Level, b)
}

// appendHead appends what stands before the text.
func (h *lineHandler) appendHead(b []byte, cfg Config, r slog.Record) []byte {
	b = append(b, '[')
	b = strconv.AppendInt(b, int64(h.pid), 10)
	b = append(b, "] "...)
	if cfg.Time && !r.Time.IsZero() {
		at := r.Time
		if cfg.UTC {
			at = at.UTC()
		}
		b = at.AppendFormat(b, timeFormat)
		b = append(b, ' ')
	}
	b = append(b, '[')
	b = append(b, label(r.Level)...)
	return append(b, "] "...)
}

// WithAttrs returns a handler that adds attributes to each record.
func (h *lineHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	b := []byte(h.attrs)
	for _, a := range attrs {
		b = appendAttr(b, h.prefix, a)
	}
	with := *h
	with.attrs = string(b)
	return &with
}

// WithGroup returns a handler that puts a name before the keys to come.
func (h *lineHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	with := *h
	with.prefix += name + "."
	return &with
}

// label names a level in three letters.
func label(level slog.Level) string {
	switch {
	case level < slog.LevelDebug:
		return "TRC"
	case level < slog.LevelInfo:
		return "DBG"
	case level < slog.LevelWarn:
		return "INF"
	case level < slog.LevelError:
		return "WRN"
	case level < LevelFatal:
		return "ERR"
	default:
		return "FTL"
	}
}

// appendAttr appends " key=value". The keys of a group get its name before
// them; an empty attribute is left out, as slog asks for.
func appendAttr(b []byte, prefix string, a slog.Attr) []byte {
	v := a.Value.Resolve()
	if v.Kind() == slog.KindGroup {
		if a.Key != "" {
			prefix += a.Key + "."
		}
		for _, member := range v.Group() {
			b = appendAttr(b, prefix, member)
		}
		return b
	}
	if a.Equal(slog.Attr{}) {
		return b
	}
	b = append(b, ' ')
	b = appendText(b, prefix)
	b = appendText(b, a.Key)
	b = append(b, '=')
	return appendValue(b, v)
}

func appendValue(b []byte, v slog.Value) []byte {
	switch v.Kind() {
	case slog.KindInt64:
		return strconv.AppendInt(b, v.Int64(), 10)
	case slog.KindUint64:
		return strconv.AppendUint(b, v.Uint64(), 10)
	case slog.KindTime:
		return v.Time().AppendFormat(b, time.RFC3339Nano)
	default:
		return appendQuoted(b, v.String())
	}
}

// appendQuoted puts a value in quotes where it would not stand as one word.
func appendQuoted(b []byte, s string) []byte {
	plain := s != ""
	for i := 0; i < len(s) && plain; i++ {
		c := s[i]
		plain = c > ' ' && c != '"' && c != '=' && c != 0x7f
	}
	if plain && utf8.ValidString(s) {
		return append(b, s...)
	}
	return strconv.AppendQuote(b, s)
}

// appendText appends a text with its control characters escaped: what comes
// from clients must not be able to write a line of its own, or to a terminal.
func appendText(b []byte, s string) []byte {
	start := 0
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= ' ' && c != 0x7f {
			continue
		}
		b = append(b, s[start:i]...)
		quoted := strconv.AppendQuoteRune(nil, rune(s[i]))
		b = append(b, quoted[1:len(quoted)-1]...)
		start = i + 1
	}
	return append(b, s[start:]...)
}
