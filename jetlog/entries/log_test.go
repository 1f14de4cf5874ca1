package entries_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"runnel/jetlog/entries"
	"runnel/jetlog/vfs"
	"runnel/jetlog/wal"
)

const dir = "/log"

// host is what a store is to the logs of some groups.
type host struct {
	t       testing.TB
	cfg     entries.Config
	log     *wal.Log
	set     *entries.Set
	logs    map[uint64]*entries.Log
	flushes int
}

// places are what a manifest has of groups: it outlives a host.
type places map[uint64]row

type row struct {
	place entries.Place
	begin wal.Position
}

// open opens the shared log and recovers the groups.
func open(t testing.TB, fs vfs.FS, cfg entries.Config, groups places) *host {
	t.Helper()
	h, err := tryOpen(t, fs, cfg, groups)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func tryOpen(t testing.TB, fs vfs.FS, cfg entries.Config, groups places) (*host, error) {
	return openWith(t, fs, cfg, groups, wal.Always)
}

// openWith is tryOpen with another policy of the shared log.
func openWith(t testing.TB, fs vfs.FS, cfg entries.Config, groups places, policy wal.Policy) (*host, error) {
	h := &host{t: t, cfg: cfg, logs: map[uint64]*entries.Log{}}
	cfg.Log = func() *wal.Log { return h.log }
	cfg.Flush = func() { h.flushes++ }
	h.set = entries.NewSet(cfg)
	for id, g := range groups {
		h.logs[id] = h.set.New(id, g.place, g.begin)
	}
	log, recovered, err := wal.Open(wal.Config{FS: fs, Dir: dir, SegmentBytes: 64 << 10, MaxBytes: 1 << 20, Policy: policy})
	if err != nil {
		return nil, err
	}
	h.log = log
	for e, err := range recovered.All() {
		if err != nil {
			return nil, errors.Join(err, log.Close())
		}
		if l := h.logs[e.Group]; l != nil {
			_ = l.Recover(&e) // Recovered tells
		}
	}
	for _, l := range h.logs {
		if err := l.Recovered(); err != nil {
			return nil, errors.Join(err, log.Close())
		}
	}
	return h, nil
}

func (h *host) close() {
	h.t.Helper()
	if err := h.log.Close(); err != nil {
		h.t.Fatal(err)
	}
}

// some returns entries from an index on, in a term.
func some(index, term uint64, n, bytes int) (list []entries.Entry) {
	for i := range n {
		e := entries.Entry{Index: index + uint64(i), Term: term, Type: uint8(i % 3), Data: make([]byte, bytes)}
		copy(e.Data, fmt.Sprintf("%d of %d", e.Index, term))
		if i%2 == 1 {
			e.Extensions = fmt.Appendf(nil, "extension %d", e.Index)
		}
		list = append(list, e)
	}
	return list
}

func appendTo(t testing.TB, l *entries.Log, list []entries.Entry) {
	t.Helper()
	if err := l.Append(context.Background(), list); err != nil {
		t.Fatal(err)
	}
}

// all returns what a log has.
func all(t testing.TB, l *entries.Log) (list []entries.Entry) {
	t.Helper()
	if l.First() == 0 {
		return nil
	}
	for i := l.First(); i <= l.Last(); i++ {
		e, err := l.Get(i)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}

func same(t *testing.T, what string, l *entries.Log, want []entries.Entry) {
	t.Helper()
	got := all(t, l)
	if len(got) != len(want) {
		t.Fatalf("%s: %d entries from %d to %d, want %d", what, len(got), l.First(), l.Last(), len(want))
	}
	for i := range got {
		if got[i].Index != want[i].Index || got[i].Term != want[i].Term || got[i].Type != want[i].Type ||
			string(got[i].Data) != string(want[i].Data) || string(got[i].Extensions) != string(want[i].Extensions) {
			t.Fatalf("%s: entry %+v, want %+v", what, got[i], want[i])
		}
	}
}

// TestEntriesStay appends, cuts and sets, and opens the log again.
func TestEntriesStay(t *testing.T) {
	fs := vfs.NewMemory()
	groups := places{1: {place: entries.Place{Index: 1, Term: 1}}, 2: {place: entries.Place{Index: 7, Term: 2}}, 3: {}}
	h := open(t, fs, entries.Config{}, groups)
	a, b := h.logs[1], h.logs[2]
	appendTo(t, a, some(2, 1, 20, 10))
	appendTo(t, b, some(8, 2, 5, 100))
	for _, v := range []string{"1", "2", "2"} {
		if err := errors.Join(a.Set("CurrentTerm", []byte(v)), a.Set("LastVoteCand", []byte("node "+v))); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Delete(15, 21); err != nil {
		t.Fatal(err)
	}
	want := some(2, 1, 13, 10)
	same(t, "cut", a, want)
	more := some(15, 3, 4, 7)
	appendTo(t, a, more)
	want = append(want, more...)
	if err := a.WaitDurable(context.Background(), 18); err != nil || a.Durable() != 18 {
		t.Errorf("durable up to %d, %v, want 18", a.Durable(), err)
	}
	h.close()
	for range 2 {
		h = open(t, fs, entries.Config{}, groups)
		same(t, "opened again", h.logs[1], want)
		same(t, "the other one", h.logs[2], some(8, 2, 5, 100))
		same(t, "nothing", h.logs[3], nil)
		if got := string(h.logs[1].Value("CurrentTerm")) + ", " + string(h.logs[1].Value("LastVoteCand")); got != "2, node 2" {
			t.Errorf("values %s", got)
		}
		if h.logs[2].Value("CurrentTerm") != nil || h.logs[1].Durable() != 18 || h.logs[3].Durable() != 0 || h.logs[3].Last() != 0 {
			t.Errorf("value %q, durable %d and %d", h.logs[2].Value("CurrentTerm"), h.logs[1].Durable(), h.logs[3].Durable())
		}
		h.close()
	}
}

// TestOrder refuses entries that do not follow, and deletions from the middle.
func TestOrder(t *testing.T) {
	h := open(t, vfs.NewMemory(), entries.Config{}, places{1: {place: entries.Place{Index: 4, Term: 1}}})
	defer h.close()
	l := h.logs[1]
	ctx := context.Background()
	for name, list := range map[string][]entries.Entry{
		"a gap behind the place": some(6, 1, 1, 1),
		"index 0":                some(0, 1, 1, 1),
		"a gap among them":       append(some(5, 1, 1, 1), some(7, 1, 1, 1)...),
		"a type that is none":    {{Index: 5, Term: 1, Type: 16}},
	} {
		if err := l.Append(ctx, list); !errors.Is(err, entries.ErrOrder) {
			t.Errorf("%s: %v", name, err)
		}
	}
	appendTo(t, l, some(5, 1, 6, 1))
	if err := l.Append(ctx, some(10, 1, 1, 1)); !errors.Is(err, entries.ErrOrder) {
		t.Errorf("an index that is there: %v", err)
	}
	if err := l.Delete(6, 8); !errors.Is(err, entries.ErrOrder) {
		t.Errorf("from the middle: %v", err)
	}
	if _, err := l.Get(11); !errors.Is(err, entries.ErrNotFound) {
		t.Errorf("get: %v", err)
	}
	if err := l.WaitDurable(ctx, 11); !errors.Is(err, entries.ErrNotFound) {
		t.Errorf("wait: %v", err)
	}
	for _, step := range []struct {
		name        string
		first, last uint64
		from, to    uint64
	}{
		{"nothing there", 11, 20, 5, 10},
		{"the beginning, behind the place", 1, 7, 5, 10},
		{"the end", 9, 10, 5, 8},
		{"all", 1, 8, 0, 0},
		{"none left", 1, 8, 0, 0},
	} {
		if err := l.Delete(step.first, step.last); err != nil || l.First() != step.from || l.Last() != step.to {
			t.Errorf("%s: %d to %d, %v, want %d to %d", step.name, l.First(), l.Last(), err, step.from, step.to)
		}
	}
	l.Close()
	if err := l.Append(ctx, some(5, 1, 1, 1)); !errors.Is(err, entries.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	if err := l.Set("x", nil); !errors.Is(err, entries.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	if h.set.Bytes() != 0 || h.set.Due() {
		t.Errorf("%d bytes are counted", h.set.Bytes())
	}
}

// TestWindows keeps what a group has before its place within bounds: each, and all together. What is not in files yet stays,
// and asks for a flush.
func TestWindows(t *testing.T) {
	const size = 1000
	h := open(t, vfs.NewMemory(), entries.Config{GroupBytes: 10 * (size + 128), Bytes: 30 * (size + 128)}, places{1: {}, 2: {}, 3: {}})
	defer h.close()
	a, b, c := h.logs[1], h.logs[2], h.logs[3]
	appendTo(t, a, some(1, 1, 29, size-32))
	if h.set.Due() {
		t.Error("due")
	}
	h.flushes = 0
	a.Flushed(entries.Place{Index: 20, Term: 1})
	if a.First() < 9 || a.First() > 12 || a.Last() != 29 {
		t.Errorf("a has %d to %d", a.First(), a.Last())
	}
	b.Flushed(entries.Place{Index: 3, Term: 1})
	appendTo(t, b, some(4, 1, 25, size-32))
	if a.First() != 20 || b.Last() != 28 {
		t.Errorf("a has %d to %d, b up to %d", a.First(), a.Last(), b.Last())
	}
	if _, err := a.Get(19); !errors.Is(err, entries.ErrNotFound) {
		t.Errorf("get: %v", err)
	}
	if err := a.WaitDurable(context.Background(), 10); err != nil {
		t.Errorf("wait for what is gone: %v", err)
	}
	if !h.set.Due() || h.flushes == 0 {
		t.Errorf("due: %v, %d flushes", h.set.Due(), h.flushes)
	}
	a.Flushed(entries.Place{Index: 29, Term: 1})
	b.Flushed(entries.Place{Index: 28, Term: 1})
	b.Flushed(entries.Place{Index: 20, Term: 1}) // an old one changes nothing
	if h.set.Due() || h.set.Bytes() > 30*(size+128) || a.Last() != 29 || b.Last() != 28 || b.Place().Index != 28 {
		t.Errorf("due: %v, %d bytes, a up to %d, b up to %d", h.set.Due(), h.set.Bytes(), a.Last(), b.Last())
	}
	if _, err := a.Get(29); err != nil {
		t.Errorf("the entry at the place: %v", err)
	}
	if err := a.Delete(1, 28); err != nil || a.First() != 29 {
		t.Errorf("the window: %d, %v", a.First(), err)
	}
	if c.First() != 0 || c.Durable() != 0 {
		t.Errorf("c has %d", c.First())
	}
}

// TestEarlierLog opens a log whose group had another one before: only the values of that one count.
func TestEarlierLog(t *testing.T) {
	fs := vfs.NewMemory()
	h := open(t, fs, entries.Config{}, places{1: {}})
	appendTo(t, h.logs[1], some(1, 1, 9, 10))
	if err := h.logs[1].Set("CurrentTerm", []byte("1")); err != nil {
		t.Fatal(err)
	}
	begin, err := h.log.Append(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	begin++
	h.logs[1].Reset(entries.Place{Index: 4, Term: 9}, begin)
	if h.logs[1].Last() != 0 || h.logs[1].Place().Term != 9 {
		t.Errorf("%d entries, place %+v", h.logs[1].Last(), h.logs[1].Place())
	}
	appendTo(t, h.logs[1], some(5, 9, 3, 10))
	h.close()
	h = open(t, fs, entries.Config{}, places{1: {entries.Place{Index: 4, Term: 9}, begin}})
	defer h.close()
	same(t, "the later log", h.logs[1], some(5, 9, 3, 10))
	if string(h.logs[1].Value("CurrentTerm")) != "1" {
		t.Error("the values are gone")
	}
}

// TestGaps judges what is missing when a log is opened.
func TestGaps(t *testing.T) {
	for _, step := range []struct {
		name        string
		first, then []entries.Entry
		place       uint64
		from        uint64 // 0 for damaged
	}{
		{"whole", some(1, 1, 5, 1), some(6, 1, 5, 1), 0, 1},
		{"a gap in the window", some(1, 1, 5, 1), some(8, 1, 5, 1), 7, 8},
		{"a gap at the place", some(1, 1, 5, 1), some(8, 1, 5, 1), 6, 0},
		{"a gap behind the place", some(1, 1, 5, 1), some(8, 1, 5, 1), 3, 0},
		{"older than the place", some(1, 1, 5, 1), nil, 9, 0},
		{"again, elsewhere", some(1, 1, 5, 1), some(3, 1, 5, 1), 0, 1},
		{"another term", some(1, 1, 5, 1), some(3, 2, 1, 1), 0, 1},
	} {
		fs := vfs.NewMemory()
		log, _, err := wal.Open(wal.Config{FS: fs, Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range slices.Concat(step.first, step.then) {
			r := wal.Record{Group: 1, Index: e.Index, Term: e.Term, Kind: 0x10 | e.Type, Payload: e.Data}
			if _, err := log.Append(context.Background(), r); err != nil {
				t.Fatal(err)
			}
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		h, err := tryOpen(t, fs, entries.Config{}, places{1: {place: entries.Place{Index: step.place, Term: 1}}})
		if step.name == "older than the place" {
			if err != nil || h.logs[1].Last() != 0 {
				t.Errorf("%s: %v", step.name, err)
			}
		} else if step.from == 0 {
			if !errors.Is(err, entries.ErrDamaged) {
				t.Errorf("%s: %v", step.name, err)
			}
			continue
		} else if err != nil || h.logs[1].First() != step.from {
			t.Errorf("%s: %v", step.name, err)
		}
		if step.name == "another term" && !reflect.DeepEqual(h.logs[1].Last(), uint64(3)) {
			t.Errorf("%s: up to %d", step.name, h.logs[1].Last())
		}
		h.close()
	}
}

// TestRelieve fills the log while groups are idle: they do not keep its first segments, and lose nothing by it.
func TestRelieve(t *testing.T) {
	fs := vfs.NewMemory()
	groups := places{1: {}, 2: {}, 3: {place: entries.Place{Index: 4, Term: 1}}, 9: {}}
	h := open(t, fs, entries.Config{}, groups)
	appendTo(t, h.logs[1], some(1, 1, 3, 100)) // not in files
	appendTo(t, h.logs[2], some(1, 1, 30, 100))
	h.logs[2].Flushed(entries.Place{Index: 28, Term: 1}) // a window, and two entries
	groups[2] = row{place: entries.Place{Index: 28, Term: 1}}
	if err := h.logs[3].Set("CurrentTerm", []byte("8")); err != nil { // only a value
		t.Fatal(err)
	}
	busy, index := h.logs[9], uint64(1)
	for range 200 {
		appendTo(t, busy, some(index, 1, 10, 1000))
		index += 10
		busy.Flushed(entries.Place{Index: index - 1, Term: 1})
		for {
			p, ok := h.log.Pinned()
			if stats := h.log.Stats(); !ok || stats.UsedBytes < stats.MaxBytes/4 {
				break
			}
			var logs []*entries.Log
			for _, id := range p.Groups {
				logs = append(logs, h.logs[id])
			}
			if err := h.set.Relieve(context.Background(), logs, p.Last); err != nil {
				t.Fatal(err)
			}
		}
	}
	groups[9] = row{place: entries.Place{Index: index - 1, Term: 1}}
	killed := fs.PowerCut(vfs.Lose)
	h.close()
	h = open(t, killed, entries.Config{}, groups)
	defer h.close()
	same(t, "what was not in files", h.logs[1], some(1, 1, 3, 100))
	if h.logs[2].Last() != 30 || h.logs[2].First() > 29 {
		t.Errorf("the second has %d to %d", h.logs[2].First(), h.logs[2].Last())
	}
	if string(h.logs[3].Value("CurrentTerm")) != "8" {
		t.Error("the value is lost")
	}
}

// TestAgainInPart ends the process while entries are appended again: none is lost when the segment of the first ones is
// used for something else.
func TestAgainInPart(t *testing.T) {
	fs, groups := vfs.NewMemory(), places{1: {}, 2: {}}
	h := open(t, fs, entries.Config{}, groups)
	list := some(1, 1, 5, 100)
	appendTo(t, h.logs[1], list)
	fill := func(from, n uint64) uint64 {
		for range n {
			appendTo(t, h.logs[2], some(from, 1, 10, 1000))
			from += 10
			h.logs[2].Flushed(entries.Place{Index: from - 1, Term: 1})
		}
		return from
	}
	next := fill(1, 30)
	for _, e := range list[:2] {
		r := wal.Record{Group: 1, Index: e.Index, Term: e.Term, Kind: 0x10 | e.Type, Payload: e.Data}
		if len(e.Extensions) > 0 {
			r.Kind, r.Payload = 0x20|e.Type, append(append([]byte{byte(len(e.Extensions))}, e.Extensions...), e.Data...)
		}
		if _, err := h.log.Append(context.Background(), r); err != nil {
			t.Fatal(err)
		}
	}
	h.close()
	groups[2] = row{place: entries.Place{Index: next - 1, Term: 1}}
	h = open(t, fs, entries.Config{}, groups)
	h.logs[1].Flushed(entries.Place{})
	for range 40 {
		next = fill(next, 1)
		if err := h.relieve(); err != nil {
			t.Fatal(err)
		}
		groups[2] = row{place: entries.Place{Index: next - 1, Term: 1}}
		later := open(t, fs.Kill(), entries.Config{}, groups)
		same(t, "appended again in part", later.logs[1], list)
		later.close()
	}
	h.close()
}

// TestRelaxedPolicy: what a replica says is durable outlives a power cut also where the shared log has others wait for less.
func TestRelaxedPolicy(t *testing.T) {
	for name, policy := range map[string]wal.Policy{"os": wal.OS, "interval": wal.Interval} {
		t.Run(name, func(t *testing.T) {
			memory, groups := vfs.NewMemory(), places{1: {}}
			h, err := openWith(t, memory, entries.Config{}, groups, policy)
			if err != nil {
				t.Fatal(err)
			}
			defer h.close()
			var list []entries.Entry
			for i := range 20 {
				more := some(uint64(1+5*i), 1, 5, 100)
				list = append(list, more...)
				appendTo(t, h.logs[1], more)
				if err := h.logs[1].WaitDurable(t.Context(), uint64(len(list))); err != nil {
					t.Fatal(err)
				}
				durable := h.logs[1].Durable()
				after := open(t, memory.PowerCut(vfs.Lose), entries.Config{}, groups)
				if durable != uint64(len(list)) || after.logs[1].Last() != durable {
					t.Errorf("%d entries were waited for: %d are said to be durable, and %d are there after a power cut", len(list), durable, after.logs[1].Last())
				}
				after.close()
			}
			same(t, "the log", h.logs[1], list)
		})
	}
}
