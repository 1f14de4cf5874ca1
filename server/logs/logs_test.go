package logs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"runnel/server/logs"
)

// open opens a log that is closed with the test.
func open(t testing.TB, cfg logs.Config) *logs.Log {
	t.Helper()
	l, err := logs.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return l
}

// at is a moment whose local time differs from UTC.
var at = time.Date(2026, 3, 4, 5, 6, 7, 89_012_345, time.FixedZone("here", 3600))

// say logs one record of that moment.
func say(l *slog.Logger, level slog.Level, text string, attrs ...slog.Attr) error {
	if !l.Enabled(context.Background(), level) {
		return nil
	}
	r := slog.NewRecord(at, level, text, 0)
	r.AddAttrs(attrs...)
	return l.Handler().Handle(context.Background(), r)
}

// word is a value that tells its own text.
type word struct{}

func (word) LogValue() slog.Value { return slog.StringValue("resolved") }

func TestLines(t *testing.T) {
	plain := func(l *slog.Logger) *slog.Logger { return l }
	tests := []struct {
		name  string
		with  func(*slog.Logger) *slog.Logger
		level slog.Level
		text  string
		attrs []slog.Attr
		want  string
	}{
		{"info", plain, slog.LevelInfo, "Server is ready", nil, "[INF] Server is ready"},
		{"debug", plain, slog.LevelDebug, "d", nil, "[DBG] d"},
		{"trace", plain, logs.LevelTrace, "<<- [PING]", nil, "[TRC] <<- [PING]"},
		{"warning", plain, slog.LevelWarn, "w", nil, "[WRN] w"},
		{"error", plain, slog.LevelError, "e", nil, "[ERR] e"},
		{"fatal", plain, logs.LevelFatal, "f", nil, "[FTL] f"},
		{"level between", plain, slog.LevelInfo + 1, "x", nil, "[INF] x"},
		{"attributes", plain, slog.LevelInfo, "x", []slog.Attr{
			slog.Int("cid", 7), slog.Uint64("n", 8), slog.String("subject", "a.b"), slog.Bool("ok", true),
			slog.Duration("rtt", 1500*time.Microsecond), slog.Float64("share", 0.5), slog.Any("error", io.EOF),
		}, "[INF] x cid=7 n=8 subject=a.b ok=true rtt=1.5ms share=0.5 error=EOF"},
		{"time", plain, slog.LevelInfo, "x", []slog.Attr{slog.Time("at", at)}, "[INF] x at=2026-03-04T05:06:07.089012345+01:00"},
		{"quoted", plain, slog.LevelInfo, "x", []slog.Attr{
			slog.String("a", "two words"), slog.String("b", ""), slog.String("c", `say "x"`), slog.String("d", "e=f"),
			slog.String("g", "bad\xff"), slog.Any("err", errors.New("no such\nfile")),
		}, `[INF] x a="two words" b="" c="say \"x\"" d="e=f" g="bad\xff" err="no such\nfile"`},
		{"text of a stranger", plain, slog.LevelInfo, "name \"a\nb\" \x1b[31m\x7f\x00 é", nil, `[INF] name "a\nb" \x1b[31m\x7f\x00 é`},
		{"key of a stranger", plain, slog.LevelInfo, "x", []slog.Attr{slog.Int("a\n", 1)}, `[INF] x a\n=1`},
		{"group", plain, slog.LevelInfo, "x", []slog.Attr{slog.Group("tls", slog.String("version", "1.3"), slog.Group("peer", slog.Int("n", 1)))}, "[INF] x tls.version=1.3 tls.peer.n=1"},
		{"group without a name", plain, slog.LevelInfo, "x", []slog.Attr{slog.Group("", slog.Int("a", 1))}, "[INF] x a=1"},
		{"empty", plain, slog.LevelInfo, "x", []slog.Attr{{}, slog.Group("none")}, "[INF] x"},
		{"valuer", plain, slog.LevelInfo, "x", []slog.Attr{slog.Any("w", word{})}, "[INF] x w=resolved"},
		{"with", func(l *slog.Logger) *slog.Logger { return l.With("cid", 1).With("acc", "A B") }, slog.LevelInfo, "x", []slog.Attr{slog.Int("n", 2)}, `[INF] x cid=1 acc="A B" n=2`},
		{"with group", func(l *slog.Logger) *slog.Logger {
			return l.With("a", 1).WithGroup("g").With("b", 2).WithGroup("").WithGroup("h")
		}, slog.LevelInfo, "x", []slog.Attr{slog.Int("c", 3)}, "[INF] x a=1 g.b=2 g.h.c=3"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			l := open(t, logs.Config{Debug: true, Trace: true, Output: &out})
			if err := say(tt.with(l.Logger()), tt.level, tt.text, tt.attrs...); err != nil {
				t.Fatal(err)
			}
			if want := fmt.Sprintf("[%d] %s\n", os.Getpid(), tt.want); out.String() != want {
				t.Errorf("got  %q\nwant %q", out.String(), want)
			}
		})
	}
}

func TestTimeOfLines(t *testing.T) {
	pid := os.Getpid()
	for _, tt := range []struct {
		cfg  logs.Config
		want string
	}{
		{logs.Config{Time: true}, fmt.Sprintf("[%d] 2026/03/04 05:06:07.089012 [INF] x\n", pid)},
		{logs.Config{Time: true, UTC: true}, fmt.Sprintf("[%d] 2026/03/04 04:06:07.089012 [INF] x\n", pid)},
		{logs.Config{UTC: true}, fmt.Sprintf("[%d] [INF] x\n", pid)},
	} {
		var out bytes.Buffer
		tt.cfg.Output = &out
		say(open(t, tt.cfg).Logger(), slog.LevelInfo, "x")
		if out.String() != tt.want {
			t.Errorf("got %q, want %q", out.String(), tt.want)
		}
	}
}

func TestJSON(t *testing.T) {
	tests := []struct {
		name  string
		cfg   logs.Config
		level slog.Level
		want  string
	}{
		{"info", logs.Config{Time: true}, slog.LevelInfo, `{"time":"2026-03-04T05:06:07.089012345+01:00","level":"INFO","msg":"x","a":1,"g":{"time":2,"n":3}}`},
		{"UTC", logs.Config{Time: true, UTC: true}, slog.LevelInfo, `{"time":"2026-03-04T04:06:07.089012345Z","level":"INFO","msg":"x","a":1,"g":{"time":2,"n":3}}`},
		{"without time", logs.Config{}, slog.LevelWarn, `{"level":"WARN","msg":"x","a":1,"g":{"time":2,"n":3}}`},
		{"trace", logs.Config{Trace: true}, logs.LevelTrace, `{"level":"TRACE","msg":"x","a":1,"g":{"time":2,"n":3}}`},
		{"fatal", logs.Config{}, logs.LevelFatal, `{"level":"FATAL","msg":"x","a":1,"g":{"time":2,"n":3}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			tt.cfg.JSON, tt.cfg.Output = true, &out
			l := open(t, tt.cfg).Logger().With("a", 1).WithGroup("g").With("time", 2)
			if err := say(l, tt.level, "x", slog.Int("n", 3)); err != nil {
				t.Fatal(err)
			}
			if got := strings.TrimSuffix(out.String(), "\n"); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if !json.Valid(out.Bytes()) {
				t.Error("not valid JSON")
			}
		})
	}
}

func TestLevels(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		var out bytes.Buffer
		l := open(t, logs.Config{Output: &out, JSON: asJSON})
		logger := l.Logger().With("a", 1)
		for _, tt := range []struct {
			debug, trace bool
			want         string
		}{
			{false, false, "IWEF"},
			{true, false, "DIWEF"},
			{false, true, "TIWEF"}, // trace alone does not bring debug
			{true, true, "TDIWEF"},
			{false, false, "IWEF"},
		} {
			if err := l.Reload(logs.Config{Output: &out, JSON: asJSON, Debug: tt.debug, Trace: tt.trace}); err != nil {
				t.Fatal(err)
			}
			out.Reset()
			for i, level := range []slog.Level{logs.LevelTrace, slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError, logs.LevelFatal} {
				say(logger, level, "<"+"TDIWEF"[i:i+1]+">")
			}
			var got strings.Builder
			for line := range strings.Lines(out.String()) {
				_, rest, _ := strings.Cut(strings.ReplaceAll(line, `\u003c`, "<"), "<")
				got.WriteString(rest[:1])
			}
			if got.String() != tt.want {
				t.Errorf("debug %v, trace %v: got %s, want %s", tt.debug, tt.trace, got.String(), tt.want)
			}
		}
	}
}

// read returns the text of a file.
func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// line is what a text looks like without time.
func line(text string) string { return fmt.Sprintf("[%d] [INF] %s\n", os.Getpid(), text) }

func TestFileAppendsAndReopens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.log")
	if err := os.WriteFile(path, []byte("before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l := open(t, logs.Config{File: path})
	l.Logger().Info("one")
	if err := os.Rename(path, path+".1"); err != nil {
		t.Skipf("this system renames no open file: %v", err)
	}
	l.Logger().Info("two")
	if err := l.Reopen(); err != nil {
		t.Fatal(err)
	}
	l.Logger().Info("three")
	if got, want := read(t, path+".1"), "before\n"+line("one")+line("two"); got != want {
		t.Errorf("old file: got %q, want %q", got, want)
	}
	if got, want := read(t, path), line("three"); got != want {
		t.Errorf("new file: got %q, want %q", got, want)
	}
}

func TestReopenFailsAndLogGoesOn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sub")
	os.Mkdir(dir, 0o700)
	path := filepath.Join(dir, "x.log")
	l := open(t, logs.Config{File: path})
	if err := os.Rename(dir, dir+".moved"); err != nil {
		t.Skipf("this system renames no folder in use: %v", err)
	}
	if err := l.Reopen(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got error %v, want one about the missing folder", err)
	}
	l.Logger().Info("still here")
	if got, want := read(t, filepath.Join(dir+".moved", "x.log")), line("still here"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRotation(t *testing.T) {
	size := len(line("n"))
	for _, tt := range []struct {
		name     string
		maxFiles int
		want     []string // the oldest first, the current one last
	}{
		{"keep all", 0, []string{"12", "34", "56", "7"}},
		{"keep three", 3, []string{"34", "56", "7"}},
		{"keep the current one", 1, []string{"7"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "x.log")
			l := open(t, logs.Config{File: path, MaxFileBytes: int64(2 * size), MaxFiles: tt.maxFiles})
			for i := 1; i <= 7; i++ {
				l.Logger().Info(fmt.Sprint(i))
			}
			backups, err := filepath.Glob(path + ".*")
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range append(backups, path) {
				var texts strings.Builder
				for l := range strings.Lines(read(t, p)) {
					texts.WriteString(l[len(l)-2 : len(l)-1])
				}
				got = append(got, texts.String())
			}
			if fmt.Sprint(got) != fmt.Sprint(tt.want) {
				t.Errorf("got files with %v, want %v", got, tt.want)
			}
		})
	}
}

func TestRotationLeavesStrangersAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.log")
	other := path + ".2020.01.01.gz"
	os.WriteFile(other, nil, 0o600)
	l := open(t, logs.Config{File: path, MaxFileBytes: 1, MaxFiles: 1})
	for range 3 {
		l.Logger().Info("x")
	}
	if _, err := os.Stat(other); err != nil {
		t.Errorf("a file that is not a backup of ours: %v", err)
	}
	if got, want := read(t, path), line("x"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A file that cannot be put aside goes on growing; nothing is lost.
func TestRotationFails(t *testing.T) {
	if os.Getuid() == 0 {
		// Root writes into any folder; the missing name stands in for it.
		testRotationOfMovedFile(t)
		return
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "x.log")
	l := open(t, logs.Config{File: path, MaxFileBytes: 1})
	l.Logger().Info("one")
	os.Chmod(dir, 0o500)
	defer os.Chmod(dir, 0o700)
	if err := say(l.Logger(), slog.LevelInfo, "two"); err == nil {
		t.Error("got no error")
	}
	if got, want := read(t, path), line("one")+line("two"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func testRotationOfMovedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.log")
	l := open(t, logs.Config{File: path, MaxFileBytes: 1})
	l.Logger().Info("one")
	os.Remove(path)
	if err := say(l.Logger(), slog.LevelInfo, "two"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got error %v, want one about the missing file", err)
	}
	if got, want := read(t, path), line("two"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestReloadMovesLoggersInUse(t *testing.T) {
	dir := t.TempDir()
	first, second := filepath.Join(dir, "1.log"), filepath.Join(dir, "2.log")
	l := open(t, logs.Config{File: first})
	logger := l.Logger().With("a", 1)
	logger.Info("one")
	if err := l.Reload(logs.Config{File: filepath.Join(dir, "missing", "x.log")}); err == nil {
		t.Error("reload to a file in a missing folder: got no error")
	}
	logger.Info("two")
	if err := l.Reload(logs.Config{File: second}); err != nil {
		t.Fatal(err)
	}
	logger.Info("three")
	if got, want := read(t, first), line("one a=1")+line("two a=1"); got != want {
		t.Errorf("first file: got %q, want %q", got, want)
	}
	if got, want := read(t, second), line("three a=1"); got != want {
		t.Errorf("second file: got %q, want %q", got, want)
	}
	if err := l.Reload(logs.Config{File: second, JSON: true}); err == nil {
		t.Error("reload to JSON: got no error")
	}
}

// writes counts what arrives in single writes.
type writes struct {
	mu    sync.Mutex
	lines []string
}

func (w *writes) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, string(p))
	return len(p), nil
}

func TestConcurrentUse(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		out := new(writes)
		path := filepath.Join(t.TempDir(), "x.log")
		l := open(t, logs.Config{Output: out, JSON: asJSON})
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				logger := l.Logger().With("a", "b")
				for range 200 {
					logger.Info("text", "n", 1)
				}
			})
		}
		for i := range 50 {
			cfg := logs.Config{Output: out, JSON: asJSON, Debug: i%2 == 0}
			if i%3 == 0 {
				cfg.File = path
			}
			if err := l.Reload(cfg); err != nil {
				t.Error(err)
			}
			l.Reopen()
		}
		group.Wait()
		total := len(out.lines) + strings.Count(read(t, path), "\n")
		if total != 800 {
			t.Errorf("JSON %v: got %d lines, want 800", asJSON, total)
		}
		for _, line := range out.lines {
			if strings.Count(line, "\n") != 1 || !strings.HasSuffix(line, "\n") {
				t.Fatalf("one write has %q, want one line", line)
			}
		}
	}
}

func TestClosed(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		l := open(t, logs.Config{File: filepath.Join(t.TempDir(), "x.log"), JSON: asJSON})
		logger := l.Logger()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if err := say(logger, slog.LevelInfo, "x"); err == nil {
			t.Error("write: got no error")
		}
		if l.Reopen() == nil || l.Reload(logs.Config{JSON: asJSON}) == nil {
			t.Error("reopen or reload: got no error")
		}
	}
}

func TestOpenFails(t *testing.T) {
	for name, cfg := range map[string]logs.Config{
		"missing folder":   {File: filepath.Join(t.TempDir(), "no", "x.log")},
		"JSON in syslog":   {Syslog: true, JSON: true},
		"address of what":  {RemoteSyslog: "://"},
		"no port":          {RemoteSyslog: "udp://localhost"},
		"unknown protocol": {RemoteSyslog: "http://localhost:1"},
	} {
		if l, err := logs.Open(cfg); err == nil {
			l.Close()
			t.Errorf("%s: got no error", name)
		}
	}
}

func TestStandardErrorIsDefault(t *testing.T) {
	l := open(t, logs.Config{})
	if err := l.Reopen(); err != nil {
		t.Errorf("reopen of standard error: %v", err)
	}
}

func BenchmarkLine(b *testing.B) {
	l := open(b, logs.Config{Time: true, Output: io.Discard})
	logger := l.Logger().With("cid", 7)
	b.ReportAllocs()
	for b.Loop() {
		logger.LogAttrs(context.Background(), slog.LevelInfo, "Client connection created", slog.String("account", "$G"))
	}
}

func BenchmarkDisabled(b *testing.B) {
	l := open(b, logs.Config{Output: io.Discard})
	logger := l.Logger()
	b.ReportAllocs()
	for b.Loop() {
		logger.LogAttrs(context.Background(), logs.LevelTrace, "x")
	}
}
