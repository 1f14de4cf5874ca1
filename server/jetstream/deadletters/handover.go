package deadletters

import (
	"context"
	"fmt"
	"sync"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/letters"
	"runnel/server/jetstream/chore"
	"runnel/server/jetstream/handover"
)

const (
	// atOnce is how many letters of a consumer are handed over together, and atOnceBytes about how large they may be.
	atOnce      = 2048
	atOnceBytes = 2 << 20
	// putTime bounds one attempt.
	putTime = 10 * time.Second
	// The pauses after an attempt that was in vain.
	pauseLeast = 20 * time.Millisecond
	pauseMost  = 5 * time.Second
)

// mail is the first letters of a consumer.
type mail struct {
	consumer, target string
	box              uint64
	letters          []letters.Letter
}

// postman is what the goroutine knows of consumers whose letters could not be handed over.
type postman struct {
	s    *Stream
	mu   sync.Mutex // guards late
	late map[string]*late
}

type late struct {
	pause time.Duration
	next  time.Time
}

// step hands over what is due.
func (p *postman) step(*chore.Chore) time.Duration {
	if p.late == nil {
		p.late = map[string]*late{}
	}
	due, wait := p.due()
	switch {
	case len(due) > 0:
		p.deliver(due)
		return 0
	case wait > 0:
		return wait
	}
	p.late = nil
	return -1
}

// due returns what is to be handed over now, and otherwise how long until something is, 0 if there is nothing.
func (p *postman) due() (list []mail, wait time.Duration) {
	now := time.Now()
	err := p.s.cfg.Log.View(func(state *jetlog.Stream, _ jetlog.Messages) error {
		list, wait = nil, 0
		for _, c := range state.Consumers() {
			if c.Letters().Len() == 0 {
				delete(p.late, c.Name())
				p.s.note(c.Name(), "")
				continue
			}
			if l := p.late[c.Name()]; l != nil && now.Before(l.next) {
				if left := l.next.Sub(now); wait == 0 || left < wait {
					wait = left
				}
				continue
			}
			m := mail{consumer: c.Name(), target: c.DeadLetter(), box: c.Letters().ID()}
			m.letters = make([]letters.Letter, 0, min(c.Letters().Len(), atOnce))
			for l := range c.Letters().All {
				if m.letters = append(m.letters, *l); len(m.letters) == atOnce {
					break
				}
			}
			list = append(list, m)
		}
		return nil
	})
	if err != nil {
		return nil, pauseMost // it cannot be read now
	}
	return list, wait
}

// deliver hands over the letters of several consumers at the same time.
func (p *postman) deliver(list []mail) {
	var delivering sync.WaitGroup
	for i := range list {
		m := &list[i]
		delivering.Go(func() { p.attempt(m) })
	}
	delivering.Wait()
}

// attempt hands over the letters of a consumer, and notes if that is in vain.
func (p *postman) attempt(m *mail) {
	n, why := p.s.handOver(m)
	if p.s.chore.Context().Err() != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if why == "" {
		delete(p.late, m.consumer)
		p.s.note(m.consumer, "")
		return
	}
	l := p.late[m.consumer]
	if l == nil || n > 0 {
		l = &late{}
		p.late[m.consumer] = l
	}
	now := time.Now()
	l.pause = min(max(2*l.pause, pauseLeast), pauseMost)
	l.next = now.Add(l.pause)
	if p.s.note(m.consumer, why) {
		p.s.cfg.Logger.Warn("dead letters cannot be handed over; trying again", "account", p.s.cfg.Account, "stream", p.s.cfg.Log.Name(),
			"consumer", m.consumer, "to", m.target, "reason", why)
	}
}

// handOver puts letters into their stream and notes that they are there. It returns how many are, and why the next one is not,
// empty if all are.
func (s *Stream) handOver(m *mail) (n int, why string) {
	list, why := s.messages(m)
	if len(list) == 0 {
		return 0, why
	}
	ctx, cancel := context.WithTimeout(s.chore.Context(), putTime)
	defer cancel()
	outcomes, err := s.cfg.Put(ctx, s.cfg.Account, m.target, list)
	if err != nil {
		return 0, fmt.Sprintf("dead-letter stream %q cannot be reached: %v", m.target, err)
	}
	for n < len(outcomes) && outcomes[n].Refusal == nil {
		n++
	}
	if n < len(outcomes) {
		why = fmt.Sprintf("dead-letter stream %q does not take message %d: %v", m.target, m.letters[n].Sequence, outcomes[n].Refusal)
	}
	if n == 0 {
		return 0, why
	}
	handed := &command.Handed{Time: s.cfg.Now(), Consumer: m.consumer, Box: m.box, UpTo: list[n-1].Number}
	if _, err := s.cfg.Log.Propose(ctx, handed); err != nil {
		return 0, fmt.Sprintf("that letters are handed over cannot be written down: %v", err)
	}
	s.cfg.Handed(m.consumer)
	return n, why
}

// messages returns what is put for the first letters, and why the next one cannot be, empty if all can. A letter whose message
// has gone will be gone soon too.
func (s *Stream) messages(m *mail) (list []handover.Message, why string) {
	bytes := 0
	producer := fmt.Sprintf("dlq.%d.%d", s.cfg.Log.ID(), m.box)
	c := clerk{stream: s.cfg.Log.Name(), consumer: m.consumer}
	kept := m.letters[:0]
	for i := range m.letters {
		l := m.letters[i]
		message, err := s.cfg.Log.Load(l.Sequence)
		switch {
		case err != nil:
			why = fmt.Sprintf("message %d cannot be read: %v", l.Sequence, err)
		case message.Sequence == 0:
			continue
		case loops(message.Header, m.target):
			why = fmt.Sprintf("message %d was given up in stream %q before: it would go round for ever", l.Sequence, m.target)
		}
		if why != "" || bytes > atOnceBytes {
			break
		}
		out := handover.Message{
			Subject: message.Subject, Header: c.header(&l, &message), Payload: message.Payload,
			Producer: producer, Number: l.Number,
		}
		bytes += len(out.Subject) + len(out.Header) + len(out.Payload)
		list, kept = append(list, out), append(kept, l)
	}
	m.letters = kept
	return list, why
}
