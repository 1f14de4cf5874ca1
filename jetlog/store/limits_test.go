package store_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/seal"
	"runnel/jetlog/segment"
	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
	"runnel/jetlog/wal"
)

func publish(t testing.TB, s *store.Stream, n int) {
	t.Helper()
	for i := range n {
		propose(t, s, &command.Publish{Time: 1, Subject: s.Name() + ".x", Payload: fmt.Appendf(nil, "secret payload %d", i)})
	}
}

// TestFullDisk fills the disk: publishes are refused, reads and deletes go on, and with room again all
// goes on.
func TestFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := vfs.NewMemory()
		fault := vfs.NewFault(memory)
		s := open(t, small(fault))
		stream := create(t, s, unlimited("S"))
		publish(t, stream, 20)
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
		publish(t, stream, 20)
		synctest.Wait() // a log segment that is being prepared would give room back
		fault.SetRoom(0)
		if err := s.Flush(); !errors.Is(err, store.ErrFull) {
			t.Fatalf("flush: %v", err)
		}
		_, err := stream.Propose(context.Background(), &command.Publish{Time: 1, Subject: "S.x"})
		if !errors.Is(err, store.ErrFull) {
			t.Fatalf("publish: %v", err)
		}
		if m, err := stream.Load(30); err != nil || m.Sequence != 30 {
			t.Errorf("load: %+v, %v", m, err)
		}
		for _, seq := range []uint64{3, 33} {
			if r := propose(t, stream, &command.Delete{Time: 1, Sequence: seq}); r.Removed != 1 {
				t.Errorf("delete: %+v", r)
			}
		}
		before := hashOf(stream)
		again := open(t, small(memory.PowerCut(vfs.Lose)))
		if got := hashOf(again.Stream("A", "S")); got != before {
			t.Errorf("after a power cut the hash is %x, want %x", got, before)
		}
		closeStore(t, again)
		fault.SetRoom(1 << 30)
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
		publish(t, stream, 5)
		if got := stream.State().Messages; got != 43 {
			t.Errorf("%d messages, want 43", got)
		}
		closeStore(t, s)
	})
}

// TestNearlyFullDisk stops publishes while what is in memory can still be flushed: so that a purge, once it is flushed,
// makes room, and all goes on by itself.
func TestNearlyFullDisk(t *testing.T) {
	fault := vfs.NewFault(vfs.NewMemory())
	cfg := small(fault)
	cfg.LogBytes, cfg.LogSegmentBytes, cfg.FlushBytes = 16<<20, 1<<20, 4<<20
	fault.SetRoom(20 << 20)
	s := open(t, cfg)
	stream := create(t, s, unlimited("S"))
	payload := make([]byte, 64<<10)
	published := uint64(0)
	try := func() error {
		_, err := stream.Propose(context.Background(), &command.Publish{Time: 1, Subject: "S.x", Payload: payload})
		return err
	}
	for {
		err := try()
		if errors.Is(err, store.ErrFull) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if published++; published > 1000 {
			t.Fatal("more was stored than there is room for")
		}
	}
	if got := stream.State().Messages; got != published {
		t.Errorf("%d messages, want %d", got, published)
	}
	if err := s.Flush(); err != nil {
		t.Fatalf("what is in memory cannot be flushed: %v", err)
	}
	propose(t, stream, &command.Purge{Time: 1})
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := try(); err != nil {
		t.Errorf("a publish when everything has gone: %v", err)
	}
	closeStore(t, s)
}

// TestFullLog publishes more than the log holds: what is in it is flushed in time.
func TestFullLog(t *testing.T) {
	cfg := small(vfs.NewMemory())
	cfg.FlushBytes = 1 << 40 // only the log asks for it
	cfg.MemoryBytes = 1 << 40
	s := open(t, cfg)
	busy, idle := create(t, s, unlimited("S")), create(t, s, unlimited("T"))
	publish(t, idle, 1)
	payload := make([]byte, 4096)
	for range 1000 {
		propose(t, busy, &command.Publish{Time: 1, Subject: "S.x", Payload: payload})
	}
	closeStore(t, s)
}

// TestMemoryBudget lets publishers wait while memory is short, not longer than they want.
func TestMemoryBudget(t *testing.T) {
	memory := vfs.NewMemory()
	fault := vfs.NewFault(memory)
	cfg := small(fault)
	cfg.FlushBytes, cfg.MemoryBytes = 20_000, 40_000
	s := open(t, cfg)
	stream := create(t, s, unlimited("S"))
	payload := make([]byte, 500)
	for range 500 { // twelve times the budget
		propose(t, stream, &command.Publish{Time: 1, Subject: "S.x", Payload: payload})
	}
	closeStore(t, s)
}

// TestEncryption looks for what was published, and for subjects, in all files.
func TestEncryption(t *testing.T) {
	first, second := bytes.Repeat([]byte{1}, segment.KeyBytes), bytes.Repeat([]byte{2}, segment.KeyBytes)
	for _, c := range []segment.Cipher{segment.ChaCha20Poly1305, segment.AES256GCM} {
		cfg := small(vfs.Disk{})
		cfg.Dir = filepath.Join(t.TempDir(), "store")
		cfg.Encryption = seal.Encryption{Key: first, Cipher: c}
		s := open(t, cfg)
		publish(t, create(t, s, unlimited("topic")), 20)
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
		publish(t, s.Stream("A", "topic"), 20)
		closeStore(t, s)
		cfg.Encryption = seal.Encryption{Key: second, Previous: [][]byte{first}, Cipher: c}
		s = open(t, cfg)
		publish(t, s.Stream("A", "topic"), 20)
		if got := s.Stream("A", "topic").State().Messages; got != 60 {
			t.Errorf("%d messages, want 60", got)
		}
		closeStore(t, s)
		for name, content := range files(t, cfg.Dir) {
			if strings.Contains(content, "secret payload") || strings.Contains(content, "topic") {
				t.Errorf("%s can be read", name)
			}
		}
		cfg.Encryption = seal.Encryption{Key: first}
		if _, _, err := store.Open(cfg); !errors.Is(err, seal.ErrKey) {
			t.Errorf("opened without the key: %v", err)
		}
	}
}

// TestForeignFiles puts files of another store among those of this one.
func TestForeignFiles(t *testing.T) {
	mine, other := filled(t), filled(t)
	fs := vfs.Disk{}
	foreign := one(t, other, "segments/*.segment")
	for from, to := range map[string]string{
		foreign:                       filepath.Join(mine.Dir, "segments", filepath.Base(foreign)),
		one(t, other, "manifest-*"):   filepath.Join(mine.Dir, "manifest-00000000"),
		filepath.Join(other.Dir, "x"): filepath.Join(mine.Dir, "segments", "notes.txt"),
	} {
		if strings.HasSuffix(from, "x") {
			f, err := fs.Create(from)
			if err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if err := fs.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	s, report, err := store.Open(mine)
	if err != nil || len(report.Aside) != 3 || len(report.Halted) != 0 {
		t.Fatalf("report %+v, %v", report, err)
	}
	id := s.ID()
	for name := range files(t, filepath.Join(mine.Dir, "segments")) {
		if !strings.HasPrefix(filepath.Base(name), hex.EncodeToString(id[:4])) {
			t.Errorf("%s is still there", name)
		}
	}
	if got := len(files(t, filepath.Join(mine.Dir, "set-aside"))); got != 3 {
		t.Errorf("%d files are set aside", got)
	}
	closeStore(t, s)
	// A segment of another log, under the name of one of ours, may hold what nobody else has: that is refused.
	foreign = one(t, other, "wal/*.wal")
	if err := fs.Rename(foreign, filepath.Join(mine.Dir, "wal", filepath.Base(one(t, mine, "wal/*.wal")))); err != nil {
		t.Fatal(err)
	}
	if _, _, err := store.Open(mine); !errors.Is(err, store.ErrForeign) {
		t.Errorf("open with a segment of another log: %v, want ErrForeign", err)
	}
}

// TestLostManifest refuses to begin a new store over what is left of one.
func TestLostManifest(t *testing.T) {
	cfg := filled(t)
	if err := (vfs.Disk{}).Remove(one(t, cfg, "manifest-*")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := store.Open(cfg); err == nil || !strings.Contains(err.Error(), "no manifest") {
		t.Errorf("open: %v", err)
	}
}

// TestMemoryStreams keeps what they are over a restart, and not what was in them.
func TestMemoryStreams(t *testing.T) {
	fs := vfs.NewMemory()
	s := open(t, small(fs))
	cfg := unlimited("M")
	cfg.Storage = config.MemoryStorage
	stream := create(t, s, cfg)
	publish(t, stream, 3)
	cfg.MaxMessages = 2
	propose(t, stream, &command.Configure{Time: 2, Config: cfg})
	if got := stream.State(); got.Messages != 2 || got.Last != 3 {
		t.Errorf("state %+v", got)
	}
	closeStore(t, s)
	s = open(t, small(fs))
	stream = s.Stream("A", "M")
	if got := stream.State(); got.Messages != 0 || stream.Config().MaxMessages != 2 {
		t.Errorf("after a restart: %+v, %+v", got, stream.Config())
	}
	closeStore(t, s)
}

// TestManyInFlight starts commands of several streams by several goroutines: results come in order, and
// what one goroutine started is carried out in that order.
func TestManyInFlight(t *testing.T) {
	for _, policy := range []wal.Policy{wal.Always, wal.Interval, wal.OS} {
		cfg := small(vfs.NewMemory())
		cfg.Policy = policy
		s := open(t, cfg)
		var wait sync.WaitGroup
		for i := range 4 {
			c := unlimited(fmt.Sprint("S", i))
			if i == 0 {
				c.Metadata = map[string]string{"runnel.sync": "always"}
			}
			stream := create(t, s, c)
			wait.Go(func() {
				var results sync.WaitGroup
				last := uint64(0)
				for n := range 500 {
					results.Add(1)
					err := stream.Start(context.Background(), &command.Publish{Time: int64(n), Subject: stream.Name() + ".x"}, func(r jetlog.Result, err error) {
						if err != nil || r.Sequence != last+1 {
							t.Errorf("%+v, %v, want sequence %d", r, err, last+1)
						}
						last = r.Sequence
						results.Done()
					})
					if err != nil {
						t.Error(err)
						results.Done()
					}
				}
				results.Wait()
			})
		}
		wait.Wait()
		closeStore(t, s)
		if err := s.Close(); err != nil {
			t.Errorf("closed again: %v", err)
		}
		if _, err := s.Stream("A", "S1").Propose(context.Background(), &command.Publish{Time: 1, Subject: "S1.x"}); !errors.Is(err, store.ErrClosed) {
			t.Errorf("publish to a closed store: %v", err)
		}
	}
}

// TestReadErrorHaltsOneStream lets the disk fail while a command needs it: no verdict comes of it, the
// stream stands still, others go on, and a restart finds everything.
func TestReadErrorHaltsOneStream(t *testing.T) {
	memory := vfs.NewMemory()
	fault := vfs.NewFault(memory)
	s := open(t, small(fault))
	cfg := unlimited("S")
	cfg.MaxMessages = 20
	stream, other := create(t, s, cfg), create(t, s, unlimited("T"))
	publish(t, stream, 20)
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	fault.Fail(vfs.Rule{Kinds: vfs.OpReadAt, Name: "*.segment", Times: -1})
	_, err := stream.Propose(context.Background(), &command.Publish{Time: 1, Subject: "S.x"})
	if !errors.Is(err, store.ErrHalted) || !errors.Is(stream.Err(), store.ErrHalted) {
		t.Fatalf("publish: %v", err)
	}
	publish(t, other, 3)
	fault.Heal()
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, small(memory))
	if got := s.Stream("A", "S").State(); got.Last != 21 || got.Messages != 20 {
		t.Errorf("after a restart: %+v", got)
	}
	closeStore(t, s)
}

// TestHaltedStreamDoesNotFillTheLog lets a stream halt with commands in the log, and others go on until the
// log has gone round several times.
func TestHaltedStreamDoesNotFillTheLog(t *testing.T) {
	memory := vfs.NewMemory()
	fault := vfs.NewFault(memory)
	s := open(t, small(fault))
	cfg := unlimited("S")
	cfg.MaxMessages = 20
	stream, other := create(t, s, cfg), create(t, s, unlimited("T"))
	publish(t, stream, 20)
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	fault.Fail(vfs.Rule{Kinds: vfs.OpReadAt, Name: "*.segment", Times: -1})
	if _, err := stream.Propose(context.Background(), &command.Publish{Time: 1, Subject: "S.x"}); !errors.Is(err, store.ErrHalted) {
		t.Fatalf("publish: %v", err)
	}
	fault.Heal()
	for range 1000 {
		propose(t, other, &command.Publish{Time: 1, Subject: "T.x", Payload: make([]byte, 4096)})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, small(memory.PowerCut(vfs.Lose)))
	if got := s.Stream("A", "S").State(); got.Last != 21 || got.Messages != 20 {
		t.Errorf("after a restart: %+v", got)
	}
	closeStore(t, s)
}
