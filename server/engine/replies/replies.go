// Package replies remembers which requests that crossed from one account into another wait for answers, and under
// which reply subject the answers come. It has no goroutine and no timer: whoever has a clock calls [Table.Expire]
// now and then.
//
// A reply subject is "_R_.<6>.<6>.<8>": the first token after "_R_" is of the table, the second of the account that
// asked, the last of the request. So all that one account is answered begins alike, and the last token cannot be
// guessed.
package replies

import (
	"encoding/binary"
	"hash/maphash"
	"math/rand/v2"
	"sync"
	"time"
)

// Prefix begins all reply subjects of a Table. No client may ask for answers there.
const Prefix = "_R_."

const (
	tableBytes   = 6 // of the token of a table, and
	accountBytes = 6 // of an account
	uniqueBytes  = 8
	// shardAt is where in a reply subject the character is that tells the shard.
	shardAt  = len(Prefix) + tableBytes + 1
	uniqueAt = shardAt + accountBytes + 1
	shards   = 16
	// Measured ends the reply subjects of requests whose answer is timed.
	Measured = ".T"
)

// Overhead is about what the table itself needs for a request, in bytes.
const Overhead = 192

// digits make up the random tokens.
const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// Request is a request that waits for answers. A tells accounts apart, V is what the caller needs to know about it.
type Request[A comparable, V any] struct {
	// From is the account that asked, and the one whose bounds the request counts against. To is the account that
	// it was sent into: what is published elsewhere is no answer.
	From, To A
	Value    V
	// Lasting requests take any number of answers, until one is said to be the last or the next one takes longer than
	// Patience. Others take one, which must not take longer.
	Lasting  bool
	Patience time.Duration
	// Measured makes the reply subject end with the sign of requests whose answer is timed.
	Measured bool
	// Bytes is how much memory Value keeps, about.
	Bytes int
}

// Bounds is how much may wait for one account at the same time. What comes beyond takes the place of what would have
// expired next.
type Bounds struct {
	Requests int
	Bytes    int // with [Overhead] for each request
}

// Table has the requests that wait. It is made by New and safe for concurrent use.
type Table[A comparable, V any] struct {
	bounds Bounds
	seed   maphash.Seed
	prefix string // of all reply subjects: Prefix, the table's token and a dot
	shards [shards]shard[A, V]
}

// shard has the requests of a part of the accounts.
type shard[A comparable, V any] struct {
	mu     sync.Mutex // guards all below; nothing is called while it is held
	owners map[A]*owner[A, V]
	open   map[uint64]*waiting[A, V] // by the last token
}

// waiting is a request in the queue of the account that made it.
type waiting[A comparable, V any] struct {
	Request[A, V]
	owner    *owner[A, V]
	key      uint64
	deadline time.Time
	at       int // its place in the queue
}

// New returns an empty table.
func New[A comparable, V any](b Bounds) *Table[A, V] {
	t := &Table[A, V]{bounds: b, seed: maphash.MakeSeed()}
	t.prefix = string(append(appendDigits([]byte(Prefix), rand.Uint64(), tableBytes), '.'))
	for i := range t.shards {
		s := &t.shards[i]
		s.owners, s.open = make(map[A]*owner[A, V]), make(map[uint64]*waiting[A, V])
	}
	return t
}

// Prefix is what the reply subjects of this table begin with, and those of no other.
func (t *Table[A, V]) Prefix() string { return t.prefix }

// appendDigits appends n digits that x leads to.
func appendDigits(b []byte, x uint64, n int) []byte {
	for range n {
		b = append(b, digits[x%uint64(len(digits))])
		x /= uint64(len(digits))
	}
	return b
}

// Open has r wait for answers from now on, and appends the reply subject for them to reply. Evicted are the requests
// of the same account that had to go for it; they get no answers any more.
func (t *Table[A, V]) Open(reply []byte, r Request[A, V], now time.Time) (subject []byte, evicted []Request[A, V]) {
	from := len(reply)
	reply = append(reply, t.prefix...)
	reply = append(appendDigits(reply, maphash.Comparable(t.seed, r.From), accountBytes), '.')
	s := t.shard(reply[from:])
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.owners[r.From]
	if o == nil {
		o = &owner[A, V]{}
		s.owners[r.From] = o
	}
	r.Bytes += Overhead
	for len(o.queue) > 0 && (len(o.queue) >= t.bounds.Requests || o.bytes+r.Bytes > t.bounds.Bytes) {
		evicted = append(evicted, o.queue[0].Request)
		s.remove(o.queue[0])
	}
	for {
		reply = appendDigits(reply[:from+uniqueAt], rand.Uint64(), uniqueBytes)
		w := &waiting[A, V]{Request: r, owner: o, key: key(reply[from:]), deadline: now.Add(r.Patience)}
		if s.open[w.key] != nil {
			continue
		}
		s.open[w.key] = w
		o.push(w)
		break
	}
	if r.Measured {
		reply = append(reply, Measured...)
	}
	return reply, evicted
}

// key is the last token of a reply subject as a number.
func key(subject []byte) uint64 {
	return binary.LittleEndian.Uint64(subject[uniqueAt:])
}

// shard is where requests are that have this reply subject.
func (t *Table[A, V]) shard(subject []byte) *shard[A, V] {
	return &t.shards[subject[shardAt]%shards]
}

// Answer finds what was asked by the reply subject on which an answer was published in account at. The request is
// closed by its only answer or by the last one, else its patience begins anew. There is none for a subject that is no
// longer open, or never was.
func (t *Table[A, V]) Answer(at A, subject []byte, last bool, now time.Time) (r Request[A, V], ok bool) {
	s, k, ok := t.parse(subject)
	if !ok {
		return r, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.open[k]
	if !w.takes(at, subject, now) {
		return r, false
	}
	if w.Lasting && !last {
		w.deadline = now.Add(w.Patience)
		w.owner.fix(w.at)
	} else {
		s.remove(w)
	}
	return w.Request, true
}

// Look finds what Answer would find, and changes nothing.
func (t *Table[A, V]) Look(at A, subject []byte, now time.Time) (r Request[A, V], ok bool) {
	s, k, ok := t.parse(subject)
	if !ok {
		return r, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.open[k]
	if !w.takes(at, subject, now) {
		return r, false
	}
	return w.Request, true
}

// takes tells whether what is published on subject in account at is an answer. Expire hands out what is overdue.
func (w *waiting[A, V]) takes(at A, subject []byte, now time.Time) bool {
	return w != nil && w.To == at && w.Measured == (len(subject) > uniqueAt+uniqueBytes) && !w.deadline.Before(now)
}

// Close takes back the request whose answers would come on subject: nobody will answer it.
func (t *Table[A, V]) Close(subject []byte) (r Request[A, V], ok bool) {
	s, k, ok := t.parse(subject)
	if !ok {
		return r, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.open[k]
	if w == nil {
		return r, false
	}
	s.remove(w)
	return w.Request, true
}

// parse finds the place of what waits for answers on subject; it is not ok for one that no table has made.
func (t *Table[A, V]) parse(subject []byte) (s *shard[A, V], k uint64, ok bool) {
	end := uniqueAt + uniqueBytes
	if len(subject) < end || string(subject[:shardAt]) != t.prefix {
		return nil, 0, false
	}
	if rest := string(subject[end:]); rest != "" && rest != Measured {
		return nil, 0, false
	}
	return t.shard(subject), key(subject), true
}

// Expire takes out the requests that were waiting in vain and returns them.
func (t *Table[A, V]) Expire(now time.Time) (expired []Request[A, V]) {
	for i := range t.shards {
		expired = t.shards[i].expire(now, expired)
	}
	return expired
}

func (s *shard[A, V]) expire(now time.Time, expired []Request[A, V]) []Request[A, V] {
	s.mu.Lock()
	defer s.mu.Unlock()
	for a, o := range s.owners {
		for len(o.queue) > 0 && o.queue[0].deadline.Before(now) {
			expired = append(expired, o.queue[0].Request)
			s.remove(o.queue[0])
		}
		if len(o.queue) == 0 {
			delete(s.owners, a) // it may ask again, but not at once
		}
	}
	return expired
}

// remove takes w out. mu is held.
func (s *shard[A, V]) remove(w *waiting[A, V]) {
	delete(s.open, w.key)
	w.owner.remove(w)
}

// Len is how many requests of an account wait.
func (t *Table[A, V]) Len(from A) int {
	tag := appendDigits([]byte(t.prefix), maphash.Comparable(t.seed, from), accountBytes)
	s := t.shard(tag)
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.owners[from]; o != nil {
		return len(o.queue)
	}
	return 0
}
