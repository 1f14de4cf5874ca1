package engine

import (
	"runnel/server/accounts"
	"runnel/server/engine/chunks"
	"runnel/server/engine/lines"
)

// stage collects what one batch has for one line. It belongs to one worker.
type stage struct {
	line *lines.Line
	chunks.Batch
	// messages and payload are what the stage adds to the line's counters when it is flushed.
	messages, payload int
	// last is the subscription of the newest delivery, named when the line turns out too slow, and from
	// the publisher, parked then; nil for the server.
	last *accounts.Subscription
	from *lines.Line
}

// reset forgets the content and keeps the memory.
func (s *stage) reset() {
	s.Reset()
	s.messages, s.payload = 0, 0
	s.last, s.from = nil, nil
}
