package meta_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"runnel/cluster/meta/metatest"
)

// orders returns all orders of some letters.
func orders(letters string) []string {
	if len(letters) <= 1 {
		return []string{letters}
	}
	var all []string
	for i := range letters {
		for _, rest := range orders(letters[:i] + letters[i+1:]) {
			all = append(all, letters[i:i+1]+rest)
		}
	}
	return all
}

func TestFormsAlone(t *testing.T) {
	inWorld(t, 1, "a", func(t *testing.T, w *world) {
		w.of("a").start()
		w.eventually("a server forms alone", 5*time.Second, func() bool { return w.together("a") })
		w.of("a").mustCreate("s", 1)
		w.of("a").stop()
		w.of("a").start()
		w.eventually("it goes on", 5*time.Second, func() bool { return w.together("a") })
		if w.of("a").meta.View().Stream("A", "s") == nil {
			t.Error("the stream is gone")
		}
	})
}

func TestFormsInAllOrders(t *testing.T) {
	for _, size := range []string{"abc", "abcde"} {
		all := orders(size)
		for i, order := range all {
			if len(size) == 5 && i%12 != 0 {
				continue // 10 of the 120
			}
			t.Run(order, func(t *testing.T) {
				inWorld(t, len(size), size, func(t *testing.T, w *world) {
					for _, name := range order {
						w.of(string(name)).start()
						pass(700 * time.Millisecond)
					}
					w.eventually("all are together", 20*time.Second, func() bool { return w.together(size) })
					if got := w.voters(); got != size {
						t.Errorf("%s vote, want %s", got, size)
					}
				})
			})
		}
	}
}

// TestCrashesWhileForming lets each server crash before each change of its disk and log, and be started again.
func TestCrashesWhileForming(t *testing.T) {
	for _, victim := range "ac" { // the proposer, and another one
		for at := 1; ; at++ {
			crashed := false
			t.Run(fmt.Sprintf("%c before %d", victim, at), func(t *testing.T) {
				inWorld(t, 3, "abc", func(t *testing.T, w *world) {
					v := w.of(string(victim))
					v.crashAt = at
					for _, name := range "abc" {
						s := w.of(string(name))
						if err := s.tryStart(); err != nil && s != v {
							t.Fatal(err)
						}
					}
					if v.halted != nil || !v.running { // Open has failed
						v.stop()
						v.crashAt = 0
						crashed = true
						v.start()
					}
					w.eventually("all are together", 30*time.Second, func() bool { return w.together("abc") })
					crashed = crashed || v.crashAt == 0
					for _, s := range w.all() {
						s.mustCreate("s"+s.name, 3)
					}
					w.oneCluster()
				})
			})
			if !crashed {
				if at < 20 {
					t.Errorf("%c has crashed at %d points only", victim, at-1)
				}
				break
			}
		}
	}
}

// oneCluster looks whether all machines that are in a cluster are in the same one.
func (w *world) oneCluster() {
	w.t.Helper()
	ids := map[string]string{}
	for _, s := range w.all() {
		if id := s.meta.View().ClusterID(); id != "" {
			ids[id] += s.name
		}
	}
	if len(ids) != 1 {
		w.t.Errorf("there are %d clusters: %v", len(ids), ids)
	}
}

// TestAllCrashTogether takes the power from all servers at the same time, again and again.
func TestAllCrashTogether(t *testing.T) {
	for at := 1; at <= 40; at += 3 {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			inWorld(t, 3, "abc", func(t *testing.T, w *world) {
				for i, name := range "abc" {
					s := w.of(string(name))
					s.crashAt = at + i
					if err := s.tryStart(); err != nil {
						s.stop()
						s.crashAt = 0
						s.start()
					}
				}
				w.eventually("all are together", 30*time.Second, func() bool { return w.together("abc") })
				w.of("b").mustCreate("s", 3)
				w.oneCluster()
			})
		})
	}
}

// TestPartsDoNotForm lets two parts of three servers see nothing of one another: neither may form before they do.
func TestPartsDoNotForm(t *testing.T) {
	inWorld(t, 3, "abc", func(t *testing.T, w *world) {
		w.split(true, []*server{w.of("a")}, []*server{w.of("b"), w.of("c")})
		for _, name := range "abc" {
			w.of(string(name)).start()
		}
		pass(time.Minute)
		for _, s := range w.all() {
			if s.meta.View().ClusterID() != "" || !strings.Contains(s.meta.Waiting(), "servers see one another") {
				t.Errorf("%s is in cluster %q, waiting: %s", s.name, s.meta.View().ClusterID(), s.meta.Waiting())
			}
		}
		w.split(false, []*server{w.of("a")}, []*server{w.of("b"), w.of("c")})
		w.eventually("all are together", 20*time.Second, func() bool { return w.together("abc") })
	})
}

// TestPartsOfFive lets a server see only some of the others: nobody's view is that of all.
func TestPartsOfFive(t *testing.T) {
	inWorld(t, 5, "abcde", func(t *testing.T, w *world) {
		w.split(true, []*server{w.of("a")}, []*server{w.of("e")})
		for _, name := range "abcde" {
			w.of(string(name)).start()
		}
		pass(30 * time.Second)
		for _, s := range w.all() {
			if s.meta.View().ClusterID() != "" {
				t.Errorf("%s is in a cluster", s.name)
			}
		}
		w.split(false, []*server{w.of("a")}, []*server{w.of("e")})
		w.eventually("all are together", 20*time.Second, func() bool { return w.together("abcde") })
	})
}

// TestWipedBeforeFormed replaces a server after some have promised a plan that it is part of.
func TestWipedBeforeFormed(t *testing.T) {
	early := 0
	for at := 1; at <= 25; at++ {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			inWorld(t, 3, "abc", func(t *testing.T, w *world) {
				v := w.of("a")
				v.crashAt = at
				for _, name := range "abc" {
					if err := w.of(string(name)).tryStart(); err != nil && string(name) != "a" {
						t.Fatal(err)
					}
				}
				for range 100 {
					pass(20 * time.Millisecond)
				}
				if v.up() {
					return // the way was shorter than that
				}
				early++
				v.wipe("z0000000").start()
				w.eventually("all are together", 40*time.Second, func() bool { return w.together("abc") })
				w.of("b").mustCreate("s", 3)
				w.oneCluster()
			})
		})
	}
	if early < 5 {
		t.Errorf("only %d of the crashes were early enough", early)
	}
}

// TestNobodyFormsBeforeAllPromised lets a server crash, for good, at every point of the way: as long as it has not promised, the others have
// not formed.
func TestNobodyFormsBeforeAllPromised(t *testing.T) {
	early := 0
	for at := 1; at <= 25; at++ {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			inWorld(t, 3, "abc", func(t *testing.T, w *world) {
				v := w.of("c")
				v.crashAt = at
				for _, name := range "abc" {
					if err := w.of(string(name)).tryStart(); err != nil && string(name) != "c" {
						t.Fatal(err)
					}
				}
				pass(20 * time.Second)
				if _, err := v.disk.Stat(dir + "/formation"); err == nil && bytes.Contains(content(t, v.disk, dir+"/formation"), []byte("cluster_id")) {
					return // it has promised
				}
				early++
				for _, s := range w.all() {
					if s.meta.Waiting() == "" {
						t.Errorf("%s has formed a cluster with one that has not promised it", s.name)
					}
				}
			})
		})
	}
	if early < 5 {
		t.Errorf("only %d of the crashes were early enough", early)
	}
}

func TestHintsWhileWaiting(t *testing.T) {
	for _, test := range []struct {
		name  string
		sizes []int
		names string
		want  string
	}{
		{"not known", []int{0, 0}, "ab", "cluster.size"},
		{"differ", []int{2, 3}, "ab", "expects"},
		{"too many", []int{2, 2, 2}, "abc", "3 servers see one another (a, b, c), 2 are expected"},
		{"too few", []int{3, 3}, "ab", "2 servers see one another (a, b), 3 are expected"},
	} {
		t.Run(test.name, func(t *testing.T) {
			inWorld(t, 0, test.names, func(t *testing.T, w *world) {
				for i, name := range test.names {
					s := w.of(string(name))
					s.size = test.sizes[i]
					s.start()
				}
				pass(10 * time.Second)
				if got := w.of("a").meta.Waiting(); !strings.Contains(got, test.want) {
					t.Errorf("a waits because %q, want %q in it", got, test.want)
				}
			})
		})
	}
}

func TestSameNames(t *testing.T) {
	inWorld(t, 2, "a", func(t *testing.T, w *world) {
		a, twin := w.of("a"), w.add("a", "z0000000")
		a.start()
		twin.start()
		pass(5 * time.Second)
		if got := twin.meta.Waiting(); !strings.Contains(got, "same name") {
			t.Errorf("the twin waits because %q", got)
		}
	})
}

// TestLateJoiners lets servers join one after the other, and looks who votes.
func TestLateJoiners(t *testing.T) {
	inWorld(t, 1, "abcdefg", func(t *testing.T, w *world) {
		wants := []string{"a", "ab", "abc", "abc", "abcde", "abcde", "abcde"}
		for i, name := range "abcdefg" {
			s := w.of(string(name))
			if i > 0 {
				s.size = 0 // it only joins
			}
			s.start()
			members := "abcdefg"[:i+1]
			w.eventually(members+" are together", 30*time.Second, func() bool { return w.together(members) })
			w.eventually(wants[i]+" vote", 30*time.Second, func() bool { return w.voters() == wants[i] })
			s.mustCreate("s"+s.name, min(i+1, 5))
		}
		for _, s := range w.all() {
			w.eventually(s.name+" has all streams", 5*time.Second, func() bool { return s.meta.View().Len() == 7 })
		}
	})
}

// TestTwoClustersMeet connects two clusters, which have to keep apart, and a server that could join either.
func TestTwoClustersMeet(t *testing.T) {
	inWorld(t, 1, "abc", func(t *testing.T, w *world) {
		w.split(true, []*server{w.of("a")}, []*server{w.of("b")})
		w.of("a").start()
		w.of("b").start()
		w.eventually("both have formed", 5*time.Second, func() bool {
			return w.of("a").meta.View().ClusterID() != "" && w.of("b").meta.View().ClusterID() != ""
		})
		w.split(false, []*server{w.of("a")}, []*server{w.of("b")})
		c := w.of("c")
		c.size = 0
		c.start()
		pass(30 * time.Second)
		if a, b := w.of("a").meta.View(), w.of("b").meta.View(); a.ClusterID() == b.ClusterID() || a.Size() != 1 || b.Size() != 1 {
			t.Error("the clusters have mixed")
		}
		if got := c.meta.Waiting(); !strings.Contains(got, "different clusters") {
			t.Errorf("c waits because %q", got)
		}
	})
}

// TestLostDirectory lets a server come back that has kept its node id but nothing else.
func TestLostDirectory(t *testing.T) {
	for _, victim := range []string{"a", "d"} { // a founder, and one that has joined later
		t.Run(victim, func(t *testing.T) {
			inWorld(t, 3, "abcd", func(t *testing.T, w *world) {
				for _, name := range "abc" {
					w.of(string(name)).start()
				}
				w.eventually("all are together", 20*time.Second, func() bool { return w.together("abc") })
				w.of("d").start()
				w.eventually("d has joined", 20*time.Second, func() bool { return w.together("abcd") })
				w.of(victim).wipe(w.of(victim).node).start()
				pass(20 * time.Second)
				if got := w.of(victim).meta.Waiting(); !strings.Contains(got, "kept its") {
					t.Errorf("%s waits because %q", victim, got)
				}
			})
		})
	}
}

// TestLostLog lets a server come back without its log.
func TestLostLog(t *testing.T) {
	inWorld(t, 1, "a", func(t *testing.T, w *world) {
		a := w.of("a")
		a.start()
		w.eventually("it is formed", 5*time.Second, func() bool { return w.together("a") })
		a.stop()
		a.store = &metatest.Store{}
		if err := a.tryStart(); err == nil || !strings.Contains(err.Error(), "was lost") {
			t.Errorf("it starts without its log: %v", err)
		}
	})
}
