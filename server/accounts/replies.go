package accounts

import (
	"math"
	"sync"
	"time"
)

// MaxReplies is how many subjects a Replies remembers. When there are more, the
// oldest permission is lost.
const MaxReplies = 1 << 16

// Replies remembers the reply subjects that one connection may answer on. The zero
// value is ready, allocates nothing until a reply is allowed, and is safe for
// concurrent use.
type Replies struct {
	mu sync.Mutex // guards all below
	// grants has the same elements as the list from oldest to newest, in the order in
	// which they were allowed. Where all expire after the same time, that is the
	// order in which they expire.
	grants         map[string]*grant
	oldest, newest *grant
}

type grant struct {
	subject    string
	left       int // how many replies, unlimitedReplies for any number
	expires    time.Time
	prev, next *grant
}

const unlimitedReplies = math.MaxInt

// Allow lets the connection publish to subject as p says, which has its defaults in
// place (see Profile.Responses). A subject allowed before may be used for the
// replies left then and those allowed now.
func (r *Replies) Allow(subject []byte, p *ResponsePermission, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.expire(now)
	left := 0
	if g := r.grants[string(subject)]; g != nil {
		if !g.expired(now) {
			left = g.left
		}
		r.remove(g)
	}
	for len(r.grants) >= MaxReplies {
		r.remove(r.oldest)
	}
	g := &grant{subject: string(subject), left: unlimitedReplies}
	if p.Max >= 0 && left <= unlimitedReplies-p.Max {
		g.left = left + p.Max
	}
	if p.Expires >= 0 {
		g.expires = now.Add(p.Expires)
	}
	r.add(g)
}

// Use reports whether the connection may publish to subject now, and counts it as
// one reply.
func (r *Replies) Use(subject []byte, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.grants[string(subject)]
	if g == nil {
		return false
	}
	allowed := !g.expired(now) && g.left > 0
	if allowed && g.left != unlimitedReplies {
		g.left--
	}
	if !allowed || g.left == 0 {
		r.remove(g)
	}
	return allowed
}

// Len returns the number of subjects remembered.
func (r *Replies) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.grants)
}

// Clear forgets all.
func (r *Replies) Clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.grants, r.oldest, r.newest = nil, nil, nil
}

// expire removes from the oldest on what has expired.
func (r *Replies) expire(now time.Time) {
	for r.oldest != nil && r.oldest.expired(now) {
		r.remove(r.oldest)
	}
}

func (r *Replies) add(g *grant) {
	if r.grants == nil {
		r.grants = make(map[string]*grant)
	}
	r.grants[g.subject] = g
	g.prev = r.newest
	if g.prev == nil {
		r.oldest = g
	} else {
		g.prev.next = g
	}
	r.newest = g
}

func (r *Replies) remove(g *grant) {
	delete(r.grants, g.subject)
	if g.prev == nil {
		r.oldest = g.next
	} else {
		g.prev.next = g.next
	}
	if g.next == nil {
		r.newest = g.prev
	} else {
		g.next.prev = g.prev
	}
}

func (g *grant) expired(now time.Time) bool {
	return !g.expires.IsZero() && !now.Before(g.expires)
}
