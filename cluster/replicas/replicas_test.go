package replicas_test

import (
	"flag"
	"testing"
	"time"

	"runnel/cluster/meta/state"
)

var verbose = flag.Bool("logs", false, "show what is logged")

func TestSolo(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		a := w.create("S", "b")
		w.publish(a.ID, 10)
		w.settle(a.ID, 10, "b")
		if n := w.leader(a.ID); n.name != "b" {
			t.Errorf("%s leads, want b", n.name)
		}
		w.command(&state.DeleteStream{Account: "A", Name: "S"})
		w.until("it is gone", func() bool { return w.node("b").stream(a.ID) == nil && w.node("b").log.StreamByID(a.ID) == nil })
	})
}

func TestReplicated(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		begin := time.Now()
		a := w.create("S", "b", "a", "c")
		if n := w.leader(a.ID); n.name != "b" {
			t.Errorf("%s leads, want b", n.name)
		}
		if took := time.Since(begin); took > time.Second {
			t.Errorf("it is led after %v", took)
		}
		w.publish(a.ID, 20)
		w.settle(a.ID, 20, "a", "b", "c")
		w.command(&state.DeleteStream{Account: "A", Name: "S"})
		again := w.create("S", "a", "b", "c")
		w.publish(again.ID, 1)
		w.settle(again.ID, 1, "a", "b", "c")
		for _, n := range w.nodes {
			if n.log.StreamByID(a.ID) != nil {
				t.Errorf("%s has the deleted stream still", n.name)
			}
		}
	})
}

func TestLeaderDies(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		ids := w.createSome(5)
		begin := time.Now()
		w.node("a").crash()
		for _, id := range ids {
			w.leader(id)
		}
		if took := time.Since(begin); took > 4*time.Second {
			t.Errorf("all are led after %v, want it long before raft's own 10 s", took)
		}
		for _, id := range ids {
			w.publish(id, 5)
		}
		w.node("a").start()
		for _, id := range ids {
			w.settle(id, 6, "a", "b", "c")
		}
	})
}

func TestAllRestart(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		a, solo := w.create("S", "a", "b", "c"), w.create("T", "c")
		w.publish(a.ID, 10)
		w.publish(solo.ID, 10)
		for round := range 3 {
			for _, n := range w.nodes {
				if round == 1 {
					n.stop()
				} else {
					n.crash()
				}
			}
			for _, n := range w.nodes {
				n.start()
			}
			w.publish(a.ID, 1)
			w.publish(solo.ID, 1)
		}
		w.settle(a.ID, 13, "a", "b", "c")
		w.settle(solo.ID, 13, "c")
	})
}
