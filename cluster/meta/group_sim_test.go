package meta_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"runnel/cluster/meta"
	"runnel/cluster/meta/state"
	"runnel/jetlog/config"
)

// inCluster runs a test with a cluster that is formed.
func inCluster(t *testing.T, names string, test func(t *testing.T, w *world)) {
	inWorld(t, len(names), names, func(t *testing.T, w *world) {
		for _, name := range names {
			w.of(string(name)).start()
		}
		w.eventually("all are together", 20*time.Second, func() bool { return w.together(names) })
		test(t, w)
	})
}

// others returns all that run but one.
func (w *world) others(but *server) []*server {
	return slices.DeleteFunc(w.all(), func(s *server) bool { return s == but })
}

// propose proposes through a server, and returns the code.
func (s *server) propose(c state.Command) (config.Code, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	r, err := s.meta.Propose(ctx, c)
	return r.Code, err
}

func (s *server) must(c state.Command) {
	s.w.t.Helper()
	if code, err := s.propose(c); code != 0 || err != nil {
		s.w.t.Fatalf("%T through %s: code %d, %v", c, s.name, code, err)
	}
}

// stream returns the stream of a name as a server sees it.
func (s *server) stream(name string) *state.Assignment { return s.meta.View().Stream("A", name) }

func TestProposesThroughAnybody(t *testing.T) {
	inCluster(t, "abc", func(t *testing.T, w *world) {
		for _, s := range w.all() {
			a := s.mustCreate("s"+s.name, 3)
			if a.ID < state.FirstID || a.Created == 0 || len(a.Peers) != 3 {
				t.Errorf("got %+v", a)
			}
			code, err := s.propose(&state.CreateStream{Account: "A", Config: stream("s"+s.name, 1)})
			if err != nil || code != state.StreamNameExists {
				t.Errorf("another one of that name through %s: code %d, %v", s.name, code, err)
			}
		}
		r, err := w.of("a").create("last", 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range w.all() {
			if err := s.meta.Await(t.Context(), r.Index); err != nil || s.stream("last") == nil {
				t.Errorf("%s does not have it: %v", s.name, err)
			}
		}
		if code, err := w.of("b").propose(&state.CreateStream{Account: "A", Config: stream("five", 5)}); err != nil || code != state.NoSuitablePeers {
			t.Errorf("five replicas on three servers: code %d, %v", code, err)
		}
	})
}

// TestConcurrentCreates lets all servers create at once: of one name one wins, and all servers get their share.
func TestConcurrentCreates(t *testing.T) {
	inCluster(t, "abcde", func(t *testing.T, w *world) {
		var mu sync.Mutex
		var wg sync.WaitGroup
		made := map[uint64]bool{}
		for _, s := range w.all() {
			for i := range 20 {
				wg.Go(func() {
					r, err := s.create(fmt.Sprint("own", s.name, i), 3)
					same, err2 := s.meta.Propose(t.Context(), &state.CreateStream{Account: "A", Config: stream(fmt.Sprint("same", i), 1), New: true})
					if err != nil || err2 != nil || r.Code != 0 {
						t.Errorf("%v, %v, %d", err, err2, r.Code)
						return
					}
					mu.Lock()
					defer mu.Unlock()
					made[r.Stream.ID] = true
					if same.Code == 0 {
						made[same.Stream.ID] = true
					}
				})
			}
		}
		wg.Wait()
		if len(made) != 120 || w.leader().meta.View().Len() != 120 {
			t.Errorf("%d streams were made, the leader has %d, want 120", len(made), w.leader().meta.View().Len())
		}
		for member := range w.leader().meta.View().Members() {
			if l := w.leader().meta.View().Load(member.Node); l.Replicated < 54 || l.Replicated > 66 || l.Streams < 57 || l.Streams > 71 {
				t.Errorf("%s has %d streams, %d of them replicated, want about 64 and 60", member.Name, l.Streams, l.Replicated)
			}
		}
	})
}

// TestLeaderLoss stops the leader: another one leads soon, and nothing is lost.
func TestLeaderLoss(t *testing.T) {
	inCluster(t, "abc", func(t *testing.T, w *world) {
		w.of("a").mustCreate("before", 3)
		old := w.leader()
		old.stop()
		began := time.Now()
		other := w.all()[0]
		if a := other.mustCreate("after", 1); a.On(old.node) {
			t.Errorf("it is placed on %q, where nobody is", a.Peers)
		}
		if took := time.Since(began); took > 8*time.Second {
			t.Errorf("it took %v until there was another leader", took)
		}
		if other.stream("before") == nil {
			t.Error("a stream is lost")
		}
		old.start()
		w.eventually("all are together again", 20*time.Second, func() bool { return w.together("abc") })
		w.eventually("it has caught up", 5*time.Second, func() bool { return old.stream("after") != nil })
	})
}

// TestImpatient stops the leader of servers that stand for election as soon as they see that it is gone.
func TestImpatient(t *testing.T) {
	inWorld(t, 3, "abc", func(t *testing.T, w *world) {
		w.impatient = true
		for _, name := range "abc" {
			w.of(string(name)).start()
		}
		w.eventually("all are together", 4*time.Second, func() bool { return w.together("abc") })
		for range 6 {
			old := w.leader()
			w.split(true, []*server{old}, w.others(old))
			began := time.Now()
			for i, s := range w.others(old) {
				if r, err := s.create(fmt.Sprint("s", began.UnixNano(), i), 1); err != nil || r.Code != 0 {
					t.Errorf("through %s right after the loss: code %d, %v", s.name, r.Code, err)
				}
			}
			w.eventually("another one leads", time.Second, func() bool {
				return slices.ContainsFunc(w.others(old), func(s *server) bool { return s.meta.Leads() })
			})
			t.Logf("another one leads after %v", time.Since(began))
			w.split(false, []*server{old}, w.others(old))
			w.eventually("all are together again", 10*time.Second, func() bool { return w.together("abc") })
			terms := w.leader().meta.Status().Term
			pass(time.Minute)
			if after := w.leader().meta.Status().Term; after != terms {
				t.Errorf("there were elections without need: term %d became %d", terms, after)
			}
		}
	})
}

// TestAloneImpatient restarts a server that is alone: it need not wait for others.
func TestAloneImpatient(t *testing.T) {
	inWorld(t, 1, "a", func(t *testing.T, w *world) {
		w.impatient = true
		for range 3 {
			w.of("a").start()
			w.eventually("it leads", time.Second, func() bool { return w.together("a") })
			w.of("a").stop()
		}
	})
}

// TestMinority cuts a server off: it gets its answer soon, and catches up later.
func TestMinority(t *testing.T) {
	inCluster(t, "abc", func(t *testing.T, w *world) {
		alone := w.leader()
		w.split(true, []*server{alone}, w.others(alone))
		began := time.Now()
		_, err := alone.create("lost", 1)
		if !errors.Is(err, meta.ErrUncertain) && !errors.Is(err, meta.ErrNoLeader) {
			t.Errorf("the old leader alone: got %v", err)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("it took %v", took)
		}
		pass(5 * time.Second)
		began = time.Now()
		if _, err := alone.create("late", 1); !errors.Is(err, meta.ErrNoLeader) || time.Since(began) > 0 {
			t.Errorf("without a leader for long: got %v after %v", err, time.Since(began))
		}
		if err := alone.meta.StepDown(t.Context(), nil); !errors.Is(err, meta.ErrNoLeader) {
			t.Errorf("step down without a leader: got %v", err)
		}
		w.others(alone)[0].mustCreate("kept", 1)
		w.split(false, []*server{alone}, w.others(alone))
		w.eventually("all are together again", 20*time.Second, func() bool { return w.together("abc") })
		w.eventually("it has caught up", 5*time.Second, func() bool { return alone.stream("kept") != nil })
	})
}

// TestWipedServer lets a server come back with an empty disk under its old name: it takes the place of the old one.
func TestWipedServer(t *testing.T) {
	inCluster(t, "abc", func(t *testing.T, w *world) {
		victim := w.others(w.leader())[0]
		r3 := w.leader().mustCreate("r3", 3)
		var only string
		for i := range 3 { // one on each
			if a := w.leader().mustCreate(fmt.Sprint("r1-", i), 1); a.On(victim.node) {
				only = a.Config.Name
			}
		}
		fresh := victim.wipe("z0000000")
		fresh.start()
		w.eventually("it is in the old one's place", 30*time.Second, func() bool {
			if s := w.leader(); s != nil && s.meta.Status().Voters < 3 {
				t.Errorf("only %d servers vote meanwhile", s.meta.Status().Voters)
			}
			return w.together("abc") && len(w.voters()) == 3 && w.leader().meta.View().Removed(victim.node) && w.leader().meta.Status().Voters == 3
		})
		if m := fresh.meta.View().MemberByName(victim.name); m.Node != "z0000000" || m.Replaces != victim.node {
			t.Errorf("got %+v", m)
		}
		w.eventually("the replicated stream goes there", 10*time.Second, func() bool {
			a := w.leader().stream("r3")
			return a.On("z0000000") && !a.On(victim.node) && a.Desired != nil && len(a.Target()) == 3
		})
		if a := w.leader().stream(only); !a.Solo() || !a.On(victim.node) {
			t.Errorf("the stream that only the old one had is on %q: it would come back empty", a.Peers)
		}
		if code, err := w.leader().propose(&state.Settle{ID: r3.ID, Version: w.leader().stream("r3").Version}); code != 0 || err != nil {
			t.Errorf("settle: code %d, %v", code, err)
		}
		victim.start() // the old disk is back, under the same name
		pass(15 * time.Second)
		if err := victim.meta.Err(); err == nil || !strings.Contains(err.Error(), "removed") {
			t.Errorf("the old node goes on: %v", err)
		}
	})
}

// TestNameIsTaken lets a server join under the name of one that is there.
func TestNameIsTaken(t *testing.T) {
	inCluster(t, "abc", func(t *testing.T, w *world) {
		twin := w.add("b", "z0000000")
		twin.start()
		pass(10 * time.Second)
		if got := twin.meta.Waiting(); !strings.Contains(got, "same name") {
			t.Errorf("the twin waits because %q", got)
		}
		if w.leader().meta.View().Size() != 3 {
			t.Error("the twin is a member")
		}
	})
}

// TestNameIsTakenByOneBehindACut lets a server join under the name of one that the leader does not reach, but others do.
func TestNameIsTakenByOneBehindACut(t *testing.T) {
	inCluster(t, "abcde", func(t *testing.T, w *world) {
		leader := w.leader()
		hidden := w.others(leader)[0]
		w.split(true, []*server{hidden}, []*server{leader})
		twin := w.add(hidden.name, "z0000000")
		w.split(true, []*server{twin}, []*server{hidden}) // or it would see by itself that there is one
		twin.start()
		w.eventually("the twin is refused", 20*time.Second, func() bool {
			return strings.Contains(twin.meta.Waiting(), "there is a server of the name") || strings.Contains(twin.meta.Waiting(), "same name")
		})
		if leader.meta.View().Removed(hidden.node) {
			t.Error("the twin has taken its place")
		}
	})
}

// TestRemove takes servers out, the leader too.
func TestRemove(t *testing.T) {
	inCluster(t, "abcde", func(t *testing.T, w *world) {
		for i := range 40 {
			w.leader().mustCreate(fmt.Sprint("s", i), 3)
		}
		for i := range 2 {
			victim := w.leader()
			through := w.others(victim)[0]
			through.must(&state.RemoveMember{Node: victim.name})
			w.eventually("it hears that it was removed", 20*time.Second, func() bool {
				victim.mu.Lock()
				defer victim.mu.Unlock()
				return victim.halted != nil
			})
			if _, err := victim.create("x", 1); !errors.Is(err, meta.ErrClosed) {
				t.Errorf("it still proposes: %v", err)
			}
			victim.stop()
			w.eventually("the others are together", 20*time.Second, func() bool { return w.leader() != nil && w.leader().meta.View().Size() == 4-i && len(w.voters()) == 3 })
			w.eventually("its streams go elsewhere", 20*time.Second, func() bool { return w.moved(victim.node) })
			view := w.leader().meta.View()
			for member := range view.Members() {
				if l := view.Load(member.Node); l.Replicated < 120/(4-i)-2 || l.Replicated > 120/(4-i)+2 {
					t.Errorf("%s has %d streams, want about %d", member.Name, l.Replicated, 120/(4-i))
				}
			}
			for a := range view.All() {
				if len(a.Target()) != 3 || a.Desired == nil && slices.Contains(a.Peers, victim.node) {
					t.Errorf("%s is on %q, goes to %q", a.Config.Name, a.Peers, a.Target())
				}
				if a.Desired != nil {
					w.leader().must(&state.Settle{ID: a.ID, Version: a.Version})
				}
			}
		}
		if code, err := w.leader().propose(&state.RemoveMember{Node: "nobody"}); code != state.ServerNotMember || err != nil {
			t.Errorf("remove nobody: code %d, %v", code, err)
		}
	})
}

// moved tells whether no stream is assigned to a node any more.
func (w *world) moved(node string) bool {
	return w.leader() != nil && w.leader().meta.View().Load(node).Streams == 0
}

// TestRemoveTwoAtOnce refuses the second while the votes have still to follow the first.
func TestRemoveTwoAtOnce(t *testing.T) {
	inCluster(t, "abcde", func(t *testing.T, w *world) {
		others := w.others(w.leader())
		w.leader().must(&state.RemoveMember{Node: others[0].node})
		if code, err := w.leader().propose(&state.RemoveMember{Node: others[1].node}); code != state.MemberChangeInProgress || err != nil {
			t.Errorf("code %d, %v, want %d", code, err, state.MemberChangeInProgress)
		}
	})
}

// TestEvacuate lets a server's streams move away; then it leaves.
func TestEvacuate(t *testing.T) {
	inCluster(t, "abcd", func(t *testing.T, w *world) {
		for i := range 6 {
			w.leader().mustCreate(fmt.Sprint("s", i), 1+i%3)
		}
		victim := w.others(w.leader())[0]
		w.leader().must(&state.Evacuate{Node: victim.name})
		w.eventually("all its streams have somewhere to go", 10*time.Second, func() bool {
			for a := range w.leader().meta.View().All() {
				if slices.Contains(a.Target(), victim.node) {
					return false
				}
			}
			return true
		})
		for a := range w.leader().meta.View().All() {
			if a.Desired == nil {
				continue
			}
			if !a.On(victim.node) {
				t.Errorf("%s is on %q: %s does not keep it until another one has it", a.Config.Name, a.Peers, victim.name)
			}
			w.leader().must(&state.Settle{ID: a.ID, Version: a.Version})
		}
		w.eventually("it has left", 20*time.Second, func() bool { return w.leader().meta.View().Size() == 3 && victim.meta.Err() != nil })
	})
}

// TestMoves asks for moves as the API does.
func TestMoves(t *testing.T) {
	inCluster(t, "abcd", func(t *testing.T, w *world) {
		a := w.leader().mustCreate("s", 3)
		spare := ""
		for _, s := range w.all() {
			if !a.On(s.node) {
				spare = s.name
			}
		}
		through := w.others(w.leader())[0]
		if code, err := through.propose(&state.MoveStream{Account: "A", Name: "s", From: spare}); code != state.PeerNotMember || err != nil {
			t.Errorf("from where it is not: code %d, %v", code, err)
		}
		name := w.leader().meta.View().Member(a.Peers[1]).Name
		through.must(&state.MoveStream{Account: "A", Name: "s", From: name, Drop: true})
		moved := w.leader().stream("s")
		if moved.On(a.Peers[1]) || len(moved.Target()) != 3 {
			t.Errorf("it is on %q, goes to %q", moved.Peers, moved.Target())
		}
		if code, err := through.propose(&state.MoveStream{Account: "A", Name: "s", From: moved.Peers[0]}); code != state.ReconfigurationRunning || err != nil {
			t.Errorf("while it moves: code %d, %v", code, err)
		}
		w.leader().must(&state.Settle{ID: a.ID, Version: moved.Version})
		w.leader().mustCreate("wide", 3)
		through.must(&state.UpdateStream{Account: "A", Config: stream("wide", 1)})
		if d := w.leader().stream("wide").Desired; d == nil || len(d.Peers) != 1 {
			t.Errorf("it goes to %+v", d)
		}
		through.must(&state.CancelChange{Account: "A", Name: "wide"})
		if got := w.leader().stream("wide"); len(got.Target()) != 3 || got.Config.Replicas != 3 {
			t.Errorf("it goes to %q", got.Target())
		}
		if code, err := through.propose(&state.MoveStream{Account: "A", Name: "s", To: &config.Placement{Cluster: "elsewhere"}}); code != state.NoSuitablePeers || err != nil {
			t.Errorf("to nowhere: code %d, %v", code, err)
		}
		s := w.leader().stream("s")
		for _, o := range w.all() {
			if !s.On(o.node) {
				o.stop()
			}
		}
		w.eventually("somebody leads", 10*time.Second, func() bool { return w.leader() != nil && w.together("abcd") })
		if code, err := w.leader().propose(&state.MoveStream{Account: "A", Name: "s", From: s.Peers[0], Drop: true}); code != state.PeerRemapFailed || err != nil {
			t.Errorf("nobody is left: code %d, %v", code, err)
		}
	})
}

func TestStepDown(t *testing.T) {
	inCluster(t, "abc", func(t *testing.T, w *world) {
		for _, target := range "bcab" {
			to := w.of(string(target))
			if w.leader() == to {
				continue
			}
			if err := w.of("a").meta.StepDown(t.Context(), &config.Placement{Preferred: to.name}); err != nil {
				t.Fatalf("to %s: %v", to.name, err)
			}
			w.eventually("the preferred one leads", 5*time.Second, func() bool { return w.leader() == to && w.together("abc") })
		}
		old := w.leader()
		if err := w.others(old)[0].meta.StepDown(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		w.eventually("another one leads", 5*time.Second, func() bool { return w.leader() != nil && w.leader() != old })
		w.eventually("all know", 5*time.Second, func() bool { return w.together("abc") })
		var e *config.Error
		for _, s := range w.all() {
			if err := s.meta.StepDown(t.Context(), &config.Placement{Tags: []string{"gpu"}}); !errors.As(err, &e) || e.Code != state.NoSuitablePeers {
				t.Errorf("through %s to nobody: %v", s.name, err)
			}
		}
	})
}

// TestRescue loses two of three servers for good.
func TestRescue(t *testing.T) {
	inCluster(t, "abcd", func(t *testing.T, w *world) {
		for i := range 5 {
			w.leader().mustCreate(fmt.Sprint("s", i), 3)
		}
		w.eventually("everybody has all", 5*time.Second, func() bool {
			return !slices.ContainsFunc(w.all(), func(s *server) bool { return s.meta.View().Len() != 5 })
		})
		if err := w.of("a").meta.Rescue(t.Context(), meta.RescueWord); err == nil || !strings.Contains(err.Error(), "has a leader") {
			t.Errorf("a group that leads is rescued: %v", err)
		}
		w.of("b").stop()
		w.of("c").stop()
		a, d := w.of("a"), w.of("d")
		pass(10 * time.Second)
		if _, err := a.create("x", 1); !errors.Is(err, meta.ErrNoLeader) {
			t.Fatalf("it goes on with one of three: %v", err)
		}
		if err := d.meta.Rescue(t.Context(), "please"); err == nil {
			t.Fatal("it is rescued without the word")
		}
		if err := d.meta.Rescue(t.Context(), meta.RescueWord); err != nil {
			t.Fatal(err)
		}
		w.eventually("somebody leads", 20*time.Second, func() bool { return w.leader() != nil && w.together("abcd") })
		for i := range 5 {
			if a.stream(fmt.Sprint("s", i)) == nil || d.stream(fmt.Sprint("s", i)) == nil {
				t.Errorf("stream %d is lost", i)
			}
		}
		for _, lost := range "bc" {
			w.eventually(string(lost)+" can be removed", 10*time.Second, func() bool {
				code, err := a.propose(&state.RemoveMember{Node: string(lost)})
				return code == 0 && err == nil
			})
		}
		w.eventually("both vote", 20*time.Second, func() bool { return w.voters() == "ad" && w.together("ad") })
		for _, s := range []*server{a, d} {
			s.stop()
			s.start()
		}
		w.eventually("they go on after a restart", 20*time.Second, func() bool { return w.together("ad") })
		w.add("e", "e0000000").start()
		w.eventually("a third joins", 20*time.Second, func() bool { return w.together("ade") && w.voters() == "ade" })
	})
}

// TestRescueIsNotNeeded asks for a rescue where an election is enough.
func TestRescueIsNotNeeded(t *testing.T) {
	inCluster(t, "abc", func(t *testing.T, w *world) {
		a, b, c := w.of("a"), w.of("b"), w.of("c")
		w.split(true, []*server{a}, []*server{b, c})
		w.split(true, []*server{b}, []*server{c})
		w.eventually("nobody leads", 10*time.Second, func() bool {
			return !slices.ContainsFunc(w.all(), func(s *server) bool { node, _ := s.meta.Leader(); return node != "" })
		})
		w.split(false, []*server{a}, []*server{b})
		if err := a.meta.Rescue(t.Context(), meta.RescueWord); err == nil || !strings.Contains(err.Error(), "which is enough") {
			t.Errorf("got %v", err)
		}
	})
}

// TestRescueTakesTheLongestLog lets a server ask that was away while changes were made.
func TestRescueTakesTheLongestLog(t *testing.T) {
	inCluster(t, "abcd", func(t *testing.T, w *world) {
		a, d := w.of("a"), w.of("d")
		w.split(true, []*server{d}, w.others(d))
		w.eventually("the others have a leader", 10*time.Second, func() bool {
			return slices.ContainsFunc(w.others(d), func(s *server) bool { return s.meta.Leads() })
		})
		a.mustCreate("late", 1)
		w.eventually("a has it", 5*time.Second, func() bool { return a.stream("late") != nil })
		w.of("b").stop()
		w.of("c").stop()
		w.split(false, []*server{d}, []*server{a})
		pass(10 * time.Second)
		if err := d.meta.Rescue(t.Context(), meta.RescueWord); err != nil {
			t.Fatal(err)
		}
		w.eventually("both go on", 20*time.Second, func() bool { return w.together("abcd") })
		w.eventually("both have it", 5*time.Second, func() bool { return a.stream("late") != nil && d.stream("late") != nil })
	})
}

// TestSnapshots makes so many changes that a late server gets a snapshot, and looks whether everybody ends with the same state.
func TestSnapshots(t *testing.T) {
	if testing.Short() {
		t.Skip("many changes")
	}
	inCluster(t, "abc", func(t *testing.T, w *world) {
		away := w.others(w.leader())[0]
		away.stop()
		through := w.leader()
		for i := range 2500 {
			if r, err := through.create(fmt.Sprint("s", i%50), 1); err != nil || r.Code != 0 {
				t.Fatal(err, r)
			}
			if i%50 < 25 {
				through.must(&state.DeleteStream{Account: "A", Name: fmt.Sprint("s", i%50)})
			}
		}
		pass(2 * time.Minute) // snapshots are taken now and then
		for i := range 100 {
			through.must(&state.DeleteStream{Account: "A", Name: fmt.Sprint("s", 25+i%25)})
			through.mustCreate(fmt.Sprint("s", 25+i%25), 1)
		}
		var mu sync.Mutex
		all := 0
		away.start()
		away.meta.Watch(func(c meta.Change) {
			mu.Lock()
			defer mu.Unlock()
			if c.All {
				all++
			}
		})
		d := w.add("d", "d0000000")
		d.start()
		w.eventually("all are together", 20*time.Second, func() bool { return w.together("abcd") })
		w.same()
		mu.Lock()
		defer mu.Unlock()
		if all == 0 {
			t.Error("the server that was away has got no snapshot")
		}
	})
}

// same waits until everybody has applied the same, and compares it.
func (w *world) same() {
	w.t.Helper()
	written := func(s *server) string {
		var b strings.Builder
		if err := s.meta.View().Write(&b); err != nil {
			w.t.Fatal(err)
		}
		return b.String()
	}
	// After a long time away raft lets a server wait for entries for up to 10 s. A real transport keeps that from happening.
	w.eventually("all have the same state", 30*time.Second, func() bool {
		all := w.all()
		return !slices.ContainsFunc(all, func(s *server) bool { return written(s) != written(all[0]) })
	})
}

// TestWatch looks whether changes arrive in order, with what was before and after.
func TestWatch(t *testing.T) {
	inCluster(t, "abc", func(t *testing.T, w *world) {
		var mu sync.Mutex
		var seen []string
		stop := w.of("c").meta.Watch(func(c meta.Change) {
			mu.Lock()
			defer mu.Unlock()
			text := "members"
			switch {
			case c.Old == nil && c.New != nil:
				text = "new " + c.New.Config.Name
			case c.Old != nil && c.New != nil:
				text = fmt.Sprintf("changed %s from %d to %d", c.New.Config.Name, c.Old.Version, c.New.Version)
			case c.Old != nil:
				text = "gone " + c.Old.Config.Name
			}
			seen = append(seen, text)
		})
		s := w.of("b")
		s.mustCreate("x", 3)
		s.mustCreate("x", 3)
		longer := stream("x", 3)
		longer.Description = "longer"
		s.must(&state.UpdateStream{Account: "A", Config: longer})
		s.mustCreate("y", 1)
		s.must(&state.DeleteStream{Account: "A", Name: "x"})
		s.must(&state.Evacuate{Node: "a"})
		pass(200 * time.Millisecond)
		stop()
		s.mustCreate("z", 1)
		pass(200 * time.Millisecond)
		mu.Lock()
		defer mu.Unlock()
		if got, want := strings.Join(seen, ", "), "new x, changed x from 1 to 2, new y, gone x, members"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// TestReports looks at what the leader hears of the others.
func TestReports(t *testing.T) {
	inCluster(t, "abc", func(t *testing.T, w *world) {
		w.of("b").mu.Lock()
		w.of("b").usage = meta.Usage{Streams: 7, FreeBytes: 99}
		w.of("b").mu.Unlock()
		pass(5 * time.Second)
		for _, p := range w.leader().meta.Status().Peers {
			if !p.Online || !p.Current || p.Lag < 0 || !p.Voter || (p.Name == "b") != (p.Usage.Streams == 7) {
				t.Errorf("got %+v", p)
			}
		}
		for _, s := range w.leader().meta.Servers() {
			if (s.Name == "b") != (s.FreeBytes == 99) {
				t.Errorf("%s has %d bytes left", s.Name, s.FreeBytes)
			}
		}
		w.of("b").stop()
		w.eventually("b is seen to be offline", 10*time.Second, func() bool {
			return w.leader() != nil && slices.ContainsFunc(w.leader().meta.Status().Peers, func(p meta.Peer) bool { return p.Name == "b" && !p.Online && !p.Current })
		})
	})
}

// TestTagsChange restarts a server with other tags: the cluster hears of it.
func TestTagsChange(t *testing.T) {
	inCluster(t, "abc", func(t *testing.T, w *world) {
		b := w.of("b")
		b.stop()
		b.tags = []string{"ssd"}
		b.start()
		w.eventually("its tag is known", 20*time.Second, func() bool {
			m := w.of("c").meta.View().MemberByName("b")
			return slices.Equal(m.Tags, b.tags)
		})
		cfg := stream("fast", 1)
		cfg.Placement = &config.Placement{Tags: []string{"ssd"}}
		w.eventually("somebody leads", 10*time.Second, func() bool { return w.together("abc") })
		w.of("a").must(&state.CreateStream{Account: "A", Config: cfg})
		if a := w.leader().stream("fast"); !slices.Equal(a.Peers, []string{b.node}) {
			t.Errorf("it is on %q", a.Peers)
		}
	})
}
