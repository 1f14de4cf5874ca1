package store_test

import (
	"context"
	"testing"

	"runnel/jetlog/entries"
	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
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

// TestSameIDAgain makes a replica whose id an earlier one has had: what the log has of that one is not its own, and all of its own
// is there after a restart.
func TestSameIDAgain(t *testing.T) {
	cfg := unlimited("S")
	for name, restarted := range map[string]bool{"at once": false, "after a restart": true} {
		t.Run(name, func(t *testing.T) {
			fs := vfs.NewMemory()
			m := newMember(t, fs, assigned(cfg, birth()))
			m.appendEntry(2, 1)
			m.appendEntry(3, 1)
			if err := m.store.Delete(m.stream); err != nil {
				t.Fatal(err)
			}
			if restarted {
				if err := m.store.Close(); err != nil {
					t.Fatal(err)
				}
				m.store = open(t, m.cfg)
			}
			var err error
			if m.stream, err = m.store.CreateAssigned(assigned(cfg, birth())); err != nil {
				t.Fatal(err)
			}
			m.appendEntry(2, 9)
			m.restart(fs)
			l := m.stream.Entries()
			if e, err := l.Get(2); err != nil || e.Term != 9 || l.Last() != 2 {
				t.Errorf("entry 2 is of term %d (%v), the last one is %d; want term 9, and no other", e.Term, err, l.Last())
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
