package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/entries"
	"runnel/jetlog/manifest"
	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
)

const groupID = manifest.FirstAssigned + 5

// member is one of the stores that have a replica.
type member struct {
	t      testing.TB
	cfg    store.Config
	store  *store.Store
	stream *store.Stream
}

// assigned is the stream of the tests, whose group begins at a place.
func assigned(cfg config.Stream, place entries.Place) store.Assigned {
	return store.Assigned{ID: groupID, Account: "A", Config: cfg, Created: 77, Place: &place}
}

// birth is where a group begins.
func birth() entries.Place { return entries.Place{Index: 1, Term: 1, Configuration: []byte("a, b, c")} }

func newMember(t testing.TB, fs vfs.FS, a store.Assigned) *member {
	t.Helper()
	m := &member{t: t, cfg: small(fs)}
	m.store = open(t, m.cfg)
	var err error
	if m.stream, err = m.store.CreateAssigned(a); err != nil {
		t.Fatal(err)
	}
	return m
}

// restart closes the store, or cuts its power, and opens it again; then it applies what the log has behind the place.
func (m *member) restart(fs vfs.FS) {
	m.t.Helper()
	if err := m.store.Close(); err != nil {
		m.t.Fatal(err)
	}
	m.cfg.FS = fs
	m.store = open(m.t, m.cfg)
	m.stream = m.store.StreamByID(groupID)
	m.catchUp(m.stream.Entries().Last())
}

// catchUp applies what the log has up to an index.
func (m *member) catchUp(last uint64) {
	m.t.Helper()
	l := m.stream.Entries()
	for i := m.stream.Applied() + 1; i <= last; i++ {
		e, err := l.Get(i)
		if err == nil {
			err = m.apply(e, nil)
		}
		if err != nil {
			m.t.Fatal(err)
		}
	}
}

func (m *member) apply(e entries.Entry, local []*store.Proposal) error {
	if e.Type != 0 {
		m.stream.ApplyConfiguration(e.Index, e.Term, e.Data)
		return nil
	}
	return m.stream.ApplyEntry(e.Index, e.Term, e.Data, local)
}

// group is members that always agree: whatever one of them proposes is applied by all.
type group struct {
	t       testing.TB
	members []*member
	index   uint64
	term    uint64
	packed  []*store.Proposal
	pack    int // proposals of which one entry is made
}

// Propose implements store.Proposer, for the first member.
func (g *group) Propose(_ context.Context, p *store.Proposal) error {
	g.packed = append(g.packed, p)
	if len(g.packed) >= g.pack {
		g.commit()
	}
	return nil
}

// commit makes an entry of what was proposed.
func (g *group) commit() {
	g.t.Helper()
	var data []byte
	for _, p := range g.packed {
		before := len(data)
		if data = p.Append(data); len(data)-before > p.Bytes() {
			g.t.Errorf("a proposal takes %d bytes, and says %d", len(data)-before, p.Bytes())
		}
	}
	local := g.packed
	g.packed = nil
	g.entry(entries.Entry{Data: data}, local)
}

// entry lets all members have an entry.
func (g *group) entry(e entries.Entry, local []*store.Proposal) {
	g.t.Helper()
	g.index++
	e.Index, e.Term = g.index, g.term
	for i, m := range g.members {
		if m.stream.Entries().Last() != g.index-1 && m.stream.Applied() != g.index-1 {
			continue // it is behind
		}
		err := m.stream.Entries().Append(context.Background(), []entries.Entry{e})
		if err == nil {
			err = m.stream.Entries().WaitDurable(context.Background(), e.Index)
		}
		if err == nil && i == 0 {
			err = m.apply(e, local)
		} else if err == nil {
			err = m.apply(e, nil)
		}
		if err != nil {
			g.t.Fatalf("member %d, entry %d: %v", i, e.Index, err)
		}
	}
}

func newGroup(t testing.TB, cfg config.Stream, members int) *group {
	t.Helper()
	g := &group{t: t, index: 1, term: 1, pack: 1}
	for range members {
		g.members = append(g.members, newMember(t, vfs.NewMemory(), assigned(cfg, birth())))
	}
	g.members[0].stream.SetProposer(g)
	return g
}

func (g *group) close() {
	g.t.Helper()
	for _, m := range g.members {
		closeStore(g.t, m.store)
	}
}

// agree compares the members that have applied as much as the first.
func (g *group) agree(where string) {
	g.t.Helper()
	index, hash := g.members[0].stream.Hash()
	for i, m := range g.members[1:] {
		if at, h := m.stream.Hash(); at != index || h != hash {
			g.t.Fatalf("%s: member %d is at %d with hash %x, want %d, %x", where, i+1, at, h, index, hash)
		}
	}
}

// install gives a member the state that another one has in files, by readers that end early.
func install(from, to *member) error {
	c, err := from.stream.Checkpoint()
	if err != nil {
		return err
	}
	defer c.Close()
	return to.stream.Install(context.Background(), c.Metadata, c.Place, fetchFrom(from.stream, 3000))
}

// fetchFrom fetches at most so many bytes at once.
func fetchFrom(s *store.Stream, most int64) func(context.Context, store.File, int64) (io.ReadCloser, error) {
	return func(_ context.Context, f store.File, offset int64) (io.ReadCloser, error) {
		r, size, release, err := s.OpenFile(f.ID)
		if err != nil {
			return nil, err
		}
		return &lease{io.NewSectionReader(r, offset, min(most, size-offset)), release}, nil
	}
}

type lease struct {
	io.Reader
	release func()
}

func (l *lease) Close() error {
	l.release()
	return nil
}

// TestReplicas gives three members random commands, and an oracle the same. Members are flushed, compacted, opened again, cut
// off the power, and given the state of others meanwhile, which must not show.
func TestReplicas(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { runReplicas(t, seed) })
	}
}

func runReplicas(t *testing.T, seed uint64) {
	gen := &generator{rng: rand.New(rand.NewPCG(seed, 9)), clock: int64(time.Hour), body: jetlog.NewMemory()}
	cfg := gen.config()
	if seed%3 == 0 {
		cfg.Storage = config.MemoryStorage
	}
	g := newGroup(t, cfg, 3)
	gen.state = jetlog.New(groupID, cfg, 77)
	for step := range 300 {
		c := gen.command()
		want, err := gen.state.Apply(c, gen.body)
		if err != nil {
			t.Fatal(err)
		}
		where := fmt.Sprintf("seed %d, step %d: %T %+v", seed, step, c, c)
		got, err := g.members[0].stream.Propose(context.Background(), c)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: got %+v, %v; want %+v", where, got, err, want)
		}
		if gen.chance(10) {
			g.entry(entries.Entry{Type: 5, Data: fmt.Appendf(nil, "configuration %d", step)}, nil)
		}
		m := g.members[gen.rng.IntN(3)]
		disturb(t, gen, g, m)
		g.agree(where)
	}
	if _, hash := g.members[0].stream.Hash(); hash != gen.state.Hash() {
		t.Errorf("hash %x, want %x", hash, gen.state.Hash())
	}
	w := &twin{t: t, g: gen}
	for _, m := range g.members {
		w.stream = m.stream
		if d := w.difference(); d != "" {
			t.Error(d)
		}
	}
	g.close()
}

// disturb does something to a member that must not show.
func disturb(t *testing.T, gen *generator, g *group, m *member) {
	t.Helper()
	var err error
	switch n := gen.rng.IntN(100); {
	case n < 12:
		err = m.store.Flush()
	case n < 16:
		err = m.store.Compact()
	case n < 19:
		m.restart(m.cfg.FS)
	case n < 22:
		m.restart(m.cfg.FS.(*vfs.Memory).PowerCut(vfs.Lose))
	case n < 25:
		source := g.members[gen.rng.IntN(3)]
		if source == m {
			return
		}
		if gen.chance(50) {
			err = source.store.Flush()
		}
		if err == nil {
			if m.stream, err = m.store.Wipe(m.stream); err == nil {
				err = install(source, m)
			}
			for i := m.stream.Applied() + 1; err == nil && i <= source.stream.Entries().Last(); i++ {
				var e entries.Entry
				if e, err = source.stream.Entries().Get(i); err == nil {
					err = errors.Join(m.stream.Entries().Append(context.Background(), []entries.Entry{e}), m.apply(e, nil))
				}
			}
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	g.members[0].stream.SetProposer(g)
}

// TestProposals sees to heard: of packs in their order, of what is given up once, and none for what nobody leads.
func TestProposals(t *testing.T) {
	g := newGroup(t, unlimited("S"), 2)
	defer g.close()
	s, ctx := g.members[0].stream, context.Background()
	publish := func(n int) (list []command.Publish) {
		for i := range n {
			list = append(list, command.Publish{Time: int64(i), Subject: "S.x", Payload: fmt.Appendf(nil, "%d", i)})
		}
		return list
	}
	g.pack = 3
	var a, b heard
	err := errors.Join(
		s.StartAll(ctx, publish(5), &a), s.Start(ctx, &command.Purge{Time: 9, Sequence: 3}, b.one), s.StartAll(ctx, publish(2), &b),
	)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(a.got, b.got, a.flushed, b.flushed); got != "[1 2 3 4 5] [0 6 7] 1 1" {
		t.Errorf("heard: %s", got)
	}
	g.agree("packs")
	var lost heard
	g.pack = 100
	if err := s.StartAll(ctx, publish(2), &lost); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		g.packed[0].Fail(store.ErrLeadershipLost)
	}
	if len(lost.errs) != 2 || !errors.Is(lost.errs[1], store.ErrLeadershipLost) || lost.flushed != 1 {
		t.Errorf("given up: %+v", lost)
	}
	g.commit() // it was committed all the same
	if last := s.State().Last; len(lost.errs) != 2 || last != 9 {
		t.Errorf("committed: %+v, last %d", lost, last)
	}
	g.agree("given up")
	s.SetProposer(nil)
	for _, m := range g.members {
		if err := m.stream.StartAll(ctx, publish(1), &lost); !errors.Is(err, store.ErrNotLeader) {
			t.Errorf("nobody leads: %v", err)
		}
	}
	before, _ := s.Hash()
	var late heard
	s.SetProposer(g)
	if err := s.StartAll(ctx, publish(1), &late); err != nil {
		t.Fatal(err)
	}
	if err := s.ApplyEntry(before, 1, nil, g.packed); err != nil || len(late.errs) != 1 {
		t.Errorf("an entry that is there: %v, %+v", err, late)
	}
}

// heard notes what became of commands.
type heard struct {
	got     []uint64
	errs    []error
	flushed int
}

func (a *heard) Answer(_ int, r jetlog.Result, err error) {
	if err != nil {
		a.errs = append(a.errs, err)
		return
	}
	a.got = append(a.got, r.Sequence)
}
func (a *heard) Answered() store.Flusher { return a }
func (a *heard) Flush()                  { a.flushed++ }

func (a *heard) one(r jetlog.Result, err error) { a.Answer(0, r, err) }

// TestAssigned makes streams with ids that were given, and refuses what is in use.
func TestAssigned(t *testing.T) {
	fs := vfs.NewMemory()
	m := newMember(t, fs, assigned(unlimited("S"), birth()))
	s := m.store
	solo := assigned(unlimited("T"), birth())
	solo.ID, solo.Place = groupID+1, nil
	if stream, err := s.CreateAssigned(solo); err != nil || stream.Replicated() || stream.Entries() != nil || stream.ID() != groupID+1 {
		t.Fatalf("without a group: %v", err)
	}
	for name, a := range map[string]store.Assigned{
		"an id of its own": {ID: 7, Account: "A", Config: unlimited("U")},
		"the same id":      {ID: groupID, Account: "A", Config: unlimited("U")},
		"the same name":    {ID: groupID + 9, Account: "A", Config: unlimited("S")},
	} {
		if _, err := s.CreateAssigned(a); err == nil || name != "an id of its own" && !errors.Is(err, store.ErrExists) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if own := create(t, s, unlimited("V")); own.ID() != 1 {
		t.Errorf("its own id is %d", own.ID())
	}
	closeStore(t, s)
	s = open(t, m.cfg)
	defer closeStore(t, s)
	replica := s.StreamByID(groupID)
	if !replica.Replicated() || !reflect.DeepEqual(replica.Place(), birth()) || replica.Applied() != 1 || replica.Entries().Place().Index != 1 {
		t.Errorf("replica %v at %+v, applied %d", replica.Replicated(), replica.Place(), replica.Applied())
	}
	if index, hash := replica.Hash(); index != 1 || hash != hashOf(replica) {
		t.Errorf("hash %x at %d", hash, index)
	}
	if s.Stream("A", "T").Replicated() || s.Stream("A", "V").Place().Index != 0 {
		t.Error("a stream without a group has one")
	}
	if err := s.Delete(replica); err != nil {
		t.Fatal(err)
	}
	if err := replica.Entries().Append(context.Background(), nil); err != nil && !errors.Is(err, entries.ErrClosed) {
		t.Errorf("append: %v", err)
	}
	if err := replica.ApplyEntry(2, 1, nil, nil); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("apply: %v", err)
	}
}

// TestNewLife deletes a replica and makes it again: what the log has of the earlier one does not count.
func TestNewLife(t *testing.T) {
	g := newGroup(t, unlimited("S"), 1)
	m := g.members[0]
	publish(t, m.stream, 20)
	if err := m.store.Delete(m.stream); err != nil {
		t.Fatal(err)
	}
	var err error
	if m.stream, err = m.store.CreateAssigned(assigned(unlimited("S"), entries.Place{})); err != nil {
		t.Fatal(err)
	}
	m.restart(m.cfg.FS)
	if m.stream.Entries().Last() != 0 || m.stream.Applied() != 0 || m.stream.State().Last != 0 {
		t.Errorf("entries up to %d, applied %d", m.stream.Entries().Last(), m.stream.Applied())
	}
	if _, err := m.stream.Checkpoint(); !errors.Is(err, store.ErrNoCheckpoint) {
		t.Errorf("checkpoint: %v", err)
	}
	g.close()
}

// TestRecordsOfEntries gives a replica entries that nobody wrote: it stands still.
func TestRecordsOfEntries(t *testing.T) {
	for name, records := range map[string][]byte{
		"cut off":           {1, 9, 0, 0},
		"longer than it is": {1, 9, 0, 0, 0, 1},
		"a kind of later":   {99, 1, 0, 0, 0, 1},
		"no command":        {1, 2, 0, 0, 0, 1, 200},
	} {
		m := newMember(t, vfs.NewMemory(), assigned(unlimited("S"), birth()))
		if err := m.stream.ApplyEntry(2, 1, records, nil); !errors.Is(err, store.ErrHalted) || !errors.Is(m.stream.Err(), store.ErrHalted) || m.stream.Applied() != 1 {
			t.Errorf("%s: %v, applied %d", name, err, m.stream.Applied())
		}
		if err := m.store.Close(); err != nil {
			t.Error(err)
		}
	}
}

func FuzzApplyEntry(f *testing.F) {
	var seed bytes.Buffer
	seed.Write([]byte{1, 0, 0, 0, 0})
	c := command.Append(nil, &command.Publish{Time: 1, Subject: "S.x", Payload: []byte("p")})
	seed.Bytes()[1] = byte(len(c))
	seed.Write(c)
	f.Add(seed.Bytes())
	f.Add([]byte{2, 1, 0, 0, 0, 9})
	m := newMember(f, vfs.NewMemory(), assigned(unlimited("S"), birth()))
	var index atomic.Uint64
	index.Store(1)
	f.Fuzz(func(t *testing.T, records []byte) {
		at := index.Add(1)
		err := m.stream.ApplyEntry(at, 1, records, nil)
		if err != nil && !errors.Is(err, store.ErrHalted) {
			t.Errorf("%v", err)
		}
		if err != nil {
			if m.stream, err = m.store.Wipe(m.stream); err != nil {
				t.Fatal(err)
			}
		}
	})
}
