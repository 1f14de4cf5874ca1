package wal_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"runnel/jetlog/vfs"
	"runnel/jetlog/wal"
)

// scenario uses a log in every way: appends of several groups, alone and together, with and without
// waiting, over several segments; releases; a clean end and one more start. It stops at the first error.
func scenario(cfg wal.Config, h *history) error {
	for round := range 2 {
		log, recovered, err := wal.Open(cfg)
		if err != nil {
			return err
		}
		_, err = entries(recovered)
		if err == nil {
			err = work(log, h, round)
		}
		if err := errors.Join(err, log.Close()); err != nil {
			return err
		}
	}
	return nil
}

func work(log *wal.Log, h *history, round int) error {
	for step := range 24 {
		group := uint64(step%3 + 1)
		p, err := h.append(log, group, 1+step%5)
		if err != nil {
			return err
		}
		if step%2 == 0 {
			if err := h.wait(log, group, p); err != nil {
				return err
			}
		}
		if step%8 == 7 {
			for g := uint64(1); g <= 3; g++ {
				h.release(log, g, h.snapshot()[g].acked*2/3)
			}
		}
	}
	return together(log, h, uint64(round))
}

// together appends from several goroutines, each with a group of its own.
func together(log *wal.Log, h *history, round uint64) error {
	errs := make([]error, 3)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			group := 10*(round+1) + uint64(i)
			for range 4 {
				p, err := h.append(log, group, 2)
				if err == nil {
					err = h.wait(log, group, p)
				}
				if err != nil {
					errs[i] = err
					return
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// after is what is done with the file system that a crash leaves, and then again: open, check, append,
// acknowledge, crash again, check. Recovered records count as acknowledged: Open has returned.
func afterCrash(fs *vfs.Memory, cfg wal.Config, before, after state) error {
	found, err := check(fs, cfg, before, after)
	if err != nil {
		return fmt.Errorf("first start: %w", err)
	}
	for name, next := range map[string]*vfs.Memory{"power cut": fs.PowerCut(vfs.Lose), "kill": fs.Kill()} {
		if _, err := check(next, cfg, found, found); err != nil {
			return fmt.Errorf("%s after the first start: %w", name, err)
		}
	}
	h := resume(found)
	h.relaxed = cfg.Policy != wal.Always
	cfg.FS = fs
	log, _, err := wal.Open(cfg)
	if err != nil {
		return fmt.Errorf("second start: %w", err)
	}
	for group := range uint64(4) {
		p, err := h.append(log, group, 3)
		if err == nil {
			err = h.wait(log, group, p)
		}
		if err != nil {
			return errors.Join(fmt.Errorf("work after the second start: %w", err), log.Close())
		}
	}
	must := h.snapshot()
	cut, killed := fs.PowerCut(vfs.Lose), fs.Kill()
	if err := log.Close(); err != nil {
		return err
	}
	for name, next := range map[string]*vfs.Memory{"power cut": cut, "kill": killed, "close": fs} {
		must, all := must, must
		if name != "power cut" {
			must = must.killed()
		}
		if _, err := check(next, cfg, must, all); err != nil {
			return fmt.Errorf("%s after work after a crash: %w", name, err)
		}
	}
	return nil
}

// TestFailEachOperation fails the first operation, then the second, and so on, until the scenario is
// through. Each time the log must recover from what a kill and what power cuts leave. A sync that fails
// leaves pages that look clean and are not safe: what is read back then must be written again.
func TestFailEachOperation(t *testing.T) {
	kinds := map[string]vfs.Kind{"any": vfs.OpsAll, "syncs": vfs.OpsSync, "writes": vfs.OpsWrite}
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := 0; ; n++ {
				m, h := vfs.NewMemory(), newHistory()
				fault := vfs.NewFault(m)
				fault.Fail(vfs.Rule{Kinds: kind, After: n})
				err := scenario(config(fault), h)
				if (err == nil) != (fault.Failed() == 0) {
					t.Fatalf("operation %d: %d failed, the scenario ended with %v", n, fault.Failed(), err)
				}
				must := h.snapshot()
				cfg := config(m)
				for seed := range seeds(2, 40) {
					ok(t, named(afterCrash(m.PowerCut(vfs.Random(seed)), cfg, must, must), "operation %d, seed %d", n, seed))
				}
				ok(t, named(afterCrash(m.PowerCut(vfs.Lose), cfg, must, must), "operation %d, lose", n))
				ok(t, named(afterCrash(m.Kill(), cfg, must, must), "operation %d, kill", n))
				if fault.Failed() == 0 {
					t.Logf("%d operations", n)
					return
				}
			}
		})
	}
}

func named(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}

// moment is a file system at some time, and what was known shortly before and after.
type moment struct {
	name          string
	fs            *vfs.Memory
	before, after state
}

// record runs a scenario and takes a power cut of each kind and a kill before each sync.
func record(t *testing.T, cfg wal.Config, run func(cfg wal.Config, h *history) error, each uint64) []moment {
	t.Helper()
	m, h := vfs.NewMemory(), newHistory()
	h.relaxed = cfg.Policy != wal.Always
	var mu sync.Mutex
	var moments []moment
	seed := uint64(0)
	cfg.FS = vfs.NewRecorder(m, func(op vfs.Op) {
		if op.Kind&vfs.OpsSync == 0 {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		before := h.snapshot()
		take := map[string]*vfs.Memory{"lose": m.PowerCut(vfs.Lose), "keep": m.PowerCut(vfs.Keep), "kill": m.Kill()}
		for range each {
			seed++
			take[fmt.Sprint("seed ", seed)] = m.PowerCut(vfs.Random(seed))
		}
		after := h.snapshot()
		for name, fs := range take {
			must := before
			if name == "kill" {
				must = before.killed()
			}
			moments = append(moments, moment{fmt.Sprintf("%s before %v", name, op), fs, must, after})
		}
	})
	ok(t, run(cfg, h))
	return moments
}

// TestPowerCutAtEachSync crashes before each sync, in many ways, and then again after the next start.
func TestPowerCutAtEachSync(t *testing.T) {
	t.Parallel()
	for round := range seeds(1, 20) {
		cfg := config(nil)
		moments := record(t, cfg, scenario, seeds(4, 40))
		t.Logf("round %d: %d crashes", round, len(moments))
		for _, x := range moments {
			ok(t, named(afterCrash(x.fs, cfg, x.before, x.after), "%s", x.name))
		}
	}
}

// TestPowerCutWithRelaxedPolicy does the same where Wait does not wait for a sync: what WaitSynced has
// returned for is there after a power cut, what Wait has after a kill.
func TestPowerCutWithRelaxedPolicy(t *testing.T) {
	for name, policy := range map[string]wal.Policy{"interval": wal.Interval, "os": wal.OS} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := config(nil)
			cfg.Policy, cfg.Interval = policy, time.Millisecond
			for _, x := range record(t, cfg, scenario, seeds(12, 100)) {
				ok(t, named(afterCrash(x.fs, cfg, x.before, x.after), "%s", x.name))
			}
		})
	}
}

// TestCrashWhileRecovering crashes before each sync of a start after a crash.
func TestCrashWhileRecovering(t *testing.T) {
	t.Parallel()
	cfg := config(nil)
	for i, first := range record(t, cfg, scenario, seeds(0, 4)) {
		if !*long && i%4 != 0 {
			continue
		}
		start := func(cfg wal.Config, h *history) error {
			log, _, err := wal.Open(cfg)
			if err != nil {
				return err
			}
			return log.Close()
		}
		for _, second := range recordOn(t, first.fs, cfg, start) {
			ok(t, named(afterCrash(second, cfg, first.before, first.after), "%s, then a crash while recovering", first.name))
		}
	}
}

// recordOn runs something on a file system and returns what crashes before each sync would leave.
func recordOn(t *testing.T, m *vfs.Memory, cfg wal.Config, run func(cfg wal.Config, h *history) error) []*vfs.Memory {
	t.Helper()
	var mu sync.Mutex
	var found []*vfs.Memory
	cfg.FS = vfs.NewRecorder(m, func(op vfs.Op) {
		if op.Kind&vfs.OpsSync != 0 {
			mu.Lock()
			defer mu.Unlock()
			found = append(found, m.PowerCut(vfs.Lose), m.PowerCut(vfs.Random(uint64(len(found)))), m.Kill())
		}
	})
	ok(t, run(cfg, newHistory()))
	return found
}
