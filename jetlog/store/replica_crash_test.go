package store_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"

	"runnel/jetlog/command"
	"runnel/jetlog/entries"
	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
)

// replicaPromises are what a member has told its group: entries that are safe, a value, and what states the group had.
type replicaPromises struct {
	last   uint64            // entry that is safe
	value  int               // that is safe
	asked  int               // value that was to be set
	hashes map[uint64]uint64 // by index, of everything that was ever committed
}

func (p *replicaPromises) copy() *replicaPromises {
	c := *p
	c.hashes = map[uint64]uint64{}
	maps.Copy(c.hashes, p.hashes)
	return &c
}

// leader is a group with one member that never fails, and whom another one follows.
type leader struct{ *group }

// TestReplicaPowerCuts cuts the power of a member before each sync and rename while it appends, cuts off entries that were
// never committed, votes, flushes, and is given the state of another: what it has told others is there, and its state is one
// that the group had.
func TestReplicaPowerCuts(t *testing.T) {
	for i, cut := range []vfs.Choice{vfs.Lose, vfs.Keep, vfs.Random(3), vfs.Random(4)} {
		var mu sync.Mutex
		var crashes []func()
		memory, p, n := vfs.NewMemory(), &replicaPromises{hashes: map[uint64]uint64{}}, 0
		fs := vfs.NewRecorder(memory, func(op vfs.Op) {
			mu.Lock()
			defer mu.Unlock()
			if n++; op.Kind&(vfs.OpsSync|vfs.OpRename|vfs.OpRemove) == 0 || (n+i)%cutEvery != 0 {
				return
			}
			left, seen, at := memory.PowerCut(cut), p.copy(), fmt.Sprintf("cut %d before operation %d, %s", i, n, op)
			crashes = append(crashes, func() { seen.kept(t, at, left) })
		})
		note := func(do func()) {
			mu.Lock()
			defer mu.Unlock()
			do()
		}
		replicaScenario(t, fs, p, note)
		for _, check := range crashes {
			check()
		}
		if len(crashes) < 10 {
			t.Errorf("%d cuts", len(crashes))
		}
	}
}

// replicaScenario is the life of a member: born with a group, left behind, wiped, and given a state twice.
func replicaScenario(t *testing.T, fs vfs.FS, p *replicaPromises, note func(func())) {
	t.Helper()
	g := newGroup(t, unlimited("S"), 1)
	l := &leader{g}
	hash := func() {
		index, sum := g.members[0].stream.Hash()
		note(func() { p.hashes[index] = sum })
	}
	hash()
	m := newMember(t, fs, assigned(unlimited("S"), birth()))
	for round := range 3 {
		for i := range 6 {
			publish(t, g.members[0].stream, 1)
			hash()
			l.replicate(m, p, note)
			value := 10*round + i
			note(func() { p.asked = value })
			if err := m.stream.Entries().Set("CurrentTerm", fmt.Append(nil, value)); err != nil {
				t.Fatal(err)
			}
			note(func() { p.value = value })
			if i == 3 {
				l.divert(m)
			}
		}
		if err := errors.Join(m.store.Flush(), g.members[0].store.Flush()); err != nil {
			t.Fatal(err)
		}
		publish(t, g.members[0].stream, 5)
		hash()
		if err := g.members[0].store.Flush(); err != nil {
			t.Fatal(err)
		}
		place := g.members[0].stream.Place().Index
		if round == 1 {
			note(func() { p.last, p.value, p.asked = 0, 0, 0 }) // it will not be held to it
			var err error
			if m.stream, err = m.store.Wipe(m.stream); err != nil {
				t.Fatal(err)
			}
		}
		if err := install(g.members[0], m); err != nil {
			t.Fatal(err)
		}
		note(func() { p.last = place })
	}
	if _, err := m.stream.Checkpoint(); err != nil {
		t.Fatal(err)
	}
	note(func() { p.last, p.value, p.asked = 0, 0, 0 })
	if err := m.store.Delete(m.stream); err != nil {
		t.Fatal(err)
	}
	if err := m.store.Close(); err != nil {
		t.Fatal(err)
	}
	g.close()
}

// replicate gives a member what it lacks.
func (l *leader) replicate(m *member, p *replicaPromises, note func(func())) {
	l.t.Helper()
	for i := m.stream.Applied() + 1; i <= l.index; i++ {
		e, err := l.members[0].stream.Entries().Get(i)
		if err == nil {
			err = m.stream.Entries().Append(context.Background(), []entries.Entry{e})
		}
		if err == nil {
			err = m.stream.Entries().WaitDurable(context.Background(), i)
		}
		note(func() { p.last = i })
		if err == nil {
			err = m.apply(e, nil)
		}
		if err != nil {
			l.t.Fatal(err)
		}
	}
}

// divert lets a member have entries that are never committed, and cuts them off.
func (l *leader) divert(m *member) {
	l.t.Helper()
	c := command.Append(nil, &command.Publish{Time: 1, Subject: "S.never"})
	data := append([]byte{1, byte(len(c)), 0, 0, 0}, c...)
	first := m.stream.Applied() + 1
	list := []entries.Entry{{Index: first, Term: 1, Data: data}, {Index: first + 1, Term: 1, Data: data}}
	err := m.stream.Entries().Append(context.Background(), list)
	if err == nil {
		err = m.stream.Entries().Delete(first, first+1)
	}
	if err != nil {
		l.t.Fatal(err)
	}
}

// kept opens what a crash has left.
func (p *replicaPromises) kept(t *testing.T, what string, fs *vfs.Memory) {
	t.Helper()
	s, report, err := store.Open(small(fs))
	if err != nil || len(report.Halted) > 0 {
		t.Fatalf("%s: %+v, %v", what, report, err)
	}
	defer closeStore(t, s)
	stream := s.StreamByID(groupID)
	if stream == nil {
		if p.last > 0 {
			t.Fatalf("%s: the stream is lost", what)
		}
		return
	}
	index, hash := stream.Hash()
	if want := p.hashes[index]; index != 0 && hash != want {
		t.Fatalf("%s: hash %x at %d, want %x", what, hash, index, want)
	}
	l := stream.Entries()
	if max(l.Last(), index) < p.last {
		t.Fatalf("%s: entries up to %d, state at %d, want %d", what, l.Last(), index, p.last)
	}
	if got := string(l.Value("CurrentTerm")); p.value > 0 && got != fmt.Sprint(p.value) && got != fmt.Sprint(p.asked) {
		t.Fatalf("%s: value %s, want %d", what, got, p.value)
	}
	// What was safe is applied again, and is what the group had.
	for i := index + 1; i <= p.last; i++ {
		e, err := l.Get(i)
		if err == nil {
			err = stream.ApplyEntry(e.Index, e.Term, e.Data, nil)
		}
		if err != nil {
			t.Fatalf("%s: entry %d: %v", what, i, err)
		}
		if _, hash := stream.Hash(); p.hashes[i] != 0 && hash != p.hashes[i] {
			t.Fatalf("%s: hash %x at %d, want %x", what, hash, i, p.hashes[i])
		}
	}
}
