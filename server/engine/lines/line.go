// Package lines reads and writes connections: what each is to an engine, whoever uses it, and the two ways in which it
// is served: by a goroutine over any net.Conn, or on Linux, if it is plain TCP, by one of a few epoll pollers.
//
// Neither parses what it reads: the user of a line does that with a worker that it is lent. A worker stages what is to be
// written, on any line, and writes it when it is flushed, without waiting. What a socket does not take waits in the line's
// outbound queue, which its transport drains.
package lines

import (
	"cmp"
	"errors"
	"sync/atomic"
	"time"

	"runnel/server/engine/chunks"
	"runnel/server/engine/outbound"
	"runnel/server/engine/sockets"
)

// ClosingTime is how long a closing line may take to write what is owed.
const ClosingTime = 2 * time.Second

// drainBuffers is how many chunks one write of the queue takes where the socket does not block.
const drainBuffers = 16

// ParkTime is how long a publisher is paused for a subscriber that does not keep up, as long as nothing is scarce.
const ParkTime = 2 * time.Millisecond

// ErrSuspended stops the reading of a line until it is woken.
var ErrSuspended = errors.New("the line is suspended")

// Host has lines. Its methods are called from anywhere and must not block.
type Host interface {
	// Borrow lends a worker; GiveBack takes it, flushed.
	Borrow() Worker
	GiveBack(w Worker)
	// Register gives a line its slot, unless no more lines are taken. Forget is the last thing that happens to a line.
	Register(l *Line) bool
	Forget(l *Line)
	// Slow is told that a line has taken nothing within its deadline.
	Slow(l *Line)
	// WriteDeadline is how long nothing may be taken of what waits, where a line says nothing else.
	WriteDeadline() time.Duration
	// Parked is told of a line that was paused.
	Parked()
	// Go runs f on a goroutine that the host waits for in the end.
	Go(f func())
}

// Worker processes what was read. One goroutine uses it at a time.
type Worker interface {
	// Say stages bytes for a line.
	Say(l *Line, b []byte)
	// Flush writes all that was staged. Afterwards nothing points into what was read.
	Flush()
	// Need is how long the frame is at least that Input has left the beginning of; 0 when that is not known.
	Need() int
	// Pressure says who is to be paused for whom. Ease forgets it.
	Pressure() Pressure
	Ease()
	// Sweep gives up memory, now and then.
	Sweep()
	Scratch() *Scratch
}

// Pressure is what a worker knows about lines that do not keep up.
type Pressure struct {
	// Slow is a line that fell behind during this batch, and Publisher whose messages it was sent last; nil for none.
	Slow, Publisher *Line
	// Hold is how long the line is to be paused in any case whose input was processed last.
	Hold time.Duration
}

// Scratch is the memory of a writer.
type Scratch struct {
	Buffers [][]byte
	vectors sockets.Vectors
}

// User is whose line it is.
type User interface {
	// Input processes what was read so far and returns how much of it is used up. The rest is the beginning of a frame,
	// which is kept, and completed to a length of at least w.Need(). After ErrSuspended nothing is read until the line is
	// woken; any other error has ended it. The caller flushes.
	Input(w Worker, b []byte) (used int, err error)
	// Halted tells whether the line is suspended; Suspended, whether there is still something to wait for. Resume goes on.
	Halted() bool
	Suspended() bool
	Resume(w Worker) error
	// Patience is how long reading may be paused at most for who does not keep up, 0 for not at all.
	Patience() time.Duration
	// Withdraw takes back what the user has subscribed to; a second time it does nothing.
	Withdraw()
	// Gone is called once, when nothing of the line is left.
	Gone()
}

// Transport is how a line reaches its socket. It reads by itself, and calls [Line.Ended] once that has stopped for good.
type Transport interface {
	outbound.Socket
	// Write offers buffers to the socket and returns without waiting. It may take less ([sockets.ErrFull]). Only who has
	// claimed the right to write calls it.
	Write(s *Scratch, buffers [][]byte) (int, error)
	// Wake makes a parked or suspended line read again. Any goroutine; does nothing if it reads already.
	Wake()
}

// Counters count one line's traffic since it began: In is what the peer sent.
type Counters struct {
	InMessages, OutMessages, InBytes, OutBytes int64
}

// Add adds others to the counters.
func (c *Counters) Add(others Counters) {
	c.InMessages += others.InMessages
	c.InBytes += others.InBytes
	c.OutMessages += others.OutMessages
	c.OutBytes += others.OutBytes
}

// Line is what a connection is to transports and workers. It is made by Open, and safe for concurrent use.
type Line struct {
	// Slot is the host's, written before the line is served.
	Slot int32
	// Deadline is how long nothing may be taken of what waits, 0 for the host's. It must not change once the line is served.
	Deadline time.Duration
	// InMessages and so on count its traffic.
	InMessages, OutMessages, InBytes, OutBytes atomic.Int64

	host      Host
	id        uint64
	user      User
	transport Transport
	// carry holds an incomplete frame between two reads. Owned by the transport's reader.
	carry    []byte
	out      outbound.Gate
	reason   atomic.Uint32
	stalls   atomic.Int64
	activity atomic.Int64 // coarse unix nanoseconds
}

// Open makes l the line of a user, which began at start. most is how many bytes may wait to be written, 0 for as many as
// env says.
func (l *Line) Open(h Host, env *outbound.Env, id uint64, u User, start time.Time, most int) {
	l.host, l.id, l.user = h, id, u
	l.out.Own = most
	l.out.Open(env)
	l.activity.Store(start.UnixNano())
}

// Attach gives the line its transport, before anything else is done with it.
func (l *Line) Attach(t Transport) { l.transport = t }

// ID is unique in the life of the host.
func (l *Line) ID() uint64 { return l.id }

// User is whose line it is.
func (l *Line) User() User { return l.user }

// Reason is why the line ended, ReasonNone while it is open.
func (l *Line) Reason() Reason { return Reason(l.reason.Load()) }

// Closing tells whether the line has ended or is about to.
func (l *Line) Closing() bool { return l.reason.Load() != 0 }

// Counters returns the line's traffic so far.
func (l *Line) Counters() Counters {
	return Counters{l.InMessages.Load(), l.OutMessages.Load(), l.InBytes.Load(), l.OutBytes.Load()}
}

// Stalls is how often the line was paused because a subscriber did not keep up.
func (l *Line) Stalls() int64 { return l.stalls.Load() }

// PendingBytes is what waits to be written.
func (l *Line) PendingBytes() int { return l.out.Waiting() }

// LastActivity is when the peer last sent or was sent something, to about the interval of the clock.
func (l *Line) LastActivity() time.Time { return time.Unix(0, l.activity.Load()) }

// Touch notes that there is activity.
func (l *Line) Touch() { l.activity.Store(l.out.Now()) }

// StuckSince is when something that waits was last taken of, in unix nanoseconds; 0 when nothing waits.
func (l *Line) StuckSince() int64 { return l.out.StuckSince() }

// Crowded tells whether more waits than who can wait should add to. It takes a lock only when something does.
func (l *Line) Crowded() bool { return l.out.Crowded() }

// Park has w woken when less waits. It tells whether there is anything to wait for.
func (l *Line) Park(w outbound.Waiter) bool { return l.out.Park(w) }

// Extend lets so many bytes more wait until all is written.
func (l *Line) Extend(bytes int) { l.out.Extend(bytes) }

// WriteDeadline is how long nothing may be taken of what waits.
func (l *Line) WriteDeadline() time.Duration { return cmp.Or(l.Deadline, l.host.WriteDeadline()) }

// Wake makes a parked or suspended line read again.
func (l *Line) Wake() { l.transport.Wake() }

// parked is a line that waits for another one to drain.
type parked Line

// Wake implements outbound.Waiter.
func (p *parked) Wake() { p.transport.Wake() }

// Write writes a batch, or queues what the socket does not take. broken says that the socket is dead.
func (l *Line) Write(b *chunks.Batch, s *Scratch) (v outbound.Verdict, broken bool) {
	v = l.out.Claim(b)
	if v != outbound.Write {
		return v, false
	}
	s.Buffers = b.Buffers(s.Buffers[:0])
	n, err := l.transport.Write(s, s.Buffers)
	broken = err != nil && !errors.Is(err, sockets.ErrFull)
	if broken {
		n = b.Bytes() // the rest is forgotten
	}
	v, more := l.out.Release(l.transport, b, n)
	if more {
		l.Drain(s)
	}
	return v, broken
}

// Drain writes what waits until the socket is full or nothing is left.
func (l *Line) Drain(s *Scratch) {
	for {
		s.Buffers = l.out.Take(s.Buffers[:0], drainBuffers, nil)
		if len(s.Buffers) == 0 {
			return
		}
		offered := 0
		for _, b := range s.Buffers {
			offered += len(b)
		}
		n, err := l.transport.Write(s, s.Buffers)
		dead := err != nil && !errors.Is(err, sockets.ErrFull)
		if dead {
			n = offered
		}
		again, woken := l.out.Took(l.transport, n, offered)
		woken.Wake()
		if dead {
			l.End(ReasonWriteError, nil, false)
			return
		}
		if !again {
			return
		}
	}
}

// End ends the line for the given reason. What was queued, and last, is still written if drain is set, otherwise it is
// dropped. Only the first call counts, but for dropping what waits.
func (l *Line) End(reason Reason, last []byte, drain bool) {
	switch {
	case l.Mark(reason):
		l.conclude(last, drain)
	case !drain:
		l.Cut()
	}
}

// Mark makes reason the one why the line ends, unless there is one already. Who marks it has to cut it.
func (l *Line) Mark(reason Reason) bool { return l.reason.CompareAndSwap(0, uint32(reason)) }

// conclude does the rest of End for whoever marked the line.
func (l *Line) conclude(last []byte, drain bool) {
	l.user.Withdraw()
	l.transport.Wake() // it may be paused for longer than it is to live
	flush, woken := l.out.Close(l.transport, last, drain)
	woken.Wake()
	if flush {
		w := l.host.Borrow()
		l.Drain(w.Scratch())
		l.host.GiveBack(w)
	}
}

// Cut drops what a closing line has not written yet.
func (l *Line) Cut() {
	_, woken := l.out.Close(l.transport, nil, false)
	woken.Wake()
}

// Ended is called by the transport once, when its reader has stopped for good. reason counts if nobody gave
// one before.
func (l *Line) Ended(reason Reason) {
	l.Mark(reason)
	l.user.Withdraw()
	l.carry = nil
	l.out.Gone(l.transport).Wake()
	l.host.Forget(l)
	l.user.Gone()
}

// Send queues bytes for the peer. Not for the message path.
func (l *Line) Send(b []byte) {
	w := l.host.Borrow()
	w.Say(l, b)
	w.Flush()
	l.host.GiveBack(w)
}
