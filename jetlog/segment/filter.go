package segment

import (
	"iter"
	"strings"
	"unsafe"

	"runnel/subjects"
)

// view is b as a string for the time of a call that keeps nothing of it.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// How a filter is answered
//
// The filter of subjects or tokens in the index of the dictionary says at once that most extents have
// nothing for a filter: the index is in memory after the first question, and nothing is read.
//
// A literal filter is one term of the dictionary: one page is read, and first, last and count of the term
// answer most questions. For a filter with wildcards a scan of the one block at hand comes first: where the
// filter selects much it finds a message there, and it reads no payload.
//
// Where neither suffices, the sequences under all terms that the filter selects are gathered in a set, and
// the set is kept in the cache: a consumer that walks through an extent with a filter that selects little
// pays for its part of the dictionary once, and for each further step a search in a bitmap or list.
// The terms of a filter are together in the dictionary as far as its literal beginning reaches; beyond
// that they are picked out one by one.

// filter is a pattern, prepared. The empty pattern and `>` select everything.
type filter struct {
	pattern string
	all     bool
	literal bool
	prefix  string // what every subject that it selects begins with
}

// newFilter prepares a pattern. One that is not valid selects what subjects.Match says: nothing.
func newFilter(pattern string) filter {
	switch {
	case pattern == "" || pattern == ">":
		return filter{pattern: pattern, all: true}
	case subjects.IsLiteral(pattern):
		return filter{pattern: pattern, literal: true, prefix: pattern}
	}
	f := filter{pattern: pattern}
	for rest := pattern; ; {
		token, after, _ := strings.Cut(rest, ".")
		if token == "*" || token == ">" {
			f.prefix = pattern[:len(pattern)-len(rest)]
			return f
		}
		rest = after
	}
}

// matches reports whether the filter selects a subject.
func (f *filter) matches(subject []byte) bool {
	if f.literal {
		return string(subject) == f.pattern
	}
	return f.all || subjects.Match(f.pattern, view(subject))
}

// mayMatch reports whether a dictionary may have subjects that the filter selects.
func (x *subjectIndex) mayMatch(f *filter) bool {
	if f.all {
		return true
	}
	if f.literal {
		return x.subjects.has(hashText(0, f.pattern))
	}
	found := true
	eachToken(f.pattern, 0, func(position uint64, token string) {
		if token != "*" && token != ">" && !x.tokens.has(hashText(position, token)) {
			found = false
		}
	})
	return found
}

// subjectIndex returns the index of an extent's dictionary, which it reads at the first call. Two that call at
// once may both read it: they read the same, and one copy stays.
func (s *Segment) subjectIndex(e *extent) (*subjectIndex, error) {
	if x := e.index.Load(); x != nil {
		return x, nil
	}
	b, err := s.read(e.subjects, kindSubjects, e.concern())
	if err != nil {
		return nil, err
	}
	x, err := parseSubjectIndex(b)
	if err != nil {
		return nil, s.damaged(e.subjects.offset, e.concern(), err)
	}
	e.index.Store(x)
	return x, nil
}

// visit calls each with the terms of the dictionary that the filter selects, sorted, until it returns
// false or an error. The term is valid during the call.
func (s *Segment) visit(e *extent, f *filter, each func(t *term) (more bool, err error)) error {
	x, err := s.subjectIndex(e)
	if err != nil || !x.mayMatch(f) {
		return err
	}
	start := 0
	if f.prefix != "" {
		start = x.seek(f.prefix)
	}
	for i := start; i < x.pages; i++ {
		content, err := s.cached(x.page(i), kindDictionary, e.concern())
		if err != nil {
			return err
		}
		p := pageReader{cursor: cursor{b: content}, extent: &e.Extent}
		for p.next() {
			name := view(p.subject)
			if !strings.HasPrefix(name, f.prefix) {
				if name > f.prefix {
					return nil
				}
				continue
			}
			if !f.matches(p.subject) {
				if f.literal {
					return nil // longer than the filter, and so is what follows
				}
				continue
			}
			if more, err := each(&p.term); err != nil || !more {
				return err
			}
		}
		if p.bad {
			return s.damaged(x.page(i).offset, e.concern(), errFormat)
		}
	}
	return nil
}

// term returns the entry of a subject, or nil. It is the caller's.
func (s *Segment) term(e *extent, f *filter) (found *term, err error) {
	err = s.visit(e, f, func(t *term) (bool, error) {
		c := *t
		found = &c
		return false, nil
	})
	return found, err
}

// Subjects iterates over the subjects of a stream that a pattern selects, sorted. It ends at the first
// error. The empty pattern selects all.
func (s *Segment) Subjects(stream uint64, pattern string) iter.Seq2[Subject, error] {
	return func(yield func(Subject, error) bool) {
		e, f := s.extent(stream), newFilter(pattern)
		if e == nil {
			return
		}
		err := s.visit(e, &f, func(t *term) (bool, error) {
			return yield(Subject{Subject: string(t.subject), First: t.first, Last: t.last, Count: t.count}, nil), nil
		})
		if err != nil {
			yield(Subject{}, err)
		}
	}
}

// selected returns the set of sequences that a filter selects.
func (s *Segment) selected(e *extent, f *filter) (*set, error) {
	if x := s.lookSet(e, f); x != nil {
		return x, nil
	}
	b, all := newSetBuilder(e.First, e.Last), false
	err := s.visit(e, f, func(t *term) (bool, error) {
		if t.count == e.Count {
			all = true
			return false, nil
		}
		return true, s.addPostings(e, t, b)
	})
	if err != nil {
		return nil, err
	}
	x := b.build()
	if all {
		x = &set{all: true}
	}
	if s.cache != nil {
		key := cacheKey{segment: s.number, offset: e.subjects.offset, filter: f.pattern}
		s.cache.put(&cacheItem{key: key, set: x})
	}
	return x, nil
}

// lookSet returns the set of a filter that is in the cache, or nil.
func (s *Segment) lookSet(e *extent, f *filter) *set {
	if s.cache == nil {
		return nil
	}
	item := s.cache.get(cacheKey{segment: s.number, offset: e.subjects.offset, filter: f.pattern})
	if item == nil {
		return nil
	}
	return item.set
}

// addPostings adds the sequences of a term to a set. Long postings are read past the cache, since what is
// asked for again is the set.
func (s *Segment) addPostings(e *extent, t *term, b *setBuilder) error {
	data, offset := t.inline, e.subjects.offset
	if t.count > 2 && t.form&postingsChunk != 0 {
		var err error
		offset = t.chunk.offset
		if data, err = s.read(t.chunk, kindPostings, e.concern()); err != nil {
			return err
		}
	}
	if err := t.postings(data, b.add); err != nil {
		return s.damaged(offset, e.concern(), err)
	}
	return nil
}

// NextOf returns the first sequence of at least from whose subject the filter selects; ok is false if there
// is none. With a cache, many calls with one filter cost about one.
func (s *Segment) NextOf(stream uint64, pattern string, from uint64) (sequence uint64, ok bool, err error) {
	e, f := s.extent(stream), newFilter(pattern)
	if e == nil || from > e.Last {
		return 0, false, nil
	}
	if f.all {
		return s.next(e, from)
	}
	x := s.lookSet(e, &f)
	if x == nil {
		done := false
		if f.literal {
			sequence, ok, done, err = s.nextByTerm(e, &f, from)
		} else {
			sequence, ok, done, err = s.nextByScan(e, &f, from)
		}
		if done || err != nil {
			return sequence, ok, err
		}
		if x, err = s.selected(e, &f); err != nil {
			return 0, false, err
		}
	}
	if x.all {
		return s.next(e, from)
	}
	sequence, ok = x.next(from)
	return sequence, ok, nil
}

// nextByTerm answers for a literal filter where first and last suffice.
func (s *Segment) nextByTerm(e *extent, f *filter, from uint64) (sequence uint64, ok, done bool, err error) {
	t, err := s.term(e, f)
	switch {
	case err != nil || t == nil || from > t.last:
		return 0, false, true, err
	case from <= t.first:
		return t.first, true, true, nil
	case from == t.last || t.count == 2:
		return t.last, true, true, nil
	}
	return 0, false, false, nil
}

// nextByScan looks through one block: for a filter that selects much, that is all it takes.
func (s *Segment) nextByScan(e *extent, f *filter, from uint64) (sequence uint64, ok, done bool, err error) {
	x, err := s.subjectIndex(e)
	if err != nil || !x.mayMatch(f) {
		return 0, false, true, err
	}
	k := &e.blocks[e.blockAt(from)]
	b, err := s.heads(e, k)
	if err != nil {
		return 0, false, true, err
	}
	w := walker{block: &b}
	seen, selected := -1, false // subject of the entry before, and what the filter said
	for more := w.seek(from); more; more = w.next() {
		if int(w.base.subject) != seen {
			seen, selected = int(w.base.subject), f.matches(w.name)
		}
		if selected {
			return w.sequence, true, true, nil
		}
	}
	if w.bad {
		return 0, false, true, s.malformed(e, k)
	}
	return 0, false, false, nil
}

// LastOf returns the last sequence of at most upTo whose subject the filter selects; ok is false if there
// is none.
func (s *Segment) LastOf(stream uint64, pattern string, upTo uint64) (sequence uint64, ok bool, err error) {
	e, f := s.extent(stream), newFilter(pattern)
	if e == nil || upTo < e.First {
		return 0, false, nil
	}
	if f.all {
		return s.prev(e, upTo)
	}
	x := s.lookSet(e, &f)
	if x == nil {
		done := false
		if f.literal {
			sequence, ok, done, err = s.lastByTerm(e, &f, upTo)
		} else {
			sequence, ok, done, err = s.lastByScan(e, &f, upTo)
		}
		if done || err != nil {
			return sequence, ok, err
		}
		if x, err = s.selected(e, &f); err != nil {
			return 0, false, err
		}
	}
	if x.all {
		return s.prev(e, upTo)
	}
	sequence, ok = x.prev(upTo)
	return sequence, ok, nil
}

// lastByTerm answers for a literal filter where first and last suffice.
func (s *Segment) lastByTerm(e *extent, f *filter, upTo uint64) (sequence uint64, ok, done bool, err error) {
	t, err := s.term(e, f)
	switch {
	case err != nil || t == nil || upTo < t.first:
		return 0, false, true, err
	case upTo >= t.last:
		return t.last, true, true, nil
	case upTo == t.first || t.count == 2:
		return t.first, true, true, nil
	}
	return 0, false, false, nil
}

// lastByScan looks back through one block, like nextByScan.
func (s *Segment) lastByScan(e *extent, f *filter, upTo uint64) (sequence uint64, ok, done bool, err error) {
	x, err := s.subjectIndex(e)
	if err != nil || !x.mayMatch(f) {
		return 0, false, true, err
	}
	sequence, ok, err = s.scanBack(e, &e.blocks[e.blockBefore(upTo)], upTo, f.matches)
	return sequence, ok, ok || err != nil, err
}

// scanBack returns the last sequence of a block that is at most upTo and whose subject matches.
func (s *Segment) scanBack(e *extent, k *blockKey, upTo uint64, matches func([]byte) bool) (last uint64, ok bool, err error) {
	b, err := s.heads(e, k)
	if err != nil {
		return 0, false, err
	}
	w := walker{block: &b}
	for w.next() && w.sequence <= upTo {
		if matches(w.name) {
			last, ok = w.sequence, true
		}
	}
	if w.bad {
		return 0, false, s.malformed(e, k)
	}
	return last, ok, nil
}

// CountOf returns how many messages from a sequence on have a subject that the filter selects.
func (s *Segment) CountOf(stream uint64, pattern string, from uint64) (uint64, error) {
	e, f := s.extent(stream), newFilter(pattern)
	if e == nil || from > e.Last {
		return 0, nil
	}
	if f.all {
		return s.count(e, from)
	}
	if from <= e.First {
		sum := uint64(0)
		err := s.visit(e, &f, func(t *term) (bool, error) {
			sum += t.count
			return true, nil
		})
		return sum, err
	}
	x, err := s.selected(e, &f)
	if err != nil {
		return 0, err
	}
	if x.all {
		return s.count(e, from)
	}
	return x.count(from), nil
}
