package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"runnel/jetlog/command"
	"runnel/jetlog/entries"
	"runnel/jetlog/rescue"
	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
)

// TestLostLog takes the log of a member away: it stands still, since it may have voted, until it is wiped and has a
// state from elsewhere.
func TestLostLog(t *testing.T) {
	g := newGroup(t, unlimited("S"), 2)
	m := g.members[1]
	publish(t, g.members[0].stream, 10)
	if err := m.stream.Entries().Set("CurrentTerm", []byte("1")); err != nil {
		t.Fatal(err)
	}
	memory := m.cfg.FS.(*vfs.Memory)
	if err := m.store.Close(); err != nil {
		t.Fatal(err)
	}
	list, err := memory.List(dir + "/wal")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if err := memory.Remove(dir + "/wal/" + e.Name); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // a later start must not find that all is well
		s, report, err := store.Open(m.cfg)
		if err != nil || len(report.Halted) != 1 {
			t.Fatalf("%+v, %v", report, err)
		}
		m.store, m.stream = s, s.StreamByID(groupID)
		if err := m.stream.Entries().Append(context.Background(), []entries.Entry{{Index: 2, Term: 1}}); !errors.Is(err, entries.ErrDamaged) {
			t.Errorf("append: %v", err)
		}
		publish(t, create(t, s, unlimited(fmt.Sprint("T", len(s.Streams())))), 30)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s, _, err := store.Open(m.cfg)
	if err != nil {
		t.Fatal(err)
	}
	m.store = s
	if m.stream, err = s.Wipe(s.StreamByID(groupID)); err != nil || m.stream.Err() != nil {
		t.Fatalf("%v, %v", err, m.stream.Err())
	}
	if err := errors.Join(g.members[0].store.Flush(), install(g.members[0], m)); err != nil {
		t.Fatal(err)
	}
	publish(t, g.members[0].stream, 10)
	g.agree("wiped and installed")
	m.restart(m.cfg.FS)
	g.agree("opened again")
	g.close()
}

// TestDamagedFileOfReplica damages a file of a member: it does not start, until it is wiped.
func TestDamagedFileOfReplica(t *testing.T) {
	m := installable(t)
	if err := m.store.Close(); err != nil {
		t.Fatal(err)
	}
	memory := m.cfg.FS.(*vfs.Memory)
	list, err := memory.List(dir + "/segments")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		f, err := memory.OpenReadWrite(dir + "/segments/" + e.Name)
		if err != nil {
			t.Fatal(err)
		}
		size, _ := f.Size()
		if err := errors.Join(f.Truncate(size-1), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := rescue.Repair(m.cfg, "A", "S"); !errors.Is(err, rescue.ErrReplica) {
		t.Errorf("repair: %v", err)
	}
	s, _, err := store.Open(m.cfg)
	if err != nil {
		t.Fatal(err)
	}
	stream := s.StreamByID(groupID)
	if !errors.Is(stream.Err(), store.ErrHalted) {
		t.Fatalf("%v", stream.Err())
	}
	if stream, err = s.Wipe(stream); err != nil || stream.Err() != nil || stream.Place().Index != 0 || stream.Config().Name != "S" {
		t.Errorf("%v, %v", err, stream.Err())
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestIdleReplicas fills the log many times over while some replicas are idle: it does not get full.
func TestIdleReplicas(t *testing.T) {
	g := newGroup(t, unlimited("S"), 1)
	m := g.members[0]
	publish(t, m.stream, 3)
	if err := m.stream.Entries().Set("CurrentTerm", []byte("4")); err != nil {
		t.Fatal(err)
	}
	noop := entries.Entry{Index: g.index + 1, Term: 4, Type: 1}
	if err := m.stream.Entries().Append(context.Background(), []entries.Entry{noop}); err != nil {
		t.Fatal(err) // nobody applies it
	}
	busy := create(t, m.store, unlimited("T"))
	for i := range 800 {
		propose(t, busy, &command.Publish{Time: 1, Subject: "T.x", Payload: make([]byte, 8000)})
		if i%20 == 0 {
			if err := m.store.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	m.restart(m.cfg.FS.(*vfs.Memory).PowerCut(vfs.Lose))
	if l := m.stream.Entries(); l.Last() != noop.Index || string(l.Value("CurrentTerm")) != "4" || m.stream.State().Messages != 3 {
		t.Errorf("up to %d, term %s, %+v", l.Last(), l.Value("CurrentTerm"), m.stream.State())
	}
	closeStore(t, m.store)
}

// TestHaltedReplicas fills the log while a member stands still that has more in it than can be appended again: it is given up,
// which a later start still knows.
func TestHaltedReplicas(t *testing.T) {
	g := newGroup(t, unlimited("S"), 1)
	m := g.members[0]
	busy := create(t, m.store, unlimited("T"))
	publish(t, busy, 5)
	publish(t, m.stream, 3)
	if err := m.stream.ApplyEntry(g.index+1, 1, []byte{1}, nil); !errors.Is(err, store.ErrHalted) {
		t.Fatalf("%v", err)
	}
	for i := range 400 {
		propose(t, busy, &command.Publish{Time: 1, Subject: "T.x", Payload: make([]byte, 8000)})
		if i%20 == 0 {
			if err := m.store.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := m.store.Close(); err != nil {
		t.Fatal(err)
	}
	s, report, err := store.Open(m.cfg)
	if err != nil || len(report.Halted) != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
	if _, err := s.Wipe(report.Halted[0]); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, m.cfg)
	if stream := s.StreamByID(groupID); stream.Err() != nil || stream.Applied() != 0 {
		t.Errorf("wiped: %v", stream.Err())
	}
	closeStore(t, s)
}

// TestLateReplica makes a replica in a log that has been in use for long, and opens the store before anything happens to it.
func TestLateReplica(t *testing.T) {
	m := &member{t: t, cfg: small(vfs.NewMemory())}
	m.store = open(t, m.cfg)
	publish(t, create(t, m.store, unlimited("T")), 30)
	for range 2 {
		if _, err := m.store.CreateAssigned(assigned(unlimited("S"), birth())); err != nil && !errors.Is(err, store.ErrExists) {
			t.Fatal(err)
		}
		closeStore(t, m.store)
		m.store = open(t, m.cfg)
		m.stream = m.store.StreamByID(groupID)
	}
	g := &group{t: t, members: []*member{m}, index: 1, term: 1, pack: 1}
	m.stream.SetProposer(g)
	publish(t, m.stream, 5)
	m.restart(m.cfg.FS)
	if m.stream.State().Messages != 5 {
		t.Errorf("%+v", m.stream.State())
	}
	closeStore(t, m.store)
}

// TestDamagedLogOfReplica damages a record of the log: a replica whose record it may be does not start, others do.
func TestDamagedLogOfReplica(t *testing.T) {
	for _, step := range []struct {
		name    string
		find    string // in the payload of the record
		flush   bool   // the replica is, behind it
		halted  string // streams that do not start
		deleted bool   // the stream of the record is
	}{
		{"its entry", "secret payload 7 of S", false, "S", false},
		{"an entry that is in files", "secret payload 7 of S", true, "", false},
		{"its vote", "node 4 of S", true, "S", false},
		{"an earlier vote", "node 3 of S", true, "", false},
		{"a command of another stream", "secret payload 7 of T", false, "T", false},
		{"of a stream that is no more", "secret payload 7 of U", false, "S", true},
	} {
		g := newGroup(t, unlimited("S"), 1)
		m := g.members[0]
		others := []*store.Stream{create(t, m.store, unlimited("T")), create(t, m.store, unlimited("U"))}
		for i := range 20 {
			for _, stream := range append(others, m.stream) {
				payload := fmt.Appendf(nil, "secret payload %d of %s", i, stream.Name())
				propose(t, stream, &command.Publish{Time: 1, Subject: stream.Name() + ".x", Payload: payload})
			}
			if err := m.stream.Entries().Set("LastVoteCand", fmt.Appendf(nil, "node %d of S", i/4)); err != nil {
				t.Fatal(err)
			}
			if i == 12 && step.flush {
				if err := m.store.Flush(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if step.deleted {
			if err := m.store.Delete(others[1]); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.store.Close(); err != nil {
			t.Fatal(err)
		}
		flipInLog(t, m.cfg.FS.(*vfs.Memory), step.find)
		s, report, err := store.Open(m.cfg)
		if err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		var halted []string
		for _, h := range report.Halted {
			halted = append([]string{h.Name()}, halted...)
		}
		if got := strings.Join(halted, " "); got != step.halted {
			t.Errorf("%s: %q do not start, want %q", step.name, got, step.halted)
		}
		if len(report.Halted) > 0 && step.halted == "S" && !errors.Is(report.Halted[0].Err(), entries.ErrDamaged) {
			t.Errorf("%s: %v", step.name, report.Halted[0].Err())
		}
		if len(report.Halted) == 1 && step.halted == "S" {
			wiped(t, s, report.Halted[0], m.cfg)
			continue
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// wiped wipes a member that has halted, lets it vote, and opens the store again: the damage, which is still there, does not
// concern it any more.
func wiped(t *testing.T, s *store.Store, halted *store.Stream, cfg store.Config) {
	t.Helper()
	fresh, err := s.Wipe(halted)
	if err == nil {
		err = fresh.Entries().Set("CurrentTerm", []byte("9"))
	}
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	s = open(t, cfg)
	if got := s.StreamByID(groupID).Entries().Value("CurrentTerm"); string(got) != "9" {
		t.Errorf("the term is %q", got)
	}
	for i := range 300 { // the damage does not keep the log
		propose(t, s.Stream("A", "T"), &command.Publish{Time: 1, Subject: "T.x", Payload: make([]byte, 8000)})
		if i%20 == 0 {
			if err := s.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// flipInLog changes a bit of something that stands in the log.
func flipInLog(t *testing.T, memory *vfs.Memory, text string) {
	t.Helper()
	list, err := memory.List(dir + "/wal")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		f, err := memory.OpenReadWrite(dir + "/wal/" + e.Name)
		if err != nil {
			continue // the lock
		}
		size, _ := f.Size()
		b := make([]byte, size)
		_, _ = f.ReadAt(b, 0)
		if i := bytes.Index(b, []byte(text)); i >= 0 {
			if _, err := f.WriteAt([]byte{b[i] ^ 4}, int64(i)); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			return
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatalf("%q is not in the log", text)
}

// TestHaltedIsNotFlushed flushes a member that stands still, perhaps in the middle of an entry: its state is that of before.
func TestHaltedIsNotFlushed(t *testing.T) {
	g := newGroup(t, unlimited("S"), 1)
	m := g.members[0]
	publish(t, m.stream, 3)
	if err := m.store.Flush(); err != nil {
		t.Fatal(err)
	}
	place := m.stream.Place().Index
	if place != g.index || m.stream.Entries().Place().Index != place {
		t.Errorf("flushed up to %d, the log knows %d, want %d", place, m.stream.Entries().Place().Index, g.index)
	}
	publish(t, m.stream, 3)
	if err := m.stream.ApplyEntry(g.index+1, 1, []byte{1}, nil); !errors.Is(err, store.ErrHalted) {
		t.Fatalf("%v", err)
	}
	if err := m.store.Flush(); err != nil || m.stream.Place().Index != place {
		t.Errorf("flushed up to %d, %v, want %d", m.stream.Place().Index, err, place)
	}
	if err := m.store.Close(); err != nil {
		t.Error(err)
	}
}

// TestDivergedLog installs a state on a member whose log goes further, but differently: nothing of that is left.
func TestDivergedLog(t *testing.T) {
	from := installable(t)
	defer closeStore(t, from.store)
	to := newMember(t, vfs.NewMemory(), assigned(unlimited("S"), birth()))
	appended := some(t, to, 300)
	if err := install(from, to); err != nil {
		t.Fatal(err)
	}
	if last := to.stream.Entries().Last(); last != 0 {
		t.Errorf("entries up to %d of %d", last, appended)
	}
	to.restart(to.cfg.FS)
	if last := to.stream.Entries().Last(); last != 0 || hashOf(to.stream) != hashOf(from.stream) {
		t.Errorf("opened again: entries up to %d", last)
	}
	closeStore(t, to.store)
}

// some appends entries that are never committed to the log of a member, and returns the index of the last.
func some(t *testing.T, m *member, n int) uint64 {
	t.Helper()
	l := m.stream.Entries()
	index := m.stream.Applied()
	for range n {
		index++
		if err := l.Append(context.Background(), []entries.Entry{{Index: index, Term: 1, Type: 1}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.WaitDurable(context.Background(), index); err != nil {
		t.Fatal(err)
	}
	return index
}
