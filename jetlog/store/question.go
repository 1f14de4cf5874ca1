package store

import (
	"errors"
	"sync"

	"runnel/jetlog"
	"runnel/jetlog/segment"
)

// How a question is answered that needs a disk, while nothing is locked
//
// Whoever holds the lock of a stream gets answers about files from memory alone. Where that does not
// suffice the answer is errCold, and the asker notes the question. The lock is given back, the question is
// put to the file, the asker gets the answer, and everything begins anew with what he knows. Files
// never change, so that an answer stays right as long as the stream has the file; and all that changes
// was looked at under one lock in the end, so that the whole is as of one moment.
//
// To read first and to look afterwards whether that is still so would do for one message (see Load), but not
// for a count or the state of a subject, which go together from many answers.

// question is one that a file answers about a stream.
type question struct {
	part    *part
	kind    questionKind
	number  uint64 // a sequence, or a time
	pattern string
	fact    segment.FactKind
	hash    segment.Hash
}

type questionKind uint8

const (
	askMeta questionKind = iota
	askLoad
	askNext
	askLast
	askCount
	askFirstAt
	askFact
	askSubjects
)

// answer is what it says; which field is meant goes with the question.
type answer struct {
	ok       bool
	number   uint64
	message  segment.Message
	value    segment.Value
	subjects []string
	err      error
}

// put puts the question to a file, or to what memory has of it.
func (q *question) put(s *segment.Segment) (a answer) {
	stream := q.part.stream
	switch q.kind {
	case askMeta:
		var m segment.Meta
		m, a.ok, a.err = s.Meta(stream, q.number)
		a.message = segment.Message{Sequence: m.Sequence, Time: m.Time, Expires: m.Expires, Bytes: m.Bytes, Subject: m.Subject}
	case askLoad:
		a.message, a.ok, a.err = s.Load(stream, q.number)
	case askNext:
		a.number, a.ok, a.err = s.NextOf(stream, q.pattern, q.number)
	case askLast:
		a.number, a.ok, a.err = s.LastOf(stream, q.pattern, q.number)
	case askCount:
		a.number, a.err = s.CountOf(stream, q.pattern, q.number)
	case askFirstAt:
		a.number, a.ok, a.err = s.FirstAt(stream, int64(q.number))
	case askFact:
		a.value, a.ok, a.err = s.Fact(stream, q.fact, q.hash)
	case askSubjects:
		for x, err := range s.Subjects(stream, q.pattern) {
			if a.err = err; err != nil {
				break
			}
			a.subjects = append(a.subjects, x.Subject)
		}
	}
	return a
}

// errCold is the error for a question that only a disk can answer: its asker has it.
var errCold = errors.New("not in memory")

// asker is what one who looks at a stream has had answered so far, and what he has to ask. It is for one
// goroutine. Without an asker nothing is answered but from memory.
type asker struct {
	answers  map[question]answer
	direct   bool // reads by itself
	asked    bool // question is set: the last attempt was without result
	question question
}

// direct is the asker of those who may read at any time: nobody waits for what they have locked. It does
// not change.
var direct = &asker{direct: true}

// rounds is after how many answers an asker reads by itself, although a lock is held: what goes through
// a lot is not to begin anew for ever.
const rounds = 256

// ask answers a question.
func (p *part) ask(a *asker, q question) (answer, error) {
	q.part = p
	if a != nil {
		if a.direct {
			x := q.put(p.file.segment)
			return x, x.err
		}
		if x, ok := a.answers[q]; ok {
			return x, x.err
		}
	}
	x := q.put(p.file.cached)
	if errors.Is(x.err, segment.ErrCold) {
		if x.err = errCold; a != nil {
			a.question, a.asked = q, true
		}
	}
	return x, x.err
}

// pending reports whether there is a question, and keeps the file open that it is for. The caller holds the
// lock of the stream.
func (a *asker) pending() (bool, error) {
	if !a.asked {
		return false, nil
	}
	err := a.question.part.file.enter()
	a.asked = err == nil
	return true, err
}

// learn puts the question to the file, and leaves that.
func (a *asker) learn() {
	if a.answers == nil {
		a.answers = map[question]answer{}
	}
	f := a.question.part.file
	a.answers[a.question] = a.question.put(f.segment)
	f.leave()
	a.asked, a.direct = false, len(a.answers) >= rounds
}

// forget makes it new. Most of the time it is.
func (a *asker) forget() {
	if a.answers != nil {
		*a = asker{}
	}
}

// look is one call of View.
type look struct {
	body  body // a copy, that the asker belongs to
	asker asker
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
		l.asker.learn()
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
	l.body.asker = &l.asker
	err = do(t.state, &l.body)
	if again, failure := l.asker.pending(); again {
		return true, failure
	}
	return false, err
}

// still is View for who goes through much at once: commands wait while it reads.
func (t *Stream) still(do func(*jetlog.Stream, jetlog.Messages) error) error {
	l := t.store.pools.looks.get()
	defer t.store.pools.looks.put(l)
	l.asker.direct = true
	_, err := t.attempt(l, do)
	return err
}
