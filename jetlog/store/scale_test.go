package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"runnel/jetlog"
	"runnel/jetlog/checkpoint"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/entries"
	"runnel/jetlog/rescue"
	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
)

// TestScale makes a stream the first replica of a group, lets a second one join, and makes it one without a group
// again, with a restart at each point.
func TestScale(t *testing.T) {
	for _, storage := range []config.Storage{config.FileStorage, config.MemoryStorage} {
		t.Run(fmt.Sprint("storage ", storage), func(t *testing.T) { scale(t, storage) })
	}
}

func scale(t *testing.T, storage config.Storage) {
	cfg := unlimited("S")
	cfg.Storage, cfg.DuplicateWindow = storage, 1e12
	first := &member{t: t, cfg: small(vfs.NewMemory())}
	first.store = open(t, first.cfg)
	solo := assigned(cfg, birth())
	solo.Place = nil
	var err error
	if first.stream, err = first.store.CreateAssigned(solo); err != nil {
		t.Fatal(err)
	}
	publish(t, first.stream, 30)
	once := &command.Publish{Time: 1, Subject: "S.id", Header: []byte("NATS/1.0\r\nNats-Msg-Id: once\r\n\r\n")}
	propose(t, first.stream, once)
	propose(t, first.stream, &command.Delete{Time: 1, Sequence: 7})
	if err := first.store.ToReplica(first.stream, birth()); err != nil {
		t.Fatal(err)
	}
	if _, err := first.stream.Propose(context.Background(), once); !errors.Is(err, store.ErrNotLeader) {
		t.Errorf("nobody leads: %v", err)
	}
	first.restart(first.cfg.FS.(*vfs.Memory).PowerCut(vfs.Lose))
	if place := first.stream.Place(); !first.stream.Replicated() || place.Index != 1 || string(place.Configuration) != "a, b, c" {
		t.Fatalf("a replica: %v, %+v", first.stream.Replicated(), place)
	}
	second := newMember(t, vfs.NewMemory(), assigned(cfg, entries.Place{}))
	if err := install(first, second); err != nil {
		t.Fatal(err)
	}
	g := &group{t: t, members: []*member{first, second}, index: 1, term: 1, pack: 1}
	first.stream.SetProposer(g)
	if r := propose(t, first.stream, once); !r.Duplicate || r.Sequence != 31 {
		t.Errorf("the message id is forgotten: %+v", r)
	}
	publish(t, first.stream, 10)
	g.agree("two")
	second.restart(second.cfg.FS)
	g.agree("opened again")
	if err := first.store.ToSolo(first.stream); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if first.stream.Replicated() || first.stream.Entries() != nil || hashOf(first.stream) != hashOf(second.stream) {
			t.Fatalf("replicated %v, hash %x, want %x", first.stream.Replicated(), hashOf(first.stream), hashOf(second.stream))
		}
		closeStore(t, first.store)
		first.store = open(t, first.cfg)
		first.stream = first.store.StreamByID(groupID)
	}
	if r := propose(t, first.stream, once); !r.Duplicate {
		t.Errorf("the message id is forgotten: %+v", r)
	}
	publish(t, first.stream, 3)
	hash := hashOf(first.stream)
	closeStore(t, first.store)
	first.store = open(t, first.cfg)
	if first.stream = first.store.StreamByID(groupID); hashOf(first.stream) != hash || first.stream.State().Messages != 43 {
		t.Errorf("%+v", first.stream.State())
	}
	if err := first.store.ToReplica(first.stream, entries.Place{Index: 1, Term: 9}); err != nil {
		t.Fatal(err)
	}
	first.restart(first.cfg.FS)
	if first.stream.Entries().Last() != 0 || first.stream.Applied() != 1 || hashOf(first.stream) != hash {
		t.Errorf("entries of its first group: up to %d, applied %d", first.stream.Entries().Last(), first.stream.Applied())
	}
	g.close()
}

// TestScaleIsRefused asks for what cannot be.
func TestScaleIsRefused(t *testing.T) {
	m := newMember(t, vfs.NewMemory(), assigned(unlimited("S"), entries.Place{}))
	defer closeStore(t, m.store)
	if err := m.store.ToSolo(m.stream); !errors.Is(err, store.ErrNoCheckpoint) {
		t.Errorf("without a state: %v", err)
	}
	solo := create(t, m.store, unlimited("T"))
	if err := m.store.ToSolo(solo); err == nil {
		t.Error("without a group")
	}
	if err := m.store.ToReplica(m.stream, birth()); err == nil {
		t.Error("of a group already")
	}
	if _, err := m.store.Wipe(solo); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("wipe: %v", err)
	}
	if _, err := solo.Checkpoint(); err == nil {
		t.Error("a checkpoint without a group")
	}
	if _, _, _, err := solo.OpenFile("x"); err == nil {
		t.Error("a file without a group")
	}
	if err := solo.ApplyEntry(2, 1, nil, nil); err == nil {
		t.Error("an entry without a group")
	}
	if err := solo.Install(context.Background(), nil, birth(), nil); err == nil {
		t.Error("install without a group")
	}
	solo.ApplyConfiguration(2, 1, nil)
	solo.SetProposer(nil)
	publish(t, solo, 1)
}

// installable is a member with files, of which some are shared with another stream.
func installable(t *testing.T) *member {
	t.Helper()
	g := newGroup(t, unlimited("S"), 1)
	m := g.members[0]
	other := create(t, m.store, unlimited("T"))
	for range 3 {
		publish(t, m.stream, 40)
		publish(t, other, 3)
		if err := m.store.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// TestInstallFails meets all that can go wrong: everything is as before then.
func TestInstallFails(t *testing.T) {
	from := installable(t)
	defer closeStore(t, from.store)
	c, err := from.stream.Checkpoint()
	if err != nil {
		t.Fatal(err)
	}
	whole := fetchFrom(from.stream, 1<<30)
	broken := errors.New("broken")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	flipped := func(at int64) store.Fetch {
		return func(ctx context.Context, f store.File, offset int64) (io.ReadCloser, error) {
			r, err := whole(ctx, f, offset)
			if err != nil {
				return nil, err
			}
			defer r.Close()
			b, err := io.ReadAll(r)
			b[at] ^= 8
			return io.NopCloser(bytes.NewReader(b)), err
		}
	}
	short := bytes.Clone(c.Metadata)
	short[len(short)-1]++
	place := c.Place
	for name, try := range map[string]struct {
		ctx      context.Context
		metadata []byte
		place    entries.Place
		fetch    store.Fetch
		err      error
	}{
		"an error of fetch":    {context.Background(), c.Metadata, place, func(context.Context, store.File, int64) (io.ReadCloser, error) { return nil, broken }, broken},
		"a context that ended": {ctx, c.Metadata, place, whole, context.Canceled},
		"a byte of a message":  {context.Background(), c.Metadata, place, flipped(200), nil},
		"a byte of the end":    {context.Background(), c.Metadata, place, flipped(c.Files[0].Bytes - 3), nil},
		"nothing comes":        {context.Background(), c.Metadata, place, fetchFrom(from.stream, 0), io.ErrUnexpectedEOF},
		"another description":  {context.Background(), short, place, whole, checkpoint.ErrDamaged},
		"none":                 {context.Background(), nil, place, whole, checkpoint.ErrDamaged},
		"another place":        {context.Background(), c.Metadata, entries.Place{Index: 3}, whole, checkpoint.ErrDamaged},
	} {
		memory := vfs.NewMemory()
		to := newMember(t, memory, assigned(unlimited("S"), entries.Place{}))
		err := to.stream.Install(try.ctx, try.metadata, try.place, try.fetch)
		if err == nil || try.err != nil && !errors.Is(err, try.err) {
			t.Errorf("%s: %v", name, err)
		}
		if to.stream.Applied() != 0 || to.stream.Err() != nil || to.stream.State().Last != 0 {
			t.Errorf("%s: applied %d, %v", name, to.stream.Applied(), to.stream.Err())
		}
		if left, err := memory.List(dir + "/segments"); err != nil || len(left) > 0 {
			t.Errorf("%s: %v is left", name, left)
		}
		if err := to.stream.Install(context.Background(), c.Metadata, place, whole); err != nil || hashOf(to.stream) != hashOf(from.stream) {
			t.Errorf("%s, then all is well: %v", name, err)
		}
		to.restart(to.cfg.FS)
		if hashOf(to.stream) != hashOf(from.stream) {
			t.Errorf("%s, opened again: %x", name, hashOf(to.stream))
		}
		closeStore(t, to.store)
	}
	c.Close()
	c.Close()
	if _, _, _, err := from.stream.OpenFile(c.Files[0].ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a file of a checkpoint that is closed: %v", err)
	}
}

// TestCheckpointStays takes a checkpoint, lets its files be replaced, and installs it then. What is there already is not
// fetched again.
func TestCheckpointStays(t *testing.T) {
	from := installable(t)
	defer closeStore(t, from.store)
	c, err := from.stream.Checkpoint()
	if err != nil || len(c.Files) != 1 {
		t.Fatalf("%d files, %v", len(c.Files), err)
	}
	defer c.Close()
	_, hash := from.stream.Hash()
	publish(t, from.stream, 40)
	if err := errors.Join(from.store.Flush(), from.store.Compact()); err != nil {
		t.Fatal(err)
	}
	to := newMember(t, vfs.NewMemory(), assigned(unlimited("S"), entries.Place{}))
	defer closeStore(t, to.store)
	if err := to.stream.Install(context.Background(), c.Metadata, c.Place, fetchFrom(from.stream, 100)); err != nil {
		t.Fatal(err)
	}
	if index, got := to.stream.Hash(); got != hash || index != c.Place.Index {
		t.Errorf("hash %x at %d, want %x at %d", got, index, hash, c.Place.Index)
	}
	if to.stream.State().Messages != 120 || to.stream.Place().Index != c.Place.Index {
		t.Errorf("%+v", to.stream.State())
	}
	none := func(_ context.Context, f store.File, _ int64) (io.ReadCloser, error) {
		return nil, fmt.Errorf("file %s is fetched again", f.ID)
	}
	if err := to.stream.Install(context.Background(), c.Metadata, c.Place, none); err != nil {
		t.Error(err)
	}
	if found, err := to.stream.Load(77); err != nil || found.Sequence != 77 {
		t.Errorf("load: %+v, %v", found, err)
	}
	if s, err := to.stream.Subject("S.x"); err != nil || s.Count != 120 {
		t.Errorf("subject: %+v, %v", s, err)
	}
}

// TestReaderDuringInstall reads a stream while another state is installed: it finds one or the other.
func TestReaderDuringInstall(t *testing.T) {
	from := installable(t)
	defer closeStore(t, from.store)
	to := newMember(t, vfs.NewMemory(), assigned(unlimited("S"), entries.Place{}))
	defer closeStore(t, to.store)
	stop, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			n := 0
			_, err := to.stream.Read(1, nil, 1000, 1<<20, func(*jetlog.Message) bool { n++; return true })
			if err == nil && n != 0 && n != 120 {
				err = fmt.Errorf("%d messages", n)
			}
			select {
			case <-stop:
				ended <- err
				return
			default:
			}
			if err != nil {
				ended <- err
				return
			}
		}
	}()
	for range 10 {
		if err := install(from, to); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

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
		if err := s.Close(); err != nil {
			t.Error(err)
		}
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
