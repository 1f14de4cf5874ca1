package receipts

import (
	"context"
	"sync"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/causes"
	"runnel/jetlog/command"
	"runnel/server/jetstream/chore"
	"runnel/server/jetstream/clustered"
)

const (
	// payMost is how many acknowledgements of one consumer are paid at once, and sourcesMost to how many consumers.
	payMost     = 4096
	sourcesMost = 64
	// payTime bounds one attempt.
	payTime = 5 * time.Second
	// goneAfter is how long a stream has to be missing before it counts as deleted: a server may not know yet of one that is new.
	goneAfter = time.Minute
	// The pauses after an attempt that was in vain.
	pauseLeast = 10 * time.Millisecond
	pauseMost  = 5 * time.Second
)

// Owed tells that the stream may owe something.
func (s *Stream) Owed() { s.paying.Wake() }

// payer is what the goroutine that pays knows.
type payer struct {
	s    *Stream
	slow map[causes.Source]*late
}

// late is a consumer of which an attempt was in vain.
type late struct {
	pause   time.Duration
	next    time.Time
	missing time.Time // since when its stream is, zero if it is there
}

// step pays what is due.
func (p *payer) step(*chore.Chore) time.Duration {
	if p.slow == nil {
		p.slow = map[causes.Source]*late{}
	}
	due, wait := p.due()
	switch {
	case len(due) > 0:
		p.payAll(due)
		return 0
	case wait < 0:
		p.slow = nil
	}
	return wait
}

// due returns what is to be paid now, by consumer, and otherwise how long until something is, negative if nothing is owed.
func (p *payer) due() (list map[causes.Source][]uint64, wait time.Duration) {
	now := p.s.cfg.Clock()
	err := p.s.log.View(func(state *jetlog.Stream, _ jetlog.Messages) error {
		list, wait = map[causes.Source][]uint64{}, -1
		p.s.paid.Store(state.Causes().Paid())
		for d := range state.Causes().Debts {
			source := *d.Source
			if l := p.slow[source]; l != nil && now.Before(l.next) {
				if left := l.next.Sub(now); wait < 0 || left < wait {
					wait = left
				}
				continue
			}
			if n := len(list[source]); n < payMost && (n > 0 || len(list) < sourcesMost) {
				list[source] = append(list[source], d.Sequence)
			}
		}
		return nil
	})
	if err != nil {
		return nil, pauseMost // it cannot be read now
	}
	return list, wait
}

// payAll pays several consumers at the same time, and notes what is paid.
func (p *payer) payAll(due map[causes.Source][]uint64) {
	var paying sync.WaitGroup
	var mu sync.Mutex // guards done
	done := map[causes.Source][]uint64{}
	for source, sequences := range due {
		l := p.slow[source]
		if l == nil {
			l = &late{}
			p.slow[source] = l
		}
		paying.Go(func() {
			paid := p.s.payOne(source, sequences, l, p.s.cfg.Clock())
			mu.Lock()
			defer mu.Unlock()
			done[source] = paid
		})
	}
	paying.Wait()
	for source, paid := range done {
		l := p.slow[source]
		if len(paid) > 0 && p.s.note(source, paid) {
			if len(paid) == len(due[source]) {
				delete(p.slow, source)
				continue
			}
			l.pause = 0
		}
		l.pause = min(max(2*l.pause, pauseLeast), pauseMost)
		l.next = p.s.cfg.Clock().Add(l.pause)
	}
}

// note notes in the state that acknowledgements are paid.
func (s *Stream) note(source causes.Source, paid []uint64) bool {
	_, err := s.cfg.Propose(s.ctx, &command.Paid{Time: s.cfg.Now(), Source: source, Sequences: paid})
	return err == nil // otherwise they are paid again, which does no harm
}

// payOne has a stream take what is owed to a consumer, and returns what is paid.
func (s *Stream) payOne(source causes.Source, sequences []uint64, l *late, now time.Time) []uint64 {
	p := payment{source.Consumer, source.Incarnation, sequences}
	if o := s.cfg.Local(source.Stream); o != nil && o.Log.ID() == source.ID {
		l.missing = time.Time{}
		done, err := o.take(s.ctx, &p)
		if err != nil {
			return nil
		}
		return done
	}
	a, exists := s.find(source)
	if !exists {
		if l.missing.IsZero() {
			l.missing = now
		}
		if now.Sub(l.missing) > goneAfter {
			return sequences // nobody is left to whom it could be owed
		}
		return nil
	}
	l.missing = time.Time{}
	if a == nil {
		return nil // it is here, and does not work for the time being
	}
	ctx, cancel := context.WithTimeout(s.ctx, payTime)
	defer cancel()
	r, err := s.call(ctx, a, &inquiry{Payment: &p})
	if err != nil {
		return nil
	}
	return r.Done
}

// Settle sees to it that a delivery is acknowledged whose outcome the stream has had before, from somebody who did not say what it was made from;
// it is [ingest.Hooks.Settle]. Nothing is owed: who has published hears that all is well only when the other stream has taken it.
func (s *Stream) Settle(c *causes.Cause, done func(settled bool)) bool {
	if s.knows(c) {
		return true
	}
	if !s.begin(func() { done(s.settleNow(c)) }) {
		done(false)
	}
	return false
}

// settleNow pays an acknowledgement, in several attempts if need be: the delivery may not be in the state of its stream yet.
func (s *Stream) settleNow(c *causes.Cause) bool {
	ctx, cancel := context.WithTimeout(s.ctx, askTime)
	defer cancel()
	for pause := pauseLeast; ; pause *= 2 {
		if len(s.payOne(c.Source, []uint64{c.Sequence}, &late{}, s.cfg.Clock())) > 0 {
			return true
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return false
		}
	}
}

// find returns the assignment of an origin, nil on a server alone, and whether there is one.
func (s *Stream) find(source causes.Source) (*clustered.Assignment, bool) {
	if s.cfg.Asker == nil {
		return nil, s.cfg.Exists(source.ID)
	}
	a, ok := s.cfg.Asker.Cluster.Stream(s.cfg.Account, source.Stream)
	return a, ok && a.ID == source.ID
}
