package store_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"runnel/jetlog/command"
	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
)

// TestAgeAndScrub lets time pass: what is in memory only for long is flushed, and files are verified
// again and again, so that damage is found before somebody needs what it hit.
func TestAgeAndScrub(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fault := vfs.NewFault(vfs.NewMemory())
		cfg := small(fault)
		cfg.ScrubBytes = 1 << 20
		cfg.FlushAge = 10 * time.Minute
		s := open(t, cfg)
		publish(t, create(t, s, unlimited("S")), 10)
		time.Sleep(9 * time.Minute)
		if n := segments(t, fault); n != 0 {
			t.Errorf("%d files after nine minutes", n)
		}
		time.Sleep(2 * time.Minute)
		if n := segments(t, fault); n != 1 {
			t.Errorf("%d files after eleven minutes", n)
		}
		if d := s.Damage(); len(d) != 0 {
			t.Errorf("damage of sound files: %v", d)
		}
		fault.Flip("*.segment", 100, 1)
		time.Sleep(3 * time.Minute)
		if len(s.Damage()) == 0 {
			t.Error("the flipped bit was not found")
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestContexts ends contexts before and while a command is on its way.
func TestContexts(t *testing.T) {
	s := open(t, small(vfs.NewMemory()))
	stream := create(t, s, unlimited("S"))
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	c := &command.Publish{Time: 1, Subject: "S.x"}
	_, err := stream.Propose(ended, c)
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
	publish(t, stream, 3)
	if got := stream.State().Last; got != 3 && got != 4 {
		t.Errorf("last sequence %d", got)
	}
	closeStore(t, s)
}

// TestFailedSync ends the store: nothing is answered any more, and what was answered before is there.
func TestFailedSync(t *testing.T) {
	memory := vfs.NewMemory()
	fault := vfs.NewFault(memory)
	cfg := small(fault)
	told := make(chan error, 1)
	cfg.OnFailed = func(err error) { told <- err }
	s := open(t, cfg)
	stream := create(t, s, unlimited("S"))
	publish(t, stream, 5)
	fault.Fail(vfs.Rule{Kinds: vfs.OpsSync, Name: "*.wal"})
	if _, err := stream.Propose(context.Background(), &command.Publish{Time: 1, Subject: "S.x"}); !errors.Is(err, store.ErrFailed) {
		t.Errorf("publish: %v", err)
	}
	if err := <-told; !errors.Is(err, store.ErrFailed) {
		t.Errorf("the owner was told %v, want %v", err, store.ErrFailed)
	}
	for name, do := range map[string]func() error{
		"create":  func() error { _, err := s.Create("A", unlimited("T")); return err },
		"delete":  func() error { return s.Delete(stream) },
		"flush":   s.Flush,
		"publish": func() error { _, err := stream.Propose(context.Background(), &command.Publish{}); return err },
		"close":   s.Close,
	} {
		if err := do(); !errors.Is(err, store.ErrFailed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s = open(t, small(memory.PowerCut(vfs.Lose)))
	if got := s.Stream("A", "S").State().Messages; got != 5 {
		t.Errorf("%d messages, want 5", got)
	}
	closeStore(t, s)
}
