package clustered_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"runnel/jetlog/config"
	"runnel/server/jetstream/clustered"
)

// TestAwaitReach waits for subjects one after the other: each is wanted after a while, or the context ends.
func TestAwaitReach(t *testing.T) {
	a := &clustered.Assignment{Config: config.Stream{Name: "S", Subjects: []string{"a.*.b", "c.>"}}}
	for i := range 20 {
		a.Config.Subjects = append(a.Config.Subjects, fmt.Sprint("d", i))
	}
	ctx, cancel := context.WithCancel(t.Context())
	var watched []string
	open := 0
	clustered.AwaitReach(ctx, a, func(subject string, tell func(bool)) func() {
		watched = append(watched, subject)
		open++
		tell(false)
		if len(watched) == 5 {
			cancel() // nobody wants it any more
		} else if len(watched) < 5 {
			go tell(true)
			go tell(true)
		}
		return func() { open-- }
	})
	want := []string{"$JS.API.CONSUMER.MSG.NEXT.S.any", "a.any.b", "c.any", "d0"}
	if len(watched) != 17 || !slices.Equal(watched[:4], want) || open != 0 {
		t.Errorf("watched %d: %q, %d still; want 17, beginning with %q", len(watched), watched, open, want)
	}
}
