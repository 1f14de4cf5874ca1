package wal_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"

	"runnel/jetlog/vfs"
	"runnel/jetlog/wal"
)

var background = context.Background()

// gate is a file system whose syncs of data wait until they are let through.
type gate struct {
	*vfs.Recorder
	open chan struct{} // closed to let all through
	once sync.Once
}

// newGate lets the first syncs through, those of preparing segments with OpSync all.
func newGate(t *testing.T) *gate {
	g := &gate{open: make(chan struct{})}
	g.Recorder = vfs.NewRecorder(vfs.NewMemory(), func(op vfs.Op) {
		if op.Kind == vfs.OpSyncData {
			<-g.open
		}
	})
	t.Cleanup(g.lift)
	return g
}

func (g *gate) lift() { g.once.Do(func() { close(g.open) }) }

// count is how many operations of a kind there were, on files whose name has this part.
func count(r *vfs.Recorder, kind vfs.Kind, part string) (n int) {
	for _, op := range r.Ops() {
		if op.Kind&kind != 0 && strings.Contains(op.Name, part) {
			n++
		}
	}
	return n
}

func record1(group, index uint64) wal.Record {
	return wal.Record{Group: group, Index: index, Kind: 1, Payload: payload(group, index)}
}

func appendOne(t *testing.T, log *wal.Log, group, index uint64) wal.Position {
	t.Helper()
	p, err := log.Append(background, record1(group, index))
	ok(t, err)
	return p
}

// TestGroupCommit: all that is appended during a sync shares the next one.
func TestGroupCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		log, _ := open(t, config(g))
		first := appendOne(t, log, 1, 1)
		synctest.Wait() // the writer is in the sync
		var wg sync.WaitGroup
		var done atomic.Int32
		for i := range 20 {
			p := appendOne(t, log, 2, uint64(i+1))
			if p != first+1 {
				t.Errorf("record %d is at %d, want %d", i, p, first+1)
			}
			wg.Go(func() {
				if err := log.Wait(background, p); err != nil {
					t.Error(err)
				}
				done.Add(1)
			})
		}
		synctest.Wait()
		if done.Load() > 0 || log.Durable() != 0 {
			t.Errorf("%d waiters are through and position %d is durable before any sync", done.Load(), log.Durable())
		}
		g.lift()
		wg.Wait()
		if n := count(g.Recorder, vfs.OpSyncData, ".wal"); n != 2 {
			t.Errorf("%d syncs, want 2", n)
		}
		if log.Durable() != first+1 || log.Synced() != first+1 {
			t.Errorf("durable %d, synced %d, want %d", log.Durable(), log.Synced(), first+1)
		}
		if s := log.Stats(); s.Batches != 2 || s.Records != 21 || s.Syncs != 2 {
			t.Errorf("stats %+v, want 2 batches, 21 records, 2 syncs", s)
		}
		ok(t, log.Close())
	})
}

// TestIdle: the log is idle while nothing is being written or synced.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		log, _ := open(t, config(g))
		synctest.Wait()
		if !log.Idle() {
			t.Error("a new log is not idle")
		}
		appendOne(t, log, 1, 1)
		synctest.Wait() // the writer is in the sync
		if log.Idle() {
			t.Error("a log that syncs is idle")
		}
		before, busy := log.Work()
		if again, _ := log.Work(); !busy || again != before {
			t.Errorf("work = %d, %v, and then %d: want the same, and busy, while a sync does not end", before, busy, again)
		}
		g.lift()
		synctest.Wait()
		if !log.Idle() {
			t.Error("the log is not idle when all is synced")
		}
		if after, busy := log.Work(); busy || after <= before {
			t.Errorf("work = %d, %v after the sync, %d before: want more, and not busy", after, busy, before)
		}
		ok(t, log.Close())
	})
}

func TestQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		cfg := config(g)
		cfg.BatchBytes = 1000
		log, _ := open(t, cfg)
		appendOne(t, log, 1, 1)
		synctest.Wait() // this one is being written; what follows is queued
		big := wal.Record{Group: 1, Index: 2, Payload: make([]byte, 800)}
		_, err := log.Append(background, big)
		ok(t, err)
		ctx, cancel := context.WithCancel(background)
		failed := make(chan error, 1)
		go func() {
			_, err := log.Append(ctx, big)
			failed <- err
		}()
		through := make(chan error, 1)
		go func() {
			_, err := log.Append(background, big)
			through <- err
		}()
		synctest.Wait()
		select {
		case <-failed:
			t.Fatal("a full queue took a record")
		case <-through:
			t.Fatal("a full queue took a record")
		default:
		}
		cancel()
		is(t, <-failed, context.Canceled)
		g.lift()
		ok(t, <-through)
		ok(t, log.Close())
		if s := log.Stats(); s.Records != 3 {
			t.Errorf("%d records, want 3: not the one whose caller gave up", s.Records)
		}
	})
}

// fill appends to a group until the log is full, and returns how many records it took.
func fill(t *testing.T, log *wal.Log, group uint64) uint64 {
	t.Helper()
	ctx, cancel := context.WithCancel(background)
	defer cancel()
	var n atomic.Uint64
	done := make(chan error, 1)
	go func() {
		for {
			if _, err := log.Append(ctx, record1(group, n.Load()+1)); err != nil {
				done <- err
				return
			}
			n.Add(1)
		}
	}()
	synctest.Wait()
	select {
	case err := <-done:
		t.Fatalf("a full log returned %v after %d records, want it to wait", err, n.Load())
	default:
	}
	cancel()
	is(t, <-done, context.Canceled)
	return n.Load()
}

func TestFullLogWaitsForRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config(vfs.NewMemory())
		cfg.MaxBytes = 6 * cfg.SegmentBytes
		log, _ := open(t, cfg)
		n := fill(t, log, 1)
		if s := log.Stats(); s.Segments != 5 || s.Ready != 1 {
			t.Errorf("a full log has %d segments and %d ready, want 5 and the one in reserve", s.Segments, s.Ready)
		}
		is(t, log.Room(8000), wal.ErrFull)
		var last wal.Position
		for i := range uint64(10) { // as for what frees the log
			p, err := log.AppendReserved(background, record1(2, i+1))
			ok(t, err)
			last = p
		}
		through := make(chan error, 1)
		go func() {
			_, err := log.Append(background, wal.Record{Group: 1, Index: n + 1, Payload: make([]byte, 4000)})
			through <- err
		}()
		synctest.Wait()
		select {
		case err := <-through:
			t.Fatalf("a full log took a record: %v", err)
		default:
		}
		changed := log.Changed()
		log.Release(1, last)
		ok(t, <-through)
		<-changed
		synctest.Wait()
		ok(t, log.Room(4000))
		ok(t, log.Close())
		is(t, log.Room(1), wal.ErrClosed)
	})
}

func TestNoSpace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := vfs.NewMemory()
		fault := vfs.NewFault(m)
		cfg := config(fault)
		fault.SetRoom(4*cfg.SegmentBytes + 100)
		log, _ := open(t, cfg)
		synctest.Wait()
		h := newHistory()
		var err error
		for err == nil {
			var p wal.Position
			if p, err = h.append(log, 1, 1); err == nil {
				ok(t, h.wait(log, 1, p))
			}
			synctest.Wait()
		}
		is(t, err, wal.ErrNoSpace)
		is(t, log.Room(1000), wal.ErrNoSpace)
		if !vfs.NoSpace(err) || !log.Stats().NoSpace {
			t.Errorf("the error %v and the stats %+v do not tell of a full disk", err, log.Stats())
		}
		if s := log.Stats(); s.Segments != 3 || s.Ready != 1 {
			t.Errorf("%d segments, %d ready, want 3 and the one in reserve", s.Segments, s.Ready)
		}
		reserved := record1(2, 1)
		reserved.Term = 1<<8 | 1
		_, err = log.AppendReserved(background, reserved)
		ok(t, err)
		fault.SetRoom(10 * cfg.SegmentBytes)
		for {
			synctest.Wait() // the supplier has tried, if it was asked to
			p, err := h.append(log, 1, 1)
			if err == nil {
				ok(t, h.wait(log, 1, p))
				break
			}
			is(t, err, wal.ErrNoSpace)
		}
		fault.SetRoom(0)
		before := h.snapshot()
		killed := vfs.NewFault(m.Kill())
		killed.SetRoom(0)
		ok(t, log.Close())
		before[2] = progress{attempted: 1}
		if _, err := check(killed, cfg, before, before); err != nil {
			t.Errorf("start on a full disk: %v", err)
		}
	})
}

func TestSyncErrorPoisons(t *testing.T) {
	fault := vfs.NewFault(vfs.NewMemory())
	log, _ := open(t, config(fault))
	ok(t, log.Wait(background, appendOne(t, log, 1, 1)))
	ok(t, log.Err())
	fault.Fail(vfs.Rule{Kinds: vfs.OpSyncData})
	p := appendOne(t, log, 1, 2)
	for range 2 {
		err := log.Wait(background, p)
		is(t, err, wal.ErrPoisoned)
		is(t, err, syscall.EIO)
	}
	<-log.Failed()
	_, err := log.Append(background, record1(1, 3))
	is(t, err, wal.ErrPoisoned)
	is(t, log.Wait(background, p), wal.ErrPoisoned)
	is(t, log.WaitSynced(background, p), wal.ErrPoisoned)
	is(t, log.Err(), wal.ErrPoisoned)
	is(t, log.Close(), wal.ErrPoisoned)
	ok(t, log.Wait(background, p-1)) // that one was safe before
	if n := fault.Failed(); n != 1 {
		t.Errorf("%d syncs failed, want 1: there must be no second attempt", n)
	}
}

func TestClose(t *testing.T) {
	m := vfs.NewMemory()
	log, _ := open(t, config(m))
	h := newHistory()
	var last wal.Position
	for range 200 {
		p, err := h.append(log, 1, 1)
		ok(t, err)
		last = p
	}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if err := log.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	ok(t, log.Wait(background, last))
	_, err := log.Append(background, record1(1, 201))
	is(t, err, wal.ErrClosed)
	h.update(1, func(p *progress) { p.acked = p.attempted })
	s := h.snapshot()
	if _, err := check(m.PowerCut(vfs.Lose), config(m), s, s); err != nil {
		t.Error(err)
	}
}

func TestAppendAndWaitErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		cfg := config(g)
		log, _ := open(t, cfg)
		if p, err := log.Append(background); p != 0 || err != nil {
			t.Errorf("no records in an empty log: %d, %v", p, err)
		}
		_, err := log.Append(background, wal.Record{Payload: make([]byte, cfg.SegmentBytes)})
		is(t, err, wal.ErrTooLarge)
		p := appendOne(t, log, 1, 1)
		if q, err := log.Append(background); q != p || err != nil {
			t.Errorf("no records: %d, %v, want the last position, %d", q, err, p)
		}
		if err := log.Wait(background, p+1); err == nil {
			t.Error("waited for a position that was never given out")
		}
		ctx, cancel := context.WithCancel(background)
		cancel()
		is(t, log.Wait(ctx, p), context.Canceled)
		is(t, log.WaitSynced(ctx, p), context.Canceled)
		g.lift()
		ok(t, log.Wait(background, p))
		largest := int(cfg.SegmentBytes) - wal.SegmentHeader - wal.BatchHeader - wal.RecordHeader
		p, err = log.Append(background, wal.Record{Group: 1, Index: 2, Payload: make([]byte, largest)})
		ok(t, err)
		ok(t, log.Wait(background, p))
		ok(t, log.Close())
	})
}

func TestConfig(t *testing.T) {
	bad := map[string]func(*wal.Config){
		"no file system":     func(c *wal.Config) { c.FS = nil },
		"no directory":       func(c *wal.Config) { c.Dir = "" },
		"tiny segments":      func(c *wal.Config) { c.SegmentBytes = 4096 },
		"huge segments":      func(c *wal.Config) { c.SegmentBytes = 1 << 40; c.MaxBytes = 1 << 50 },
		"too few segments":   func(c *wal.Config) { c.MaxBytes = 3 * c.SegmentBytes },
		"negative batches":   func(c *wal.Config) { c.BatchBytes = -1 },
		"unknown policy":     func(c *wal.Config) { c.Policy = 9 },
		"negative interval":  func(c *wal.Config) { c.Interval = -1 },
		"all in reserve":     func(c *wal.Config) { c.Ready, c.Reserve = 2, 2 },
		"more ready than is": func(c *wal.Config) { c.Ready = 2000 },
	}
	for name, spoil := range bad {
		cfg := config(vfs.NewMemory())
		spoil(&cfg)
		if _, _, err := wal.Open(cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	log, recovered := open(t, wal.Config{FS: vfs.NewMemory(), Dir: dir})
	if s := log.Stats(); s.MaxBytes != 512<<20 || recovered.Last != 0 || recovered.Torn != nil {
		t.Errorf("a new log with defaults: %+v, %+v", s, recovered)
	}
	ok(t, log.Close())
}

func TestOneProcess(t *testing.T) {
	m := vfs.NewMemory()
	log, _ := open(t, config(m))
	_, _, err := wal.Open(config(m))
	is(t, err, vfs.ErrLocked)
	ok(t, log.Close())
	log, _ = open(t, config(m))
	ok(t, log.Close())
}

func TestOnDurable(t *testing.T) {
	var got []wal.Position
	cfg := config(vfs.NewMemory())
	cfg.OnDurable = func(p wal.Position) { got = append(got, p) } // by one goroutine
	log, _ := open(t, cfg)
	var last wal.Position
	for i := range uint64(200) {
		last = appendOne(t, log, 1, i+1)
		if i%3 == 0 {
			ok(t, log.Wait(background, last))
		}
	}
	ok(t, log.Close())
	for i, p := range got {
		if p != wal.Position(i+1) {
			t.Fatalf("call %d was about position %d, want each once, in order", i, p)
		}
	}
	if len(got) != int(last) {
		t.Errorf("%d calls, want %d", len(got), last)
	}
}

// TestAllocations: Append itself needs no memory once its buffers have grown.
func TestAllocations(t *testing.T) {
	g := newGate(t)
	cfg := config(g)
	cfg.SegmentBytes = 1 << 20
	log, _ := open(t, cfg)
	appendOne(t, log, 1, 1) // the writer is or will be busy with it until the gate is lifted
	r := wal.Record{Group: 1, Index: 1, Payload: make([]byte, 128)}
	add := func() {
		if _, err := log.Append(background, r); err != nil {
			t.Fatal(err)
		}
	}
	for range 2000 {
		add()
	}
	if n := testing.AllocsPerRun(100, add); n > 0.1 {
		t.Errorf("%v allocations per Append, want none", n)
	}
	g.lift()
	ok(t, log.Close())
}

func TestConcurrentUse(t *testing.T) {
	for _, fs := range []vfs.FS{vfs.NewMemory(), vfs.Disk{}} {
		t.Run(fmt.Sprintf("%T", fs), func(t *testing.T) {
			cfg := config(fs)
			cfg.Dir = t.TempDir()
			log, _ := open(t, cfg)
			h := newHistory()
			var wg sync.WaitGroup
			for i := range uint64(8) {
				wg.Go(func() {
					for j := range uint64(60) {
						p, err := h.append(log, i, 1+int(j%3))
						if err == nil && j%4 == 0 {
							err = h.wait(log, i, p)
						}
						if err != nil {
							t.Error(err)
							return
						}
						h.release(log, i, h.snapshot()[i].acked/2)
						log.Pinned()
						log.Stats()
					}
				})
			}
			wg.Wait()
			ok(t, log.Close())
			h.mu.Lock()
			for group, p := range h.state {
				p.acked = p.attempted
				h.state[group] = p
			}
			h.mu.Unlock()
			s := h.snapshot()
			if _, err := check(fs, cfg, s, s); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestErrorsOfOpen(t *testing.T) {
	for _, kind := range []vfs.Kind{vfs.OpMkdirAll, vfs.OpLock, vfs.OpList, vfs.OpSyncDir} {
		fault := vfs.NewFault(vfs.NewMemory())
		fault.Fail(vfs.Rule{Kinds: kind})
		_, _, err := wal.Open(config(fault))
		if !errors.Is(err, syscall.EIO) {
			t.Errorf("%v fails: got %v, want EIO", kind, err)
		}
		log, _ := open(t, config(fault))
		ok(t, log.Close())
	}
}

// TestRelaxed appends records that nobody waits for until they are synced: they are written, and synced when
// somebody asks, or with a record that does.
func TestRelaxed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder := vfs.NewRecorder(vfs.NewMemory(), nil)
		var written, durable atomic.Uint64
		log, _, err := wal.Open(wal.Config{
			FS: recorder, Dir: "/log", SegmentBytes: 64 << 10, MaxBytes: 1 << 20,
			OnWritten: func(p wal.Position) { written.Store(uint64(p)) },
			OnDurable: func(p wal.Position) { durable.Store(uint64(p)) },
		})
		ok(t, err)
		appendRelaxed := func(index uint64) wal.Position {
			r := record1(1, index)
			r.Relaxed = true
			p, err := log.Append(background, r)
			ok(t, err)
			synctest.Wait()
			return p
		}
		state := func(what string, wantWritten, wantSynced wal.Position) {
			t.Helper()
			synctest.Wait()
			got := [...]wal.Position{log.Written(), log.Synced(), log.Durable(), wal.Position(durable.Load())}
			if want := [...]wal.Position{wantWritten, wantSynced, wantSynced, wantSynced}; got != want {
				t.Errorf("%s: written, synced, durable, told: %d, want %d", what, got, want)
			}
		}
		first := appendOne(t, log, 1, 1)
		ok(t, log.Wait(background, first))
		before := count(recorder, vfs.OpSyncData, "")
		a := appendRelaxed(2)
		b := appendRelaxed(3)
		state("two relaxed ones", b, first)
		if written.Load() != uint64(b) || count(recorder, vfs.OpSyncData, "") != before {
			t.Errorf("told that %d is written, %d syncs", written.Load(), count(recorder, vfs.OpSyncData, "")-before)
		}
		c := appendOne(t, log, 2, 1)
		state("one that is not", c, c)
		ok(t, log.Wait(background, a))
		d := appendRelaxed(4)
		log.Hasten(d)
		state("a wish", d, d)
		e := appendRelaxed(5)
		ok(t, log.Wait(background, e))
		state("a waiter", e, e)
		f := appendRelaxed(6)
		ok(t, log.Close())
		if log.Synced() != f {
			t.Errorf("after Close %d is synced, want %d", log.Synced(), f)
		}
		if n := count(recorder, vfs.OpSyncData, "") - before; n > 6 {
			t.Errorf("%d syncs", n)
		}
	})
}

// TestRelaxedWhileWriting waits for a relaxed record that is just being written, and for one that is not yet.
func TestRelaxedWhileWriting(t *testing.T) {
	g := newGate(t)
	log, _, err := wal.Open(config(g))
	ok(t, err)
	first := appendOne(t, log, 1, 1)
	for log.Written() != first { // the writer is in its sync now, or will be
		appendOneRelaxed(t, log, 2)
	}
	last := appendOneRelaxed(t, log, 3)
	waited := make(chan error)
	go func() { waited <- log.Wait(background, last) }()
	g.lift()
	ok(t, <-waited)
	if log.Synced() < last {
		t.Errorf("%d is synced, want %d", log.Synced(), last)
	}
	ok(t, log.Close())
}

func appendOneRelaxed(t *testing.T, log *wal.Log, index uint64) wal.Position {
	t.Helper()
	r := record1(1, index)
	r.Relaxed = true
	p, err := log.Append(background, r)
	ok(t, err)
	return p
}

// TestTooManyFiles: a log that may not open another file refuses what needs one, and goes on when it may, whatever it needed
// the file for.
func TestTooManyFiles(t *testing.T) {
	for name, kind := range map[string]vfs.Kind{
		"create": vfs.OpCreate, "open": vfs.OpOpenReadWrite, "directory": vfs.OpSyncDir,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { tooManyFiles(t, kind) })
		})
	}
}

func tooManyFiles(t *testing.T, kind vfs.Kind) {
	fault := vfs.NewFault(vfs.NewMemory())
	cfg := config(fault)
	log, _ := open(t, cfg)
	synctest.Wait()
	h := newHistory()
	const refusals = 5
	refused, harmed := 0, false
	for written := log.Stats().WrittenBytes; log.Stats().WrittenBytes < written+12*uint64(cfg.SegmentBytes); {
		if log.Stats().Segments == 3 && !harmed { // from here on files are needed, and given back
			harmed = true
			fault.Fail(vfs.Rule{Kinds: kind, Times: refusals, Err: syscall.EMFILE})
		}
		p, err := h.append(log, 1, 1)
		if err == nil {
			ok(t, h.wait(log, 1, p))
			if log.Stats().Segments > 4 {
				log.Release(1, p)
			}
		} else {
			is(t, err, wal.ErrNoSpace)
			if refused++; refused > 2*refusals {
				t.Fatal("the log does not go on")
			}
		}
		synctest.Wait() // the supplier has tried, if it was asked to
	}
	if fault.Failed() != refusals {
		t.Errorf("%d operations were refused, want %d", fault.Failed(), refusals)
	}
	ok(t, log.Close())
	log, _ = open(t, cfg)
	ok(t, log.Close())
}
