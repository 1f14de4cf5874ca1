package delivery

import (
	"time"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/server/jetstream/delivery/ahead"
)

// lookout is what a consumer has that looks ahead: with a content filter, with keys, or with messages that were passed over.
type lookout struct {
	*ahead.Ahead
	owed     owed
	reviewed int64 // when it was last compared with the state
	due      int64 // when it is to be again, since messages wait for others, 0 for not by itself
}

// owed is a part of the stream that was looked at, with nothing in it for the consumer, and is not in a command yet.
type owed struct {
	above, upTo uint64
	looked      int   // messages
	since       int64 // when the first of them was
}

const (
	// owedMax and owedPause are after how many messages with nothing in them, or when, that is put into a command.
	owedMax   = 4096
	owedPause = 250 * time.Millisecond
	// reviewPause is the least time between two comparisons with the state, reviewLater when there is one although nothing has
	// happened.
	reviewPause = 10 * time.Millisecond
	reviewLater = 250 * time.Millisecond
)

// owes reports whether something was looked at that is not in a command yet.
func (o *lookout) owes() bool { return o != nil && o.owed.looked > 0 }

// moves reports whether a command moves the cursor.
func (f *flight) moves() bool { return f.from != 0 || f.skips }

// moving reports whether something is under way that moves the cursor.
func (s *session) moving() bool {
	for _, list := range [2][]flight{s.flights, s.outbox} {
		for i := range list {
			if list[i].moves() {
				return true
			}
		}
	}
	return false
}

// scout makes sure that the lookout is what the configuration asks for, and there is none if it asks for none and nothing was
// passed over. It is false while something is under way that the state does not have yet.
func (t *turn) scout() bool {
	c := t.c
	if o := c.lookout; o != nil && o.Rules().Same(t.set.ahead) && (t.set.ahead != nil || !o.Empty()) {
		return true
	}
	if t.note(true); t.session.moving() {
		t.send()
		return false
	}
	err := c.stream.log.View(func(state *jetlog.Stream, _ jetlog.Messages) error {
		c.lookout = nil
		if a := state.Consumer(c.name); a != nil {
			t.follow(a)
			c.at = a.Delivered()
			if t.set.ahead != nil || a.Passed().Len() > 0 {
				c.lookout = &lookout{Ahead: ahead.New(t.set.ahead, a)}
			}
		}
		return nil
	})
	if err != nil {
		t.unreadable(err)
	}
	return err == nil
}

// lookAhead is look with a lookout.
func (t *turn) lookAhead(want int) bool {
	o := t.c.lookout
	o.due = 0
	ready, err := o.Prepare(source{t})
	if err != nil {
		t.unreadable(err)
		return false
	}
	if !ready {
		t.more = true
		return false
	}
	var again []numbers
	var further bool
	err = t.c.stream.log.View(func(state *jetlog.Stream, _ jetlog.Messages) error {
		a := state.Consumer(t.c.name)
		if a == nil {
			return nil
		}
		if t.see(a); t.c.lookout != o || t.applied.pausedUntil > t.ns {
			return nil
		}
		again = t.redeliveries(a, want)
		further = t.set.ahead != nil && !a.Passed().Full()
		t.review(a)
		return nil
	})
	switch {
	case err != nil:
		t.unreadable(err)
		return false
	case !t.applied.exists:
		return false
	case t.c.lookout != o: // it was all different
		t.more = true
		return false
	case t.applied.pausedUntil > t.ns:
		t.stall, t.until, t.looked = Paused, t.applied.pausedUntil, true
		return false
	}
	if err = t.chooseAhead(again, min(want, t.want()), further); err != nil {
		t.unreadable(err)
		t.sentAhead(0)
		return false
	}
	t.session.reading = retry{}
	t.address()
	return true
}

// review compares the lookout with the state now and then, while messages wait for others.
func (t *turn) review(a *jetlog.Consumer) {
	if o := t.c.lookout; o.Waiting() && t.ns >= o.reviewed+int64(reviewPause) {
		o.Review(a)
		o.reviewed = t.ns
	}
}

// behindKeys says that what is left waits for others of its key, and has the lookout compared with the state: those may have gone.
func (t *turn) behindKeys() {
	t.stall = KeysBusy
	if o := t.c.lookout; o.reviewed == t.ns {
		o.due = t.ns + int64(reviewLater)
	} else {
		o.due = max(o.reviewed+int64(reviewPause), t.ns+1)
	}
}

// stillBehindKeys says what the last look has found, of a turn that does not look.
func (t *turn) stillBehindKeys() {
	if o := t.c.lookout; o != nil && o.due != 0 {
		t.stall = KeysBusy
	}
}

// chooseAhead reads what is to be sent again, and chooses new messages.
func (t *turn) chooseAhead(again []numbers, want int, further bool) error {
	o, log, bytes := t.c.lookout, t.c.stream.log, turnBytes
	if want > 0 {
		t.makeWay(again)
	}
	for _, n := range again[:min(want, len(again))] {
		m, err := log.Load(n.sequence)
		if err != nil {
			return err
		}
		if m.Sequence != 0 {
			bytes -= len(m.Header) + len(m.Payload)
			t.picks = append(t.picks, pick{Message: m, deliveries: n.deliveries + 1})
		}
		if bytes <= 0 {
			return nil
		}
	}
	t.session.unsure = false
	room := min(t.room(), want-len(t.picks))
	if room <= 0 {
		if len(t.picks) < want {
			t.stall = MaxAckPending
		}
		return nil
	}
	l, err := o.Look(source{t}, t.c.at.Stream, room, bytes, further)
	t.skip(&l)
	for i := range l.Picks {
		t.picks = append(t.picks, pick{Message: l.Picks[i], deliveries: 1})
	}
	t.end = l.End
	t.further = !l.End && len(l.Picks) == 0
	if t.set.ahead == nil { // behind what was passed over all comes as it does to others
		t.end, t.further = false, true
	}
	if l.End && len(l.Picks) < room && o.Waiting() {
		t.behindKeys()
	}
	return err
}

// sentAhead tells the lookout how many of what was chosen were sent.
func (t *turn) sentAhead(sent int) {
	if t.c.lookout == nil {
		return
	}
	fresh := 0
	for i := range t.picks[:sent] {
		if t.picks[i].deliveries == 1 {
			fresh++
		}
	}
	t.c.lookout.Sent(fresh)
}

// skip notes what was looked at: at once if something in it is still to be delivered.
func (t *turn) skip(l *ahead.Look) {
	o := &t.c.lookout.owed
	if l.UpTo == t.c.at.Stream {
		return
	}
	if o.upTo == 0 {
		*o = owed{above: t.c.at.Stream, since: t.ns}
	}
	o.upTo, o.looked = l.UpTo, o.looked+l.Looked
	t.c.at.Stream = l.UpTo
	if len(l.Passed)+len(l.Failed) > 0 || o.looked >= owedMax {
		t.pay(l.Passed, l.Failed)
	}
}

// pay makes a command of what is owed.
func (t *turn) pay(passed, failed []uint64) {
	o := &t.c.lookout.owed
	k := &command.Skip{
		Time: t.ns, Consumer: t.c.name, Incarnation: t.c.incarnation, Above: o.above, UpTo: o.upTo, Passed: passed, Failed: failed,
	}
	t.launch(&flight{command: k, epoch: t.c.epoch, skips: true})
	*o = owed{}
}

// isDue reports whether it is time to compare the lookout with the state.
func (o *lookout) isDue(now int64) bool { return o != nil && o.due != 0 && o.due <= now }

// mindLookout sees to it that what is due of the lookout is done.
func (t *turn) mindLookout() {
	t.payLater(false)
	switch o := t.c.lookout; {
	case o == nil || o.due == 0 || t.want() == 0:
	case o.isDue(t.ns): // something else was in the way
		t.mustBy(t.ns + int64(reviewPause))
	default:
		t.mustBy(o.due)
	}
}

// payLater makes a command of what is owed when its time has come, or now.
func (t *turn) payLater(now bool) {
	o := t.c.lookout
	if !o.owes() {
		return
	}
	if due := o.owed.since + int64(owedPause); !now && t.ns < due {
		t.mustBy(due)
		return
	}
	t.pay(nil, nil)
}

// answered tells the lookout of an answer.
func (t *turn) answered(r command.Reply) {
	o := t.c.lookout
	if o == nil {
		return
	}
	switch r.Answer {
	case command.Done:
		t.news = o.Done(r.Sequence) || t.news
	case command.Terminate:
		t.news = o.Failed(r.Sequence) || t.news
	}
}

// givenUp tells the lookout of a message that was delivered as often as allowed.
func (t *turn) givenUp(seq uint64) {
	if o := t.c.lookout; o != nil {
		t.news = o.Failed(seq) || t.news
	}
}

// source is the stream of a turn's consumer.
type source struct{ t *turn }

// Load is as in ahead.Source.
func (s source) Load(seq uint64) (jetlog.Message, error) { return s.t.c.stream.log.Load(seq) }

// Read is as in ahead.Source. A consumer of last messages gets those of its list first.
func (s source) Read(from uint64, messages, bytes int, yield func(*jetlog.Message) bool) (uint64, error) {
	t := s.t
	if !t.set.lasts {
		return t.c.stream.log.Read(from, t.set.filter, messages, bytes, yield)
	}
	var list []uint64
	var upTo uint64
	err := t.c.stream.log.View(func(state *jetlog.Stream, _ jetlog.Messages) error {
		list = list[:0]
		if a := state.Consumer(t.c.name); a != nil {
			var seq uint64
			for seq, upTo = a.Listed(from - 1); seq != 0 && len(list) < messages; seq, _ = a.Listed(seq) {
				list = append(list, seq)
			}
		}
		return nil
	})
	for _, seq := range list {
		m, err := t.c.stream.log.Load(seq)
		if err != nil {
			return from, err
		}
		from, messages, bytes = seq+1, messages-1, bytes-len(m.Header)-len(m.Payload)
		if m.Sequence != 0 && !yield(&m) || bytes <= 0 {
			return from, nil
		}
	}
	if err != nil || messages <= 0 {
		return from, err
	}
	return t.c.stream.log.Read(max(from, upTo+1), t.set.filter, messages, bytes, yield)
}

// Passed is as in ahead.Source.
func (s source) Passed(from uint64, most int) (list []uint64, upTo uint64, err error) {
	err = s.t.c.stream.log.View(func(state *jetlog.Stream, _ jetlog.Messages) error {
		list = list[:0]
		a := state.Consumer(s.t.c.name)
		if a == nil {
			return nil
		}
		upTo = a.Delivered().Stream
		for seq := a.Passed().Next(from); seq != 0 && len(list) < most; seq = a.Passed().Next(seq + 1) {
			list = append(list, seq)
		}
		return nil
	})
	return list, upTo, err
}

// Waits is as in ahead.Source.
func (s source) Waits(seq uint64) (waits bool, err error) {
	err = s.t.c.stream.log.View(func(state *jetlog.Stream, _ jetlog.Messages) error {
		a := state.Consumer(s.t.c.name)
		waits = a != nil && (a.Deliveries(seq) > 0 || a.GivenUp(seq))
		return nil
	})
	return waits, err
}
