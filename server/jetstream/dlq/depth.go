package dlq

import (
	"time"

	"runnel/jetlog"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/own"
)

// Depth returns how much a dead-letter stream has, for whoever watches the server, and nil for other streams and empty ones. A stream
// into which nothing was ever put is told by its state alone, so that many streams may be watched.
func Depth(s own.Stream, now time.Time) *api.DeadStreamInfo {
	put := false
	err := s.Log.View(func(state *jetlog.Stream, _ jetlog.Messages) error {
		put = state.Producers().Len() > 0
		return nil
	})
	if err != nil || !put {
		return nil
	}
	if shown, has := shownOf(s, now); has {
		return shown
	}
	return nil
}
