package body_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"runnel/jetlog/body"
)

// TestBodyIDs sees that the snapshot of a body has each message id once, as it was noted last, and that
// it is forgotten in the restored body when it would have been in the other.
func TestBodyIDs(t *testing.T) {
	m := body.NewMemory()
	m.Remember([]byte("a"), 1, 10)
	m.Remember([]byte("b"), 2, 20)
	m.Remember([]byte("a"), 3, 30)
	m.Remember([]byte("a"), 4, 30)
	fresh := body.NewMemory()
	fresh.Remember([]byte("b"), 2, 20)
	fresh.Remember([]byte("a"), 4, 30)
	form := m.AppendSnapshot(nil)
	if want := fresh.AppendSnapshot(nil); !bytes.Equal(form, want) {
		t.Errorf("got %q, want that of a body that has noted each id once: %q", form, want)
	}
	restored := restoredBody(t, form)
	for before := int64(9); before < 33; before++ {
		for _, body := range []*body.Memory{m, restored} {
			body.Forget(before)
			for id, want := range map[string]int64{"a": 30, "b": 20} {
				seq, at, err := body.MessageID([]byte(id))
				if there := before <= want; err != nil || (seq != 0) != there || there && at != want {
					t.Fatalf("before %d: %s is %d at %d, %v", before, id, seq, at, err)
				}
			}
		}
		if !bytes.Equal(m.AppendSnapshot(nil), restored.AppendSnapshot(nil)) {
			t.Fatalf("before %d: the restored body is another", before)
		}
	}
}

func restoredBody(t *testing.T, form []byte) *body.Memory {
	t.Helper()
	m, err := body.RestoreMemory(bytes.Clone(form))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestBodiesAreRestored changes a body at random, ids included, and goes on with a restored one now
// and then: all questions are answered alike, and the snapshot is that of the other.
func TestBodiesAreRestored(t *testing.T) {
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 2))
		m, p := body.NewMemory(), plain{}
		ids := map[string][2]int64{}
		next := uint64(1)
		for step := range 300 {
			now := int64(step / 2)
			switch n := rng.IntN(12); {
			case n < 6 || len(p) == 0:
				next += rng.Uint64N(1 << rng.IntN(8))
				add(m, p, next, fmt.Sprintf("s.%d.%d", rng.IntN(3), rng.IntN(3)), now)
				next++
			case n < 8:
				live := p.matching(nil, 0, top)
				meta := p[live[rng.IntN(len(live))]]
				m.Remove(&meta, body.Deleted)
				delete(p, meta.Sequence)
			case n < 10:
				id := fmt.Sprint(rng.IntN(9))
				m.Remember([]byte(id), next, now)
				ids[id] = [2]int64{int64(next), now}
			case n < 11:
				before := now - int64(rng.IntN(40))
				m.Forget(before)
				for id, noted := range ids {
					if noted[1] < before {
						delete(ids, id)
					}
				}
			default:
				form := m.AppendSnapshot(nil)
				m = restoredBody(t, form)
				if !bytes.Equal(m.AppendSnapshot(nil), form) {
					t.Fatalf("seed %d, step %d: the restored body is another", seed, step)
				}
			}
			for i := range 9 {
				id := fmt.Sprint(i)
				seq, at, err := m.MessageID([]byte(id))
				if want := ids[id]; err != nil || [2]int64{int64(seq), at} != want {
					t.Fatalf("seed %d, step %d: id %s is %d at %d, %v, want %v", seed, step, id, seq, at, err, want)
				}
			}
			ask(t, rng, m, p, next)
			if t.Failed() {
				t.Fatalf("seed %d, step %d", seed, step)
			}
		}
	}
}

// TestBodyOfNothing asks all questions of a body that is empty, or has become so.
func TestBodyOfNothing(t *testing.T) {
	used, p := body.NewMemory(), plain{}
	for seq := uint64(1); seq < 200; seq += 7 {
		add(used, p, seq, "s.1.1", 5)
	}
	used.RemoveRange(0, 1000, body.Purged)
	removed := body.NewMemory()
	add(removed, plain{}, 70, "s.1.1", 5)
	removed.Remove(&body.Meta{Sequence: 70}, body.Deleted)
	removed.Remove(&body.Meta{Sequence: 70}, body.Deleted) // a second time is nothing
	removed.Remove(&body.Meta{Sequence: 700}, body.Deleted)
	form := body.NewMemory().AppendSnapshot(nil)
	for name, m := range map[string]*body.Memory{"new": body.NewMemory(), "used": used, "removed": removed} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 1))
			for range 50 {
				ask(t, rng, m, plain{}, 300)
			}
			if got := m.AppendSnapshot(nil); !bytes.Equal(got, form) {
				t.Errorf("got %q, want that of a new body %q", got, form)
			}
			again := plain{}
			add(m, again, 1000, "s.1.1", 9)
			for range 50 {
				ask(t, rng, m, again, 1001)
			}
		})
	}
}

// TestReasons sees that every reason has a name of its own, under which it is counted.
func TestReasons(t *testing.T) {
	seen := map[string]bool{}
	for r := range body.Reason(body.Reasons) {
		if name := r.String(); name == "unknown" || seen[name] {
			t.Errorf("reason %d is %q", r, name)
		} else {
			seen[name] = true
		}
	}
	if name := body.Reason(body.Reasons).String(); name != "unknown" {
		t.Errorf("one that is none is %q", name)
	}
}
