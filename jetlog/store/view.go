package store

import (
	"sync"

	"runnel/jetlog"
	"runnel/jetlog/layer"
	"runnel/jetlog/messages"
)

// look is one call of View.
type look struct {
	body  messages.Body // a copy, that the asker belongs to
	asker layer.Asker
}

// looks keeps them for further use.
type looks struct{ pool sync.Pool }

func (p *looks) get() *look {
	if l, ok := p.pool.Get().(*look); ok {
		return l
	}
	return &look{}
}

func (p *looks) put(l *look) {
	*l = look{}
	p.pool.Put(l)
}

// View calls do with the stream's state and messages, which do not change meanwhile. do must neither
// change nor keep what it is given, and should be quick: commands of the stream wait for it.
//
// The messages answer from memory. Where that does not suffice they fail; then the answer is fetched
// while nothing is locked, and do is called once more. So do begins anew each time, and only its last call
// counts. Who goes through many messages uses Read.
func (t *Stream) View(do func(*jetlog.Stream, jetlog.Messages) error) error {
	l := t.store.pools.looks.get()
	defer t.store.pools.looks.put(l)
	for {
		again, err := t.attempt(l, do)
		if !again || err != nil {
			return err
		}
		l.asker.Learn()
	}
}

// attempt calls do with what an asker knows; again is set if that did not suffice.
func (t *Stream) attempt(l *look, do func(*jetlog.Stream, jetlog.Messages) error) (again bool, err error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.state == nil {
		return false, t.Err()
	}
	if t.body == nil {
		return false, do(t.state, t.messages)
	}
	l.body = *t.body
	l.body.Asker = &l.asker
	err = do(t.state, &l.body)
	if again, failure := l.asker.Pending(); again {
		return true, failure
	}
	return false, err
}

// still is View for who goes through much at once: commands wait while it reads.
func (t *Stream) still(do func(*jetlog.Stream, jetlog.Messages) error) error {
	l := t.store.pools.looks.get()
	defer t.store.pools.looks.put(l)
	l.asker.Direct = true
	_, err := t.attempt(l, do)
	return err
}
