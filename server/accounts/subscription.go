package accounts

import (
	"sync/atomic"

	"runnel/subjects"
)

// MaxLimit is the highest limit of deliveries that a Subscription keeps. Higher
// ones are lowered to it.
const MaxLimit = countMask

// Subscriber is who a subscription delivers to: a connection, or a handler of
// the server itself. The engine asserts the concrete type when it fills a match
// entry, not for each message.
type Subscriber interface {
	// ID is the number of the connection, unique in the process.
	ID() uint64
}

// Subscription is one entry of an account's interest tree. It exists a million
// times, so it has no field that one of the others could answer for. Subject,
// Queue, SID and Owner must not change once it is in the tree.
type Subscription struct {
	subjects.Entry[*Subscription]
	// SID is the client's name of the subscription, unique in its connection.
	SID string
	// Owner receives the messages.
	Owner Subscriber

	// state packs all that deliveries and UNSUB change, so that each change is one
	// compare and swap, and no two workers together deliver more than the limit:
	//
	//	bit 63      limited
	//	bit 62      closed
	//	not limited bits 0-61: deliveries
	//	limited     bits 31-61: limit, bits 0-30: deliveries <= limit
	state atomic.Uint64
}

const (
	limitedBit = 1 << 63
	closedBit  = 1 << 62
	countBits  = 31
	countMask  = 1<<countBits - 1
)

// NewSubscription returns a subscription that is in no tree yet. queue is empty
// for a plain one.
func NewSubscription(owner Subscriber, subject, queue, sid string) *Subscription {
	s := &Subscription{SID: sid, Owner: owner}
	s.Subject, s.Queue, s.Value = subject, queue, s
	return s
}

// Count claims one delivery. It returns the number of deliveries so far, this one
// included, or 0 when the message must not be delivered: the subscription is
// closed or its limit was reached before. done is true for exactly one claim,
// the one that reaches the limit: its caller removes the subscription.
func (s *Subscription) Count() (n int64, done bool) {
	for {
		state := s.state.Load()
		count, limit := unpack(state)
		if state&closedBit != 0 || limit != 0 && count >= limit {
			return 0, false
		}
		if s.state.CompareAndSwap(state, state+1) {
			return count + 1, count+1 == limit
		}
	}
}

// Delivered returns the number of deliveries since the subscription was made.
func (s *Subscription) Delivered() int64 {
	count, _ := unpack(s.state.Load())
	return count
}

// Limit returns the number of deliveries, counted since the subscription was
// made, after which it ends; 0 for none.
func (s *Subscription) Limit() int64 {
	_, limit := unpack(s.state.Load())
	return limit
}

// SetLimit sets the limit, which counts the deliveries made before as well. It
// returns true when they have reached it (always for max <= 0): the caller removes
// the subscription, and nothing more can be claimed from it.
func (s *Subscription) SetLimit(limit int64) (reached bool) {
	limit = min(limit, MaxLimit)
	for {
		state := s.state.Load()
		count, _ := unpack(state)
		if count >= limit {
			s.Close()
			return true
		}
		next := limitedBit | state&closedBit | uint64(limit)<<countBits | uint64(count)
		if s.state.CompareAndSwap(state, next) {
			return false
		}
	}
}

// Close ends the subscription: nothing more can be claimed from it. It returns
// false when it was closed before.
func (s *Subscription) Close() bool {
	return s.state.Or(closedBit)&closedBit == 0
}

// Closed reports whether Close was called.
func (s *Subscription) Closed() bool {
	return s.state.Load()&closedBit != 0
}

// unpack returns the deliveries and the limit, 0 for none, in state.
func unpack(state uint64) (count, limit int64) {
	if state&limitedBit == 0 {
		return int64(state &^ closedBit), 0
	}
	return int64(state & countMask), int64(state &^ (limitedBit | closedBit) >> countBits)
}
