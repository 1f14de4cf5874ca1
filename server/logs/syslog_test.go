//go:build unix

package logs_test

import (
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"runnel/server/logs"
)

func TestRemoteSyslog(t *testing.T) {
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	server.SetReadDeadline(time.Now().Add(10 * time.Second))
	l := open(t, logs.Config{Debug: true, Trace: true, Time: true, RemoteSyslog: "udp://" + server.LocalAddr().String(), Name: "runnel"})
	for _, tt := range []struct {
		level    slog.Level
		priority string // facility daemon (3) * 8 + severity
	}{
		{logs.LevelTrace, "<31>"},
		{slog.LevelDebug, "<31>"},
		{slog.LevelInfo, "<30>"},
		{slog.LevelWarn, "<28>"},
		{slog.LevelError, "<27>"},
		{logs.LevelFatal, "<26>"},
	} {
		if err := say(l.Logger(), tt.level, "Server is ready", slog.Int("a", 1)); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 1000)
		n, _, err := server.ReadFrom(buf)
		if err != nil {
			t.Fatal(err)
		}
		got := string(buf[:n])
		if !strings.HasPrefix(got, tt.priority) || !strings.Contains(got, " runnel[") || !strings.HasSuffix(got, "]: Server is ready a=1\n") {
			t.Errorf("level %v: got %q, want priority %s and the text alone", tt.level, got, tt.priority)
		}
	}
	if err := l.Reopen(); err != nil {
		t.Errorf("reopen: %v", err)
	}
}
