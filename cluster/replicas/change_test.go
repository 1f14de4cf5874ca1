package replicas_test

import (
	"testing"
	"time"

	"runnel/cluster/meta/state"
	"runnel/jetlog/command"
)

// scale has a stream have other servers by a change of its configuration.
func (w *world) scale(a *state.Assignment, peers ...string) {
	w.t.Helper()
	now := w.machine.View().StreamByID(a.ID)
	cfg := now.Config
	cfg.Replicas = len(peers)
	if r := w.command(&state.UpdateStream{Account: a.Account, Config: cfg, Version: now.Version, Peers: peers}); r.Code != 0 {
		w.t.Fatalf("scale to %v: %v", peers, r.Err())
	}
}

// move has a stream go to other servers.
func (w *world) move(a *state.Assignment, from string, drop bool, peers ...string) {
	w.t.Helper()
	now := w.machine.View().StreamByID(a.ID)
	c := &state.MoveStream{Account: a.Account, Name: now.Config.Name, Version: now.Version, From: from, Drop: drop, Peers: peers}
	if r := w.command(c); r.Code != 0 {
		w.t.Fatalf("move to %v: %v", peers, r.Err())
	}
}

// TestScale takes a stream from one replica to three, to five, to three others and to one, with messages all the time.
func TestScale(t *testing.T) {
	inWorld(t, 5, func(t *testing.T, w *world) {
		a := w.create("S", "a")
		w.publish(a.ID, 10)
		steps := [][]string{{"a", "b", "c"}, {"a", "b", "c", "d", "e"}, {"c", "d", "e"}, {"d"}, {"d", "a", "b"}, {"b"}}
		for i, peers := range steps {
			w.scale(a, peers...)
			w.publish(a.ID, 10)
			w.settle(a.ID, 20+10*i, peers...)
		}
		// What was published since it began is there, in order.
		got := 0
		stream := w.leader(a.ID).stream(a.ID)
		for seq := uint64(1); seq <= stream.State().Last; seq++ {
			if _, err := stream.Load(seq); err != nil {
				t.Errorf("message %d: %v", seq, err)
			} else {
				got++
			}
		}
		if want := 10 + 10*len(steps); got < want {
			t.Errorf("%d messages, want %d or more", got, want)
		}
	})
}

func TestMove(t *testing.T) {
	tests := []struct {
		name string
		on   []string
		to   []string
	}{
		{"alone", []string{"a"}, []string{"b"}},
		{"one of three", []string{"a", "b", "c"}, []string{"a", "b", "d"}},
		{"the leader of three", []string{"a", "b", "c"}, []string{"b", "c", "d"}},
		{"all three", []string{"a", "b", "c"}, []string{"d", "e", "f"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inWorld(t, 6, func(t *testing.T, w *world) {
				a := w.create("S", test.on...)
				w.publish(a.ID, 30)
				if err := w.leader(a.ID).log.Flush(); err != nil {
					t.Fatal(err)
				}
				w.publish(a.ID, 5)
				w.move(a, "", false, test.to...)
				w.publish(a.ID, 5)
				w.settle(a.ID, 40, test.to...)
				w.move(a, "", false, test.on...)
				w.settle(a.ID, 40, test.on...)
			})
		})
	}
}

// TestMoveWithCrashes has servers crash while a stream moves.
func TestMoveWithCrashes(t *testing.T) {
	inWorld(t, 6, func(t *testing.T, w *world) {
		a := w.create("S", "a", "b", "c")
		w.publish(a.ID, 20)
		w.move(a, "", false, "d", "e", "f")
		for _, name := range []string{"d", "a", "e", "b", "f"} {
			w.node(name).crash()
			w.publish(a.ID, 3)
			w.node(name).start()
			<-time.After(500 * time.Millisecond)
		}
		w.settle(a.ID, 35, "d", "e", "f")
	})
}

// TestDropDead has a server given up that is dead, and another one take its place; then the dead one comes back.
func TestDropDead(t *testing.T) {
	inWorld(t, 4, func(t *testing.T, w *world) {
		a := w.create("S", "a", "b", "c")
		w.publish(a.ID, 10)
		w.node("a").crash()
		w.move(a, "a", true, "b", "c", "d")
		w.publish(a.ID, 10)
		w.settle(a.ID, 20, "b", "c", "d")
		w.node("a").start()
		w.settle(a.ID, 20, "b", "c", "d")
		w.move(a, "d", false, "a", "b", "c")
		w.settle(a.ID, 20, "a", "b", "c")
	})
}

// TestDropLeader has the server given up that leads: others lead at once, without waiting until they miss it.
func TestDropLeader(t *testing.T) {
	inGroup(t, 4, 10, func(t *testing.T, w *world, a *state.Assignment) {
		old := w.leader(a.ID).name
		to := []string{"d"}
		for _, name := range []string{"a", "b", "c"} {
			if name != old {
				to = append(to, name)
			}
		}
		w.move(a, old, true, to...)
		begin := time.Now()
		w.until("a message that is taken by another leader", func() bool {
			w.publish(a.ID, 1)
			return w.leader(a.ID).name != old
		})
		if took := time.Since(begin); took > time.Second {
			t.Errorf("another one leads after %v", took)
		}
		w.settle(a.ID, 11, to...)
	})
}

// TestAwayDuringTwoChanges has a server miss that a stream left it, lost its group and got it back with another one.
func TestAwayDuringTwoChanges(t *testing.T) {
	inGroup(t, 4, 10, func(t *testing.T, w *world, a *state.Assignment) {
		w.node("c").crash()
		w.scale(a, "a")
		w.publish(a.ID, 10)
		w.settle(a.ID, 20, "a")
		w.scale(a, "a", "b", "d")
		w.publish(a.ID, 10)
		w.settle(a.ID, 30, "a", "b", "d")
		w.move(a, "d", false, "a", "b", "c")
		w.publish(a.ID, 10)
		w.node("c").start() // with the replica of the first group
		w.settle(a.ID, 40, "a", "b", "c")
		for _, n := range w.nodes {
			n.stop()
		}
		for _, n := range w.nodes {
			n.start()
		}
		w.publish(a.ID, 1)
		w.settle(a.ID, 41, "a", "b", "c")
	})
}

// TestLateBirth has servers hear late of a stream that has had another configuration since.
func TestLateBirth(t *testing.T) {
	tests := []struct {
		name string
		late []string
	}{
		{"one", []string{"c"}},
		{"two", []string{"b", "c"}},
		{"all", []string{"a", "b", "c"}},
		{"the one that should lead", []string{"a"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inWorld(t, 3, func(t *testing.T, w *world) {
				for _, name := range test.late {
					w.node(name).crash()
				}
				a := w.create("S", "a", "b", "c")
				cfg := a.Config
				cfg.MaxMessages = 1000
				if len(test.late) == 1 {
					stream := w.leader(a.ID).stream(a.ID)
					if _, err := stream.Propose(t.Context(), &command.Configure{Time: 1, Config: cfg}); err != nil {
						t.Fatal(err)
					}
				}
				w.command(&state.UpdateStream{Account: "A", Config: cfg})
				for _, name := range test.late {
					w.node(name).start()
				}
				w.publish(a.ID, 5)
				w.settle(a.ID, 5, "a", "b", "c")
			})
		})
	}
}
