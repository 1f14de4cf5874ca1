package store_test

import (
	"context"
	"testing"

	"runnel/jetlog/entries"
	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
	"runnel/jetlog/wal"
)

// appendEntry appends an entry to the log of a member's group.
func (m *member) appendEntry(index, term uint64) {
	m.t.Helper()
	l := m.stream.Entries()
	err := l.Append(context.Background(), []entries.Entry{{Index: index, Term: term, Type: 1}})
	if err == nil {
		err = l.WaitDurable(context.Background(), index)
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

// assign has the store make the member's stream.
func (m *member) assign(a store.Assigned) {
	m.t.Helper()
	var err error
	if m.stream, err = m.store.CreateAssigned(a); err != nil {
		m.t.Fatal(err)
	}
}

// TestSameIDAgain makes a replica whose id an earlier one has had: what the log has of that one is not its own, and all of its own
// is there after a restart. What the earlier one has written may not even be synced when its successor comes.
func TestSameIDAgain(t *testing.T) {
	cfg := unlimited("S")
	for _, test := range []struct {
		name              string
		synced, restarted bool
	}{{name: "at once"}, {name: "synced", synced: true}, {name: "after a restart", synced: true, restarted: true}} {
		t.Run(test.name, func(t *testing.T) {
			fs := vfs.NewMemory()
			lazy := small(fs)
			lazy.Policy = wal.OS // nothing is synced that nobody waits for
			m := &member{t: t, cfg: lazy, store: open(t, lazy)}
			m.assign(assigned(cfg, birth()))
			// The entries have the term of those to come, whose successors they would be.
			err := m.stream.Entries().Append(t.Context(), []entries.Entry{{Index: 2, Term: 1, Type: 1}, {Index: 3, Term: 1, Type: 1}})
			if err == nil && test.synced {
				err = m.stream.Entries().WaitDurable(t.Context(), 3)
			}
			if err == nil {
				err = m.store.Delete(m.stream)
			}
			if err != nil {
				t.Fatal(err)
			}
			if test.restarted {
				if err := m.store.Close(); err != nil {
					t.Fatal(err)
				}
				m.store = open(t, m.cfg)
			}
			m.assign(assigned(cfg, birth()))
			m.appendEntry(2, 1)
			m.restart(fs)
			l := m.stream.Entries()
			if e, err := l.Get(2); err != nil || e.Term != 1 || l.Last() != 2 {
				t.Errorf("entry 2 is of term %d (%v), the last one is %d; want term 1, and no other", e.Term, err, l.Last())
			}
			closeStore(t, m.store)
		})
	}
}

// TestManyBirths makes replicas, of which each has an entry, while the power may go: those that were made are there, with their entries.
func TestManyBirths(t *testing.T) {
	fs := vfs.NewMemory()
	m := newMember(t, fs, assigned(unlimited("S"), birth()))
	place := birth()
	for i := range uint64(5) {
		m.appendEntry(2+i, 1)
		name := string(rune('A' + i))
		fresh, err := m.store.CreateAssigned(store.Assigned{ID: groupID + 1 + i, Account: "A", Config: unlimited(name), Created: 1, Place: &place})
		if err != nil {
			t.Fatal(err)
		}
		other := &member{t: t, stream: fresh}
		other.appendEntry(2, 1)
	}
	lost := fs.PowerCut(vfs.Lose)
	_ = m.store.Close()
	m.cfg.FS = lost
	m.store = open(t, m.cfg)
	if got := len(m.store.Streams()); got != 6 {
		t.Errorf("%d streams after the power cut, want 6", got)
	}
	for _, s := range m.store.Streams() {
		if last := s.Entries().Last(); s.ID() == groupID && last != 6 || s.ID() != groupID && last != 2 {
			t.Errorf("stream %d: the last entry is %d", s.ID(), last)
		}
	}
	closeStore(t, m.store)
}
