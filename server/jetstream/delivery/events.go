package delivery

import "time"

// Events hears what others may want to know of consumers: advisories and metrics are made of it. Its methods are called
// by workers, or while a command is answered: they must be quick, and must not call back.
type Events interface {
	// MaxDeliveries: a message was delivered as often as it may, and not acknowledged.
	MaxDeliveries(s *Stream, consumer string, sequence, deliveries uint64)
	// Nak: a receiver wants a message again.
	Nak(s *Stream, consumer string, d Delivered)
	// Terminated: a receiver does not want a message any more.
	Terminated(s *Stream, consumer string, d Delivered, reason string)
	// AckSample: a message was acknowledged, some time after it was delivered. It comes for as many of a hundred as
	// the consumer's sample_freq says.
	AckSample(s *Stream, consumer string, d Delivered, took time.Duration)
	// Pinned: a priority group belongs to the client with this id from now on.
	Pinned(s *Stream, consumer, group, id string)
	// Unpinned: a priority group belongs to nobody any more; reason is "admin" or "timeout".
	Unpinned(s *Stream, consumer, group, reason string)
	// Inactive: nobody has used a consumer for as long as its configuration says. It comes again while that is so.
	Inactive(s *Stream, consumer string)
	// Tripped: so much of what a consumer's workers try has failed that it is to be paused.
	Tripped(s *Stream, consumer string, t Trip)
}

// Delivered is a delivery as its receiver names it: the consumer sequence, the stream sequence, and how often the
// message had been delivered.
type Delivered struct {
	Consumer, Stream, Deliveries uint64
}

// Trip says of how many attempts how many have failed, and for how long the consumer is to be paused.
type Trip struct {
	Failed, Attempts int
	Pause            time.Duration
}
