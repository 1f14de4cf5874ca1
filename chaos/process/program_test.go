//go:build unix

package process_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"runnel/chaos/process"
)

func TestFind(t *testing.T) {
	tests := []struct {
		file    string
		program string
		dialect process.Dialect
		err     string
	}{
		{"runnel", "runnel 1.2.3", process.Runnel, ""},
		{"nats-server", "nats-server 2.15.2", process.Incumbent, ""},
		{"other", "", 0, "neither runnel nor nats-server"},
		{"empty", "", 0, "neither runnel nor nats-server"},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			path := link(t, tt.file)
			p, err := process.Find(t.Context(), path)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %v, %v, want %q", p, err, tt.err)
				}
				return
			}
			if err != nil || p.String() != tt.program || p.Dialect != tt.dialect || p.Path != path {
				t.Errorf("got %v at %s, %v, want %s", p, p.Path, err, tt.program)
			}
		})
	}
	if _, err := process.Find(t.Context(), filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want no such file", err)
	}
	if _, err := process.Find(t.Context(), "false"); err == nil || !strings.Contains(err.Error(), "for its version") {
		t.Errorf("got %v, want that it has no version", err)
	}
}

// Two harnesses never have the same port, also while nobody listens on it.
func TestPorts(t *testing.T) {
	var one, other process.Ports
	defer other.Close()
	mine, err := one.Take(20)
	if err != nil || len(mine) != 20 {
		t.Fatalf("got %d, %v, want 20 ports", len(mine), err)
	}
	if slices.Sort(mine); len(slices.Compact(slices.Clone(mine))) != 20 || mine[0] < 12000 || mine[19] > 31000 {
		t.Errorf("got %v, want different ones from 12000 to 31000", mine)
	}
	taken := func(port int) bool { return !other.Try(port) }
	for _, port := range mine {
		if !taken(port) {
			t.Fatalf("another harness has got port %d, which is kept", port)
		}
		l, err := net.Listen("tcp4", process.Loopback(port))
		if err != nil {
			t.Fatalf("a server does not get the port that is kept for it: %v", err)
		}
		l.Close()
	}
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	if taken(mine[0]) {
		t.Errorf("port %d is kept after the end", mine[0])
	}
}

func TestFiguresOf(t *testing.T) {
	dir := t.TempDir() + "/"
	write := func(name, text string) {
		if err := os.WriteFile(dir+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := process.FiguresOf(dir); err == nil {
		t.Error("no error without any file")
	}
	if err := os.MkdirAll(dir+"fd/0", 0o700); err != nil {
		t.Fatal(err)
	}
	write("statm", "1000 3 1 0 0 0 0\n")
	write("stat", "7 (a) b) S 1 7 7 0 -1 4194560 100 0 0 0 123 45 0 0 20 0\n")
	f, err := process.FiguresOf(dir)
	want := process.Figures{Descriptors: 1, ResidentBytes: 3 * int64(os.Getpagesize()), CPU: 1680e6}
	if err != nil || f != want {
		t.Errorf("got %+v, %v, want %+v", f, err, want)
	}
	for _, stat := range []string{"7 (a) S 1", "7 (a) S 1 7 7 0 -1 4194560 100 0 0 0 x 45"} {
		write("stat", stat)
		if f, err := process.FiguresOf(dir); err == nil {
			t.Errorf("%s: got %+v, want an error", stat, f)
		}
	}
}
