package replicas_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"runnel/cluster/meta/state"
	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/store"
)

// catcher keeps the records of what is proposed.
type catcher struct{ records chan []byte }

func (c catcher) Propose(_ context.Context, p *store.Proposal) error {
	c.records <- p.Append(nil)
	p.Fail(store.ErrNotLeader)
	return nil
}

// records are those of a publish.
func records(t *store.Stream) []byte {
	c := catcher{make(chan []byte, 1)}
	t.SetProposer(c)
	p := &command.Publish{Time: 1, Subject: t.Name() + ".bad", Payload: []byte("only here")}
	_ = t.Start(context.Background(), p, func(jetlog.Result, error) {})
	return <-c.records
}

// follower is one that does not lead.
func (w *world) follower(id uint64) *node {
	leader := w.leader(id)
	for _, n := range w.nodes {
		if n != leader && n.stream(id) != nil {
			return n
		}
	}
	return nil
}

// TestReplicaHalts has a replica come to an entry that it cannot carry out.
func TestReplicaHalts(t *testing.T) {
	inGroup(t, 3, 10, func(t *testing.T, w *world, a *state.Assignment) {
		n := w.follower(a.ID)
		bad := n.stream(a.ID)
		if err := bad.ApplyEntry(bad.Applied()+1, 1, []byte{1, 2, 3}, nil); err == nil {
			t.Fatal("the entry was carried out")
		}
		w.publish(a.ID, 10)
		w.settle(a.ID, 20, "a", "b", "c")
		if n.stream(a.ID) == bad {
			t.Error("it is the damaged one still")
		}
	})
}

// TestDamagedAtStart has a replica find at its start that its log has lost something.
func TestDamagedAtStart(t *testing.T) {
	inGroup(t, 3, 100, func(t *testing.T, w *world, a *state.Assignment) {
		n := w.follower(a.ID)
		n.crash()
		spoil(t, n)
		w.publish(a.ID, 10)
		n.start()
		w.settle(a.ID, 110, "a", "b", "c")
	})
}

// spoil changes a byte in the middle of the log.
func spoil(t *testing.T, n *node) {
	t.Helper()
	const logDir = dir + "/wal"
	list, err := n.disk.List(logDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		f, err := n.disk.OpenReadWrite(logDir + "/" + e.Name)
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 1)
		if _, err := f.ReadAt(b, 6000); err == nil && b[0] != 0 {
			b[0] ^= 0xff
			_, _ = f.WriteAt(b, 6000)
			_ = f.Sync()
		}
		_ = f.Close()
	}
}

// TestReplicasDiffer has the state of one replica be another one than that of the majority: a follower's, and the leader's.
func TestReplicasDiffer(t *testing.T) {
	for _, who := range []string{"follower", "leader"} {
		t.Run(who, func(t *testing.T) {
			inWorld(t, 3, func(t *testing.T, w *world) {
				for _, n := range w.nodes {
					n.stop()
				}
				w.cfg.CompareEvery = 10 * time.Second
				for _, n := range w.nodes {
					n.start()
				}
				a := w.create("S", "a", "b", "c")
				w.publish(a.ID, 10)
				w.settle(a.ID, 10, "a", "b", "c")
				n := w.follower(a.ID)
				if who == "leader" {
					n = w.leader(a.ID)
				}
				bad := n.stream(a.ID)
				if err := bad.ApplyEntry(bad.Applied()+1, 1, records(bad), nil); err != nil {
					t.Fatal(err)
				}
				if who == "leader" { // which has lost the way to its group by the test's doing
					if err := n.replicas.StepDown(t.Context(), a.ID, ""); err != nil {
						t.Fatal(err)
					}
					w.until("another leader", func() bool { return !n.leads(a.ID) })
					if err := w.leader(a.ID).replicas.StepDown(t.Context(), a.ID, n.name); err != nil {
						t.Log(err)
					}
				}
				w.until("it is given up", func() bool {
					for _, o := range w.nodes {
						if s := o.stream(a.ID); o != n && s != nil && o.leads(a.ID) {
							_, _ = s.Propose(t.Context(), &command.Publish{Time: 1, Subject: "S.y"})
						}
					}
					return n.stream(a.ID) != bad
				})
				w.publish(a.ID, 1)
				w.settle(a.ID, 11, "a", "b", "c")
			})
		})
	}
}

// spoilFiles changes a byte of a message in each file of messages.
func spoilFiles(t testing.TB, n *node) {
	t.Helper()
	const files = dir + "/segments"
	list, err := n.disk.List(files)
	if err != nil || len(list) == 0 {
		t.Fatalf("%s has no files: %v", n.name, err)
	}
	for _, e := range list {
		f, err := n.disk.OpenReadWrite(files + "/" + e.Name)
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 1)
		if _, err = f.ReadAt(b, 100); err == nil {
			b[0] ^= 0xff
			_, err = f.WriteAt(b, 100)
		}
		if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFilesAreDamaged has files of replicas be damaged: a replica gets all from the others, whichever finds out how, unless all of them are damaged.
func TestFilesAreDamaged(t *testing.T) {
	read := func(n *node, id uint64) error { _, err := n.stream(id).Load(1); return err }
	scrub := func(n *node, _ uint64) error { return n.log.Scrub() }
	for name, c := range map[string]struct {
		damaged func(w *world, id uint64) []*node
		find    func(n *node, id uint64) error
	}{
		"of a follower, met by reading":   {func(w *world, id uint64) []*node { return []*node{w.follower(id)} }, read},
		"of a follower, met by scrubbing": {func(w *world, id uint64) []*node { return []*node{w.follower(id)} }, scrub},
		"of the leader":                   {func(w *world, id uint64) []*node { return []*node{w.leader(id)} }, read},
		"of the leader and another one":   {func(w *world, id uint64) []*node { return []*node{w.leader(id), w.follower(id)} }, scrub},
	} {
		t.Run(name, func(t *testing.T) {
			inGroup(t, 3, 10, func(t *testing.T, w *world, a *state.Assignment) {
				was := w.damage(a.ID, c.damaged(w, a.ID), c.find)
				w.publish(a.ID, 1)
				w.until("new replicas", func() bool {
					return !slices.ContainsFunc(w.nodes, func(n *node) bool { return was[n] != nil && n.stream(a.ID) == was[n] })
				})
				w.publish(a.ID, 1)
				w.settle(a.ID, 12, "a", "b", "c")
				for n := range was {
					if err := read(n, a.ID); err != nil || n.stream(a.ID).Harm() != nil {
						t.Errorf("%s: message 1: %v, harm %v", n.name, err, n.stream(a.ID).Harm())
					}
				}
			})
		})
	}
}

// TestDamageIsMetByWhoIsFilled has files of a leader be damaged, of which nobody knows, and another replica be filled: the leader finds out, gives the lead away, and
// all get what is good.
func TestDamageIsMetByWhoIsFilled(t *testing.T) {
	inGroup(t, 4, 10, func(t *testing.T, w *world, a *state.Assignment) {
		n := w.leader(a.ID)
		if err := n.log.Flush(); err != nil {
			t.Fatal(err)
		}
		spoilFiles(t, n)
		w.scale(a, "a", "b", "c", "d")
		w.publish(a.ID, 1)
		w.settle(a.ID, 11, "a", "b", "c", "d")
		for _, n := range w.nodes {
			if m, err := n.stream(a.ID).Load(1); err != nil || m.Sequence != 1 {
				t.Errorf("message 1 at %s: %+v, %v", n.name, m, err)
			}
		}
	})
}

// TestAllFilesAreDamaged has files of all replicas be damaged: nobody gives up what can still be read, and the stream goes on.
func TestAllFilesAreDamaged(t *testing.T) {
	inGroup(t, 3, 10, func(t *testing.T, w *world, a *state.Assignment) {
		was := w.damage(a.ID, w.nodes, func(n *node, _ uint64) error { return n.log.Scrub() })
		<-time.After(5 * time.Minute)
		w.publish(a.ID, 1)
		w.settle(a.ID, 11, "a", "b", "c")
		for n, s := range was {
			if n.stream(a.ID) != s {
				t.Errorf("%s has given up what it had", n.name)
			}
			n.crash() // nobody looks whether it is whole
		}
	})
}

// damage damages the files of some nodes, has each find out, and returns the streams that they have.
func (w *world) damage(id uint64, nodes []*node, find func(*node, uint64) error) map[*node]*store.Stream {
	w.t.Helper()
	was := map[*node]*store.Stream{}
	for _, n := range nodes {
		if err := n.log.Flush(); err != nil {
			w.t.Fatal(err)
		}
		spoilFiles(w.t, n)
		was[n] = n.stream(id)
	}
	for n, s := range was {
		if err := find(n, id); err == nil || s.Harm() == nil || s.Err() != nil {
			w.t.Fatalf("%s does not know of it: %v", n.name, err)
		}
	}
	return was
}
