package store_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
	"runnel/jetlog/wal"
)

// syncCounter counts syncs of the log, and lets them wait.
type syncCounter struct {
	*vfs.Recorder
	syncs atomic.Int64
	held  atomic.Pointer[chan struct{}] // syncs wait until it is closed
}

func newSyncCounter() *syncCounter {
	c := &syncCounter{}
	c.Recorder = vfs.NewRecorder(vfs.NewMemory(), func(op vfs.Op) {
		if op.Kind != vfs.OpSyncData || !strings.Contains(op.Name, "/wal/") {
			return
		}
		c.syncs.Add(1)
		if held := c.held.Load(); held != nil {
			<-*held
		}
	})
	return c
}

// withSync is a stream whose metadata name a policy.
func withSync(t *testing.T, s *store.Store, name, policy string) *store.Stream {
	t.Helper()
	cfg := unlimited(name)
	cfg.Metadata = map[string]string{"runnel.sync": policy}
	return create(t, s, cfg)
}

// begin publishes a message and returns what is closed when it is acknowledged.
func begin(t *testing.T, stream *store.Stream) <-chan struct{} {
	t.Helper()
	done := make(chan struct{})
	err := stream.Start(context.Background(), &command.Publish{Time: 1, Subject: stream.Name() + ".x"}, func(r jetlog.Result, err error) {
		if err != nil || !r.Stored {
			t.Errorf("%+v, %v", r, err)
		}
		close(done)
	})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	return done
}

func isDone(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// TestRelaxedStreams have their results when their records are written, under a store that waits for syncs.
func TestRelaxedStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := newSyncCounter()
		s := open(t, small(fs))
		strict := create(t, s, unlimited("S"))
		relaxed, interval := withSync(t, s, "R", "os"), withSync(t, s, "I", "interval=250ms")
		before := fs.syncs.Load()
		if !isDone(begin(t, relaxed)) || fs.syncs.Load() != before {
			t.Errorf("a relaxed stream: %d syncs", fs.syncs.Load()-before)
		}
		if !isDone(begin(t, interval)) || fs.syncs.Load() != before {
			t.Errorf("a stream with an interval: %d syncs", fs.syncs.Load()-before)
		}
		time.Sleep(300 * time.Millisecond)
		if n := fs.syncs.Load() - before; n != 1 {
			t.Errorf("%d syncs after the interval", n)
		}
		held := make(chan struct{})
		fs.held.Store(&held)
		first := begin(t, strict) // the log is in its sync from now on
		second := begin(t, strict)
		if isDone(first) || isDone(second) {
			t.Error("a strict stream does not wait for the sync")
		}
		fs.held.Store(nil)
		close(held)
		<-first
		<-second
		closeStore(t, s)
	})
}

// TestPolicyOfStream changes the policy of streams: what is stricter holds at once.
func TestPolicyOfStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, policy := range []wal.Policy{wal.Always, wal.OS} {
			fs := newSyncCounter()
			cfg := small(fs)
			cfg.Policy = policy
			s := open(t, cfg)
			stream := withSync(t, s, "R", "os")
			strict := stream.Config()
			strict.Metadata = map[string]string{"runnel.sync": "always"}
			propose(t, stream, &command.Configure{Time: 1, Config: strict})
			for n := range int64(3) {
				before := fs.syncs.Load()
				<-begin(t, stream)
				if got := fs.syncs.Load() - before; got != 1 {
					t.Errorf("policy %d, publish %d: %d syncs after a change to always", policy, n, got)
				}
			}
			closeStore(t, s)
			s = open(t, cfg)
			stream = s.Stream("A", "R")
			propose(t, stream, &command.Configure{Time: 1, Config: withPolicy(stream, "os")})
			closeStore(t, s)
			s = open(t, cfg)
			before := fs.syncs.Load()
			<-begin(t, s.Stream("A", "R"))
			if got := fs.syncs.Load() - before; got != 0 {
				t.Errorf("policy %d: %d syncs of a stream that was opened with os", policy, got)
			}
			closeStore(t, s)
		}
	})
}

func withPolicy(stream *store.Stream, policy string) config.Stream {
	cfg := stream.Config()
	cfg.Metadata = map[string]string{"runnel.sync": policy}
	return cfg
}

// TestIntervalOfStream has the log sync in an interval shorter than its own, or under a policy without any.
func TestIntervalOfStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, policy := range []wal.Policy{wal.Interval, wal.OS} {
			fs := newSyncCounter()
			cfg := small(fs)
			cfg.Policy, cfg.Interval = policy, time.Hour
			s := open(t, cfg)
			stream := withSync(t, s, "I", "interval=10ms")
			before := fs.syncs.Load()
			for range 5 {
				<-begin(t, stream)
			}
			time.Sleep(20 * time.Millisecond)
			if got := fs.syncs.Load() - before; got != 1 {
				t.Errorf("policy %d: %d syncs after the interval", policy, got)
			}
			<-begin(t, stream)
			closeStore(t, s)
		}
	})
}
