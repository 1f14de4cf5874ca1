package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"runnel/jetlog/rescue"
	"runnel/jetlog/store"
)

// goldenStore returns a copy of a store with one stream, ORDERS of account A: 12 messages, the fourth of
// them deleted, the last four only in the log.
func goldenStore(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	if err := os.CopyFS(dir, os.DirFS("../../jetlog/store/testdata/v1")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestStoreCheck(t *testing.T) {
	dir := goldenStore(t)
	code, stdout, stderr := command(t, "store", "check", dir)
	if code != 0 || !strings.Contains(stdout, "delete:1") || !strings.HasSuffix(stdout, "all is well\n") {
		t.Errorf("check: %d, %s, %s", code, stdout, stderr)
	}
	code, stdout, _ = command(t, "store", "check", "--json", dir)
	var found rescue.Findings
	if err := json.Unmarshal([]byte(stdout), &found); code != 0 || err != nil {
		t.Fatalf("check --json: %d, %v, %s", code, err, stdout)
	}
	if len(found.Store) != 32 || len(found.Streams) != 1 || found.Streams[0].Published != 12 || found.Streams[0].Messages != 11 {
		t.Errorf("found %+v", found)
	}
}

func TestStoreDump(t *testing.T) {
	dir := goldenStore(t)
	_, stdout, _ := command(t, "store", "dump", dir)
	if !strings.Contains(stdout, `consumer "c"`) || strings.Contains(stdout, "order 7") {
		t.Errorf("dump: %s", stdout)
	}
	_, stdout, _ = command(t, "store", "dump", "--stream", "ORDERS", "--messages", dir)
	if strings.Count(stdout, "\n  message ") != 11 || !strings.Contains(stdout, `"order 7"`) {
		t.Errorf("dump of messages: %s", stdout)
	}
	if code, _, stderr := command(t, "store", "dump", "--stream", "NONE", dir); code != 1 || !strings.Contains(stderr, "stream not found") {
		t.Errorf("dump of a stream that is not there: %d, %s", code, stderr)
	}
}

// damageSegment changes a byte in a message of the only segment.
func damageSegment(t *testing.T, dir string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "segments", "*.segment"))
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	b, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	i := bytes.Index(b, []byte("order 5"))
	b[i] ^= 1
	if err := os.WriteFile(names[0], b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestStoreSalvage(t *testing.T) {
	dir := goldenStore(t)
	salvage := []string{"store", "salvage", "--account", "A", "--stream", "ORDERS"}
	code, stdout, stderr := command(t, append(salvage, dir)...)
	if code != 0 || strings.Count(stdout, `"subject":"ORDERS.new"`) != 11 || !strings.Contains(stderr, "11 messages") {
		t.Errorf("salvage of a sound stream: %d, %s, %s", code, stdout, stderr)
	}
	damageSegment(t, dir)
	if code, stdout, _ := command(t, "store", "check", dir); code != 1 || !strings.Contains(stdout, "DAMAGED") || !strings.Contains(stdout, "problem: ") {
		t.Errorf("check of a damaged store: %d, %s", code, stdout)
	}
	out := filepath.Join(dir, "messages.json")
	code, stdout, stderr = command(t, append(salvage, "--out", out, dir)...)
	if code != 1 || !strings.Contains(stdout, "lost: sequences 1 to 3") || !strings.Contains(stdout, "lost: sequences 5 to 8") && !strings.Contains(stdout, "lost: sequences 4 to 8") {
		t.Errorf("salvage: %d, %s, %s", code, stdout, stderr)
	}
	if b, err := os.ReadFile(out); err != nil || bytes.Count(b, []byte("\n")) != 4 {
		t.Errorf("what was salvaged: %s, %v", b, err)
	}
	if code, _, _ := command(t, append(salvage, "--out", out, dir)...); code != 1 {
		t.Error("a file is written over")
	}
	code, stdout, _ = command(t, append(salvage, "--json", "--out", out+"2", dir)...)
	var result rescue.Salvaged
	if err := json.Unmarshal([]byte(stdout), &result); code != 1 || err != nil || result.Messages != 4 || len(result.Damage) == 0 {
		t.Errorf("salvage --json: %d, %s, %v", code, stdout, err)
	}
	code, stdout, stderr = command(t, append(salvage, "--repair", dir)...)
	if code != 1 || !strings.Contains(stdout, "lost: sequences 1 to 8") || !strings.Contains(stdout, "are counted as lost") {
		t.Errorf("repair: %d, %s, %s", code, stdout, stderr)
	}
	if code, stdout, _ := command(t, "store", "check", dir); code != 0 || !strings.Contains(stdout, "lost:") {
		t.Errorf("check of a repaired store: %d, %s", code, stdout)
	}
	if code, stdout, _ := command(t, append(salvage, "--repair", dir)...); code != 0 || !strings.Contains(stdout, "0 messages of 0 bytes") {
		t.Errorf("a second repair: %d, %s", code, stdout)
	}
}

func TestStoreUsage(t *testing.T) {
	dir := goldenStore(t)
	key := writeFile(t, "key", "not a key")
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"store"}, "Usage:"},
		{[]string{"store", "--nope"}, "not defined"},
		{[]string{"store", "check"}, "Usage:"},
		{[]string{"store", "check", "--nope", dir}, "not defined"},
		{[]string{"store", "check", dir, dir}, "Usage:"},
		{[]string{"store", "dump"}, "Usage:"},
		{[]string{"store", "dump", filepath.Join(dir, "none")}, "no such file"},
		{[]string{"store", "salvage", filepath.Join(dir, "none")}, "no such file"},
		{[]string{"store", "salvage", "--repair", filepath.Join(dir, "none")}, "no such file"},
		{[]string{"store", "salvage", "--repair", "--stream", "S", dir}, "stream not found"},
		{[]string{"store", "fly", dir}, "Usage:"},
		{[]string{"store", "check", filepath.Join(dir, "none")}, "no such file"},
		{[]string{"store", "check", filepath.Join(dir, "wal")}, "it is no store"},
		{[]string{"store", "salvage", "--stream", "S", dir}, "stream not found"},
		{[]string{"store", "check", "--key-file", dir, dir}, "is a directory"},
		{[]string{"store", "check", "--key-file", key, dir}, "a key is 64 hex digits"},
	} {
		if code, _, stderr := command(t, tt.args...); code == 0 || !strings.Contains(stderr, tt.want) {
			t.Errorf("%v: %d, %s, want %q", tt.args, code, stderr, tt.want)
		}
	}
	if code, _, stderr := command(t, "store", "-h"); code != 0 || !strings.HasPrefix(stderr, storeHelp) {
		t.Errorf("help: %d, %s", code, stderr)
	}
}

// TestStoreKey checks an encrypted store with and without its key, and with one that is damaged.
func TestStoreKey(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	cfg := store.Config{Dir: dir, LogSegmentBytes: 1 << 16, LogBytes: 1 << 20}
	cfg.Encryption.Key = bytes.Repeat([]byte{0xab}, 32)
	s, _, err := store.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	right := writeFile(t, "right", strings.Repeat("ab", 32)+"\n")
	wrong := writeFile(t, "wrong", strings.Repeat("cd", 32))
	short := writeFile(t, "short", "abcd")
	if code, stdout, stderr := command(t, "store", "check", "--key-file", right, dir); code != 0 {
		t.Errorf("with the key: %d, %s, %s", code, stdout, stderr)
	}
	for _, args := range [][]string{{dir}, {"--key-file", wrong, dir}, {"--key-file", short, dir}} {
		if code, _, stderr := command(t, append([]string{"store", "check"}, args...)...); code != 1 || !strings.Contains(stderr, "key") {
			t.Errorf("%v: %d, %s", args, code, stderr)
		}
	}
	names, err := filepath.Glob(filepath.Join(dir, "manifest-*"))
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	if err := os.Truncate(names[0], 20); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := command(t, "store", "check", "--key-file", right, dir); code != 1 || !strings.Contains(stderr, "is damaged") {
		t.Errorf("check of a damaged store: %d, %s", code, stderr)
	}
}
