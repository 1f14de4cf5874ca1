package layer

import (
	"errors"

	"runnel/jetlog/segment"
)

// How a question is answered that needs a disk, while nothing is locked
//
// Whoever holds the lock of a stream gets answers about files from memory alone. Where that does not
// suffice the answer is ErrCold, and the asker notes the question. The lock is given back, the question is
// put to the file, the asker gets the answer, and everything begins anew with what he knows. Files
// never change, so that an answer stays right as long as the stream has the file; and all that changes
// was looked at under one lock in the end, so that the whole is as of one moment.
//
// To read first and to look afterwards whether that is still so would do for one message (see Load), but not
// for a count or the state of a subject, which go together from many answers.

// question is one that a file answers about a stream.
type question struct {
	part    *Part
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
	stream := q.part.Stream
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

// ErrCold is the error for a question that only a disk can answer: its asker has it.
var ErrCold = errors.New("not in memory")

// Asker is what one who looks at a stream has had answered so far, and what he has to ask. It is for one
// goroutine. Without an asker nothing is answered but from memory.
type Asker struct {
	answers  map[question]answer
	Direct   bool // reads by itself
	Asked    bool // question is set: the last attempt was without result
	question question
}

// Direct is the asker of those who may read at any time: nobody waits for what they have locked. It does
// not change.
var Direct = &Asker{Direct: true}

// rounds is after how many answers an asker reads by itself, although a lock is held: what goes through
// a lot is not to begin anew for ever.
const rounds = 256

// ask answers a question.
func (p *Part) ask(a *Asker, q question) (answer, error) {
	q.part = p
	if a != nil {
		if a.Direct {
			x := q.put(p.File.Segment)
			return x, x.err
		}
		if x, ok := a.answers[q]; ok {
			return x, x.err
		}
	}
	x := q.put(p.File.cached)
	if errors.Is(x.err, segment.ErrCold) {
		if x.err = ErrCold; a != nil {
			a.question, a.Asked = q, true
		}
	}
	return x, x.err
}

// Pending reports whether there is a question, and keeps the file open that it is for. The caller holds the
// lock of the stream.
func (a *Asker) Pending() (bool, error) {
	if !a.Asked {
		return false, nil
	}
	err := a.question.part.File.Enter()
	a.Asked = err == nil
	return true, err
}

// Learn puts the question to the file, and leaves that.
func (a *Asker) Learn() {
	if a.answers == nil {
		a.answers = map[question]answer{}
	}
	f := a.question.part.File
	a.answers[a.question] = a.question.put(f.Segment)
	f.Leave()
	a.Asked, a.Direct = false, len(a.answers) >= rounds
}

// Forget makes it new. Most of the time it is.
func (a *Asker) Forget() {
	if a.answers != nil {
		*a = Asker{}
	}
}
