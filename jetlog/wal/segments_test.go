package wal_test

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"runnel/jetlog/vfs"
	"runnel/jetlog/wal"
)

func TestInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := vfs.NewMemory()
		cfg := config(m)
		cfg.Policy, cfg.Interval = wal.Interval, time.Minute
		log, _ := open(t, cfg)
		p := appendOne(t, log, 1, 1)
		ok(t, log.Wait(background, p))
		if log.Durable() != p || log.Synced() != 0 {
			t.Errorf("durable %d, synced %d, want %d and nothing", log.Durable(), log.Synced(), p)
		}
		time.Sleep(cfg.Interval) // the bubble's time
		synctest.Wait()
		if log.Synced() != p {
			t.Errorf("synced %d after an interval, want %d", log.Synced(), p)
		}
		p = appendOne(t, log, 1, 2)
		ok(t, log.WaitSynced(background, p))
		if log.Synced() != p {
			t.Errorf("synced %d after WaitSynced, want %d", log.Synced(), p)
		}
		syncs := log.Stats().Syncs
		time.Sleep(10 * cfg.Interval)
		synctest.Wait()
		if n := log.Stats().Syncs; n != syncs {
			t.Errorf("%d syncs while nothing was written", n-syncs)
		}
		ok(t, log.Close())
	})
}

func TestOS(t *testing.T) {
	r := vfs.NewRecorder(vfs.NewMemory(), nil)
	cfg := config(r)
	cfg.Policy = wal.OS
	log, _ := open(t, cfg)
	var p wal.Position
	for i := range uint64(40) { // several segments
		p = appendOne(t, log, 1, i+1)
		ok(t, log.Wait(background, p))
	}
	segments := log.Stats().Segments
	if n := count(r, vfs.OpSyncData, ".wal"); segments < 2 || n != segments-1 {
		t.Errorf("%d syncs of %d segments, want one for each that is full", n, segments)
	}
	if log.Synced() >= p {
		t.Error("all is synced")
	}
	ok(t, log.WaitSynced(background, p))
	if log.Synced() != p {
		t.Errorf("synced %d after WaitSynced, want %d", log.Synced(), p)
	}
	ok(t, log.Close())
}

// TestSegmentsAreUsedAgain: in the long run no file is made or removed.
func TestSegmentsAreUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := vfs.NewMemory()
		r := vfs.NewRecorder(m, nil)
		log, _ := open(t, config(r))
		turn := func(rounds uint64) {
			for i := range rounds {
				p := appendOne(t, log, 1, i+1)
				ok(t, log.Wait(background, p))
				log.Release(1, p)
				synctest.Wait()
			}
		}
		turn(100)
		made := count(r, vfs.OpCreate, "")
		turn(1000)
		// One more may be needed: when the next segment is begun before the last one is released.
		if n := count(r, vfs.OpCreate|vfs.OpRemove, ""); n > made+1 {
			t.Errorf("%d files were made or removed", n-made)
		}
		if s := log.Stats(); s.Segments > 2 || s.Ready != 3 {
			t.Errorf("%d segments and %d ready, want 2 at most and 3", s.Segments, s.Ready)
		}
		list, err := m.List(dir)
		ok(t, err)
		if len(list) > 8 {
			t.Errorf("%d files: %v", len(list), list)
		}
		ok(t, log.Close())
	})
}

func TestPinned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, _ := open(t, config(vfs.NewMemory()))
		if _, pinned := log.Pinned(); pinned {
			t.Error("an empty log is pinned")
		}
		idle := appendOne(t, log, 7, 1)
		appendOne(t, log, 3, 1)
		var p wal.Position
		for i := range uint64(200) {
			p = appendOne(t, log, 1, i+1)
			ok(t, log.Wait(background, p))
		}
		log.Release(1, p)
		synctest.Wait()
		before := log.Stats().Segments
		got, pinned := log.Pinned()
		if !pinned || got.Segment != 1 || !slices.Equal(got.Groups, []uint64{3, 7}) || got.Last < idle {
			t.Errorf("pinned %v, %+v; want segment 1 by groups 3 and 7", pinned, got)
		}
		if before < 10 {
			t.Errorf("%d segments, want them all: the first one is needed", before)
		}
		again := appendOne(t, log, 7, 1)
		log.Release(7, again)
		log.Release(3, wal.End)
		synctest.Wait()
		if after := log.Stats().Segments; after > 2 {
			t.Errorf("%d segments after the idle groups' records were appended again", after)
		}
		got, pinned = log.Pinned()
		if !pinned || !slices.Contains(got.Groups, 7) || slices.Contains(got.Groups, 3) {
			t.Errorf("pinned %v by %+v, want group 7 among others, not 3", pinned, got)
		}
		ok(t, log.Close())
	})
}

// TestReleaseAndGoOn: a group that released everything pins again with its next record, in the same batch too.
func TestReleaseAndGoOn(t *testing.T) {
	g := newGate(t)
	log, _ := open(t, config(g))
	appendOne(t, log, 1, 1)
	appendOne(t, log, 5, 1)
	log.Release(5, wal.End)
	appendOne(t, log, 5, 2)
	if got, _ := log.Pinned(); !slices.Contains(got.Groups, 5) {
		t.Errorf("pinned by %v, want 5 among them", got.Groups)
	}
	g.lift()
	ok(t, log.Close())
}

// TestRecoveredRecordsPin: after a start all groups that were found keep their segments until they release.
func TestRecoveredRecordsPin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, want := written(t, true)
		log, _ := open(t, config(m))
		used := log.Stats().Segments
		last := want[len(want)-1].Position
		log.Release(1, wal.End)
		log.Release(2, wal.End)
		got, pinned := log.Pinned()
		if !pinned || !slices.Equal(got.Groups, []uint64{3}) || log.Stats().Segments != used {
			t.Errorf("pinned %v by %+v with %d segments, want by 3, with %d", pinned, got, log.Stats().Segments, used)
		}
		log.Release(3, last+1)
		synctest.Wait()
		if _, pinned := log.Pinned(); pinned {
			t.Error("still pinned after all was released")
		}
		if n := log.Stats().Segments; n != 1 {
			t.Errorf("%d segments, want the one that is written to", n)
		}
		ok(t, log.Close())
	})
}

// TestStartsUseNoSegments: starting again and again, after a kill or a clean end, does not fill the log.
func TestStartsUseNoSegments(t *testing.T) {
	m, want := written(t, false)
	used := 0
	for i := range 30 {
		log, r := open(t, config(m))
		all, err := entries(r)
		ok(t, err)
		if len(all) != len(want) || r.Torn != nil || r.Damage != nil {
			t.Fatalf("start %d: %d records, want %d; %v, %v", i, len(all), len(want), r.Torn, r.Damage)
		}
		if n := log.Stats().Segments; i == 0 {
			used = n
		} else if n != used {
			t.Fatalf("start %d: %d segments, want %d as after the first", i, n, used)
		}
		next := m.Kill()
		ok(t, log.Close())
		if i%3 == 0 {
			next = m.Kill()
		}
		m = next
	}
}

// TestPositionsNeverGoBack: even if all records are released, a start after any crash goes on behind the
// positions that were given out before.
func TestPositionsNeverGoBack(t *testing.T) {
	for name, policy := range map[string]wal.Policy{"always": wal.Always, "os": wal.OS} {
		var mu sync.Mutex // of what follows
		var synced wal.Position
		var log *wal.Log
		type crash struct {
			fs *vfs.Memory
			at wal.Position
		}
		var crashes []crash
		m := vfs.NewMemory()
		cfg := config(vfs.NewRecorder(m, func(op vfs.Op) {
			mu.Lock()
			defer mu.Unlock()
			if op.Kind&(vfs.OpsSync|vfs.OpWriteAt) != 0 && log != nil {
				synced = max(synced, log.Synced())
				crashes = append(crashes, crash{m.PowerCut(vfs.Lose), synced}, crash{m.PowerCut(vfs.Keep), synced})
			}
		}))
		cfg.Policy = policy
		synctest.Test(t, func(t *testing.T) {
			use := func(l *wal.Log) {
				mu.Lock()
				defer mu.Unlock()
				log = l
			}
			for range 3 {
				use(nil)
				log, _ := open(t, cfg)
				use(log)
				for i := range uint64(60) {
					p, err := log.Append(background, wal.Record{Group: 1, Index: i, Payload: make([]byte, 500)})
					ok(t, err)
					ok(t, log.Wait(background, p))
					log.Release(1, wal.End)
					synctest.Wait()
				}
				ok(t, log.Close())
			}
		})
		for i, c := range crashes {
			log, r := open(t, config(c.fs))
			p := appendOne(t, log, 1, 1)
			if p <= c.at || r.Last < c.at || len(r.Damage) > 0 {
				t.Fatalf("%s, crash %d: the next position is %d after %d, %d was synced; damage %v", name, i, p, r.Last, c.at, r.Damage)
			}
			ok(t, log.Close())
		}
	}
}

// TestDamagedSegmentIsKept: damage is told until it is accepted, and the file is not used again.
func TestDamagedSegmentIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := written(t, true)
		names := segmentNames(t, m)
		b := readFile(t, m, names[0])
		b[5000] ^= 1
		writeFile(t, m, names[0], b)
		log, r := open(t, config(m))
		if len(r.Damage) != 1 {
			t.Fatalf("damage %v, want one", r.Damage)
		}
		for group := range uint64(4) {
			log.Release(group, wal.End)
		}
		synctest.Wait()
		if p, pinned := log.Pinned(); !pinned || !p.Damaged || len(p.Groups) > 0 {
			t.Errorf("pinned %v by %+v, want by the damage", pinned, p)
		}
		ok(t, log.Close())
		log, r = open(t, config(m))
		if len(r.Damage) != 1 {
			t.Fatalf("damage %v, want it again: nobody has accepted it", r.Damage)
		}
		for group := range uint64(4) {
			log.Release(group, wal.End)
		}
		log.AcceptDamage()
		synctest.Wait()
		ok(t, log.Close())
		kept := strings.TrimSuffix(names[0], ".wal") + ".damaged"
		if got := readFile(t, m, kept); !bytes.Equal(got, b) {
			t.Error("the damaged file was changed")
		}
		log, r = open(t, config(m))
		if len(r.Damage) != 0 {
			t.Errorf("damage %v after the segment was released", r.Damage)
		}
		ok(t, log.Close())
	})
}

// TestOtherSegmentSize opens a log with other settings than it was written with.
func TestOtherSegmentSize(t *testing.T) {
	for _, size := range []int64{12 << 10, 64 << 10, 8 << 10} {
		for _, closed := range []bool{true, false} {
			m, want := written(t, closed)
			cfg := config(m)
			cfg.SegmentBytes = size
			log, r := open(t, cfg)
			all, err := entries(r)
			ok(t, err)
			if missing, err := account(want, all, r); err != nil || missing > 0 {
				t.Errorf("%d: %d records are missing, %v", size, missing, err)
			}
			for i := range uint64(100) {
				ok(t, log.Wait(background, appendOne(t, log, 9, i+1)))
			}
			ok(t, log.Close())
			cfg.SegmentBytes = 8 << 10
			log, r = open(t, cfg)
			all, err = entries(r)
			ok(t, err)
			if len(all) != len(want)+100 || len(r.Damage) > 0 {
				t.Errorf("%d: %d records, want %d; damage %v", size, len(all), len(want)+100, r.Damage)
			}
			ok(t, log.Close())
		}
	}
}

// TestNamesOfADeadProcess: a process took the number from a segment and died before that was safe. The next
// one must not let a power cut bring the name back with the file's next life in it.
func TestNamesOfADeadProcess(t *testing.T) {
	m, _ := written(t, true)
	first := segmentNames(t, m)[0]
	ok(t, m.Rename(filepath.Join(dir, first), filepath.Join(dir, "spare-x")))
	var mu sync.Mutex // of cuts
	var cuts []*vfs.Memory
	cfg := config(vfs.NewRecorder(m, func(op vfs.Op) {
		mu.Lock()
		defer mu.Unlock()
		if op.Kind&vfs.OpsSync != 0 && len(cuts) < 100 {
			cuts = append(cuts, m.PowerCut(vfs.Lose))
		}
	}))
	cfg.Ready = 5 // so that the spare file is needed
	synctest.Test(t, func(t *testing.T) {
		log, _ := open(t, cfg)
		synctest.Wait()
		ok(t, log.Close())
	})
	for i, cut := range cuts {
		log, r := open(t, config(cut))
		if len(r.Damage) > 0 {
			t.Errorf("power cut at sync %d: damage %v", i, r.Damage)
		}
		ok(t, log.Close())
	}
}

// gcm is a cipher that counts its nonces.
type gcm struct {
	aead cipher.AEAD
	n    atomic.Uint64
}

func newGCM(t *testing.T, key byte) *gcm {
	t.Helper()
	block, err := aes.NewCipher(bytes.Repeat([]byte{key}, 32))
	ok(t, err)
	aead, err := cipher.NewGCM(block)
	ok(t, err)
	return &gcm{aead: aead}
}

func (g *gcm) Overhead() int { return g.aead.NonceSize() + g.aead.Overhead() }

func (g *gcm) Seal(dst, plain, bound []byte) []byte {
	nonce := make([]byte, g.aead.NonceSize())
	binary.LittleEndian.PutUint64(nonce, g.n.Add(1))
	dst = append(dst, nonce...)
	return g.aead.Seal(dst, nonce, plain, bound)
}

func (g *gcm) Open(dst, sealed, bound []byte) ([]byte, error) {
	if len(sealed) < g.aead.NonceSize() {
		return nil, errors.New("too short")
	}
	return g.aead.Open(dst, sealed[:g.aead.NonceSize()], sealed[g.aead.NonceSize():], bound)
}

func TestCipher(t *testing.T) {
	m, h := vfs.NewMemory(), newHistory()
	cfg := config(m)
	cfg.Cipher = newGCM(t, 1)
	log, _ := open(t, cfg)
	for step := range 40 {
		p, err := h.append(log, uint64(step%3), 1+step%4)
		ok(t, err)
		ok(t, h.wait(log, uint64(step%3), p))
	}
	state := h.snapshot()
	for name, fs := range map[string]*vfs.Memory{"kill": m.Kill(), "power cut": m.PowerCut(vfs.Lose)} {
		if _, err := check(fs, cfg, state, state); err != nil { // rewrites the last batch, sealed as it is
			t.Errorf("%s: %v", name, err)
		}
	}
	ok(t, log.Close())
	for index := uint64(1); index < 20; index++ {
		if p := payload(1, index); len(p) > 16 && bytes.Contains(readFile(t, m, wal.SegmentName(1)), p) {
			t.Errorf("payload %d stands in the file as it is", index)
		}
	}
	for name, wrong := range map[string]wal.Cipher{"no key": nil, "another key": newGCM(t, 2)} {
		cfg.Cipher = wrong
		log, r := open(t, cfg)
		_, err := entries(r)
		if !errors.Is(err, wal.ErrSealed) || !strings.Contains(fmt.Sprint(err), dir) {
			t.Errorf("%s: got %v, want %v and the file", name, err, wal.ErrSealed)
		}
		ok(t, log.Close())
	}
}

// TestCipherBindsTheHeader: a payload cannot be moved to another record.
func TestCipherBindsTheHeader(t *testing.T) {
	a, b := wal.EncodeRecord(wal.Record{Group: 1}, 0, 1, 0), wal.EncodeRecord(wal.Record{Group: 2}, 0, 1, 0)
	g := newGCM(t, 1)
	sealed := g.Seal(nil, []byte("secret"), a[8:34])
	if _, err := g.Open(nil, sealed, b[8:34]); err == nil {
		t.Error("opened as another group's")
	}
}

// TestStopReading: the caller may stop in the middle.
func TestStopReading(t *testing.T) {
	m, want := written(t, true)
	log, r := open(t, config(m))
	for stop := range 5 {
		n := 0
		for _, err := range r.All() {
			ok(t, err)
			if n++; n > stop {
				break
			}
		}
		if n != stop+1 || n > len(want) {
			t.Errorf("got %d records, want to stop after %d", n, stop+1)
		}
	}
	ok(t, log.Close())
}
