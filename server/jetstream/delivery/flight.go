package delivery

import (
	"context"
	"errors"
	"slices"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/store"
)

// flight is a command from when it is made until its result is seen.
type flight struct {
	command command.Command
	epoch   uint32   // of the cursor that it was made with
	dead    bool     // it makes letters
	again   bool     // it lets something be sent again
	patient bool     // it may wait for something that goes with it
	sure    bool     // what it answers for was in the state of its incarnation, whatever has become of the cursor
	skips   bool     // it says what was looked at
	replies []string // who waits until it is applied
	due     int64    // when it makes something overdue at the earliest, 0 for never

	incarnation uint64 // if it is sure
	// Of a Deliver: the first consumer sequence, 0 for other commands, how many there are, and how many of these
	// are of messages that had not been sent before.
	from, count, fresh uint64
	parcel             *parcel // what is sent when it is applied
}

// expect notes that an answer is due some time after now.
func (f *flight) expect(now int64, wait time.Duration) {
	if at := jetlog.Later(now, wait); wait > 0 && (f.due == 0 || at < f.due) {
		f.due = at
	}
}

// landing is the result of a command.
type landing struct {
	code      config.Code
	exhausted []jetlog.Exhausted
	err       error
}

// delivered is a message that was sent, and not yet noted by a command.
type delivered = command.Delivery

// notesMax is how many messages of a consumer without acknowledgements may be noted by one command.
const notesMax = 1 << 14

// retry says when what could not be done is tried again.
type retry struct {
	at    int64 // 0 when nothing is to be tried again
	pause time.Duration
	told  bool // it is in the log
}

// The pauses between attempts: short while the log is busy, longer when it refuses.
const (
	busyPause   = time.Millisecond
	refusePause = 50 * time.Millisecond
	pauseMax    = 5 * time.Second
)

// later makes the pause longer.
func (r *retry) later(now int64, least time.Duration) {
	r.pause = min(max(2*r.pause, least), pauseMax)
	r.at = now + int64(r.pause)
}

// ackPause is how long acknowledgements wait that nobody waits for, so that they go with the next delivery: an entry of
// a group costs a sync on several servers.
const ackPause = 5 * time.Millisecond

// launch puts a command into the outbox.
func (t *turn) launch(f *flight) {
	s := t.session
	if len(s.outbox) == 0 {
		s.patience = t.ns + int64(ackPause)
	}
	s.outbox = append(s.outbox, *f)
	s.started++
}

// waits reports whether nothing in the outbox is needed soon.
func (t *turn) waits() bool {
	s := t.session
	if !t.together || len(s.outbox) == 0 || s.patience <= t.ns || t.stall == MaxAckPending {
		return false
	}
	return !slices.ContainsFunc(s.outbox, func(f flight) bool { return !f.patient })
}

// send starts what is in the outbox, until something cannot be started.
func (t *turn) send() {
	s := t.session
	if s.writing.at > t.ns {
		return
	}
	s.writing.at = 0
	t.forget(false)
	for len(s.outbox) > 0 {
		n := 1
		if t.together {
			n = len(s.outbox)
		}
		if !t.start(n) {
			return
		}
	}
}

// start starts so many of the outbox; it is false if they cannot be started.
func (t *turn) start(n int) bool {
	s, log, never := t.session, t.c.stream.log, t.c.stream.pool.never
	before := len(s.flights)
	// They are in the list first: results may come before this returns.
	s.flights = append(s.flights, s.outbox[:n]...)
	var err error
	if n == 1 {
		err = log.Start(never, s.outbox[0].command, t.c.land)
	} else {
		commands := make([]command.Command, n)
		for i := range commands {
			commands[i] = s.outbox[i].command
		}
		err = log.StartTogether(never, commands, t.c.land)
	}
	if err == nil {
		s.outbox = slices.Delete(s.outbox, 0, n)
		s.writing = retry{}
		return true
	}
	clear(s.flights[before:])
	s.flights = s.flights[:before]
	t.unwritable(err)
	if !errors.Is(err, context.Canceled) {
		t.forget(true)
	}
	return false
}

// forget takes out of the outbox what would be refused, and with parcels what lets something be sent later: nothing was.
func (t *turn) forget(parcels bool) {
	s, n := t.session, 0
	for i := range s.outbox {
		f := &s.outbox[i]
		switch {
		case f.moves() && f.epoch != t.c.epoch || parcels && f.parcel != nil:
			s.landed++
			t.lose(f)
			continue
		case n < i:
			s.outbox[n] = *f
		}
		n++
	}
	clear(s.outbox[n:])
	s.outbox = s.outbox[:n]
}

// unled tells whether a command has failed since the stream is not led here any more.
func unled(err error) bool {
	return errors.Is(err, store.ErrNotLeader) || errors.Is(err, store.ErrLeadershipLost)
}

// unwritable says when commands are tried again, and tells the operator the first time.
func (t *turn) unwritable(err error) {
	r := &t.session.writing
	if errors.Is(err, context.Canceled) {
		r.later(t.ns, busyPause)
		return
	}
	if unled(err) {
		r.later(t.ns, refusePause) // until it is told so, too
		t.stall = Storage
		return
	}
	if r.later(t.ns, refusePause); !r.told {
		r.told = true
		t.c.complain("the state of a consumer cannot be written; trying again", err)
	}
	t.stall = Storage
}

// unreadable says when messages are tried again, which are never passed over, and tells the operator the first time.
func (t *turn) unreadable(err error) {
	r := &t.session.reading
	if r.later(t.ns, refusePause); !r.told {
		r.told = true
		t.c.complain("what a consumer is to get cannot be read; trying again", err)
	}
	t.stall = Storage
	t.mustBy(r.at)
}

// complain tells the operator.
func (c *consumer) complain(what string, err error) {
	c.stream.pool.cfg.Logger.Error(what,
		"account", c.stream.account.Name(), "stream", c.stream.Name(), "consumer", c.name, "error", err)
}

// land takes the result of a command, from the goroutine that applied it.
func (c *consumer) land(r jetlog.Result, err error) {
	c.post(func(b *mailbox) { b.landings = append(b.landings, landing{r.Code, r.Exhausted, err}) })
}

// landings looks at the results of commands, which come in the order of the flights.
func (t *turn) landings(list []landing) {
	s := t.session
	for i := range list {
		l, f := &list[i], &s.flights[i]
		s.landed++
		for _, e := range l.exhausted {
			t.givenUp(e.Sequence)
			t.events().MaxDeliveries(t.c.stream, t.c.name, e.Sequence, e.Deliveries)
		}
		switch {
		case l.err != nil:
			if unled(l.err) {
				t.disown(s.flights[i : i+1])
			}
			t.unwritable(l.err)
			t.lose(f)
			t.news = true
		case l.code != 0:
			t.lose(f)
			t.news = true
		default:
			t.news = t.news || f.again
			f.letters(t.c.stream, l.exhausted)
			t.c.stream.overdue.expect(f.due)
			t.dispatch(f.parcel)
			t.confirm(f)
		}
	}
	n := copy(s.flights, s.flights[len(list):])
	clear(s.flights[n:])
	s.flights = s.flights[:n]
}

// confirm answers those who wait until their acknowledgements are applied. If the cursor went back meanwhile, they may
// have been for messages whose delivery is not in the state, and meant nothing: those come again.
func (t *turn) confirm(f *flight) {
	if f.epoch != t.c.epoch && !(f.sure && f.incarnation == t.c.incarnation) {
		return
	}
	for _, reply := range f.replies {
		t.status(reply, nil)
	}
}

// lose goes back to the applied state, if the flight was of the cursor as it is now.
func (t *turn) lose(f *flight) {
	t.giveBack(f.parcel)
	if f.moves() && f.epoch == t.c.epoch {
		t.c.epoch++
		t.c.known = false
		t.session.unnoted, t.c.lookout = nil, nil
	}
}

// note makes a command of what was sent. Without acknowledgements nobody needs it soon: then there is one at a time,
// unless it is urgent.
func (t *turn) note(urgent bool) {
	s := t.session
	n := uint64(len(s.unnoted))
	if n == 0 {
		return
	}
	if t.set.ack == config.AckNone && !urgent && n < notesMax && s.delivering() {
		return
	}
	d := &command.Deliver{
		Time: t.ns, Consumer: t.c.name, Incarnation: t.c.incarnation, From: t.c.at.Consumer - n + 1, Messages: s.unnoted,
	}
	f := flight{command: d, epoch: t.c.epoch, from: d.From, count: n, fresh: fresh(s.unnoted), parcel: s.parcel}
	if t.set.ack != config.AckExplicit {
		t.served += int(f.fresh) // nobody says of each that it is through
	}
	if t.set.ack != config.AckNone {
		f.expect(t.ns, t.set.shortestWait)
	}
	s.unnoted, s.parcel = nil, nil
	t.launch(&f)
}

// delivering reports whether a Deliver is under way.
func (s *session) delivering() bool {
	for i := range s.flights {
		if s.flights[i].from != 0 {
			return true
		}
	}
	for i := range s.outbox {
		if s.outbox[i].from != 0 {
			return true
		}
	}
	return false
}

// fresh counts the messages that had not been sent before.
func fresh(list []delivered) (n uint64) {
	for _, d := range list {
		if !d.Again {
			n++
		}
	}
	return n
}

// ahead returns how many messages were sent for the first time that are not in the applied state, which has
// so many deliveries.
func (s *session) ahead(epoch uint32, applied uint64) uint64 {
	n := fresh(s.unnoted)
	for _, list := range [2][]flight{s.flights, s.outbox} {
		for i := range list {
			if f := &list[i]; f.from > applied && f.epoch == epoch {
				n += f.fresh
			}
		}
	}
	return n
}

// underWay collects what commands that are under way say about messages that were sent: again, or answered.
type underWay struct {
	sequences map[uint64]struct{}
	upTo      uint64 // all up to this one are answered
}

func (u *underWay) has(sequence uint64) bool {
	_, found := u.sequences[sequence]
	return found || sequence <= u.upTo
}

// underWay looks through the commands that are under way. Cumulative says what an acknowledgement covers.
func (s *session) underWay(epoch uint32, applied uint64, cumulative bool) underWay {
	u := underWay{sequences: make(map[uint64]struct{})}
	for _, d := range s.unnoted {
		u.sequences[d.Sequence] = struct{}{}
	}
	for _, list := range [2][]flight{s.flights, s.outbox} {
		for i := range list {
			f := &list[i]
			switch c := f.command.(type) {
			case *command.Deliver:
				if f.from <= applied || f.epoch != epoch {
					continue
				}
				for _, d := range c.Messages {
					u.sequences[d.Sequence] = struct{}{}
				}
			case *command.GiveUp:
				for _, m := range c.Messages {
					u.sequences[m.Sequence] = struct{}{}
				}
			case *command.Ack:
				for _, r := range c.Replies {
					u.sequences[r.Sequence] = struct{}{}
					if cumulative && r.Answer == command.Done {
						u.upTo = max(u.upTo, r.Sequence)
					}
				}
			}
		}
	}
	return u
}
