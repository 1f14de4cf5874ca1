package segment

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
)

// maxFindings is how much Verify reports at most.
const maxFindings = 100

// Verify reads the whole file: every checksum, that the chunks fill the file without a gap, and that
// everything the indexes say about messages, subjects and facts is what is there. It returns all that it finds,
// up to a hundred, joined: each a *Corruption or an error of reading.
//
// It looks at the disk, not at what is in memory or in the cache. It takes 12 bytes of memory a message of the
// largest extent, and its subjects.
func (s *Segment) Verify() error {
	fresh := &Segment{name: s.name, file: s.file}
	if err := fresh.load(func(identity) (frame, error) { return s.frame, nil }); err != nil {
		return err
	}
	v := verifier{Segment: fresh, roster: newRoster(), places: []location{fresh.place}}
	v.wrong(fresh.id == s.id && fresh.checksum == s.checksum, fresh.place.offset, concern{}, errReplaced)
	v.header()
	for i := range fresh.footer.extents {
		v.extent(&fresh.footer.extents[i])
	}
	for i := range fresh.footer.tables {
		v.table(&fresh.footer.tables[i])
	}
	v.tiling()
	return errors.Join(v.findings...)
}

// verifier is one run of Verify. The dictionary is checked by making it again: the messages go into a
// roster, as they did when the file was written, and the two must agree subject by subject.
type verifier struct {
	*Segment
	roster   *roster    // of the extent at hand
	places   []location // of all chunks
	findings []error
}

// found notes an error, if there is one.
func (v *verifier) found(err error) {
	if err != nil && len(v.findings) < maxFindings {
		v.findings = append(v.findings, err)
	}
}

// wrong notes that something is not what the index says.
func (v *verifier) wrong(ok bool, offset uint64, about concern, err error) {
	if !ok {
		v.found(v.damaged(offset, about, err))
	}
}

// header checks the header, which Open does not read.
func (v *verifier) header() {
	b, err := v.readAt(location{bytes: headerBytes}, concern{})
	if err != nil {
		v.found(err)
		return
	}
	id, err := parseIdentity(b)
	if err != nil {
		v.found(v.refuse(0, err))
		return
	}
	v.wrong(id == v.id, 0, concern{}, errHeader)
}

// tiling checks that the chunks fill the file.
func (v *verifier) tiling() {
	slices.SortFunc(v.places, func(a, b location) int { return cmp.Compare(a.offset, b.offset) })
	end := uint64(headerBytes)
	for _, p := range v.places {
		if p.offset != end {
			v.wrong(false, end, concern{}, errPlace)
			return
		}
		end += uint64(p.bytes)
	}
}

// extent checks the blocks and then, if they are good, the dictionary against them.
func (v *verifier) extent(e *extent) {
	v.roster.reset()
	sum, good := Extent{Stream: e.Stream, First: e.First, FirstTime: e.FirstTime}, true
	for i := range e.blocks {
		k := &e.blocks[i]
		v.places = append(v.places, k.headsAt(), k.bodiesAt())
		if err := v.block(e, k, &sum); err != nil {
			v.found(err)
			good = false
		}
	}
	if good {
		v.wrong(sum == e.Extent, v.place.offset, e.concern(), errSummary)
		v.dictionary(e)
		return
	}
	v.found(v.checksums(e))
}

// block checks a block and adds it to the roster and the sum.
func (v *verifier) block(e *extent, k *blockKey, sum *Extent) error {
	b, bodies, err := v.uncached(e, k)
	if err != nil {
		return err
	}
	w := walker{block: &b}
	if number(b.restarts) != 0 || number(b.restarts[4:]) != 0 { // nothing lies before the first entry and its body
		return v.malformed(e, k)
	}
	latest, last, body := b.firstTime, sum.Last, 0
	for w.next() {
		if sum.Count == 0 {
			sum.FirstTime = w.time
		} else if w.sequence <= last {
			return v.damaged(k.offset, e.concernOf(k), errSequence)
		}
		if w.at%restartEvery == 1 { // the restart must be where the entries before end
			r := walker{block: &b}
			r.restart(w.at / restartEvery)
			if !r.next() || r.sequence != w.sequence || r.body != w.body || len(r.b) != len(w.b) {
				return v.malformed(e, k)
			}
		}
		latest, last, body = max(latest, w.time), w.sequence, w.after
		sum.Last, sum.LastTime = w.sequence, w.time
		sum.Count++
		sum.Bytes += w.meta("").Bytes
		v.roster.add(view(w.name), w.sequence)
	}
	switch {
	case w.bad || len(w.b) > 0:
		return v.malformed(e, k)
	case last != k.last || latest != k.latest:
		return v.damaged(k.offset, e.concernOf(k), errSequence)
	case body != len(bodies):
		return v.damaged(k.bodiesAt().offset, e.concernOf(k), errLength)
	}
	return nil
}

// checksums reads a dictionary that cannot be compared with its messages.
func (v *verifier) checksums(e *extent) error {
	v.places = append(v.places, e.subjects)
	return v.terms(e, func(*term, int) error { return nil })
}

// dictionary checks a dictionary against the roster.
func (v *verifier) dictionary(e *extent) {
	v.places = append(v.places, e.subjects)
	r, order, n := v.roster, v.roster.sorted(), 0
	bad := v.damaged(e.subjects.offset, e.concern(), errSubjects)
	err := v.terms(e, func(t *term, page int) error {
		if n == len(order) {
			return bad
		}
		w := &r.rows[order[n]]
		n++
		first, last := r.sequences[w.first], r.sequences[w.last]
		x := e.index.Load()
		if !bytes.Equal(t.subject, r.name(w)) || t.count != uint64(w.count) || t.first != first || t.last != last ||
			x.seek(view(t.subject)) != page {
			return bad
		}
		f := filter{pattern: view(t.subject), literal: true}
		missing := !x.mayMatch(&f)
		eachToken(f.pattern, 0, func(position uint64, token string) {
			missing = missing || !x.tokens.has(hashText(position, token))
		})
		if missing {
			return bad
		}
		return v.postings(e, t, w)
	})
	if err == nil && n != len(order) {
		err = bad
	}
	v.found(err)
}

// terms calls each with all terms of a dictionary and their pages, and notes the places of pages and postings.
func (v *verifier) terms(e *extent, each func(t *term, page int) error) error {
	x, err := v.subjectIndex(e)
	if err != nil {
		return err
	}
	for i := range x.pages {
		at := x.page(i)
		v.places = append(v.places, at)
		content, err := v.read(at, kindDictionary, e.concern())
		if err != nil {
			return err
		}
		p := pageReader{cursor: cursor{b: content}, extent: &e.Extent}
		for p.next() {
			if p.count > 2 && p.form&postingsChunk != 0 {
				v.places = append(v.places, p.term.chunk)
			}
			if err := each(&p.term, i); err != nil {
				return err
			}
		}
		if p.bad {
			return v.damaged(at.offset, e.concern(), errFormat)
		}
	}
	return nil
}

// postings checks the sequences of a term against the roster.
func (v *verifier) postings(e *extent, t *term, w *row) error {
	if t.count > 2 && t.form == postingsAll {
		return nil // as many as the extent has
	}
	b := newSetBuilder(t.first, t.last)
	if err := v.addPostings(e, t, b); err != nil {
		return err
	}
	x, at, same := b.build(), uint64(0), true
	v.roster.each(w, func(sequence uint64) {
		next, ok := x.next(at)
		same = same && ok && next == sequence
		at = sequence + 1
	})
	if !same {
		return v.damaged(e.subjects.offset, e.concern(), errSubjects)
	}
	return nil
}

// table checks a fact table.
func (v *verifier) table(t *factTable) {
	v.places = append(v.places, t.index)
	x, err := v.factIndex(t)
	if err != nil {
		v.found(err)
		return
	}
	var last Hash
	for page := range x.pages {
		at := x.page(page)
		v.places = append(v.places, at)
		p, err := v.factPage(t, x, page, v.read)
		if err != nil {
			v.found(err)
			return
		}
		for i := range p.rows {
			h := Hash(p.hash(i))
			ordered := page == 0 && i == 0 || bytes.Compare(last[:], h[:]) < 0
			fence := i > 0 || x.fence(page) == h.prefix()
			if !ordered || !fence || !x.filter(page).has(h.bloomHash()) {
				v.wrong(false, at.offset, concern{stream: t.Stream}, errFacts)
				return
			}
			last = h
		}
	}
}
