package accounts

import (
	"math"
	"sync"
	"time"
)

// MaxResponses is how many subjects a Responses remembers. When there are more, the
// oldest is forgotten.
const MaxResponses = 1 << 16

// Responses remembers the reply subjects that one connection may answer on. It is
// made by NewResponses, allocates nothing more until something is expected, and is
// safe for concurrent use.
type Responses struct {
	permission ResponsePermission

	mu sync.Mutex // guards all below
	// expected has the same elements as the list from oldest to newest, which is the
	// order in which they expire.
	expected       map[string]*response
	oldest, newest *response
}

// response is a subject on which answers are expected.
type response struct {
	subject    string
	left       int // how many, anyNumber for no limit
	expires    time.Time
	prev, next *response
}

const anyNumber = math.MaxInt

// NewResponses returns a Responses that allows what p says.
func NewResponses(p ResponsePermission) *Responses {
	return &Responses{permission: p.normal()}
}

// Expect lets the connection answer on subject, the reply subject of a message that
// is delivered to it. When answers on it are expected already, these are allowed
// as well.
func (r *Responses) Expect(subject string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.oldest != nil && r.oldest.expired(now) {
		r.remove(r.oldest)
	}
	left := 0
	if before := r.expected[subject]; before != nil {
		left = before.left
		r.remove(before)
	}
	if len(r.expected) >= MaxResponses {
		r.remove(r.oldest)
	}
	e := &response{subject: subject, left: anyNumber}
	if most := r.permission.Max; most > 0 && left <= anyNumber-most {
		e.left = left + most
	}
	if r.permission.Expires > 0 {
		e.expires = now.Add(r.permission.Expires)
	}
	r.add(e)
}

// Allow reports whether the connection may answer on subject now. If so, that is
// one answer less.
func (r *Responses) Allow(subject string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.expected[subject]
	if e == nil {
		return false
	}
	if e.expired(now) {
		r.remove(e)
		return false
	}
	if e.left != anyNumber {
		e.left--
	}
	if e.left == 0 {
		r.remove(e)
	}
	return true
}

// Len returns the number of subjects remembered.
func (r *Responses) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.expected)
}

// add puts e at the end of the list. mu is held.
func (r *Responses) add(e *response) {
	if r.expected == nil {
		r.expected = make(map[string]*response)
	}
	r.expected[e.subject] = e
	e.prev = r.newest
	if e.prev == nil {
		r.oldest = e
	} else {
		e.prev.next = e
	}
	r.newest = e
}

// remove takes e out. mu is held.
func (r *Responses) remove(e *response) {
	delete(r.expected, e.subject)
	if e.prev == nil {
		r.oldest = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		r.newest = e.prev
	} else {
		e.next.prev = e.prev
	}
}

func (e *response) expired(now time.Time) bool {
	return !e.expires.IsZero() && !now.Before(e.expires)
}
