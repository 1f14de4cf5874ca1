package delivery

import (
	"strconv"

	"runnel/headers"
	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/delivery/ahead"
)

// numbers is what a look at the state has chosen.
type numbers struct {
	sequence, deliveries uint64
}

// look chooses messages and reads them. It is false when nothing may be sent; then stall says why, or there is nothing.
func (t *turn) look(want int) bool {
	if t.set.ahead != nil || t.c.lookout != nil {
		if !t.scout() {
			return false
		}
		if t.c.lookout != nil {
			return t.lookAhead(want)
		}
	}
	var again []numbers
	var firsts listed
	log := t.c.stream.log
	err := log.View(func(state *jetlog.Stream, _ jetlog.Messages) error {
		a := state.Consumer(t.c.name)
		if a == nil {
			return nil
		}
		t.see(a)
		if t.applied.pausedUntil > t.ns || t.applied.passed {
			return nil
		}
		again = t.redeliveries(a, want)
		if t.set.lasts {
			firsts = t.firsts(a, min(t.room(), want))
		}
		return nil
	})
	switch {
	case err != nil:
		t.unreadable(err)
		return false
	case !t.applied.exists:
		return false
	case t.applied.passed: // before keys, or a filter, were taken away
		return t.scout() && t.lookAhead(want)
	case t.applied.pausedUntil > t.ns:
		t.stall, t.until, t.looked = Paused, t.applied.pausedUntil, true
		return false
	}
	if want = min(want, t.want()); want > 0 { // some ask for more than there is, which is known only now
		t.makeWay(again)
		err = t.load(again, firsts, want)
	}
	if err != nil {
		t.unreadable(err)
		return false
	}
	t.session.reading = retry{}
	t.address()
	return true
}

// see notes the applied state.
func (t *turn) see(a *jetlog.Consumer) {
	t.follow(a)
	t.applied = applied{
		exists: true, delivered: a.Delivered(), pending: a.Pending(), ackPending: a.AckPending() - a.Resting(),
		resting: a.Resting(), pausedUntil: a.PausedUntil(), passed: a.Passed().Len() > 0, letters: a.Letters().Len(),
	}
}

// ahead returns how many messages were sent for the first time that are not in the applied state.
func (t *turn) ahead() uint64 { return t.session.ahead(t.c.epoch, t.applied.delivered.Consumer) }

// pending returns how many messages are left to be sent for the first time.
func (t *turn) pending() uint64 {
	ahead := t.ahead()
	if t.applied.pending <= ahead {
		return 0
	}
	return t.applied.pending - ahead
}

// room returns how many new messages may be sent until too many wait for an answer.
func (t *turn) room() int {
	if t.set.maxAckPending == 0 {
		return min(turnMessages, t.lettersRoom())
	}
	return min(max(t.set.maxAckPending-t.applied.ackPending-int(t.ahead())-t.roused, 0), t.lettersRoom())
}

// redeliveries chooses what is to be sent again, of what is not under way. What rests until then takes the place of a new
// message, since it took none before.
func (t *turn) redeliveries(a *jetlog.Consumer, want int) (list []numbers) {
	var under underWay
	t.roused = 0
	a.Redelivery(func(sequence, deliveries uint64) bool {
		if under.sequences == nil {
			under = t.session.underWay(t.c.epoch, t.applied.delivered.Consumer, t.set.cumulative())
		}
		sent := under.has(sequence) || t.c.lookout != nil && !t.c.lookout.HasTurn(sequence)
		if t.applied.resting > 0 && a.Rests(sequence) {
			if !sent && t.room() == 0 {
				return false
			}
			t.roused++
		}
		if !sent {
			list = append(list, numbers{sequence, deliveries})
		}
		return len(list) < want
	})
	return list
}

// listed are messages of the list in the state of a consumer that begins with the last message of each subject.
type listed struct {
	sequences []uint64
	upTo      uint64 // what comes up to there is in the list or not for the consumer
	more      bool   // the list has more than these
}

// firsts chooses new messages from the list.
func (t *turn) firsts(a *jetlog.Consumer, want int) (l listed) {
	next, upTo := a.Listed(t.c.at.Stream)
	for l.upTo = upTo; next != 0 && len(l.sequences) < want; next, _ = a.Listed(next) {
		l.sequences = append(l.sequences, next)
	}
	l.more = next != 0
	return l
}

// makeWay lets go what other turns have staged, if this one is about to read something that may take its time.
func (t *turn) makeWay(again []numbers) {
	if t.w.turns == 0 {
		return
	}
	first := t.c.at.Stream + 1
	for _, n := range again {
		first = min(first, n.sequence)
	}
	if !t.c.stream.log.Near(first) {
		t.w.flush()
	}
}

// replayMessages is how many messages are read at once that are sent at their own pace.
const replayMessages = 16

// load reads what was chosen, and chooses new messages.
func (t *turn) load(again []numbers, firsts listed, want int) error {
	log := t.c.stream.log
	bytes := 0
	for _, n := range again {
		m, err := log.Load(n.sequence)
		if err != nil {
			return err
		}
		if m.Sequence != 0 {
			bytes += len(m.Header) + len(m.Payload)
			t.picks = append(t.picks, pick{Message: m, deliveries: n.deliveries + 1})
		}
		if bytes >= turnBytes {
			return nil
		}
	}
	room := min(t.room(), want-len(t.picks))
	if t.c.replay != nil {
		room = min(room, replayMessages)
	}
	t.session.unsure = false
	if t.pending() == 0 {
		t.end = len(t.picks) < want
		t.session.unsure = t.ahead() > 0
		return nil
	}
	if room <= 0 {
		if len(t.picks) < want {
			t.stall = MaxAckPending
		}
		return nil
	}
	fresh := len(t.picks)
	err := t.choose(firsts, room, turnBytes-bytes, fresh)
	if err == nil {
		t.passOver(len(t.picks) == fresh)
	}
	return err
}

// choose chooses new messages: those of the list first, then what comes behind it. Those chosen so far begin at fresh.
func (t *turn) choose(firsts listed, room, bytes, fresh int) error {
	for _, sequence := range firsts.sequences[:min(room, len(firsts.sequences))] {
		m, err := t.c.stream.log.Load(sequence)
		room--
		switch {
		case err != nil:
			return err
		case m.Sequence == 0:
		case !t.passes(&m):
			t.picks = append(t.picks, pick{Message: m, deliveries: 1})
		case len(t.picks) > fresh:
			return nil // it is passed over when these are sent
		default:
			t.passed = sequence
		}
		if bytes -= len(m.Header) + len(m.Payload); bytes <= 0 {
			return nil
		}
	}
	if room <= 0 || firsts.more {
		return nil
	}
	return t.read(max(t.c.at.Stream, firsts.upTo)+1, room, bytes, fresh)
}

// read chooses new messages from a sequence on, in order, up to one that is passed over. As long as all are, it goes on.
func (t *turn) read(from uint64, room, bytes, fresh int) error {
	for chunk := room; ; chunk = max(chunk, turnMessages) {
		n, stopped := 0, false
		_, err := t.c.stream.log.Read(from, t.set.filter, chunk, bytes, func(m *jetlog.Message) bool {
			n++
			bytes -= len(m.Header) + len(m.Payload)
			if t.passes(m) {
				if stopped = len(t.picks) > fresh; !stopped {
					t.passed = m.Sequence
				}
				return !stopped
			}
			t.picks = append(t.picks, pick{Message: *m, deliveries: 1})
			return len(t.picks) < fresh+room
		})
		t.end = n < chunk && bytes > 0 && !stopped && len(t.picks) < fresh+room
		if err != nil || t.end || stopped || len(t.picks) > fresh || bytes <= 0 {
			return err
		}
		from = t.passed + 1
	}
}

// passes reports whether the consumer passes over a message. Those of mirrors and sources copy everything.
func (t *turn) passes(m *jetlog.Message) bool {
	return ahead.Passes(m, t.c.name) && !t.set.common.Direct && !t.set.common.Sourcing
}

// passOver makes a command of what is passed over before anything new is sent; alone is set if nothing is.
func (t *turn) passOver(alone bool) {
	if t.passed == 0 {
		return
	}
	t.note(true)
	t.launch(&flight{epoch: t.c.epoch, skips: true, command: &command.Skip{
		Time: t.ns, Consumer: t.c.name, Incarnation: t.c.incarnation, Above: t.c.at.Stream, UpTo: t.passed,
	}})
	t.c.at.Stream = t.passed
	t.further = alone && !t.end
}

// address gives each message its ack subject, as if all were sent, and takes payloads away if only headers are wanted.
func (t *turn) address() {
	w, c := t.w, t.c
	w.text = w.text[:0]
	ack := api.AckSubject{Stream: c.stream.Name(), Consumer: c.name, Pending: t.pending()}
	ends := w.ends[:0]
	for i := range t.picks {
		p := &t.picks[i]
		if p.deliveries == 1 && ack.Pending > 0 {
			ack.Pending--
		}
		ack.Deliveries, ack.StreamSequence, ack.Time = p.deliveries, p.Sequence, p.Time
		ack.ConsumerSequence = c.at.Consumer + uint64(i) + 1
		w.text = api.AppendAckSubject(w.text, &ack)
		ends = append(ends, len(w.text))
		if t.set.headersOnly {
			p.Header = headers.Set(p.Header, "Nats-Msg-Size", strconv.Itoa(len(p.Payload)))
			p.Payload = nil
		}
	}
	w.ends = ends
	all, start := string(w.text), 0
	for i, end := range ends {
		t.picks[i].reply = all[start:end]
		start = end
	}
}

// stage sends what was chosen, in order, or holds it, and returns how many of it: whatever stands in the way of one
// stands in the way of all behind it.
func (t *turn) stage() int {
	defer t.c.show()
	for i := range t.picks {
		p := &t.picks[i]
		if !t.isTime(p) {
			return i
		}
		if t.set.push() && !t.push(p) || !t.set.push() && !t.give(p, t.commits) {
			return i
		}
		t.c.at.Consumer++
		if p.deliveries == 1 {
			t.c.at.Stream = max(t.c.at.Stream, p.Sequence) // a lookout has moved it already
			if t.c.replay != nil {
				*t.c.replay = replay{p.Time, t.ns}
			}
		} else {
			t.lapsed(p.Sequence)
		}
		t.session.unnoted = append(t.session.unnoted, delivered{Sequence: p.Sequence, Again: p.deliveries > 1})
	}
	return len(t.picks)
}

// replay is the last message that was sent for the first time: when it was stored, and when it was sent. It ends with
// the first look that finds nothing more: what comes then comes at its own pace.
type replay struct {
	stored, sent int64
}

// isTime reports whether a message is as far from the one before it as it was stored.
func (t *turn) isTime(p *pick) bool {
	r := t.c.replay
	if r == nil || r.sent == 0 || p.deliveries > 1 {
		return true
	}
	at := r.sent + p.Time - r.stored
	if at <= t.ns {
		return true
	}
	t.stall, t.until = Replaying, at
	return false
}

// size is what a message counts for in max_bytes and flow control.
func (p *pick) size() int { return len(p.Subject) + len(p.reply) + len(p.Header) + len(p.Payload) }
