package store_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"runnel/headers"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/rescue"
	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
)

var updateGolden = flag.Bool("update", false, "write the golden store of this version")

// golden is the store that version 1 wrote. It is never written again.
const golden = "testdata/v1"

// goldenHash is the hash of its stream.
const goldenHash = 0x4de6f6721d5ebd19

// copied returns a configuration for a copy of a store.
func copied(t *testing.T, from string) store.Config {
	t.Helper()
	cfg := store.Config{FS: vfs.Disk{}, Dir: filepath.Join(t.TempDir(), "store"), LogSegmentBytes: 16 << 10, LogBytes: 128 << 10, ScrubBytes: -1}
	if err := os.CopyFS(cfg.Dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return cfg
}

// TestGoldenStore opens what earlier versions wrote, and finds what was in it.
func TestGoldenStore(t *testing.T) {
	if *updateGolden {
		writeGolden(t)
	}
	cfg := copied(t, golden)
	found, err := rescue.Check(cfg)
	if err != nil || len(found.Problems) > 0 {
		t.Fatalf("check: %+v, %v", found, err)
	}
	s := open(t, cfg)
	stream := s.Stream("A", "ORDERS")
	if got := stream.State(); got.Messages != 11 || got.Last != 12 {
		t.Errorf("state %+v", got)
	}
	if got := hashOf(stream); got != goldenHash {
		t.Errorf("hash %#x, want %#x", got, uint64(goldenHash))
	}
	r := propose(t, stream, &command.Publish{Time: 3, Subject: "ORDERS.new", Header: messageID("id 0")})
	if !r.Duplicate || r.Sequence != 1 {
		t.Errorf("a message id of then: %+v", r)
	}
	closeStore(t, s)
}

func messageID(id string) []byte {
	return headers.Build(headers.Field{Name: "Nats-Msg-Id", Value: id})
}

func writeGolden(t *testing.T) {
	t.Helper()
	cfg := store.Config{FS: vfs.Disk{}, Dir: golden, LogSegmentBytes: 16 << 10, LogBytes: 128 << 10, ScrubBytes: -1}
	s := open(t, cfg)
	c := unlimited("ORDERS")
	c.DuplicateWindow = time.Hour
	stream := create(t, s, c)
	propose(t, stream, &command.ConsumerCreate{Time: 1, Config: config.Consumer{Name: "c", Durable: "c", Ack: config.AckExplicit, MaxDeliver: -1}})
	for i := range 12 {
		if i == 8 {
			if err := s.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		id := string(rune('0' + i))
		propose(t, stream, &command.Publish{Time: 2, Subject: "ORDERS.new", Header: messageID("id " + id), Payload: []byte("order " + id)})
	}
	propose(t, stream, &command.Delete{Time: 2, Sequence: 4})
	t.Logf("hash %#x", hashOf(stream))
	closeStore(t, s)
	for _, name := range []string{"LOCK", "wal/LOCK"} {
		if err := os.RemoveAll(filepath.Join(golden, name)); err != nil {
			t.Fatal(err)
		}
	}
}
