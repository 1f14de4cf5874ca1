package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"runnel/jetlog/store"
)

func TestStoreCommand(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s, _, err := store.Open(store.Config{Dir: dir, LogSegmentBytes: 1 << 16, LogBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := command(t, "store", "check", dir)
	if code != 0 || !strings.Contains(stdout, "all is well") {
		t.Errorf("check: %d, %s, %s", code, stdout, stderr)
	}
	code, stdout, _ = command(t, "store", "check", "--json", dir)
	var found store.Findings
	if err := json.Unmarshal([]byte(stdout), &found); code != 0 || err != nil || len(found.Store) != 32 {
		t.Errorf("check --json: %d, %v, %s", code, err, stdout)
	}
	if code, _, _ := command(t, "store", "dump", "--messages", dir); code != 0 {
		t.Errorf("dump: %d", code)
	}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"store"}, "Usage:"},
		{[]string{"store", "check"}, "Usage:"},
		{[]string{"store", "fly", dir}, "Usage:"},
		{[]string{"store", "check", filepath.Join(dir, "none")}, "no such file"},
		{[]string{"store", "check", filepath.Join(dir, "wal")}, "it is no store"},
		{[]string{"store", "salvage", "--stream", "S", dir}, "stream not found"},
		{[]string{"store", "check", "--key-file", dir, dir}, "is a directory"},
	} {
		if code, _, stderr := command(t, tt.args...); code == 0 || !strings.Contains(stderr, tt.want) {
			t.Errorf("%v: %d, %s, want %q", tt.args, code, stderr, tt.want)
		}
	}
	if code, _, stderr := command(t, "store", "-h"); code != 0 || !strings.HasPrefix(stderr, storeHelp) {
		t.Errorf("help: %d, %s", code, stderr)
	}
	name, err := filepath.Glob(filepath.Join(dir, "manifest-*"))
	if err != nil || len(name) != 1 {
		t.Fatal(name, err)
	}
	if err := os.Truncate(name[0], 20); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := command(t, "store", "check", dir); code != 1 || !strings.Contains(stderr, "is damaged") {
		t.Errorf("check of a damaged store: %d, %s", code, stderr)
	}
}
