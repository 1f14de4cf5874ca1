package jetstream

import (
	"sync"

	"runnel/jetlog"
	"runnel/jetlog/store"
)

// subjectCount knows how many subjects a stream has messages on. Counting goes through all of them, so the number
// is kept as long as the stream does not change.
type subjectCount struct {
	mu      sync.Mutex // guards everything below; held while it is counted, so that one counts for all
	applied uint64     // commands, when it was counted
	number  int
}

// of returns the number of subjects.
func (c *subjectCount) of(log *store.Stream) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := log.View(func(state *jetlog.Stream, messages jetlog.Messages) error {
		if state.Applied() == c.applied {
			return nil
		}
		n := 0
		err := messages.Subjects(nil, func(string, jetlog.SubjectState) bool {
			n++
			return true
		})
		if err == nil {
			c.applied, c.number = state.Applied(), n
		}
		return err
	})
	return c.number, err
}
