package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"runnel/cluster/meta"
	"runnel/cluster/meta/metatest"
	"runnel/jetlog/vfs"
	"runnel/server"
	"runnel/server/servertest"
)

// TestStoreIsGone starts a server that is known in its cluster and has lost what it stored: it must not go on as the one that
// it was, which may have confirmed messages and given votes.
func TestStoreIsGone(t *testing.T) {
	dir := t.TempDir()
	options := servertest.Options(t, fmt.Sprintf("server_name: a\njetstream { store_dir: %q }\ncluster { name: C, listen: \"127.0.0.1:-1\" }", dir))
	s, err := server.Open(options, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "runnel")); err != nil {
		t.Fatal(err)
	}
	s, err = server.Open(options, nil)
	if err == nil {
		_ = s.Close()
		t.Fatal("it starts")
	}
	if want := filepath.Join(dir, "runnel-cluster"); !strings.Contains(err.Error(), want) {
		t.Errorf("error %q, want one that names %s", err, want)
	}
	// Without its identity it joins as a new server.
	if err := os.RemoveAll(filepath.Join(dir, "runnel-cluster")); err != nil {
		t.Fatal(err)
	}
	if s, err = server.Open(options, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestPowerCutAfterTheFirstStart cuts the power as soon as a server has started: who it is in its cluster, and that it has a store,
// is known when it is back.
func TestPowerCutAfterTheFirstStart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "data")
	options := servertest.Options(t, fmt.Sprintf(
		"server_name: a\njetstream { store_dir: %q }\ncluster { name: C, listen: \"127.0.0.1:-1\" }", dir))
	disk, log := vfs.NewMemory(), &metatest.Store{}
	s, err := server.OpenOn(server.Host{Disk: disk, MetaLog: func(string) (meta.Store, error) { return log, nil }}, options, nil)
	if err != nil {
		t.Fatal(err)
	}
	left := disk.PowerCut(vfs.Lose)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if !meta.HasNodeID(left, filepath.Join(dir, "runnel-cluster")) {
		t.Error("the server has forgotten who it is")
	}
	if _, err := left.Stat(filepath.Join(dir, "runnel")); err != nil {
		t.Error("the store is gone:", err)
	}
}
