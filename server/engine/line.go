package engine

import (
	"cmp"
	"sync/atomic"
	"time"

	"runnel/server/accounts"
	"runnel/server/engine/outbound"
	"runnel/server/wire"
)

// line is what a connection is to transports, stages and the outbound queue, whoever uses it: a client ([Conn]) or another
// server ([route]). Its methods are safe for concurrent use, but for carry.
type line struct {
	engine    *Engine
	id        uint64
	slot      int32
	user      user
	transport transport
	// deadline is how long nothing may be taken of what waits, 0 for that of Settings.
	deadline time.Duration

	// carry holds an incomplete frame between two reads. Owned by the transport's reader.
	carry  []byte
	out    outbound.Gate
	reason atomic.Uint32

	inMessages, outMessages, inBytes, outBytes, stalls atomic.Int64
	lastActivity                                       atomic.Int64 // coarse unix nanoseconds
}

// user is whose line it is.
type user interface {
	// input processes what was read, as [worker.input] says.
	input(w *worker, b []byte) (used int, err error)
	// suspended tells whether nothing is to be parsed until the line is woken; halted, whether resume is due then.
	suspended() bool
	halted() bool
	resume(w *worker) error
	// parks tells whether reading may be paused for who does not keep up.
	parks() bool
	// account is what deliveries count for, nil for none.
	Account() *accounts.Account
	// withdraw takes back all subscriptions; a second time it does nothing.
	withdraw()
	// describe is how the log names the user.
	describe() []any
	// gone is called once, when nothing of the line is left.
	gone()
}

// ID is unique in the life of the server.
func (l *line) ID() uint64 { return l.id }

// Reason is why the connection ended, ReasonNone while it is open.
func (l *line) Reason() Reason { return Reason(l.reason.Load()) }

// Counters returns the connection's traffic so far.
func (l *line) Counters() Counters {
	return Counters{l.inMessages.Load(), l.outMessages.Load(), l.inBytes.Load(), l.outBytes.Load()}
}

// Stalls is how often the client was paused because a subscriber did not keep up.
func (l *line) Stalls() int64 { return l.stalls.Load() }

// PendingBytes is what waits to be written to the peer.
func (l *line) PendingBytes() int { return l.out.Waiting() }

// LastActivity is when the peer last sent or was sent something, to about the housekeeping interval.
func (l *line) LastActivity() time.Time { return time.Unix(0, l.lastActivity.Load()) }

func (l *line) isClosing() bool { return l.reason.Load() != 0 }

// Close ends the connection for the given reason. If text is not empty the client is told so as -ERR first;
// what was queued for it is still written. Only the first call counts.
func (l *line) Close(reason Reason, text string) { l.end(reason, text, true) }

// end is Close; without drain what is queued is dropped.
func (l *line) end(reason Reason, text string, drain bool) {
	switch {
	case l.mark(reason):
		l.conclude(text, drain)
	case !drain:
		l.cut().Wake()
	}
}

// mark makes reason the one why the line ends, unless there is one already.
func (l *line) mark(reason Reason) bool { return l.reason.CompareAndSwap(0, uint32(reason)) }

// conclude does the rest of end for whoever marked the line.
func (l *line) conclude(text string, drain bool) {
	l.user.withdraw()
	var last []byte
	if text != "" {
		last = wire.AppendErr(nil, text)
	}
	flush, woken := l.out.Close(l.transport, last, drain)
	woken.Wake()
	if flush {
		w := l.engine.borrow()
		w.drain(l)
		l.engine.giveBack(w)
	}
}

// cut drops what a closing connection has not written yet.
func (l *line) cut() outbound.Waiters {
	_, woken := l.out.Close(l.transport, nil, false)
	return woken
}

// ended is called by the transport once, when its reader has stopped for good. reason counts if nobody gave
// one before.
func (l *line) ended(reason Reason) {
	l.mark(reason)
	l.user.withdraw()
	l.carry = nil
	l.out.Gone(l.transport).Wake()
	l.engine.forget(l)
}

// Send queues bytes of the server's own (an INFO, say) for the peer. Not for the message path.
func (l *line) Send(b []byte) {
	w := l.engine.borrow()
	w.say(l, b)
	w.flush()
	l.engine.giveBack(w)
}

// writeDeadline is how long nothing may be taken of what waits.
func (l *line) writeDeadline(s *Settings) time.Duration { return cmp.Or(l.deadline, s.WriteDeadline) }
