package delivery

import (
	"time"

	"runnel/jetlog"
	"runnel/server/jetstream/api"
)

// Stall is why nothing is delivered although there is something, or what is awaited before there is.
type Stall string

// The reasons. An empty Stall says that nothing stands in the way.
const (
	MaxAckPending Stall = api.StalledAckPending // as many as allowed wait for an answer
	Paused        Stall = api.StalledPaused     // by an operator, until a time
	NoRequests    Stall = api.StalledNoRequests // nobody asks for messages
	NoInterest    Stall = api.StalledNoInterest // nobody listens where they are to be sent
	RateLimit     Stall = api.StalledRateLimit
	FlowControl   Stall = api.StalledFlowControl // the client has not answered yet
	Replaying     Stall = api.StalledReplay      // the next message comes as much later as it was stored later
	Backoff       Stall = api.StalledBackoff     // what is not acknowledged comes again at a time
	DeadLetter    Stall = api.StalledDeadLetter  // what was given up cannot be handed over
	SlowClient    Stall = "slow_client"          // the client does not take what it was sent
	KeysBusy      Stall = "keys"                 // what is left waits for another message of its key
	Storage       Stall = "storage"              // the state cannot be written, or messages not be read
)

// State is what the deliveries of a consumer know besides the stream's state.
type State struct {
	Waiting   int  // requests
	PushBound bool // somebody listens where it delivers
	Lag       Lag
	// Stalled says why nothing is delivered, and StalledUntil when that ends, zero if it is not known.
	Stalled      Stall
	StalledUntil time.Time
	// Detail says more about that, empty for nothing.
	Detail string
	// Letters is how many messages were given up and are not handed over yet, and OldestLetter when the first of them was given up.
	Letters      int
	OldestLetter time.Time
}

// Lag is how far a consumer is behind. Times are zero when there is no such message.
type Lag struct {
	Messages          uint64    // that are not delivered yet, or not acknowledged yet
	Undelivered       uint64    // of these, those of the first kind
	Unacked           int       // and of the second
	OldestUndelivered time.Time // when the first message was stored that is not delivered yet
	OldestUnacked     time.Time // when the first message was stored that waits for an answer
	FirstDelivered    time.Time // and when that was first delivered, zero where it is not known
	// Age is how long ago the older of both was stored.
	Age time.Duration
	// Served are the messages that the consumer was through with each second, lately: that were acknowledged or terminated; or
	// delivered, where not each is acknowledged by itself.
	Served float64
}

// State returns the state of a consumer; it is false if there is none. It is exact after Settle.
func (s *Stream) State(consumer string) (State, bool) {
	c := s.consumer(consumer)
	if c == nil {
		return State{}, false
	}
	see := c.see()
	now := time.Unix(0, s.now())
	out := State{Waiting: see.waiting, PushBound: see.bound, Stalled: see.stall, StalledUntil: timeOf(see.until)}
	var paused, deadline int64
	var pending uint64
	var ackPending int
	var again bool
	err := s.log.View(func(state *jetlog.Stream, m jetlog.Messages) (err error) {
		a := state.Consumer(consumer)
		if a == nil {
			return nil
		}
		paused, deadline, pending, ackPending = a.PausedUntil(), a.NextDeadline(), a.Pending(), a.AckPending()-a.Resting()
		a.Redelivery(func(uint64, uint64) bool {
			again = true
			return false
		})
		out.Letters = a.Letters().Len()
		for first := range a.Letters().All {
			out.OldestLetter = timeOf(first.Time)
			break
		}
		out.Lag, err = lagOf(a, m)
		return err
	})
	if err != nil {
		out.Stalled = Storage
		return out, true
	}
	out.Lag.Served = c.served(now)
	oldest := out.Lag.OldestUndelivered
	if u := out.Lag.OldestUnacked; !u.IsZero() && (oldest.IsZero() || u.Before(oldest)) {
		oldest = u
	}
	if !oldest.IsZero() {
		out.Lag.Age = max(now.Sub(oldest), 0)
	}
	switch {
	case paused > now.UnixNano():
		out.Stalled, out.StalledUntil = Paused, timeOf(paused)
	case out.Lag.Messages == 0:
		out.Stalled, out.StalledUntil = "", time.Time{}
	case out.Stalled == "" || out.Stalled == MaxAckPending:
		out.explain(c.settings.Load(), deadline, pending, ackPending, again)
	}
	if out.Stalled != Paused {
		out.held(out.Letters, s.letters.Trouble(consumer))
	}
	return out, true
}

// explain says why nothing is delivered as far as the stream's state tells.
func (s *State) explain(set *settings, deadline int64, pending uint64, ackPending int, again bool) {
	s.Stalled, s.StalledUntil = "", time.Time{}
	switch {
	case set == nil:
	case pending > 0 && set.maxAckPending > 0 && ackPending >= set.maxAckPending:
		s.Stalled, s.StalledUntil = MaxAckPending, timeOf(deadline)
	case pending == 0 && !again:
		s.Stalled, s.StalledUntil = Backoff, timeOf(deadline)
	case !set.push() && s.Waiting == 0:
		s.Stalled = NoRequests
	}
}

// lagOf returns how far a consumer is behind, but for the age.
func lagOf(a *jetlog.Consumer, m jetlog.Messages) (Lag, error) {
	lag := Lag{Messages: a.Pending() + uint64(a.AckPending()), Undelivered: a.Pending(), Unacked: a.AckPending()}
	pending, err := a.OldestPending(m)
	if err != nil {
		return lag, err
	}
	lag.OldestUndelivered = timeOf(pending.Time)
	first, delivered := a.FirstUnacked()
	if first != 0 {
		lag.OldestUnacked, err = storedAt(first, m)
		lag.FirstDelivered = timeOf(delivered)
	}
	return lag, err
}

// storedAt returns when a message was stored, the zero time if it is not there.
func storedAt(sequence uint64, m jetlog.Messages) (time.Time, error) {
	meta, err := m.Meta(sequence)
	if err != nil || meta.Sequence == 0 {
		return time.Time{}, err
	}
	return timeOf(meta.Time), nil
}

// timeOf returns a time of the state; 0 is the zero time.
func timeOf(nanoseconds int64) time.Time {
	if nanoseconds == 0 {
		return time.Time{}
	}
	return time.Unix(0, nanoseconds).UTC()
}

// served returns how many messages the consumer was through with each second, lately.
func (c *consumer) served(now time.Time) float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pace == nil {
		return 0
	}
	return c.pace.PerSecond(now.UnixNano())
}

// see returns what the last turn has shown.
func (c *consumer) see() shown {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shown
}
