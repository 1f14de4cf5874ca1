package relay

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"runnel/server/accounts"
	"runnel/server/engine"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/clustered"
)

// led is a cluster with a stream that somebody leads from a time on; never if that is zero.
type led struct {
	clustered.View
	since time.Time
	gone  bool
}

func (*led) Self() clustered.Node { return clustered.Node{ID: "a"} }

func (v *led) Stream(string, string) (*clustered.Assignment, bool) {
	return &clustered.Assignment{ID: 7}, !v.gone
}

func (v *led) StreamLeader(*clustered.Assignment) string {
	if v.since.IsZero() || time.Now().Before(v.since) {
		return ""
	}
	return "b"
}

func (*led) Online(string) bool { return true }

// TestHeld: a pull that is held is sent once when somebody leads, also if who leads is found a while later, and ends once if nobody
// does in time. Nothing is held afterwards.
func TestHeld(t *testing.T) {
	const subject, ended = "$JS.API.CONSUMER.MSG.NEXT.S.c", "reply"
	for _, tt := range []struct {
		name    string
		leads   time.Duration // after that much; 0: nobody does
		heard   time.Duration // and from then on a message to it gets there
		gone    bool
		want    []string
		earlier time.Duration // than that it is over
	}{
		{"somebody leads", time.Second, time.Second, false, []string{subject}, time.Second + 100*time.Millisecond},
		{"somebody leads, and is found later", time.Second, 2 * time.Second, false, []string{subject}, 2*time.Second + 100*time.Millisecond},
		{"somebody leads, and is not found", time.Second, time.Hour, false, []string{ended}, clustered.Patience + 100*time.Millisecond},
		{"nobody leads", 0, 0, false, []string{ended}, clustered.Patience + 100*time.Millisecond},
		{"the stream is gone", 0, 0, true, []string{ended}, 100 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, view := time.Now(), &led{gone: tt.gone}
				if tt.leads > 0 {
					view.since = began.Add(tt.leads)
				}
				var got []string
				var last time.Time
				r := New(Config{View: view, Publish: func(_ *accounts.Account, to, _ string, _, _ []byte) int {
					if to == subject && time.Since(began) < tt.heard {
						return 0
					}
					got, last = append(got, to), time.Now()
					return 1
				}})
				call, _ := api.ParseSubject(subject)
				m := &engine.Message{Subject: []byte(subject), Reply: []byte("reply")}
				if !r.waiting.Add(&request{account: new(accounts.Account), call: call, message: m, came: began}, began) {
					t.Fatal("not held")
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				if !slices.Equal(got, tt.want) || last.Sub(began) > tt.earlier {
					t.Errorf("got %q after %v, want %q within %v", got, last.Sub(began), tt.want, tt.earlier)
				}
				r.Close()
			})
		})
	}
}
