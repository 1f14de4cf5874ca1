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
		if !w.Add("early") || !w.Add("second") || w.Add("too many") {
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
		w.Add("late")
		time.Sleep(clustered.Patience - time.Second)
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
		if w.Add("after the end") {
			t.Error("a request waits after the end")
		}
	})
}
