package store

import (
	"iter"

	"runnel/jetlog"
	"runnel/jetlog/manifest"
	"runnel/jetlog/segment"
	"runnel/subjects"
)

// layer is a part of a stream's messages that no longer changes: a file, or a memory table that is
// being written into one. What has been removed since is not its matter: it gives everything that it
// has. Sequences of 0 stand for none.
type layer interface {
	span() *span
	meta(a *asker, seq uint64) (jetlog.Meta, error)
	load(a *asker, seq uint64) (jetlog.Message, error)
	nextOf(a *asker, filter jetlog.Filter, from uint64) (uint64, error)
	lastOf(a *asker, filter jetlog.Filter, upTo uint64) (uint64, error)
	countOf(a *asker, filter jetlog.Filter, from uint64) (uint64, error)
	subjects(a *asker, filter jetlog.Filter) iter.Seq2[string, error]
	firstAt(a *asker, time int64) (uint64, error)
}

// span is what a layer has, and how much of it has gone.
type span struct {
	first, last  uint64
	lastTime     int64
	count, bytes uint64
	removed      uint64 // messages that have gone, or unknown
	removedBytes uint64
}

// live returns what is left; ok is false if that was not counted.
func (s *span) live() (count, bytes uint64, ok bool) {
	if s.removed == manifest.Unknown {
		return 0, 0, false
	}
	return s.count - s.removed, s.bytes - s.removedBytes, true
}

// part is what a file has of one stream.
type part struct {
	spanned span
	stream  uint64
	file    *file
	purged  uint64 // as it was when the facts were written
	idTime  int64  // time of the last message id among the facts, 0 for none
}

func (p *part) span() *span { return &p.spanned }

// has reports whether the file has messages of the stream, not only facts.
func (p *part) has() bool { return p.spanned.count > 0 }

func (p *part) meta(a *asker, seq uint64) (jetlog.Meta, error) {
	x, err := p.ask(a, question{kind: askMeta, number: seq})
	if !x.ok || err != nil {
		return jetlog.Meta{}, err
	}
	m := &x.message
	return jetlog.Meta{Sequence: m.Sequence, Time: m.Time, Subject: m.Subject, Bytes: m.Bytes, Expires: m.Expires}, nil
}

func (p *part) load(a *asker, seq uint64) (jetlog.Message, error) {
	x, err := p.ask(a, question{kind: askLoad, number: seq})
	if !x.ok || err != nil {
		return jetlog.Message{}, err
	}
	return messageOf(&x.message), nil
}

func messageOf(m *segment.Message) jetlog.Message {
	return jetlog.Message{Sequence: m.Sequence, Time: m.Time, Subject: m.Subject, Header: m.Header, Payload: m.Payload}
}

func (p *part) firstAt(a *asker, time int64) (uint64, error) {
	return found(p.ask(a, question{kind: askFirstAt, number: uint64(time)}))
}

// found makes "there is none" the sequence 0, as everywhere above the files.
func found(x answer, err error) (uint64, error) {
	if !x.ok || err != nil {
		return 0, err
	}
	return x.number, nil
}

// nextOf asks for each pattern: the file finds the next of one by its index.
func (p *part) nextOf(a *asker, filter jetlog.Filter, from uint64) (uint64, error) {
	if filter.All() {
		return found(p.ask(a, question{kind: askNext, number: from}))
	}
	first := uint64(0)
	for _, pattern := range filter {
		seq, err := found(p.ask(a, question{kind: askNext, pattern: pattern, number: from}))
		if err != nil {
			return 0, err
		}
		if seq != 0 && (first == 0 || seq < first) {
			first = seq
		}
	}
	return first, nil
}

func (p *part) lastOf(a *asker, filter jetlog.Filter, upTo uint64) (uint64, error) {
	if filter.All() {
		return found(p.ask(a, question{kind: askLast, number: upTo}))
	}
	last := uint64(0)
	for _, pattern := range filter {
		seq, err := found(p.ask(a, question{kind: askLast, pattern: pattern, number: upTo}))
		if err != nil {
			return 0, err
		}
		last = max(last, seq)
	}
	return last, nil
}

// countOf adds up what the index says for each pattern, if no message can match two of them.
func (p *part) countOf(a *asker, filter jetlog.Filter, from uint64) (uint64, error) {
	if filter.All() {
		x, err := p.ask(a, question{kind: askCount, number: from})
		return x.number, err
	}
	sum := uint64(0)
	if disjoint(filter) {
		for _, pattern := range filter {
			x, err := p.ask(a, question{kind: askCount, pattern: pattern, number: from})
			if err != nil {
				return 0, err
			}
			sum += x.number
		}
		return sum, nil
	}
	seq, err := p.nextOf(a, filter, from)
	for ; err == nil && seq != 0; seq, err = p.nextOf(a, filter, seq+1) {
		sum++
	}
	return sum, err
}

// disjoint reports whether no message matches two patterns of the filter.
func disjoint(filter jetlog.Filter) bool {
	for i, a := range filter {
		for _, b := range filter[i+1:] {
			if a == b || subjects.Overlap(a, b) {
				return false
			}
		}
	}
	return true
}

// subjects goes through the dictionary, which is sorted.
func (p *part) subjects(a *asker, filter jetlog.Filter) iter.Seq2[string, error] {
	pattern := ""
	if len(filter) == 1 {
		pattern = filter[0]
	}
	return func(yield func(string, error) bool) {
		x, err := p.ask(a, question{kind: askSubjects, pattern: pattern})
		if err != nil {
			yield("", err)
			return
		}
		for _, subject := range x.subjects {
			if (len(filter) < 2 || filter.Matches(subject)) && !yield(subject, nil) {
				return
			}
		}
	}
}

// fact returns what the facts say under a hash.
func (p *part) fact(a *asker, k segment.FactKind, h segment.Hash) (segment.Value, bool, error) {
	x, err := p.ask(a, question{kind: askFact, fact: k, hash: h})
	return x.value, x.ok, err
}

// table is a memory table that is frozen. It knows the answer to everything.
type table struct {
	spanned span
	memory  *jetlog.Memory
}

func (t *table) span() *span { return &t.spanned }

func (t *table) meta(_ *asker, seq uint64) (jetlog.Meta, error) { return t.memory.Meta(seq) }

func (t *table) load(_ *asker, seq uint64) (jetlog.Message, error) { return t.memory.Load(seq) }

func (t *table) firstAt(_ *asker, time int64) (uint64, error) { return t.memory.FirstAfter(time) }

func (t *table) nextOf(_ *asker, filter jetlog.Filter, from uint64) (uint64, error) {
	return t.memory.NextOf(filter, from)
}

func (t *table) lastOf(_ *asker, filter jetlog.Filter, upTo uint64) (uint64, error) {
	return t.memory.LastOf(filter, upTo)
}

func (t *table) countOf(_ *asker, filter jetlog.Filter, from uint64) (uint64, error) {
	return t.memory.Count(filter, from)
}

func (t *table) subjects(_ *asker, filter jetlog.Filter) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		// Memory tables cannot fail.
		_ = t.memory.Subjects(filter, func(subject string, _ jetlog.SubjectState) bool { return yield(subject, nil) })
	}
}
