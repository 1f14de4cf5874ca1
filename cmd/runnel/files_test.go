package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"runnel/conf"
	"runnel/server"
)

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	first, second := filepath.Join(dir, "1.pid"), filepath.Join(dir, "2.pid")
	o := conf.Defaults()
	o.PIDFile, o.PortsFileDir = first, dir
	var f files
	if err := f.write(o, server.Ports{NATS: []string{"nats://127.0.0.1:4222"}}); err != nil {
		t.Fatal(err)
	}
	wantFile(t, first, strconv.Itoa(os.Getpid()))
	ports := filepath.Join(dir, portsFileName())
	wantFile(t, ports, `{"nats":["nats://127.0.0.1:4222"]}`)
	if base := filepath.Base(ports); !strings.HasSuffix(base, "_"+strconv.Itoa(os.Getpid())+".ports") {
		t.Errorf("ports file is called %s", base)
	}

	// After a reload: another pid file, no ports file.
	o.PIDFile, o.PortsFileDir = second, ""
	if err := f.write(o, server.Ports{}); err != nil {
		t.Fatal(err)
	}
	wantNames(t, dir, "2.pid")
	if err := f.remove(); err != nil {
		t.Fatal(err)
	}
	wantNames(t, dir)
	if err := f.remove(); err != nil {
		t.Errorf("second remove: %v", err)
	}
}

// The pid file of a server that was started meanwhile is left alone.
func TestForeignPIDFileStays(t *testing.T) {
	o := conf.Defaults()
	o.PIDFile = filepath.Join(t.TempDir(), "x.pid")
	var f files
	if err := f.write(o, server.Ports{}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(o.PIDFile, []byte("1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.remove(); err != nil {
		t.Fatal(err)
	}
	wantFile(t, o.PIDFile, "1\n")
}

func TestFilesCannotBeWritten(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	o := conf.Defaults()
	o.PIDFile, o.PortsFileDir = filepath.Join(missing, "x.pid"), missing
	err := new(files).write(o, server.Ports{})
	if err == nil || !strings.Contains(err.Error(), "x.pid") || !strings.Contains(err.Error(), ".ports") {
		t.Errorf("got %v, want errors for both files", err)
	}
}

func wantFile(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("%s: got %q, %v, want %q", filepath.Base(path), got, err, want)
	}
}

// wantNames wants exactly these files in a folder, so no temporary ones.
func wantNames(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("folder has %v, want %v", got, want)
	}
}
