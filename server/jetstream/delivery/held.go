package delivery

import (
	"time"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
)

// held is a message that was chosen for somebody and is sent once its delivery is in the state. What it takes up of its
// request, or of the window of a push consumer, counts from the moment in which it is chosen.
type held struct {
	pick
	request *pull   // nil for a push consumer
	pusher  *pusher // nil for a pull consumer
	flow    *window // nil without flow control
}

// parcel is what one command lets be sent. A nil parcel is empty.
type parcel struct {
	held   []held
	before jetlog.Position // the cursor before the first of them
}

const (
	// heldMax is how much of a consumer may be held before no more is chosen, and heldByAll how much of all.
	heldMax   = 1 << 20
	heldByAll = 64 << 20
	// crowdedPause is how long a consumer waits when so much of all is held.
	crowdedPause = 5 * time.Millisecond
)

// commits reports whether deliveries have to be in the state before they are sent, where others may lead the stream
// next: they have to know what is in flight. Nothing is without acknowledgements. One that covers all earlier messages
// would also settle what was committed by a leader that could not send it any more, so that nobody ever got it.
func (s *settings) commits() bool { return s.ack == config.AckExplicit }

// hold keeps a message until its delivery is in the state.
func (t *turn) hold(h *held) {
	s := t.session
	if s.parcel == nil {
		s.parcel = &parcel{before: t.c.at}
	}
	s.parcel.held = append(s.parcel.held, *h)
	t.weigh(h.size())
}

// weigh counts bytes that are held, or not any more.
func (t *turn) weigh(bytes int) {
	t.session.heldBytes += bytes
	t.w.pool.held.Add(int64(bytes))
}

// gathers reports whether nothing is to be chosen before something that is held is sent. One command at a time is under
// way in a group, unless there was more than a turn may send: what comes meanwhile shares the next one.
func (t *turn) gathers() bool {
	s := t.session
	if t.w.pool.held.Load() >= heldByAll {
		t.mustBy(t.ns + int64(crowdedPause))
		return true
	}
	return s.heldBytes >= heldMax || t.together && s.heldBytes > 0 && !s.full
}

// sentUpTo is the cursor without what is held.
func (t *turn) sentUpTo() jetlog.Position {
	for _, list := range [2][]flight{t.session.flights, t.session.outbox} {
		for i := range list {
			if p := list[i].parcel; p != nil {
				return p.before
			}
		}
	}
	return t.c.at
}

// giveBack gives back what messages have taken up that are not sent: as far as is known, their deliveries are not in the
// state.
func (t *turn) giveBack(p *parcel) {
	if p == nil {
		return
	}
	for i := range p.held {
		h := &p.held[i]
		t.weigh(-h.size())
		h.refund()
		if r := h.request; r != nil {
			if r.ends == api.StatusMessageSize {
				r.ends = api.StatusNone // there is room again
			}
			t.finishIfDone(r)
		}
	}
}

// refund gives back what a message has taken up.
func (h *held) refund() {
	size := h.size()
	if r := h.request; r != nil {
		r.held--
		r.left++
		if r.limited {
			r.leftBytes += size
		}
	}
	if h.flow != nil {
		h.flow.refund(size)
	}
}

// dispatch sends what was held until now. What was answered meanwhile, since it had been sent before, is not sent again.
// If those are gone who were to get a message, somebody else does, or it is taken up again at once.
func (t *turn) dispatch(p *parcel) {
	if p == nil {
		return
	}
	t.news = true
	var back []command.Reply
	var settled map[uint64]struct{}
	for i := range p.held {
		h := &p.held[i]
		t.weigh(-h.size())
		if h.deliveries > 1 && settled == nil {
			settled = t.session.settled()
		}
		if _, done := settled[h.Sequence]; done {
			h.refund()
		} else if !t.pass(h) {
			back = append(back, command.Reply{Answer: command.Nak, Sequence: h.Sequence})
		}
		if h.request != nil {
			t.finishIfDone(h.request)
		}
	}
	if len(back) > 0 {
		ack := &command.Ack{Time: t.ns, Consumer: t.c.name, Replies: back}
		t.launch(&flight{command: ack, epoch: t.c.epoch, again: true})
	}
}

// pass sends a message that was held; it is false when nobody gets it.
func (t *turn) pass(h *held) bool {
	if h.pusher != nil {
		return t.passPush(h)
	}
	r := h.request
	r.held--
	if t.deliverTo(r, &h.pick) {
		return true
	}
	t.session.waiting.drop(r)
	return t.give(&h.pick, false)
}

// settled are the sequences that are done, as commands say that are under way.
func (s *session) settled() map[uint64]struct{} {
	found := make(map[uint64]struct{})
	for _, list := range [2][]flight{s.flights, s.outbox} {
		for i := range list {
			if g, ok := list[i].command.(*command.GiveUp); ok {
				for _, m := range g.Messages {
					found[m.Sequence] = struct{}{}
				}
			}
			ack, ok := list[i].command.(*command.Ack)
			if !ok {
				continue
			}
			for _, r := range ack.Replies {
				if r.Answer == command.Done || r.Answer == command.Terminate {
					found[r.Sequence] = struct{}{}
				}
			}
		}
	}
	return found
}
