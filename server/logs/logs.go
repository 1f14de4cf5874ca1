// Package logs writes diagnostics: slog records become lines in the format
// that operators of NATS servers and their tools know,
//
//	[pid] YYYY/MM/DD hh:mm:ss.uuuuuu [INF] text key=value
//
// or JSON, on standard error, in a file that rotates by size, or in syslog.
// Each record is one line and one write. What is logged and where can be
// changed while loggers are in use.
package logs

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
)

// The levels besides those of slog.
const (
	// LevelTrace shows each protocol line, [TRC].
	LevelTrace = slog.Level(-8)
	// LevelFatal is for what ends the server, [FTL]. Logging it ends nothing.
	LevelFatal = slog.Level(12)
)

// Config says what is logged and where. The first of File, RemoteSyslog,
// Syslog and Output that is set gets the log.
type Config struct {
	// Debug and Trace switch [DBG] and [TRC] on, each for itself.
	Debug, Trace bool
	// JSON writes one JSON object a line. It cannot be changed by Reload and
	// cannot go to syslog.
	JSON bool
	// Time stamps each line, in UTC if UTC is set, else in local time.
	Time, UTC bool

	// File is appended to; it is made with mode 0640.
	File string
	// MaxFileBytes is the size at which the file is put aside under its name
	// with the time appended; 0 for never.
	MaxFileBytes int64
	// MaxFiles is how many files are kept, the current one included; 0 for
	// all. The oldest go.
	MaxFiles int

	// Syslog sends to the syslog of this machine, RemoteSyslog to that of
	// another (udp://host:port or tcp://host:port). Unix only.
	Syslog       bool
	RemoteSyslog string
	// Name is what syslog calls the program; "" for the name of its file.
	Name string

	// Output gets the lines if nothing else is set; nil for standard error.
	// It must be comparable, as pointers are.
	Output io.Writer
}

// sink takes finished lines. Implementations are safe for concurrent use.
type sink interface {
	write(level slog.Level, line []byte) error
	// bare says that lines come without process id, time and level.
	bare() bool
	reopen() error
	io.Closer
}

// Log is an open log. All methods may be called by many goroutines at once.
type Log struct {
	handler slog.Handler
	json    bool
	current atomic.Pointer[target]

	mu sync.Mutex // one of Reload, Reopen and Close at a time
}

// target is where records go at the moment. It is never changed, only
// replaced.
type target struct {
	cfg  Config
	sink sink
}

// errClosed is what writing after Close comes to.
var errClosed = errors.New("log is closed")

// Open opens a log. The caller closes it.
func Open(cfg Config) (*Log, error) {
	t, err := openTarget(cfg)
	if err != nil {
		return nil, err
	}
	l := &Log{json: cfg.JSON}
	l.current.Store(t)
	if cfg.JSON {
		l.handler = newJSONHandler(l)
	} else {
		l.handler = newLineHandler(l)
	}
	return l, nil
}

func openTarget(cfg Config) (*target, error) {
	s, err := openSink(cfg)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	return &target{cfg, s}, nil
}

func openSink(cfg Config) (sink, error) {
	useSyslog := cfg.Syslog || cfg.RemoteSyslog != ""
	switch {
	case cfg.File != "":
		return openFile(cfg.File, cfg.MaxFileBytes, cfg.MaxFiles)
	case useSyslog && cfg.JSON:
		return nil, errors.New("syslog takes no JSON, log into a file instead")
	case useSyslog:
		return openSyslog(cfg.RemoteSyslog, cfg.Name)
	case cfg.Output != nil:
		return &stream{w: cfg.Output}, nil
	default:
		return &stream{w: os.Stderr}, nil
	}
}

// Logger returns a logger on this log. It and all that are made from it stay
// good across Reload.
func (l *Log) Logger() *slog.Logger { return slog.New(l.handler) }

// Reload changes everything but JSON: loggers in use go on with the new
// configuration. On an error the log stays as it was.
func (l *Log) Reload(cfg Config) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	old := l.current.Load()
	if old.sink == nil {
		return errClosed
	}
	if cfg.JSON != l.json {
		return errors.New("log format cannot change while the server runs")
	}
	if sameSink(old.cfg, cfg) {
		l.current.Store(&target{cfg, old.sink})
		return nil
	}
	t, err := openTarget(cfg)
	if err != nil {
		return err
	}
	l.current.Store(t)
	return old.sink.Close()
}

// sameSink reports whether a sink opened for one configuration serves the
// other.
func sameSink(a, b Config) bool {
	return a.File == b.File && a.MaxFileBytes == b.MaxFileBytes && a.MaxFiles == b.MaxFiles &&
		a.Syslog == b.Syslog && a.RemoteSyslog == b.RemoteSyslog && a.Name == b.Name && a.Output == b.Output
}

// Reopen closes and opens the file by its name, so that a log rotated by
// others begins anew. If that fails, the open one stays. Where the log is no
// file, nothing happens.
func (l *Log) Reopen() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.current.Load(); t.sink != nil {
		return t.sink.reopen()
	}
	return errClosed
}

// Close closes the log. Records that come later are dropped.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	old := l.current.Swap(&target{})
	if old.sink == nil {
		return nil
	}
	return old.sink.Close()
}

// enabled reports whether records of a level are wanted.
func (l *Log) enabled(level slog.Level) bool {
	cfg := &l.current.Load().cfg
	switch {
	case level < slog.LevelDebug:
		return cfg.Trace
	case level < slog.LevelInfo:
		return cfg.Debug
	default:
		return true
	}
}

// write hands a line to a target, or to the one that a reload has put in its
// place in the meantime.
func (l *Log) write(t *target, level slog.Level, line []byte) error {
	for {
		err := t.sink.write(level, line)
		next := l.current.Load()
		if !errors.Is(err, errClosed) || next == t || next.sink == nil {
			return err
		}
		t = next
	}
}

// stream is a sink on a writer that somebody else owns.
type stream struct {
	mu sync.Mutex // guards w, which may be any writer
	w  io.Writer
}

func (s *stream) write(_ slog.Level, line []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.w.Write(line)
	return err
}

func (s *stream) bare() bool    { return false }
func (s *stream) reopen() error { return nil }
func (s *stream) Close() error  { return nil }
