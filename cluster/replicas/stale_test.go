package replicas_test

import (
	"testing"
	"time"

	"runnel/cluster/meta/state"
	"runnel/jetlog/store"
)

// deafen has a node hear nothing of the meta group, and know what was decided then.
func (n *node) deafen(v *state.View) {
	n.w.mu.Lock()
	defer n.w.mu.Unlock()
	if v == nil {
		delete(n.w.behind, n.name)
	} else {
		n.w.behind[n.name] = v
	}
}

// TestOldViewMakesNothing has a server start with an old state of the meta group, in which a stream is its own that has left it:
// it must not begin anew.
func TestOldViewMakesNothing(t *testing.T) {
	inWorld(t, 4, func(t *testing.T, w *world) {
		a, kept := w.create("S", "a", "b", "c"), w.create("T", "a", "b", "c")
		w.publish(a.ID, 10)
		w.publish(kept.ID, 10)
		w.settle(a.ID, 10, "a", "b", "c")
		old := w.machine.View()
		w.move(a, "c", false, "a", "b", "d")
		w.settle(a.ID, 10, "a", "b", "d")
		n := w.node("c")
		n.stop()
		n.deafen(old)
		n.start()
		w.until("what is here is opened", func() bool { return n.stream(kept.ID) != nil })
		<-time.After(time.Minute)
		if n.stream(a.ID) != nil || n.log.StreamByID(a.ID) != nil {
			t.Error("it has made a stream that has left it")
		}
		w.publish(kept.ID, 10)
		n.deafen(nil)
		w.settle(kept.ID, 20, "a", "b", "c")
		w.settle(a.ID, 10, "a", "b", "d")
	})
}

// TestDeletedWhileAway has a server start that still has a stream which was deleted.
func TestDeletedWhileAway(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		a, solo := w.create("S", "a", "b", "c"), w.create("T", "c")
		w.publish(a.ID, 1)
		w.settle(a.ID, 1, "a", "b", "c")
		w.settle(solo.ID, 0, "c")
		n := w.node("c")
		n.stop()
		old := w.machine.View()
		w.command(&state.DeleteStream{Account: "A", Name: "S"})
		w.command(&state.DeleteStream{Account: "A", Name: "T"})
		again := w.create("T", "c", "a", "b")
		n.deafen(old)
		n.start()
		<-time.After(10 * time.Second)
		if n.log.StreamByID(solo.ID) == nil {
			t.Error("it has deleted something before it knew what was decided")
		}
		n.deafen(nil)
		w.publish(again.ID, 3)
		w.settle(again.ID, 3, "a", "b", "c")
		for _, id := range []uint64{a.ID, solo.ID} {
			w.until("it is gone", func() bool { return n.log.StreamByID(id) == nil && n.stream(id) == nil })
		}
	})
}

// TestUnknownStreamStays has a server have a stream that the cluster has never heard of.
func TestUnknownStreamStays(t *testing.T) {
	inWorld(t, 2, func(t *testing.T, w *world) {
		n := w.node("a")
		unknown := uint64(state.FirstID + 1000)
		if _, err := n.log.CreateAssigned(store.Assigned{ID: unknown, Account: "A", Config: unlimited("U", 1), Created: 1}); err != nil {
			t.Fatal(err)
		}
		n.stop()
		n.start()
		<-time.After(10 * time.Minute)
		if n.log.StreamByID(unknown) == nil || n.stream(unknown) != nil {
			t.Error("it was not left alone")
		}
	})
}

// TestStopHandsOver has a server that is stopped in order leave no stream without a leader for long.
func TestStopHandsOver(t *testing.T) {
	inGroup(t, 3, 10, func(t *testing.T, w *world, a *state.Assignment) {
		begin := time.Now()
		w.node("a").stop()
		w.publish(a.ID, 1)
		if took := time.Since(begin); took > 500*time.Millisecond {
			t.Errorf("a message is taken after %v", took)
		}
	})
}

// TestLeadershipsComeBack has a server that was away lead again what it is to lead.
func TestLeadershipsComeBack(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		ids := w.createSome(8)
		w.node("a").crash()
		for _, id := range ids {
			w.publish(id, 1)
		}
		w.node("a").start()
		led := func() (n int) {
			for _, id := range ids {
				if w.node("a").leads(id) {
					n++
				}
			}
			return n
		}
		w.until("it leads most of them", func() bool { return led() >= len(ids)/2 })
		// What somebody moves by hand stays where it is.
		for _, id := range ids {
			w.settle(id, 2, "a", "b", "c")
		}
		at := w.leader(ids[0])
		to := "b"
		if at.name == "b" {
			to = "c"
		}
		if err := at.replicas.StepDown(t.Context(), ids[0], to); err != nil {
			t.Fatal(err)
		}
		<-time.After(5 * time.Minute)
		if got := w.leader(ids[0]).name; got != to && to != "a" {
			t.Errorf("%s leads, want %s, where somebody has moved it", got, to)
		}
	})
}

// TestIsolatedLeader has a leader that reaches nobody be replaced, and its own side not campaign.
func TestIsolatedLeader(t *testing.T) {
	inGroup(t, 3, 5, func(t *testing.T, w *world, a *state.Assignment) {
		w.net.Isolate("a")
		begin := time.Now()
		w.until("another leader", func() bool { return w.node("b").leads(a.ID) || w.node("c").leads(a.ID) })
		if took := time.Since(begin); took > 4*time.Second {
			t.Errorf("another one leads after %v", took)
		}
		<-time.After(time.Minute)
		s, _ := w.node("a").replicas.Status(a.ID)
		before := s.Term
		<-time.After(time.Minute)
		if s, _ = w.node("a").replicas.Status(a.ID); s.Term != before || s.Leads {
			t.Errorf("cut off from all others it is %+v, and was in term %d", s, before)
		}
		for _, n := range w.nodes {
			n.mu.Lock()
			got := len(n.lost)
			n.mu.Unlock()
			if want := map[string]int{"a": 1}[n.name]; got != want {
				t.Errorf("%s was told %d times that a quorum is lost, want %d", n.name, got, want)
			}
		}
		w.net.HealAll()
		w.publish(a.ID, 5)
		w.settle(a.ID, 10, "a", "b", "c")
	})
}

// TestCrashBeforeItsGroupEnds has a server find, when it starts, that it has a stream alone now, whose group it has still. What was
// confirmed is in the log of that group.
func TestCrashBeforeItsGroupEnds(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		a := w.create("S", "a", "b", "c")
		w.publish(a.ID, 5)
		w.scaleSilently(a, "a")
		n := w.node("a")
		w.until("the others have left", func() bool {
			s, _ := n.replicas.Status(a.ID)
			return s.Leads && len(s.Peers) == 0
		})
		w.publish(a.ID, 10)
		n.crash()
		now := w.machine.View().StreamByID(a.ID)
		w.command(&state.Settle{ID: a.ID, Version: now.Version})
		n.deafen(nil)
		n.start()
		w.settle(a.ID, 15, "a")
		w.publish(a.ID, 1)
		w.settle(a.ID, 16, "a")
	})
}

// scaleSilently has a stream go to one server, which does not get through to the meta group with the news that it is done.
func (w *world) scaleSilently(a *state.Assignment, peer string) {
	w.t.Helper()
	w.scale(a, peer)
	w.node(peer).deafen(w.machine.View())
}
