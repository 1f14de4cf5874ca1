package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
)

const dir = "/data/store"

// small is a configuration for tests: everything is flushed, and compacted, early.
func small(fs vfs.FS) store.Config {
	return store.Config{
		FS: fs, Dir: dir, LogBytes: 1 << 20, LogSegmentBytes: 64 << 10, ScrubBytes: -1, ReserveBytes: -1, Shards: 2, FactEntries: 8,
	}
}

// unlimited is the configuration of a stream that keeps everything.
func unlimited(name string) config.Stream {
	return config.Stream{
		Name: name, Subjects: []string{name + ".>"}, MaxConsumers: -1, MaxMessages: -1, MaxBytes: -1,
		MaxPerSubject: -1, MaxMessageBytes: -1, Replicas: 1,
	}
}

func open(t testing.TB, cfg store.Config) *store.Store {
	t.Helper()
	s, report, err := store.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range report.Halted {
		t.Errorf("stream %q did not start: %v", h.Name(), h.Err())
	}
	return s
}

func closeStore(t testing.TB, s *store.Store) {
	t.Helper()
	for _, stream := range s.Streams() {
		if err := stream.Check(); err != nil {
			t.Errorf("check of %q: %v", stream.Name(), err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func create(t testing.TB, s *store.Store, cfg config.Stream) *store.Stream {
	t.Helper()
	stream, err := s.Create("A", cfg)
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

func propose(t testing.TB, s *store.Stream, c command.Command) jetlog.Result {
	t.Helper()
	r, err := s.Propose(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func hashOf(s *store.Stream) (hash uint64) {
	_ = s.View(func(state *jetlog.Stream, _ jetlog.Messages) error {
		hash = state.Hash()
		return nil
	})
	return hash
}

func TestPublishedMessagesStay(t *testing.T) {
	for name, fs := range map[string]vfs.FS{"memory": vfs.NewMemory(), "disk": vfs.Disk{}} {
		t.Run(name, func(t *testing.T) {
			cfg := small(fs)
			if name == "disk" {
				cfg.Dir = t.TempDir() + "/store"
			}
			s := open(t, cfg)
			stream := create(t, s, unlimited("S"))
			for i := range 100 {
				r := propose(t, stream, &command.Publish{Time: int64(i + 1), Subject: fmt.Sprintf("S.%d", i%7), Payload: []byte{byte(i)}})
				if r.Sequence != uint64(i+1) || !r.Stored {
					t.Fatalf("publish %d: %+v", i, r)
				}
				if i%30 == 29 {
					if err := s.Flush(); err != nil {
						t.Fatal(err)
					}
				}
			}
			propose(t, stream, &command.Delete{Time: 200, Sequence: 17})
			before, hash := stream.State(), hashOf(stream)
			closeStore(t, s)
			for range 3 {
				s = open(t, cfg)
				stream = s.Stream("A", "S")
				if got := stream.State(); got != before || hashOf(stream) != hash {
					t.Fatalf("after a restart: %+v, hash %x; want %+v, %x", got, hashOf(stream), before, hash)
				}
				m, err := stream.Load(42)
				if err != nil || m.Sequence != 42 || m.Payload[0] != 41 {
					t.Fatalf("message 42: %+v, %v", m, err)
				}
				if m, err := stream.Load(17); err != nil || m.Sequence != 0 {
					t.Fatalf("message 17 was deleted: %+v, %v", m, err)
				}
				if err := s.Flush(); err != nil {
					t.Fatal(err)
				}
				closeStore(t, s)
			}
		})
	}
}

func TestDelete(t *testing.T) {
	fs := vfs.NewMemory()
	s := open(t, small(fs))
	stream := create(t, s, unlimited("S"))
	if _, err := s.Create("A", unlimited("S")); !errors.Is(err, store.ErrExists) {
		t.Fatalf("a second stream of the name: %v", err)
	}
	propose(t, stream, &command.Publish{Time: 1, Subject: "S.a"})
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	id := stream.ID()
	if err := s.Delete(stream); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Propose(context.Background(), &command.Publish{Time: 1, Subject: "S.a"}); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("publish to a deleted stream: %v", err)
	}
	if again := create(t, s, unlimited("S")); again.ID() == id || again.State().Messages != 0 {
		t.Fatalf("the new stream has id %d and state %+v", again.ID(), again.State())
	}
	closeStore(t, s)
	s = open(t, small(fs))
	if n := len(s.Streams()); n != 1 {
		t.Fatalf("%d streams after a restart", n)
	}
	closeStore(t, s)
}
