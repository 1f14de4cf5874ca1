package entries_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"runnel/jetlog/entries"
	"runnel/jetlog/vfs"
	"runnel/jetlog/wal"
)

// naive is a log as simple as can be.
type naive struct {
	first  uint64 // index of list[0]
	list   []entries.Entry
	place  entries.Place
	values map[string]string
}

func newNaive() *naive { return &naive{first: 1, values: map[string]string{}} }

func (n *naive) copy() *naive {
	c := *n
	c.list, c.values = slices.Clone(n.list), maps.Clone(n.values)
	return &c
}

func (n *naive) last() uint64 { return n.first + uint64(len(n.list)) - 1 }

// check compares a log with the naive one. It may have less at the beginning, but not of what is behind the place; where
// the entry at the place has to be there, exact says so.
func (n *naive) check(l *entries.Log, exact bool) error {
	last := l.Last()
	if last == 0 {
		last = max(n.place.Index, n.first-1)
	}
	if last != max(n.last(), n.place.Index) {
		return fmt.Errorf("last is %d, place %d, want %d", l.Last(), n.place.Index, n.last())
	}
	from := max(n.place.Index+1, n.first)
	if exact && n.place.Index >= n.first {
		from = n.place.Index
	}
	for i := n.first; i <= n.last(); i++ {
		got, err := l.Get(i)
		if errors.Is(err, entries.ErrNotFound) && i < from {
			continue
		}
		want := n.list[i-n.first]
		if err != nil || got.Term != want.Term || got.Type != want.Type || string(got.Data) != string(want.Data) || string(got.Extensions) != string(want.Extensions) {
			return fmt.Errorf("entry %d: %+v, %v, want %+v", i, got, err, want)
		}
	}
	for key, want := range n.values {
		if got := string(l.Value(key)); got != want {
			return fmt.Errorf("value %s is %q, want %q", key, got, want)
		}
	}
	return nil
}

// doer is what may be done to a log.
type doer interface {
	Append(ctx context.Context, list []entries.Entry) error
	Delete(first, last uint64) error
	Set(key string, value []byte) error
	Flushed(place entries.Place)
}

// nothing does nothing.
type nothing struct{}

func (nothing) Append(context.Context, []entries.Entry) error { return nil }
func (nothing) Delete(_, _ uint64) error                      { return nil }
func (nothing) Set(string, []byte) error                      { return nil }
func (nothing) Flushed(entries.Place)                         {}

// step does something at random to a log and to the naive one.
func (n *naive) step(r *rand.Rand, l doer, term uint64) error {
	switch r.IntN(6) {
	case 0, 1, 2:
		list := some(n.last()+1, term, 1+r.IntN(6), r.IntN(600))
		n.list = append(n.list, list...)
		return l.Append(context.Background(), list)
	case 3:
		if n.last() <= n.place.Index {
			return nil
		}
		from := n.place.Index + 1 + r.Uint64N(n.last()-n.place.Index)
		last := n.last()
		n.list = n.list[:from-n.first]
		return l.Delete(from, last)
	case 4:
		key, value := fmt.Sprint("key ", r.IntN(3)), fmt.Sprint(r.IntN(4))
		n.values[key] = value
		return l.Set(key, []byte(value))
	default:
		if n.last() <= n.place.Index {
			return nil
		}
		index := n.place.Index + 1 + r.Uint64N(n.last()-n.place.Index)
		n.place = entries.Place{Index: index, Term: n.list[index-n.first].Term}
		l.Flushed(n.place)
		return nil
	}
}

// relieve does what a store does when the log is short of space.
func (h *host) relieve() error {
	for {
		p, ok := h.log.Pinned()
		if stats := h.log.Stats(); !ok || stats.UsedBytes < stats.MaxBytes/4 {
			return nil
		}
		var logs []*entries.Log
		for _, id := range p.Groups {
			if h.logs[id] != nil {
				logs = append(logs, h.logs[id])
			}
		}
		if err := h.set.Relieve(context.Background(), logs, p.Last); err != nil {
			return err
		}
		if again, ok := h.log.Pinned(); ok && again.Last == p.Last {
			return nil
		}
	}
}

// TestModel does things at random to some groups, opens the log again now and then, after a power cut too, and compares.
func TestModel(t *testing.T) {
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 1))
		fs, groups, model := vfs.NewMemory(), places{}, map[uint64]*naive{}
		for id := range uint64(4) {
			groups[id+1], model[id+1] = row{}, newNaive()
		}
		cfg := entries.Config{GroupBytes: 4 << 10, Bytes: 12 << 10}
		h := open(t, fs, cfg, groups)
		for step := range 700 {
			id := 1 + r.Uint64N(4)
			n, l := model[id], h.logs[id]
			err := errors.Join(n.step(r, l, 1+uint64(step/100)), h.relieve())
			if err == nil {
				err = n.check(l, false)
			}
			groups[id] = row{place: n.place}
			if err != nil {
				t.Fatalf("seed %d, step %d, group %d: %v", seed, step, id, err)
			}
			if r.IntN(100) > 0 {
				continue
			}
			if r.IntN(2) == 0 {
				for id, l := range h.logs {
					if last := l.Last(); last > 0 {
						if err := l.WaitDurable(context.Background(), last); err != nil {
							t.Fatalf("seed %d, group %d: %v", seed, id, err)
						}
					}
				}
				fs = fs.PowerCut(vfs.Random(uint64(step)))
			}
			h.close()
			h = open(t, fs, cfg, groups)
			for id, n := range model {
				if err := n.check(h.logs[id], false); err != nil {
					t.Fatalf("seed %d, step %d, opened again, group %d: %v", seed, step, id, err)
				}
			}
		}
		h.close()
	}
}

// crash is the disk after a power cut, and what was promised by then.
type crash struct {
	at     string
	fs     *vfs.Memory
	groups places
	model  map[uint64]*naive // what was safe
	asked  map[uint64]*naive // what was begun besides
}

// TestPowerCuts cuts the power before each sync of entries, cuts, values, flushes and what is appended again. What was safe
// is there; what was begun is there or not.
func TestPowerCuts(t *testing.T) {
	for i, cut := range []vfs.Choice{vfs.Lose, vfs.Keep, vfs.Random(1), vfs.Random(2)} {
		var mu sync.Mutex
		var crashes []crash
		memory, groups := vfs.NewMemory(), places{1: {}, 2: {}}
		safe, asked := map[uint64]*naive{1: newNaive(), 2: newNaive()}, map[uint64]*naive{1: newNaive(), 2: newNaive()}
		copyOf := func(m map[uint64]*naive) map[uint64]*naive {
			c := map[uint64]*naive{}
			for id, n := range m {
				c[id] = n.copy()
			}
			return c
		}
		n := 0
		fs := vfs.NewRecorder(memory, func(op vfs.Op) {
			mu.Lock()
			defer mu.Unlock()
			if n++; op.Kind&(vfs.OpsSync|vfs.OpRename) == 0 || n%3 != i%3 {
				return
			}
			crashes = append(crashes, crash{fmt.Sprintf("cut %d before operation %d, %s", i, n, op), memory.PowerCut(cut), maps.Clone(groups), copyOf(safe), copyOf(asked)})
		})
		h := open(t, fs, entries.Config{GroupBytes: 4 << 10}, groups)
		r := rand.New(rand.NewPCG(7, uint64(i)))
		for step := range 150 {
			id := 1 + r.Uint64N(2)
			model := safe[id].copy()
			l := h.logs[id]
			before := model.copy()
			// What is about to be done is known before anything of it gets to the disk.
			seed := r.Uint64()
			plan := model.copy()
			_ = plan.step(rand.New(rand.NewPCG(seed, 0)), nothing{}, 1+uint64(step/20))
			mu.Lock()
			asked[id] = plan
			if plan.place.Index > before.place.Index {
				groups[id] = row{place: plan.place} // the manifest is told first
				safe[id].place = plan.place
			}
			mu.Unlock()
			if err := model.step(rand.New(rand.NewPCG(seed, 0)), l, 1+uint64(step/20)); err != nil {
				t.Fatal(err)
			}
			if last := l.Last(); last > 0 {
				if err := l.WaitDurable(context.Background(), last); err != nil {
					t.Fatal(err)
				}
			}
			mu.Lock()
			safe[id], asked[id] = model, model.copy()
			mu.Unlock()
			if err := h.relieve(); err != nil {
				t.Fatal(err)
			}
		}
		h.close()
		for _, c := range crashes {
			c.check(t)
		}
	}
}

func (c *crash) check(t *testing.T) {
	t.Helper()
	h, err := tryOpen(t, c.fs, entries.Config{GroupBytes: 4 << 10}, c.groups)
	if errors.Is(err, wal.ErrClosed) {
		return
	}
	if err != nil {
		t.Fatalf("%s: %v", c.at, err)
	}
	defer h.close()
	for id, l := range h.logs {
		before, after := c.model[id].check(l, false), c.asked[id].check(l, false)
		if before != nil && after != nil && !c.between(id, l) {
			t.Fatalf("%s, group %d: neither %v nor %v", c.at, id, before, after)
		}
	}
}

// between reports whether a log has all that was safe, and a beginning of the entries that were on their way.
func (c *crash) between(id uint64, l *entries.Log) bool {
	part := c.asked[id].copy()
	for part.last() > c.model[id].last() {
		part.list = part.list[:len(part.list)-1]
		if part.check(l, false) == nil {
			return true
		}
	}
	return false
}

// FuzzRecover gives a log records of all kinds: it takes them over, or says that it is damaged.
func FuzzRecover(f *testing.F) {
	f.Add(uint8(0x10), uint64(1), uint64(1), []byte("data"))
	f.Add(uint8(0x25), uint64(2), uint64(1), []byte("\x03extdata"))
	f.Add(uint8(0x30), uint64(1), uint64(0), []byte{})
	f.Add(uint8(0x31), ^uint64(0), uint64(0), []byte("\x01\x01k\x01v"))
	f.Add(uint8(0x77), uint64(1), uint64(0), []byte{})
	f.Add(uint8(1), uint64(1), uint64(0), []byte("a command"))
	f.Fuzz(func(t *testing.T, kind uint8, index, term uint64, payload []byte) {
		set := entries.NewSet(entries.Config{})
		l := set.New(1, entries.Place{Index: 1}, 2)
		for i, index := range []uint64{2, 3, index, index + 1} {
			r := wal.Entry{Record: wal.Record{Group: 1, Index: index, Term: term, Kind: 0x10}, Position: wal.Position(3 + i)}
			if i > 1 {
				r.Kind, r.Payload = kind, payload
			}
			if err := l.Recover(&r); err != nil && !errors.Is(err, entries.ErrDamaged) {
				t.Errorf("%v", err)
			}
		}
		if first, last := l.First(), l.Last(); first > last || first > 0 && last-first > 3 {
			t.Errorf("%d to %d", first, last)
		}
		for i := l.First(); i > 0 && i <= l.Last() && i < l.First()+4; i++ {
			if e, err := l.Get(i); err != nil || e.Index != i {
				t.Errorf("entry %d is %+v, %v", i, e, err)
			}
		}
	})
}
