package delivery

import (
	"math/rand/v2"
	"time"

	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
)

// answer is what a receiver says about a delivery.
type answer struct {
	kind   api.AckKind
	about  Delivered
	delay  time.Duration // of a nak
	reason string        // of a termination
	reply  string        // who waits until it is applied, empty for nobody
	next   *Request      // what is asked for with it
}

// answersAtOnce is how many answers are put into one command.
const answersAtOnce = 4096

// newAnswer reads an acknowledgement; it is false for what is none. Nothing of the payload is kept.
func newAnswer(a *Ack) (answer, bool) {
	body, ok := api.ParseAckPayload(a.Payload)
	if !ok {
		return answer{}, false
	}
	s := &a.Subject
	out := answer{
		kind: body.Kind, about: Delivered{s.ConsumerSequence, s.StreamSequence, s.Deliveries}, delay: body.Delay,
		reason: body.Reason, reply: a.Reply,
	}
	if body.Kind == api.AckNext && a.Reply != "" {
		out.next = &Request{Reply: a.Reply, Body: body.Request}
		out.next.copy()
		out.reply = ""
	}
	return out, true
}

// answer puts an answer into the mailbox. The message of one that has no room comes again.
func (b *mailbox) answer(a *answer) {
	if a.next != nil {
		b.request(*a.next)
		a.next = nil
	}
	if b.room(len(a.reply) + len(a.reason)) {
		b.answers = append(b.answers, *a)
	}
}

// takesNoAcks reports whether acknowledgements mean nothing to the consumer.
func (c *consumer) takesNoAcks() bool {
	s := c.settings.Load()
	return s != nil && s.ack == config.AckNone
}

// answers makes commands of what receivers said.
func (t *turn) answers(list []answer) {
	if len(list) == 0 || t.set.ack == config.AckNone {
		return
	}
	t.c.used = t.ns
	t.note(true) // what they speak of comes first
	for len(list) > 0 {
		n := min(len(list), answersAtOnce)
		t.answersOf(list[:n])
		list = list[n:]
	}
}

// answersOf makes one command.
func (t *turn) answersOf(list []answer) {
	ack := &command.Ack{Time: t.ns, Consumer: t.c.name, Replies: make([]command.Reply, 0, len(list))}
	f := flight{command: ack, epoch: t.c.epoch, sure: t.commits, incarnation: t.c.incarnation}
	give, g := []command.GivenUp(nil), f
	for i := range list {
		a := &list[i]
		if a.about.Stream == 0 || a.about.Stream > t.c.at.Stream {
			continue // of something that was never sent
		}
		reply := command.Reply{Sequence: a.about.Stream}
		switch a.kind {
		case api.AckNak:
			reply.Answer, reply.Delay = command.Nak, a.delay
			f.again = true
			if f.expect(t.ns, a.delay); a.delay == 0 && t.set.rests {
				f.expect(t.ns, deadlinePause) // then the state knows until when it rests
			}
			t.failed(reply.Sequence)
			t.events().Nak(t.c.stream, t.c.name, a.about)
		case api.AckInProgress:
			reply.Answer = command.Progress
			f.expect(t.ns, t.set.shortestWait)
		case api.AckTerminate:
			reply.Answer = command.Terminate
			t.failed(reply.Sequence)
			t.through()
			t.events().Terminated(t.c.stream, t.c.name, a.about, a.reason)
			if f.dead = f.dead || t.set.letters; t.set.letters && a.reason != "" {
				t.answered(reply)
				give = append(give, command.GivenUp{Sequence: reply.Sequence, Text: a.reason})
				if a.reply != "" && t.c.known {
					g.replies = append(g.replies, a.reply)
				}
				continue
			}
		default:
			t.processed()
			t.through()
			t.sample(a.about)
		}
		t.answered(reply)
		ack.Replies = append(ack.Replies, reply)
		if a.reply != "" && t.c.known {
			f.replies = append(f.replies, a.reply)
		}
	}
	t.giveUp(give, g)
	f.patient = t.together && !f.dead && !f.again && f.due == 0 && len(f.replies) == 0
	if len(ack.Replies) > 0 && !t.join(&f, ack) {
		t.launch(&f)
	}
}

// through counts a message that was answered for good, where each is.
func (t *turn) through() {
	if t.set.ack == config.AckExplicit {
		t.served++
	}
}

// join puts acknowledgements into the command of others that wait for something to go with; it is false if there is none.
func (t *turn) join(f *flight, ack *command.Ack) bool {
	s := t.session
	if !f.patient || len(s.outbox) == 0 {
		return false
	}
	last := &s.outbox[len(s.outbox)-1]
	if !last.patient || last.incarnation != f.incarnation {
		return false
	}
	other := last.command.(*command.Ack) // nothing else is patient
	if len(other.Replies)+len(ack.Replies) > answersAtOnce {
		return false
	}
	other.Time, other.Replies = ack.Time, append(other.Replies, ack.Replies...)
	return true
}

// sent notes when a message was sent, if that may be asked for.
func (t *turn) sent(sequence uint64) {
	if t.set.sampling == 0 || t.set.ack == config.AckNone {
		return
	}
	s := t.session
	if s.samples == nil || len(s.samples) >= samplesMax {
		s.samples = make(map[uint64]int64)
	}
	s.samples[sequence] = t.ns
}

// samplesMax is of how many messages it is known when they were sent.
const samplesMax = 1 << 16

// sample tells how long an acknowledgement took, of some.
func (t *turn) sample(d Delivered) {
	if t.set.sampling == 0 {
		return
	}
	at, ok := t.session.samples[d.Stream]
	if !ok {
		return
	}
	delete(t.session.samples, d.Stream)
	if rand.IntN(100) < t.set.sampling {
		t.events().AckSample(t.c.stream, t.c.name, d, time.Duration(t.ns-at))
	}
}
