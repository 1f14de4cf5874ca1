package storage_test

import (
	"bytes"
	"log/slog"
	"testing"
	"time"

	"runnel/conf"
	"runnel/jetlog/segment"
	"runnel/jetlog/wal"
	"runnel/server/capacity"
	"runnel/server/memory"
	"runnel/server/storage"
)

// options are those of a config text.
func options(t *testing.T, text string) *conf.JetStream {
	t.Helper()
	o, err := conf.Parse("c.conf", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return o.JetStream
}

func TestStore(t *testing.T) {
	shares := memory.Shares{FlushBytes: 1, TablesBytes: 2, CacheBytes: 3}
	for _, tt := range []struct {
		text   string
		policy wal.Policy
		sync   string
	}{
		{"jetstream { }", wal.Always, "always"},
		{"jetstream { sync: os }", wal.OS, "os"},
		{"jetstream { sync: interval, sync_interval: 2s }", wal.Interval, "interval=2s"},
	} {
		js := options(t, tt.text)
		cfg, err := storage.Store(js, "dir", shares, slog.Default())
		if err != nil || cfg.Policy != tt.policy || cfg.Dir != "dir" || cfg.FlushBytes != 1 || cfg.MemoryBytes != 2 || cfg.CacheBytes != 3 {
			t.Errorf("%s: got %+v, %v", tt.text, cfg, err)
		}
		if got := storage.Sync(js); got != tt.sync {
			t.Errorf("%s: shown as %q, want %q", tt.text, got, tt.sync)
		}
	}
}

func TestEncryption(t *testing.T) {
	cfg, err := storage.Store(options(t, `jetstream { key: "new", prev_encryption_key: "old", cipher: aes }`), "dir", memory.Shares{}, slog.Default())
	if e := cfg.Encryption; err != nil || len(e.Previous) != 1 || e.Cipher != segment.AES256GCM || bytes.Equal(e.Key, e.Previous[0]) {
		t.Errorf("got %+v, %v, want a key, another one before it, and AES", e, err)
	}
}

func TestService(t *testing.T) {
	js := options(t, "jetstream { domain: D, max_buffered_msgs: 11, max_buffered_size: 12, strict: false, limits { max_ack_pending: 13 } }")
	cfg := storage.Service(js, capacity.Capacity{MemoryBytes: 1, StoreBytes: 2}, memory.Shares{IngestBytes: 3})
	if cfg.Domain != "D" || !cfg.Lenient || cfg.QueueMessages != 11 || cfg.QueueBytes != 12 || cfg.TotalBytes != 3 {
		t.Errorf("got %+v", cfg)
	}
	if l := cfg.Limits; l.MaxMemoryBytes != 1 || l.MaxStoreBytes != 2 || l.MaxAckPending != 13 || l.DuplicateWindow < 0*time.Second {
		t.Errorf("got limits %+v", l)
	}
}
