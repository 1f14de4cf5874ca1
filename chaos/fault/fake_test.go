//go:build unix

package fault_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"runnel/conf"
)

// TestMain runs the tests, or is a server: the processes of the tests are this program once more.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "-c" {
		fmt.Fprintf(os.Stderr, "[%d] 2000/01/01 00:00:00.000000 [FTL] %v\n", os.Getpid(), fake(os.Args[2]))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// fakeLog and fakeNode are the files of a fake server.
const (
	fakeLog  = "runnel/wal/00000000000000000001.wal"
	fakeNode = "runnel-cluster/node"
)

// fakeContent is what they have.
var fakeContent = bytes.Repeat([]byte("content."), 1024)

// errDamaged is why a fake server refuses to start.
var errDamaged = errors.New("a file is damaged")

// fake is a server that is well as long as it runs. It has two files. With "# strict" in its configuration it refuses to start when one of
// them is not as it was written, with "# frail" it ends when the first client comes and one is not; otherwise it does not look.
func fake(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	cfg, err := conf.Parse(file, text)
	if err != nil {
		return err
	}
	damaged, err := keep(cfg.JetStream.StoreDir)
	if err != nil {
		return err
	}
	if damaged && strings.Contains(string(text), "# strict") {
		return errDamaged
	}
	monitor, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", cfg.Monitor.Port))
	if err != nil {
		return err
	}
	go http.Serve(monitor, pages(cfg.ServerName))
	clients, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", cfg.Port))
	if err != nil {
		return err
	}
	for {
		conn, err := clients.Accept()
		if err != nil {
			return err
		}
		fmt.Fprintf(conn, "INFO {\"server_name\":%q,\"max_payload\":1000,\"proto\":1}\r\n", cfg.ServerName)
		conn.Close()
		if damaged && strings.Contains(string(text), "# frail") {
			return errDamaged
		}
	}
}

// keep writes the files of a new server, or looks whether those of an old one are as they were.
func keep(dir string) (damaged bool, err error) {
	_, err = os.Stat(dir)
	isNew := errors.Is(err, os.ErrNotExist)
	for _, name := range []string{fakeLog, fakeNode} {
		path := filepath.Join(dir, name)
		if isNew {
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, fakeContent, 0o600)); err != nil {
				return false, err
			}
		}
		text, err := os.ReadFile(path)
		damaged = damaged || err != nil || !bytes.Equal(text, fakeContent)
	}
	return damaged, nil
}

// pages are those that tests look at: one of three servers that are linked with one another.
func pages(name string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/routez", func(w http.ResponseWriter, _ *http.Request) {
		var all []map[string]string
		for _, other := range []string{"n1", "n2", "n3"} {
			if other != name {
				all = append(all, map[string]string{"remote_name": other})
			}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"routes": all})
	})
	mux.HandleFunc("/jsz", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"meta_cluster": map[string]string{"leader": "n1"}})
	})
	return mux
}
