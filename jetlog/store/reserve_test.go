package store_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"runnel/jetlog/command"
	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
)

// TestReserve fills the disk: streams are made and deleted, and what is in memory is flushed, out of the
// reserve, while publishes are refused. With room again all goes on, and the reserve is there again.
func TestReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fault := vfs.NewFault(vfs.NewMemory())
		cfg := small(fault)
		cfg.ReserveBytes = 4 << 20
		s := open(t, cfg)
		stream := create(t, s, unlimited("S"))
		synctest.Wait() // the flusher has taken the reserve
		reserved := func() int64 {
			info, err := fault.Stat(dir + "/reserve")
			if err != nil {
				t.Fatal(err)
			}
			return info.Bytes
		}
		if got := reserved(); got != cfg.ReserveBytes {
			t.Fatalf("the reserve has %d bytes", got)
		}
		publish(t, stream, 10)
		fault.SetRoom(0)
		other := create(t, s, unlimited("T"))
		if got := reserved(); got != cfg.ReserveBytes-1<<20 {
			t.Errorf("the reserve has %d bytes", got)
		}
		if _, err := stream.Propose(context.Background(), &command.Publish{Time: 1, Subject: "S.x"}); !errors.Is(err, store.ErrFull) {
			t.Errorf("publish: %v", err)
		}
		if err := s.Flush(); err != nil {
			t.Errorf("flush: %v", err)
		}
		propose(t, stream, &command.Delete{Time: 1, Sequence: 3})
		if err := s.Delete(other); err != nil {
			t.Errorf("delete: %v", err)
		}
		used := 0
		for ; ; used++ { // until nothing is left of the reserve
			cfg := unlimited("big")
			cfg.Description = string(make([]byte, 60<<10))
			big, err := s.Create("A", cfg)
			if errors.Is(err, store.ErrFull) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Delete(big); err != nil {
				break
			}
		}
		if used < 3 || reserved() != 0 || s.Err() != nil {
			t.Errorf("%d streams were made, the reserve has %d bytes, %v", used, reserved(), s.Err())
		}
		fault.SetRoom(1 << 30)
		time.Sleep(3 * time.Second)
		if got := reserved(); got != cfg.ReserveBytes {
			t.Errorf("with room again the reserve has %d bytes", got)
		}
		publish(t, stream, 10)
		if got := stream.State(); got.Messages != 19 {
			t.Errorf("state %+v", got)
		}
		closeStore(t, s)
		s = open(t, cfg)
		if got := s.Stream("A", "S").State(); got.Messages != 19 {
			t.Errorf("after a restart: %+v", got)
		}
		closeStore(t, s)
	})
}

// TestNoReserve refuses publishes while there is no space for one.
func TestNoReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fault := vfs.NewFault(vfs.NewMemory())
		cfg := small(fault)
		closeStore(t, open(t, cfg))
		fault.SetRoom(1 << 20)
		cfg.ReserveBytes = 4 << 20
		s := open(t, cfg)
		stream := create(t, s, unlimited("S"))
		synctest.Wait()
		if _, err := stream.Propose(context.Background(), &command.Publish{Time: 1, Subject: "S.x"}); !errors.Is(err, store.ErrFull) {
			t.Errorf("publish: %v", err)
		}
		fault.Heal()
		time.Sleep(3 * time.Second)
		publish(t, stream, 1)
		closeStore(t, s)
	})
}

// TestFullDiskIsTriedAtIntervals: what asks for a flush again and again has the flusher try it once a second, as long as
// it fails.
func TestFullDiskIsTriedAtIntervals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fault := vfs.NewFault(vfs.NewMemory())
		cfg := small(fault)
		cfg.FlushBytes = 1 // every batch of the log asks for one
		var log bytes.Buffer
		cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
		s := open(t, cfg)
		stream := create(t, s, unlimited("S"))
		publish(t, stream, 100)
		synctest.Wait()
		fault.SetRoom(0)
		for sequence := range 50 {
			propose(t, stream, &command.Delete{Time: 1, Sequence: uint64(sequence + 1)})
			synctest.Wait()
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if got := strings.Count(log.String(), "msg=flush"); got < 3 || got > 5 {
			t.Errorf("%d flushes have failed within three seconds:\n%s", got, log.String())
		}
		fault.SetRoom(1 << 30)
		time.Sleep(2 * time.Second)
		publish(t, stream, 1)
		closeStore(t, s)
	})
}

// TestLevels refuses what the feature level does not have: a level that this program does not know, commands of
// a later one, and those that the log has.
func TestLevels(t *testing.T) {
	cfg := small(vfs.NewMemory())
	cfg.Level = command.Level + 1
	if _, _, err := store.Open(cfg); !errors.Is(err, store.ErrNewer) {
		t.Errorf("open with a later level: %v", err)
	}
	cfg.Level = 0
	s := open(t, cfg)
	publish(t, create(t, s, unlimited("S")), 1)
	closeStore(t, s)
	cfg.Level = -1 // before the first
	if _, _, err := store.Open(cfg); !errors.Is(err, store.ErrNewer) {
		t.Errorf("open with commands of a later level in the log: %v", err)
	}
	cfg.Level = 0
	s = open(t, cfg)
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	cfg.Level = -1
	s = open(t, cfg)
	if _, err := s.Stream("A", "S").Propose(context.Background(), &command.Publish{Time: 1, Subject: "S.x"}); !errors.Is(err, store.ErrNewer) {
		t.Errorf("a command of a later level: %v", err)
	}
	closeStore(t, s)
}

// unhurried is a disk that takes its time to say how much is free.
type unhurried struct {
	vfs.FS
	asked chan struct{} // closed when it is asked
	tell  chan struct{} // closed when it tells
	once  sync.Once
}

func (d *unhurried) FreeBytes(dir string) (int64, error) {
	d.once.Do(func() { close(d.asked) })
	<-d.tell
	return d.FS.FreeBytes(dir)
}

// TestFreeSpaceIsNotAwaited publishes while the disk does not say how much is free.
func TestFreeSpaceIsNotAwaited(t *testing.T) {
	disk := &unhurried{FS: vfs.NewMemory(), asked: make(chan struct{}), tell: make(chan struct{})}
	cfg := small(disk)
	cfg.FlushBytes, cfg.LogBytes = 1<<20, 4<<20 // looked up again after 64 KiB
	s := open(t, cfg)
	stream := create(t, s, unlimited("S"))
	<-disk.asked // by the flusher, before there is anything
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 6 { // more than is published between two looks, and less than twice that
			c := &command.Publish{Time: 1, Subject: "S.x", Payload: make([]byte, 16<<10)}
			if r, err := stream.Propose(context.Background(), c); err != nil || !r.Stored {
				t.Errorf("publish: %v, %v", r, err)
			}
		}
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Error("publishes wait for the disk to say how much is free")
	}
	close(disk.tell)
	<-done
}
