//go:build unix

package main

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"testing"
	"time"
)

// notifySocket makes a socket as the service manager has it. Its path is
// short, since such paths are limited.
func notifySocket(t *testing.T) (path string, conn *net.UnixConn) {
	t.Helper()
	dir, err := os.MkdirTemp("", "n")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path = filepath.Join(dir, "s")
	conn, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	return path, conn
}

// wantNotice reads one datagram.
func wantNotice(t *testing.T, conn *net.UnixConn, pattern string) {
	t.Helper()
	buf := make([]byte, 1000)
	n, err := conn.Read(buf)
	if err != nil {
		t.Fatalf("waiting for %s: %v", pattern, err)
	}
	if !regexp.MustCompile("^" + pattern + "$").Match(buf[:n]) {
		t.Errorf("got %q, want %s", buf[:n], pattern)
	}
}

func TestNotify(t *testing.T) {
	path, conn := notifySocket(t)
	m := newServiceManager(func(name string) string {
		return map[string]string{"NOTIFY_SOCKET": path}[name]
	})
	if runtime.GOOS != "linux" {
		t.Skip("the clock of a reload is known on Linux only")
	}
	for _, tt := range []struct {
		notify  func() error
		pattern string
	}{
		{m.ready, "READY=1"},
		{m.reloading, "RELOADING=1\nMONOTONIC_USEC=[0-9]+"},
		{m.stopping, "STOPPING=1"},
	} {
		if err := tt.notify(); err != nil {
			t.Fatal(err)
		}
		wantNotice(t, conn, tt.pattern)
	}
}

func TestNotifyNobody(t *testing.T) {
	m := newServiceManager(func(string) string { return "" })
	for _, notify := range []func() error{m.ready, m.reloading, m.stopping} {
		if err := notify(); err != nil {
			t.Error(err)
		}
	}
}

func TestNotifyFails(t *testing.T) {
	for _, socket := range []string{filepath.Join(t.TempDir(), "missing"), "@runnel-test-nobody-listens"} {
		m := newServiceManager(func(string) string { return socket })
		if m.ready() == nil {
			t.Errorf("%s: got no error", socket)
		}
	}
}
