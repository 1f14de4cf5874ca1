package jetstream

import (
	"runnel/server/engine"
	"runnel/server/jetstream/api"
)

// Lanes lets tests use lanes: a request is a stream and a number.
type Lanes struct{ lanes *lanes }

func NewLanes(most, limit int, outlet Outlet, handle func(stream, number string)) *Lanes {
	return &Lanes{newLanes(most, func() int { return limit }, func() Outlet { return outlet }, func(_ Outlet, r *request) {
		handle(r.call.Stream, r.subject)
	})}
}

func (l *Lanes) Offer(stream, number string, bytes int) bool {
	return l.lanes.offer(&request{
		call: api.Call{Endpoint: api.CallStreamCreate, Stream: stream}, subject: number,
		message: &engine.Message{Payload: make([]byte, bytes)},
	})
}

func (l *Lanes) Close() { l.lanes.close() }

// Workers is how many there are.
func (l *Lanes) Workers() int {
	l.lanes.mu.Lock()
	defer l.lanes.mu.Unlock()
	return l.lanes.workers
}
