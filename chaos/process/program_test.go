//go:build unix

package process_test

import (
	"errors"
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

func TestFreePorts(t *testing.T) {
	ports, err := process.FreePorts(20, nil)
	if err != nil || len(ports) != 20 {
		t.Fatalf("got %d, %v, want 20 ports", len(ports), err)
	}
	if slices.Sort(ports); len(slices.Compact(slices.Clone(ports))) != 20 || ports[0] < 12000 || ports[19] > 31000 {
		t.Errorf("got %v, want different ones from 12000 to 31000", ports)
	}
	var all []int
	for port := 12000; port < 31000; port++ {
		all = append(all, port)
	}
	if ports, err := process.FreePorts(1, all); err == nil {
		t.Errorf("got %v, want none", ports)
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
