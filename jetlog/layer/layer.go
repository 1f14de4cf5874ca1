package layer

import (
	"iter"

	"runnel/jetlog"
	"runnel/jetlog/manifest"
	"runnel/jetlog/segment"
	"runnel/subjects"
)

// Layer is a part of a stream's messages that no longer changes: a file, or a memory table that is
// being written into one. What has been removed since is not its matter: it gives everything that it
// has. Sequences of 0 stand for none.
type Layer interface {
	Span() *Span
	Meta(a *Asker, seq uint64) (jetlog.Meta, error)
	Load(a *Asker, seq uint64) (jetlog.Message, error)
	NextOf(a *Asker, filter jetlog.Filter, from uint64) (uint64, error)
	LastOf(a *Asker, filter jetlog.Filter, upTo uint64) (uint64, error)
	CountOf(a *Asker, filter jetlog.Filter, from uint64) (uint64, error)
	Subjects(a *Asker, filter jetlog.Filter) iter.Seq2[string, error]
	FirstAt(a *Asker, time int64) (uint64, error)
}

// Span is what a layer has, and how much of it has gone.
type Span struct {
	First, Last  uint64
	LastTime     int64
	Count, Bytes uint64
	Removed      uint64 // messages that have gone, or unknown
	RemovedBytes uint64
}

// Live returns what is left; ok is false if that was not counted.
func (s *Span) Live() (count, bytes uint64, ok bool) {
	if s.Removed == manifest.Unknown {
		return 0, 0, false
	}
	return s.Count - s.Removed, s.Bytes - s.RemovedBytes, true
}

// Part is what a file has of one stream.
type Part struct {
	Spanned Span
	Stream  uint64
	File    *File
	Purged  uint64 // as it was when the facts were written
	IDTime  int64  // time of the last message id among the facts, 0 for none
	// Covered: what the file says of subjects is in a later file too, and is not asked for. Whoever changes it holds the
	// lock of the stream, and there is one who does.
	Covered bool
}

// Span implements Layer.
func (p *Part) Span() *Span { return &p.Spanned }

// Has reports whether the file has messages of the stream, not only facts.
func (p *Part) Has() bool { return p.Spanned.Count > 0 }

// Meta implements Layer.
func (p *Part) Meta(a *Asker, seq uint64) (jetlog.Meta, error) {
	x, err := p.ask(a, question{kind: askMeta, number: seq})
	if !x.ok || err != nil {
		return jetlog.Meta{}, err
	}
	m := &x.message
	return jetlog.Meta{Sequence: m.Sequence, Time: m.Time, Subject: m.Subject, Bytes: m.Bytes, Expires: m.Expires}, nil
}

// Load implements Layer.
func (p *Part) Load(a *Asker, seq uint64) (jetlog.Message, error) {
	x, err := p.ask(a, question{kind: askLoad, number: seq})
	if !x.ok || err != nil {
		return jetlog.Message{}, err
	}
	return MessageOf(&x.message), nil
}

// MessageOf is a message of a file as everybody else knows it.
func MessageOf(m *segment.Message) jetlog.Message {
	return jetlog.Message{Sequence: m.Sequence, Time: m.Time, Subject: m.Subject, Header: m.Header, Payload: m.Payload}
}

// FirstAt implements Layer.
func (p *Part) FirstAt(a *Asker, time int64) (uint64, error) {
	return found(p.ask(a, question{kind: askFirstAt, number: uint64(time)}))
}

// found makes "there is none" the sequence 0, as everywhere above the files.
func found(x answer, err error) (uint64, error) {
	if !x.ok || err != nil {
		return 0, err
	}
	return x.number, nil
}

// NextOf asks for each pattern: the file finds the next of one by its index.
func (p *Part) NextOf(a *Asker, filter jetlog.Filter, from uint64) (uint64, error) {
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

// LastOf implements Layer.
func (p *Part) LastOf(a *Asker, filter jetlog.Filter, upTo uint64) (uint64, error) {
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

// CountOf adds up what the index says for each pattern, if no message can match two of them.
func (p *Part) CountOf(a *Asker, filter jetlog.Filter, from uint64) (uint64, error) {
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
	seq, err := p.NextOf(a, filter, from)
	for ; err == nil && seq != 0; seq, err = p.NextOf(a, filter, seq+1) {
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

// Subjects goes through the dictionary, which is sorted.
func (p *Part) Subjects(a *Asker, filter jetlog.Filter) iter.Seq2[string, error] {
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

// Entry describes the part for the manifest.
func (p *Part) Entry() manifest.Part {
	e := manifest.Part{File: p.File.Number, Purged: p.Purged, IDTime: p.IDTime, Removed: p.Spanned.Removed, Bytes: p.Spanned.RemovedBytes, Covered: p.Covered}
	if e.Removed == manifest.Unknown {
		e.Bytes = 0
	}
	return e
}

// Fact returns what the facts say under a hash.
func (p *Part) Fact(a *Asker, k segment.FactKind, h segment.Hash) (segment.Value, bool, error) {
	x, err := p.ask(a, question{kind: askFact, fact: k, hash: h})
	return x.value, x.ok, err
}

// Table is a memory table that is frozen. It knows the answer to everything.
type Table struct {
	Spanned Span
	Memory  *jetlog.Memory
}

// Span implements Layer.
func (t *Table) Span() *Span { return &t.Spanned }

// Meta implements Layer.
func (t *Table) Meta(_ *Asker, seq uint64) (jetlog.Meta, error) { return t.Memory.Meta(seq) }

// Load implements Layer.
func (t *Table) Load(_ *Asker, seq uint64) (jetlog.Message, error) { return t.Memory.Load(seq) }

// FirstAt implements Layer.
func (t *Table) FirstAt(_ *Asker, time int64) (uint64, error) { return t.Memory.FirstAfter(time) }

// NextOf implements Layer.
func (t *Table) NextOf(_ *Asker, filter jetlog.Filter, from uint64) (uint64, error) {
	return t.Memory.NextOf(filter, from)
}

// LastOf implements Layer.
func (t *Table) LastOf(_ *Asker, filter jetlog.Filter, upTo uint64) (uint64, error) {
	return t.Memory.LastOf(filter, upTo)
}

// CountOf implements Layer.
func (t *Table) CountOf(_ *Asker, filter jetlog.Filter, from uint64) (uint64, error) {
	return t.Memory.Count(filter, from)
}

// Subjects implements Layer.
func (t *Table) Subjects(_ *Asker, filter jetlog.Filter) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		// Memory tables cannot fail.
		_ = t.Memory.Subjects(filter, func(subject string, _ jetlog.SubjectState) bool { return yield(subject, nil) })
	}
}
