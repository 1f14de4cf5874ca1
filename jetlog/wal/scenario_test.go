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

// afterCrash is what is done with the file system that a crash leaves: open, check, crash; and append,
// acknowledge, crash or close, open, check. Recovered records count as acknowledged, since Open has returned.
// Of the second crashes every other one is left out, by turns, unless the sweep is long.
func afterCrash(turn int, fs *vfs.Memory, cfg wal.Config, before, after state) error {
	type second struct {
		name      string
		fs        *vfs.Memory
		must, all state
	}
	var seconds []second
	cfg.FS = fs
	err := inspect(cfg, before, after, func(log *wal.Log, found state) error {
		seconds = append(seconds,
			second{"power cut after the start", fs.PowerCut(vfs.Lose), found, found},
			second{"kill after the start", fs.Kill(), found, found})
		h := resume(found)
		h.relaxed = cfg.Policy != wal.Always
		for group := range uint64(4) {
			p, err := h.append(log, group, 3)
			if err == nil {
				err = h.wait(log, group, p)
			}
			if err != nil {
				return fmt.Errorf("work after the start: %w", err)
			}
		}
		must := h.snapshot()
		seconds = append(seconds,
			second{"power cut after work", fs.PowerCut(vfs.Lose), must, must},
			second{"kill after work", fs.Kill(), must.killed(), must},
			second{"end after work", fs, must.killed(), must})
		return nil
	})
	if err != nil {
		return err
	}
	for i, x := range seconds {
		if i%2 != turn%2 && !*long {
			continue
		}
		if _, err := check(x.fs, cfg, x.must, x.all); err != nil {
			return fmt.Errorf("%s: %w", x.name, err)
		}
	}
	return nil
}

// TestFailEachOperation fails the first operation, then the second, and so on, until the scenario is
// through. Each time the log must recover from what a kill and what power cuts leave. A sync that fails
// leaves pages that look clean and are not safe: what is read back then must be written again.
func TestFailEachOperation(t *testing.T) {
	t.Parallel()
	for n := 0; ; n++ {
		m, h := vfs.NewMemory(), newHistory()
		fault := vfs.NewFault(m)
		fault.Fail(vfs.Rule{After: n})
		err := scenario(config(fault), h)
		if (err == nil) != (fault.Failed() == 0) {
			t.Fatalf("operation %d: %d failed, the scenario ended with %v", n, fault.Failed(), err)
		}
		must := h.snapshot()
		cfg := config(m)
		ok(t, named(afterCrash(n, m.PowerCut(vfs.Lose), cfg, must, must), "operation %d, lose", n))
		ok(t, named(afterCrash(n, m.Kill(), cfg, must, must), "operation %d, kill", n))
		for seed := range seeds(2, 40) {
			ok(t, named(afterCrash(n, m.PowerCut(vfs.Random(seed)), cfg, must, must), "operation %d, seed %d", n, seed))
		}
		if fault.Failed() == 0 {
			t.Logf("%d operations", n)
			return
		}
	}
}

// TestFailOperationsOnDisk is the same on a real disk, where the process ends but not the power.
func TestFailOperationsOnDisk(t *testing.T) {
	t.Parallel()
	for n := 0; ; n += int(seeds(11, 1)) {
		h, fault := newHistory(), vfs.NewFault(vfs.Disk{})
		cfg := config(fault)
		cfg.Dir = t.TempDir()
		fault.Fail(vfs.Rule{After: n})
		err := scenario(cfg, h)
		if (err == nil) != (fault.Failed() == 0) {
			t.Fatalf("operation %d: %d failed, the scenario ended with %v", n, fault.Failed(), err)
		}
		must := h.snapshot()
		for range 2 {
			_, err := check(vfs.Disk{}, cfg, must, must)
			ok(t, named(err, "operation %d", n))
		}
		if fault.Failed() == 0 {
			return
		}
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
		for i, x := range moments {
			ok(t, named(afterCrash(i, x.fs, cfg, x.before, x.after), "%s", x.name))
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
			for i, x := range record(t, cfg, scenario, seeds(6, 100)) {
				ok(t, named(afterCrash(i, x.fs, cfg, x.before, x.after), "%s", x.name))
			}
		})
	}
}

// TestCrashWhileRecovering crashes before each sync of a start after a crash.
func TestCrashWhileRecovering(t *testing.T) {
	t.Parallel()
	cfg := config(nil)
	for i, first := range record(t, cfg, scenario, seeds(0, 4)) {
		if !*long && i%8 != 0 {
			continue
		}
		start := func(cfg wal.Config, h *history) error {
			log, _, err := wal.Open(cfg)
			if err != nil {
				return err
			}
			return log.Close()
		}
		for j, second := range recordOn(t, first.fs, cfg, start) {
			ok(t, named(afterCrash(j, second, cfg, first.before, first.after), "%s, then a crash while recovering", first.name))
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
