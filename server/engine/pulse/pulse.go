// Package pulse knows by PINGs and their answers whether a peer is still there, and how far away it is.
package pulse

import (
	"math/rand/v2"
	"sync/atomic"
	"time"
)

const (
	// firstPing: a new connection is pinged early, to measure its round trip.
	firstPing = 2 * time.Second
	// rttMaxAge: a measurement so old is renewed even on a busy connection.
	rttMaxAge = time.Hour
)

// Pulse is that of one peer. The zero value knows nothing. Beat is for one goroutine, the others are safe for concurrent use.
type Pulse struct {
	next     int64 // when to ping, unix nanoseconds; 0 before the first look
	seen     int64 // messages when the last ping was due
	measured int64 // when the round trip was measured

	unanswered atomic.Int32
	sentAt     atomic.Int64
	rtt        atomic.Int64
}

// Verdict is what is to be done about a peer.
type Verdict uint8

// The verdicts.
const (
	Fine  Verdict = iota // nothing is to be done
	Ping                 // it is to be pinged now
	Stale                // it has left too many pings unanswered
)

// Pong takes an answer of the peer.
func (p *Pulse) Pong(now time.Time) {
	p.unanswered.Store(0)
	if sent := p.sentAt.Swap(0); sent != 0 {
		p.rtt.Store(now.UnixNano() - sent)
	}
}

// Introduced takes what a client took to answer the first INFO for its round trip, until a PING measures that.
func (p *Pulse) Introduced(took time.Duration) { p.rtt.CompareAndSwap(0, int64(took)) }

// RTT is the round trip as it was last measured, 0 before.
func (p *Pulse) RTT() time.Duration { return time.Duration(p.rtt.Load()) }

// Beat tells what is to be done now about a peer that has been there since start and has sent so many messages. One that sends something is there,
// and is pinged only to measure; any other is pinged at intervals, and stale when it leaves as many pings as most unanswered.
func (p *Pulse) Beat(now, start time.Time, interval time.Duration, most int, messages int64) Verdict {
	if p.next == 0 {
		first := min(firstPing, interval)
		p.next = start.Add(first + rand.N(first/5+1)).UnixNano()
	}
	if now.UnixNano() < p.next {
		return Fine
	}
	if unanswered := int(p.unanswered.Load()); unanswered >= most && unanswered > 0 {
		return Stale
	}
	p.next = now.Add(interval).UnixNano()
	busy := messages != p.seen && p.rtt.Load() != 0 && now.Sub(time.Unix(0, p.measured)) < rttMaxAge
	p.seen = messages
	if busy {
		p.unanswered.Store(0)
		return Fine
	}
	p.measured = now.UnixNano()
	p.unanswered.Add(1)
	p.sentAt.Store(now.UnixNano())
	return Ping
}
