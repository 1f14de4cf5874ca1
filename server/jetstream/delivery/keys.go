package delivery

import (
	"context"
	"fmt"

	"runnel/server/jetstream/delivery/ahead"
)

// Keys is what a consumer with keys has out.
type Keys struct {
	// Keyed is false for a consumer without keys, of which nothing else is told.
	Keyed bool
	ahead.Shown
}

// asked is somebody who wants to know about keys.
type asked struct {
	most int
	told chan<- toldKeys
}

type toldKeys struct {
	keys Keys
	err  error
}

// Keys returns what a consumer has out, up to so many keys; it is false if there is no such consumer. The error is the context's,
// or that messages cannot be read.
func (s *Stream) Keys(ctx context.Context, consumer string, most int) (Keys, bool, error) {
	told := make(chan toldKeys, 1)
	c := s.consumer(consumer)
	if c == nil || !c.post(func(b *mailbox) { b.asked = append(b.asked, asked{most, told}) }) {
		return Keys{}, false, nil
	}
	select {
	case t := <-told:
		return t.keys, true, t.err
	case <-ctx.Done():
		return Keys{}, true, fmt.Errorf("ask for the keys of consumer %q: %w", consumer, ctx.Err())
	}
}

// showKeys answers those who want to know about keys, once the lookout knows what was delivered.
func (t *turn) showKeys(list []asked) {
	s := t.session
	s.asked = append(s.asked, list...)
	if len(s.asked) == 0 {
		return
	}
	var answer toldKeys
	if answer.keys.Keyed = t.set.ahead.Keyed(); answer.keys.Keyed {
		if !t.scout() || t.c.lookout == nil {
			return // when what is under way has landed
		}
		ready, err := t.c.lookout.Prepare(source{t})
		if err == nil && !ready {
			t.more = true
			return
		}
		answer.err = err
	}
	for _, a := range s.asked {
		if answer.keys.Keyed && answer.err == nil {
			answer.keys.Shown, answer.err = t.c.lookout.Show(source{t}, a.most)
		}
		a.told <- answer
	}
	s.asked = nil
}
