package server_test

import (
	"path/filepath"
	"testing"

	"github.com/nats-io/nats.go"

	"runnel/jetlog/store"
)

// TestShutdownFlushes: after an end in order nothing of the log has to be read again.
func TestShutdownFlushes(t *testing.T) {
	dir := t.TempDir()
	const messages = 100
	withStore(t, dir, "", func(js nats.JetStreamContext) {
		if _, err := js.AddStream(&nats.StreamConfig{Name: "S"}); err != nil {
			t.Fatal(err)
		}
		for range messages {
			if _, err := js.Publish("S", []byte("x")); err != nil {
				t.Fatal(err)
			}
		}
	})
	s, report, err := store.Open(store.Config{Dir: filepath.Join(dir, "runnel")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if report.Replayed != 0 {
		t.Errorf("%d commands were read from the log", report.Replayed)
	}
	if got := s.Streams()[0].State().Messages; got != messages {
		t.Errorf("%d messages are there, want %d", got, messages)
	}
}
