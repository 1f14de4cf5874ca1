package server_test

import (
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"runnel/jetlog/store"
	"runnel/server/servertest"
)

// TestDamagedStream takes its file from one of two streams: the server starts, says which stream does not work, and
// the other one works.
func TestDamagedStream(t *testing.T) {
	dir := t.TempDir()
	withStore(t, dir, "strict: true", func(js nats.JetStreamContext) {
		for name, bytes := range map[string]int{"DAMAGED": 700_000, "WELL": 10} {
			if _, err := js.AddStream(&nats.StreamConfig{Name: name, Subjects: []string{name}}); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if _, err := js.Publish(name, make([]byte, bytes)); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
	if err := os.Remove(largestSegment(t, filepath.Join(dir, "runnel"))); err != nil {
		t.Fatal(err)
	}
	s := servertest.Start(t, "http_port: -1\n"+storeBlock(dir, "strict: true"))
	js, err := servertest.Connect(t, s).JetStream()
	if err != nil {
		t.Fatal(err)
	}
	if m, err := js.GetMsg("WELL", 2); err != nil || len(m.Data) != 10 {
		t.Errorf("the other stream: got %v, %v", m, err)
	}
	for path, want := range map[string]int{
		"/healthz":                             http.StatusServiceUnavailable,
		"/healthz?account=$G&stream=DAMAGED":   http.StatusServiceUnavailable,
		"/healthz?account=$G&stream=WELL":      http.StatusOK,
		"/healthz?js-server-only=true":         http.StatusOK,
		"/healthz?details=1&account=$G":        http.StatusServiceUnavailable,
		"/healthz?js-enabled-only=1&details=1": http.StatusOK,
	} {
		code, text := get(t, s, path)
		if code != want || code != http.StatusOK && !strings.Contains(text, `DAMAGED`) {
			t.Errorf("%s: got %d %s, want %d and the name of the stream", path, code, text, want)
		}
	}
	if _, text := get(t, s, "/jsz?streams=1"); !strings.Contains(text, `"problem": "cannot be opened: `) || !strings.Contains(text, `"name": "WELL"`) {
		t.Errorf("jsz: got %s", text)
	}
	if _, text := get(t, s, "/metrics"); !strings.Contains(text, "runnel_jetstream_problems 1\n") || !strings.Contains(text, "runnel_healthy 0\n") {
		t.Error("the metrics do not show it")
	}
}

// largestSegment writes what a store has in memory to files, and returns the largest.
func largestSegment(t *testing.T, dir string) (path string) {
	t.Helper()
	s, _, err := store.Open(store.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var bytes int64
	err = filepath.WalkDir(filepath.Join(dir, "segments"), func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		st, err := d.Info()
		if err == nil && st.Size() > bytes {
			bytes, path = st.Size(), p
		}
		return err
	})
	if err != nil || path == "" {
		t.Fatalf("no file of a stream, %v", err)
	}
	return path
}
