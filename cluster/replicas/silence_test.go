package replicas_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"runnel/cluster/meta/state"
	"runnel/jetlog"
	"runnel/jetlog/command"
)

// soon is how long a group may be without a leader whose server goes on.
const soon = 5 * time.Second

// TestLeaderHalts has the replica of a leader be damaged on a server that goes on, noticed by a group that applies or by nobody else, and
// long after anything was said or not: others take over long before their own timeouts.
func TestLeaderHalts(t *testing.T) {
	for _, test := range []struct {
		name    string
		idle    time.Duration
		applies bool
	}{
		{"busy", 0, true},
		{"busy after a pause", time.Minute, true},
		{"idle", time.Minute, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			inGroup(t, 3, 10, func(t *testing.T, w *world, a *state.Assignment) {
				id := a.ID
				<-time.After(test.idle)
				l := w.leader(id)
				bad := l.stream(id)
				if test.applies { // what is under way when the stream is damaged
					w.net.Freeze("b", l.name)
					w.net.Freeze("c", l.name)
					p := &command.Publish{Time: 1, Subject: "S.x"}
					if err := bad.Start(context.Background(), p, func(jetlog.Result, error) {}); err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
				}
				begin := time.Now()
				if err := bad.ApplyEntry(bad.Applied()+1, 1, []byte{1, 2, 3}, nil); err == nil {
					t.Fatal("the entry was carried out")
				}
				w.net.HealAll()
				w.until("its end", func() bool { return !l.leads(id) })
				w.publish(id, 1)
				if took := time.Since(begin); took > soon {
					t.Errorf("led again after %v, want at most %v", took, soon)
				}
				w.settle(id, 11, "a", "b", "c")
			})
		})
	}
}

// TestLeaderStartsAnew has the server of a leader be away for so short a time that nobody notices: the others believe in a leader
// who knows nothing of it.
func TestLeaderStartsAnew(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		ids := w.createSome(3)
		begin := time.Now()
		w.node("a").crash()
		w.node("a").start()
		for _, id := range ids {
			w.publish(id, 1)
		}
		if took := time.Since(begin); took > soon+time.Second {
			t.Errorf("all are led again after %v", took)
		}
	})
}

// TestIdleLeadersStay has groups be idle for long, on a network that is slow for a while: nobody takes over from a leader who is well.
func TestIdleLeadersStay(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		ids := w.createSome(6)
		before := w.leaders(ids)
		for _, n := range w.nodes {
			for _, o := range w.nodes {
				w.net.Delay(n.name, o.name, 300*time.Millisecond)
			}
		}
		<-time.After(3 * time.Minute)
		after := w.leaders(ids)
		for i := range ids {
			if s, _ := w.nodes[0].replicas.Status(ids[i]); before[i] != after[i] || s.Term > 2 {
				t.Errorf("stream %d was led by %s and is led by %s, in term %d", i, before[i], after[i], s.Term)
			}
		}
	})
}
