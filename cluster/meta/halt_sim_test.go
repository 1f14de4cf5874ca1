package meta_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"runnel/cluster/meta/state"
)

// haltedBy waits until a server has halted, and returns why.
func (w *world) haltedBy(s *server) string {
	w.t.Helper()
	var why error
	w.eventually(s.name+" halts", 20*time.Second, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		why = s.halted
		return why != nil
	})
	return why.Error()
}

// TestNewerCommand gives a server a command that only newer ones know: it stops aloud, and changes nothing any more.
func TestNewerCommand(t *testing.T) {
	inWorld(t, 1, "a", func(t *testing.T, w *world) {
		a := w.of("a")
		a.start()
		w.eventually("it leads", 10*time.Second, func() bool { return w.together("a") })
		a.mustCreate("s", 1)
		a.stop()
		last, err := a.store.LastIndex()
		if err != nil {
			t.Fatal(err)
		}
		newer := &raft.Log{Index: last + 1, Term: 50, Type: raft.LogCommand, Data: []byte("\x01\xc8{}")}
		if err := errors.Join(a.store.StoreLog(newer), a.store.SetUint64([]byte("CurrentTerm"), 50)); err != nil {
			t.Fatal(err)
		}
		a.start()
		if why := w.haltedBy(a); !strings.Contains(why, "not known to this version") {
			t.Errorf("it halts because %s", why)
		}
		if a.stream("s") == nil || a.meta.View().Index() >= last+1 {
			t.Error("its state is not that before the command")
		}
		if _, err := a.propose(&state.Raise{Level: 1}); err == nil {
			t.Error("it goes on")
		}
	})
}

// TestOlderProgram starts a server with a program that is too old for its cluster: it stops aloud.
func TestOlderProgram(t *testing.T) {
	inWorld(t, 1, "a", func(t *testing.T, w *world) {
		a := w.of("a")
		a.level = 2
		a.start()
		w.eventually("it leads", 10*time.Second, func() bool { return w.together("a") })
		a.mustCreate("s", 1)
		a.stop()
		a.level = 1
		a.start()
		if why := w.haltedBy(a); !strings.Contains(why, "the cluster is at feature level 2, this program knows 1") {
			t.Errorf("it halts because %s", why)
		}
		a.stop()
		a.level = 2
		a.start()
		w.eventually("it leads again", 10*time.Second, func() bool { return w.together("a") })
	})
}

// TestLogFails lets the log of a server fail for good: it halts, the others go on.
func TestLogFails(t *testing.T) {
	for _, leads := range []bool{true, false} {
		inCluster(t, "abc", func(t *testing.T, w *world) {
			i := slices.IndexFunc(w.all(), func(s *server) bool { return (s == w.leader()) == leads })
			victim := w.all()[i]
			victim.mu.Lock()
			victim.store.Before = func() error { return errors.New("the disk is gone") }
			victim.mu.Unlock()
			other := w.others(victim)[0]
			other.mustCreate("s", 1)
			if why := w.haltedBy(victim); !strings.Contains(why, "the disk is gone") {
				t.Errorf("it halts because %s", why)
			}
			victim.stop()
			other.mustCreate("t", 1)
		})
	}
}

// TestDescribe lets a server say something else of itself while it runs.
func TestDescribe(t *testing.T) {
	inCluster(t, "abc", func(t *testing.T, w *world) {
		w.of("b").meta.Describe([]string{"nvme"}, 1000, -1)
		w.eventually("the others know", 10*time.Second, func() bool {
			m := w.of("c").meta.View().MemberByName("b")
			return slices.Equal(m.Tags, []string{"nvme"}) && m.MaxStoreBytes == 1000
		})
	})
}
