package engine

import (
	"time"

	"runnel/server/engine/lines"
)

// Scarcity says how connections are treated while memory is scarce. The zero value is how they are treated otherwise.
type Scarcity struct {
	// Patience is how long at most a client is not read from that publishes to somebody who does not keep up, also where the
	// settings say that it is never paused; 0 for 2 ms.
	Patience time.Duration
	// SoftBytes is how much may wait for a connection before who sends to it pauses, if that is less than usual; 0 for as much as
	// usual. Deliveries of streams stop there.
	SoftBytes int
	// MostBytes is how much may wait for a client before it is cut off, if that is less than MaxPendingBytes; 0 for as much.
	MostBytes int
}

// SetScarcity changes how connections are treated, those that are open too.
func (e *Engine) SetScarcity(s Scarcity) {
	e.scarcity.Store(&s)
	e.env.SoftBytes.Store(int64(s.SoftBytes))
}

// mostPending is how many bytes may wait for a connection that has no limit of its own.
func (e *Engine) mostPending() int {
	most := e.settings.Load().MaxPendingBytes
	if s := e.scarcity.Load(); s.MostBytes > 0 {
		most = min(most, s.MostBytes)
	}
	return most
}

// patience is how long a client waits for who does not keep up; 0: it does not wait.
func (e *Engine) patience() time.Duration {
	switch s := e.scarcity.Load(); {
	case s.Patience > 0:
		return s.Patience
	case e.settings.Load().NoStall:
		return 0
	}
	return lines.ParkTime
}

// holdMost bounds for how long a client is not read from: what it says besides, its acknowledgements and its pings, must get through.
const holdMost = time.Second

// Hold asks that nothing be read for a time from the connection that the message has come on. What is asked for several messages
// of one read adds up, to a second at most; on a connection to another server, where there is much besides, to 2 ms. Only the
// handler may call it, on a message that is no clone.
func (m *Message) Hold(d time.Duration) {
	most := holdMost
	if m.From == nil {
		most = lines.ParkTime
	}
	m.worker.held = min(m.worker.held+d, most)
}

// hold is how long nothing is to be read from the connection whose input was processed last.
func (w *worker) hold() time.Duration {
	if w.pressed && !w.engine.settings.Load().NoStall {
		return max(w.held, lines.ParkTime)
	}
	return w.held
}
