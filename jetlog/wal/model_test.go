package wal_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"runnel/jetlog/vfs"
	"runnel/jetlog/wal"
)

// TestModel does random things to a log, crashes and starts it again in random ways, and compares what is
// recovered with what a plain history says. A failing seed is printed; put it into TestModelCases.
func TestModel(t *testing.T) {
	for seed := range seeds(60, 5000) {
		if err := model(seed); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// model runs the seed's story.
func model(seed uint64) error {
	r := rand.New(rand.NewPCG(seed, 2))
	m, h := vfs.NewMemory(), newHistory()
	cfg := config(m)
	cfg.SegmentBytes = 8<<10 + r.Int64N(3)*4096
	cfg.Policy = wal.Policy(r.IntN(3))
	h.relaxed = cfg.Policy != wal.Always
	for life := range 6 {
		before := h.snapshot()
		cfg.FS = m
		found, err := check(m, cfg, before, before)
		if err != nil {
			return fmt.Errorf("life %d: %w", life, err)
		}
		relaxed := h.relaxed
		h = resume(found)
		h.relaxed = relaxed
		log, recovered, err := wal.Open(cfg)
		if err != nil {
			return err
		}
		for e, err := range recovered.All() {
			if err != nil {
				return err
			}
			h.positions[e.Group][e.Index] = e.Position
		}
		if err := live(log, h, r); err != nil {
			return fmt.Errorf("life %d: %w", life, err)
		}
		next, must := end(m, h, r)
		if next == nil {
			next = m
			if err := log.Close(); err != nil {
				return err
			}
			next, must = m.PowerCut(vfs.Lose), all(h.snapshot())
		} else if err := log.Close(); err != nil { // of a process that is dead already
			return err
		}
		m = next
		h.state = must
	}
	return nil
}

// live appends, waits and releases.
func live(log *wal.Log, h *history, r *rand.Rand) error {
	for range r.IntN(60) {
		group := r.Uint64N(5)
		switch r.IntN(10) {
		case 0, 1:
			h.release(log, group, r.Uint64N(h.snapshot()[group].acked+1))
		default:
			p, err := h.append(log, group, 1+r.IntN(6))
			if err == nil && r.IntN(3) > 0 {
				err = h.wait(log, group, p)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// end crashes; it returns nil for a clean end.
func end(m *vfs.Memory, h *history, r *rand.Rand) (*vfs.Memory, state) {
	must := h.snapshot()
	switch r.IntN(5) {
	case 0:
		return m.Kill(), must.killed()
	case 1:
		return m.PowerCut(vfs.Keep), must
	case 2:
		return m.PowerCut(vfs.Lose), must
	case 3:
		return m.PowerCut(vfs.Random(r.Uint64())), must
	}
	return nil, nil
}

// all is the state where everything that was appended must be there.
func all(s state) state {
	for group, p := range s {
		p.acked = p.attempted
		s[group] = p
	}
	return s
}

// TestModelCases are seeds that failed once.
func TestModelCases(t *testing.T) {
	for _, seed := range []uint64{722} {
		if err := model(seed); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}
