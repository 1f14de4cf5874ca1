package clustered_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"runnel/server/jetstream/clustered"
)

// TestWaiting: requests wait until it is known what to do with them, and not for longer than Patience.
func TestWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		verdict := clustered.Wait
		done := map[string]clustered.Verdict{}
		w := clustered.Waiting[string]{
			Judge: func(r string, late bool) clustered.Verdict {
				mu.Lock()
				defer mu.Unlock()
				if late {
					return clustered.Unavailable
				}
				return verdict
			},
			Done: func(r string, v clustered.Verdict) {
				mu.Lock()
				defer mu.Unlock()
				done[r] = v
			},
			Most: func() int { return 2 },
		}
		defer w.Close()
		if !w.Add("early", time.Now()) || !w.Add("second", time.Now()) || w.Add("too many", time.Now()) {
			t.Error("not two of three wait")
		}
		time.Sleep(time.Second)
		mu.Lock()
		if len(done) != 0 {
			t.Errorf("done after a second: %v", done)
		}
		verdict = clustered.Answer
		mu.Unlock()
		time.Sleep(time.Second)
		mu.Lock()
		if len(done) != 2 || done["early"] != clustered.Answer {
			t.Errorf("done with a leader: %v", done)
		}
		verdict = clustered.Wait
		mu.Unlock()
		w.Add("late", time.Now().Add(-time.Second)) // it was on its way for a second
		time.Sleep(clustered.Patience - 2*time.Second)
		mu.Lock()
		if _, ok := done["late"]; ok {
			t.Error("late is done before its time")
		}
		mu.Unlock()
		time.Sleep(2 * time.Second)
		mu.Lock()
		if done["late"] != clustered.Unavailable {
			t.Errorf("late: got %v", done["late"])
		}
		mu.Unlock()
		w.Close()
		if w.Add("after the end", time.Now()) {
			t.Error("a request waits after the end")
		}
	})
}

// TestKept: a request that another server answers is forgotten after a moment, unless that server goes before: then it waits like any
// other, for what is left of its time. Those that are kept take nobody's place, and are bounded.
func TestKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		gone := map[string]bool{}
		orphans, done := map[string]bool{}, map[string]time.Duration{}
		begun := time.Now()
		w := clustered.Waiting[string]{
			Judge: func(r string, late bool) clustered.Verdict {
				if late {
					return clustered.Unavailable
				}
				return clustered.Wait
			},
			Done: func(r string, v clustered.Verdict) {
				mu.Lock()
				defer mu.Unlock()
				done[r] = time.Since(begun)
			},
			Most:   func() int { return 1 },
			Gone:   func(node string) bool { mu.Lock(); defer mu.Unlock(); return gone[node] },
			Orphan: func(r string) { mu.Lock(); defer mu.Unlock(); orphans[r] = true },
		}
		defer w.Close()
		w.Keep("of a", "a", 100)
		w.Keep("of b", "b", 100)
		w.Keep("too long", "b", 1<<30)
		if !w.Add("waits", time.Now()) {
			t.Error("what is kept takes the place of what waits")
		}
		time.Sleep(time.Second)
		mu.Lock()
		if len(orphans)+len(done) > 0 {
			t.Errorf("after a second: %v, %v", orphans, done)
		}
		gone["b"] = true
		mu.Unlock()
		time.Sleep(clustered.Grace)
		mu.Lock()
		gone["a"] = true // too late for what came that long ago
		mu.Unlock()
		time.Sleep(clustered.Patience)
		mu.Lock()
		if len(orphans) != 1 || !orphans["of b"] {
			t.Errorf("orphans: %v", orphans)
		}
		if len(done) != 2 || done["of b"] < clustered.Patience || done["of b"] > clustered.Patience+time.Second {
			t.Errorf("done: %v", done)
		}
		delete(gone, "a")
		mu.Unlock()
		for range 10_000 {
			w.Keep("one of many", "a", 100)
		}
		mu.Lock()
		gone["a"] = true
		clear(done)
		clear(orphans)
		mu.Unlock()
		if !w.Add("one more", time.Now()) {
			t.Error("many that are kept take the place of what waits")
		}
		w.Close()
		w.Keep("after the end", "a", 1)
		time.Sleep(2 * clustered.Patience)
		mu.Lock()
		defer mu.Unlock()
		if len(done)+len(orphans) > 0 {
			t.Errorf("after the end: %v, %v", done, orphans)
		}
	})
}

// TestKeptBounded counts how many are kept of very many.
func TestKeptBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		orphans := 0
		w := clustered.Waiting[int]{
			Judge:  func(int, bool) clustered.Verdict { return clustered.Silent },
			Done:   func(int, clustered.Verdict) {},
			Gone:   func(string) bool { return true },
			Orphan: func(int) { mu.Lock(); defer mu.Unlock(); orphans++ },
		}
		defer w.Close()
		for _, tt := range []struct{ bytes, want int }{{1, 4096}, {1 << 20, 8}, {1, 4096}} {
			for i := range 5000 {
				w.Keep(i, "a", tt.bytes)
			}
			time.Sleep(time.Second)
			mu.Lock()
			if orphans != tt.want {
				t.Errorf("%d bytes each: %d are kept, want %d", tt.bytes, orphans, tt.want)
			}
			orphans = 0
			mu.Unlock()
		}
	})
}

// TestCrossed: a request that was left to another server is answered by the one that has taken its place, if the other may have
// taken it for that one's already, and if it does no harm to answer it twice.
func TestCrossed(t *testing.T) {
	for _, tt := range []struct {
		name    string
		request string
		after   time.Duration // this server is the one that answers
		want    bool
	}{
		{"soon", "look", 300 * time.Millisecond, true},
		{"long after", "look", 3 * time.Second, false},
		{"one that changes something", "change", 300 * time.Millisecond, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				done := make(chan clustered.Verdict, 10)
				w := clustered.Waiting[string]{
					Judge: func(string, bool) clustered.Verdict {
						if time.Since(began) >= tt.after {
							return clustered.Answer
						}
						return clustered.Silent
					},
					Done:     func(_ string, v clustered.Verdict) { done <- v },
					Gone:     func(string) bool { return false },
					Orphan:   func(string) { t.Error("orphaned") },
					Harmless: func(r string) bool { return r == "look" },
				}
				defer w.Close()
				w.Keep(tt.request, "other", 10)
				time.Sleep(time.Minute)
				if got := len(done); got > 1 || (got == 1) != tt.want || got == 1 && <-done != clustered.Answer {
					t.Errorf("done %d times, want answered: %v", got, tt.want)
				}
			})
		})
	}
}
