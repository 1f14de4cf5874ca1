package subjects

import (
	"iter"
	"sync"
	"sync/atomic"
)

// pageEntries is how many entries All copies, about, before it gives way.
const pageEntries = 512

// Tree holds entries under patterns and finds those that a subject matches.
// It is made by NewTree and is safe for concurrent use.
//
// Whoever remembers what a match found takes a Stamp first and matches then.
// Insert and Remove change the stamps that they concern before they return, so
// nothing remembered outlives a change that somebody was told of.
type Tree[V any] struct {
	mu sync.RWMutex
	// literals leads from a subject to the ring of its entries. The key is always
	// the string of the ring's head, so that no removed entry's string is kept.
	literals  map[string]*Entry[V]
	wildcards wildcards[V]
	size      int
	watches   table[[]*Watch]

	inserts, removes uint64
	matches          atomic.Uint64

	// generations is nil until somebody wants a stamp, and replaced once, when the
	// tree has grown. It is set, and counters change, under mu only.
	generations atomic.Pointer[generations]
}

// NewTree returns an empty tree.
func NewTree[V any]() *Tree[V] {
	return &Tree[V]{} // small: there may be thousands, most of them empty
}

// Insert adds e. An entry that is in a tree already stays as it is, and one
// whose subject is not a valid pattern is not added.
func (t *Tree[V]) Insert(e *Entry[V]) {
	literal, valid := IsLiteral(e.Subject), ValidPattern(e.Subject)
	t.mu.Lock()
	defer t.mu.Unlock()
	if !valid || e.next != nil {
		return
	}
	if literal {
		if t.literals == nil {
			t.literals = make(map[string]*Entry[V])
		}
		t.literals[e.Subject] = link(t.literals[e.Subject], e)
	} else {
		t.wildcards.insert(e)
	}
	t.size++
	t.inserts++
	t.note(e)
	t.grow()
	t.tell(e, literal, 1)
}

// note counts a change for the stamps that it concerns, if there are any.
func (t *Tree[V]) note(e *Entry[V]) {
	if g := t.generations.Load(); g != nil {
		g.counter(e.Subject).Add(1)
	}
}

// grow moves to many counters once the tree has many entries. The new counters
// are published before the stamps on the old ones are made invalid: see Stamp.
func (t *Tree[V]) grow() {
	old := t.generations.Load()
	if old == nil || t.size < manyEntries || len(old.first) == manyCounters {
		return
	}
	t.generations.Store(newGenerations(manyCounters))
	old.global.Add(1)
}

// Remove takes e out and reports whether it was in the tree. An entry of
// another tree must not be given.
func (t *Tree[V]) Remove(e *Entry[V]) bool {
	literal := IsLiteral(e.Subject)
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.next == nil {
		return false
	}
	if literal {
		t.removeLiteral(e)
	} else {
		t.wildcards.remove(e)
	}
	t.size--
	t.removes++
	t.note(e)
	t.tell(e, literal, -1)
	return true
}

func (t *Tree[V]) removeLiteral(e *Entry[V]) {
	head := t.literals[e.Subject]
	switch next := unlink(head, e); next {
	case nil:
		delete(t.literals, e.Subject)
	case head:
	default:
		t.literals[next.Subject] = next
	}
}

// Match appends to out all entries whose pattern the subject matches, and
// allocates nothing else. The subject is taken literally; one with an empty
// token matches nothing.
func (t *Tree[V]) Match(subject []byte, out []*Entry[V]) []*Entry[V] {
	t.matches.Add(1)
	if !wellFormed(subject) {
		return out
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	out = appendRing(out, t.literals[string(subject)])
	return t.wildcards.match(&t.wildcards.root, subject, out)
}

// MatchPrefix appends to out the entries under wildcard patterns that every
// subject of the form prefix + one token matches. The prefix ends with a dot.
// Uniform reports that these are all wildcard entries such a subject can match;
// it is false when some depend on the last token, and for a prefix that is not
// one. Entries under literal subjects are not considered: see HasLiteral.
//
// A stamp of the prefix itself covers this result.
func (t *Tree[V]) MatchPrefix(prefix []byte, out []*Entry[V]) (matched []*Entry[V], uniform bool) {
	return t.matchPrefix(prefix, false, out)
}

// MatchBelow is MatchPrefix for the subjects of the form prefix + one token or
// more. A prefix of at least two tokens is needed for its stamp to cover the result.
func (t *Tree[V]) MatchBelow(prefix []byte, out []*Entry[V]) (matched []*Entry[V], uniform bool) {
	return t.matchPrefix(prefix, true, out)
}

func (t *Tree[V]) matchPrefix(prefix []byte, deep bool, out []*Entry[V]) (matched []*Entry[V], uniform bool) {
	t.matches.Add(1)
	last := len(prefix) - 1
	if last < 0 || prefix[last] != separator || !wellFormed(prefix[:last]) {
		return out, false
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	uniform = true
	out = t.wildcards.matchPrefix(&t.wildcards.root, prefix, deep, out, &uniform)
	return out, uniform
}

// HasLiteral reports whether an entry has exactly this subject, without
// wildcards.
func (t *Tree[V]) HasLiteral(subject []byte) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.literals[string(subject)] != nil
}

// Stamp returns a stamp for the subject, to be taken before a match whose
// result is remembered. But for the first of a tree it takes no lock and does
// not allocate.
func (t *Tree[V]) Stamp(subject []byte) Stamp {
	for {
		g := t.generations.Load()
		if g == nil {
			g = t.begin()
		}
		s := g.stamp(subject)
		// Were g replaced before its counters were read, the change that makes
		// stamps on g invalid might be part of this one, which then would be valid
		// for ever.
		if t.generations.Load() == g {
			return s
		}
	}
}

// begin counts changes from now on.
func (t *Tree[V]) begin() *generations {
	t.mu.Lock()
	defer t.mu.Unlock()
	g := t.generations.Load()
	if g == nil {
		counters := fewCounters
		if t.size >= manyEntries {
			counters = manyCounters
		}
		g = newGenerations(counters)
		t.generations.Store(g)
	}
	return g
}

// Invalidate makes every stamp of the tree invalid, for a change that the tree does not know of.
func (t *Tree[V]) Invalidate() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if g := t.generations.Load(); g != nil {
		g.global.Add(1)
	}
}

// Len returns the number of entries.
func (t *Tree[V]) Len() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.size
}

// Counters returns how often entries were inserted and removed and how often
// the tree was asked for matches.
func (t *Tree[V]) Counters() (inserts, removes, matches uint64) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.inserts, t.removes, t.matches.Load()
}

// All iterates over the entries in no particular order. The loop may take its
// time and may change the tree: no lock is held meanwhile. Entries that stay in
// the tree throughout come exactly once, those inserted or removed during the
// loop at least may.
func (t *Tree[V]) All() iter.Seq[*Entry[V]] {
	return func(yield func(*Entry[V]) bool) {
		var page []*Entry[V]
		visit := func(head *Entry[V]) bool {
			page = appendRing(page, head)
			if len(page) < pageEntries {
				return true
			}
			t.mu.RUnlock()
			ok := each(page, yield)
			page = page[:0]
			t.mu.RLock()
			return ok
		}
		t.mu.RLock()
		ok := t.rings(visit)
		t.mu.RUnlock()
		if ok {
			each(page, yield)
		}
	}
}

// rings calls visit with the head of every ring until visit returns false, and
// reports whether it never did. It is called with the lock held, which visit
// may give up for a while: iteration over a map allows for changes.
func (t *Tree[V]) rings(visit func(*Entry[V]) bool) bool {
	for _, head := range t.literals {
		if !visit(head) {
			return false
		}
	}
	return t.wildcards.rings(visit)
}

func each[V any](page []*Entry[V], yield func(*Entry[V]) bool) bool {
	for _, e := range page {
		if !yield(e) {
			return false
		}
	}
	return true
}
