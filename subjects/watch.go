package subjects

import "slices"

// Watch is a place where a Tree says whether one literal subject is matched by
// any of its entries. See Tree.Watch.
type Watch struct {
	subject, queue string
	changed        func(matched bool)
	// count is how many entries match, guarded by the lock of the tree.
	count int
}

// Watch calls changed at once with whether an entry matches subject, and again
// whenever that changes, until Unwatch. With a queue only entries of that queue
// group count, otherwise all. A subject that is not a valid literal is matched
// by none.
//
// Changed is called with the lock of the tree held: it takes note and returns,
// and locks nothing that is held while the tree is called. A tree that nobody
// watches pays nothing for this; otherwise an entry under a literal subject costs
// one look-up, one under a pattern as much as there are watched subjects that
// match it.
func (t *Tree[V]) Watch(subject, queue string, changed func(matched bool)) *Watch {
	w := &Watch{subject: subject, queue: queue, changed: changed}
	valid := ValidLiteral(subject)
	t.mu.Lock()
	defer t.mu.Unlock()
	if valid {
		found := appendRing(nil, t.literals[subject])
		for _, e := range t.wildcards.match(&t.wildcards.root, []byte(subject), found) {
			if w.concerns(e.Queue) {
				w.count++
			}
		}
		t.watches.put(subject, append(t.watches.get(subject), w))
	}
	changed(w.count > 0)
	return w
}

// Unwatch ends a Watch of this tree. Changed is not called any more when it returns.
func (t *Tree[V]) Unwatch(w *Watch) {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.watches.get(w.subject)
	i := slices.Index(all, w)
	switch {
	case i < 0:
	case len(all) == 1:
		t.watches.remove(w.subject)
	default:
		t.watches.put(w.subject, slices.Delete(all, i, i+1))
	}
}

// tell counts e, which came (1) or went (-1), for who watches a subject that it
// matches. The lock is held.
func (t *Tree[V]) tell(e *Entry[V], literal bool, by int) {
	if t.watches.size() == 0 {
		return
	}
	count := func(watches []*Watch) {
		for _, w := range watches {
			if w.concerns(e.Queue) {
				w.add(by)
			}
		}
	}
	if literal {
		count(t.watches.get(e.Subject))
		return
	}
	t.watches.match(e.Subject, count)
}

// concerns tells whether entries of a queue group, empty for none, count.
func (w *Watch) concerns(queue string) bool { return w.queue == "" || w.queue == queue }

func (w *Watch) add(by int) {
	before := w.count > 0
	w.count += by
	if now := w.count > 0; now != before {
		w.changed(now)
	}
}
