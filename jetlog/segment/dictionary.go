package segment

import (
	"bytes"
	"encoding/binary"
	"sort"
)

// A dictionary is the subjects of an extent in pages, sorted; page entries are:
//
//	uvarint bytes shared with the subject before in the page | uvarint length of the rest | the rest
//	uvarint count | uvarint first - first of the extent
//	if count > 1: uvarint last - first
//	if count > 2: form; for postingsChunk uvarint offset, uvarint bytes of the chunk;
//	              else, but for postingsAll, uvarint length, postings
//
// Its index, the chunk of kindSubjects, is kept in memory once it was needed:
//
//	pages u32 | subjects u32 | bytes of the subject filter u32 | bytes of the token filter u32
//	page: {offset u64, bytes u32, end of its first subject in what follows u32}
//	first subjects of the pages, one after the other | subject filter | token filter
const (
	subjectIndexBytes = 16
	fenceBytes        = 16
	maxPageBytes      = 256 << 10 // of a page once opened, and of its subjects once unfolded
)

// dictionaryBuilder writes the dictionary of an extent.
type dictionaryBuilder struct {
	page, fences, firsts, scratch []byte

	pages    int
	unfolded int // length of the page's subjects
	prev     []byte
	subjects bloom
	tokens   *hashSet
}

// writeDictionary writes the subjects of the roster and returns where their index is.
func (w *Writer) writeDictionary(e *Extent) location {
	r, d := w.roster, &w.dictionary
	*d = dictionaryBuilder{
		page: d.page[:0], fences: d.fences[:0], firsts: d.firsts[:0], scratch: d.scratch[:0],
		subjects: make(bloom, bloomBytes(len(r.rows))), tokens: newHashSet(),
	}
	for _, i := range r.sorted() {
		row := &r.rows[i]
		name := r.name(row)
		d.filter(name)
		d.append(w, e, row, name)
		d.prev = name
		if len(d.page) >= w.pageBytes || d.unfolded >= maxPageBytes/2 {
			w.writePage()
		}
	}
	w.writePage()
	tokens := d.tokens.bloom()
	var index []byte
	index = binary.LittleEndian.AppendUint32(index, uint32(d.pages))
	index = binary.LittleEndian.AppendUint32(index, uint32(len(r.rows)))
	index = binary.LittleEndian.AppendUint32(index, uint32(len(d.subjects)))
	index = binary.LittleEndian.AppendUint32(index, uint32(len(tokens)))
	index = append(append(index, d.fences...), d.firsts...)
	return w.chunk(kindSubjects, append(append(index, d.subjects...), tokens...))
}

// filter adds a subject to the filters. Tokens that it shares with the subject before are there already.
func (d *dictionaryBuilder) filter(name []byte) {
	d.subjects.add(hashText(0, name))
	shared := sharedBytes(name, d.prev)
	from := bytes.LastIndexByte(name[:shared], '.') + 1
	eachToken(view(name), from, func(position uint64, token string) { d.tokens.add(hashText(position, token)) })
}

// append adds a subject to the page. What subjects in a page share is stored once, and the first of each page
// is stored whole, in the page and in the index.
func (d *dictionaryBuilder) append(w *Writer, e *Extent, s *row, name []byte) {
	shared := 0
	if len(d.page) > 0 {
		shared = sharedBytes(name, d.prev)
	} else {
		d.firsts = append(d.firsts, name...)
	}
	first, last := w.roster.sequences[s.first], w.roster.sequences[s.last]
	p := binary.AppendUvarint(d.page, uint64(shared))
	p = binary.AppendUvarint(p, uint64(len(name)-shared))
	p = append(p, name[shared:]...)
	p = binary.AppendUvarint(p, uint64(s.count))
	p = binary.AppendUvarint(p, first-e.First)
	if s.count > 1 {
		p = binary.AppendUvarint(p, last-first)
	}
	if s.count > 2 {
		p = d.postings(w, p, e, s)
	}
	d.page = p
	d.unfolded += len(name)
}

// postings adds the sequences of a subject that has more than two, to the page or as a chunk.
func (d *dictionaryBuilder) postings(w *Writer, p []byte, e *Extent, s *row) []byte {
	if uint64(s.count) == e.Count {
		return append(p, postingsAll)
	}
	data, form := appendPostings(d.scratch[:0], w.roster, s)
	d.scratch = data
	if len(data) <= inlineBytes {
		p = append(p, form)
		p = binary.AppendUvarint(p, uint64(len(data)))
		return append(p, data...)
	}
	at := w.plainChunk(kindPostings, data)
	p = append(p, form|postingsChunk)
	p = binary.AppendUvarint(p, at.offset)
	return binary.AppendUvarint(p, uint64(at.bytes))
}

// writePage ends the page, if there is something in it.
func (w *Writer) writePage() {
	d := &w.dictionary
	if len(d.page) == 0 {
		return
	}
	at := w.chunk(kindDictionary, d.page)
	d.fences = binary.LittleEndian.AppendUint64(d.fences, at.offset)
	d.fences = binary.LittleEndian.AppendUint32(d.fences, at.bytes)
	d.fences = binary.LittleEndian.AppendUint32(d.fences, uint32(len(d.firsts)))
	d.page, d.unfolded = d.page[:0], 0
	d.pages++
}

// subjectIndex is the index of a dictionary. The slices are parts of its chunk.
type subjectIndex struct {
	pages    int
	count    uint64
	fences   []byte
	firsts   []byte
	subjects bloom
	tokens   bloom
}

// parseSubjectIndex finds the parts of an index. All bounds of first subjects are checked here, so that
// a search need not.
func parseSubjectIndex(b []byte) (*subjectIndex, error) {
	if len(b) < subjectIndexBytes {
		return nil, errLength
	}
	x := &subjectIndex{pages: number(b), count: uint64(number(b[4:]))}
	subjects, tokens := number(b[8:]), number(b[12:])
	b = b[subjectIndexBytes:]
	if x.pages == 0 || x.pages > len(b)/fenceBytes {
		return nil, errFormat
	}
	x.fences, b = b[:x.pages*fenceBytes], b[x.pages*fenceBytes:]
	firsts, end := number(x.fences[len(x.fences)-4:]), 0
	if firsts > len(b) || subjects > len(b)-firsts || len(b)-firsts-subjects != tokens {
		return nil, errFormat
	}
	x.firsts, x.subjects, x.tokens = b[:firsts], bloom(b[firsts:firsts+subjects]), bloom(b[firsts+subjects:])
	for i := range x.pages {
		next := number(x.fences[i*fenceBytes+12:])
		if next < end || next > firsts {
			return nil, errFormat
		}
		end = next
	}
	return x, nil
}

// bytes is about what the index takes in memory.
func (x *subjectIndex) bytes() int {
	return 128 + len(x.fences) + len(x.firsts) + len(x.subjects) + len(x.tokens)
}

// page is where a page lies; reading checks that it is inside the file.
func (x *subjectIndex) page(i int) location {
	f := x.fences[i*fenceBytes:]
	return location{offset: binary.LittleEndian.Uint64(f), bytes: binary.LittleEndian.Uint32(f[8:])}
}

// firstOf is the first subject of a page.
func (x *subjectIndex) firstOf(i int) []byte {
	start := 0
	if i > 0 {
		start = number(x.fences[i*fenceBytes-4:])
	}
	return x.firsts[start:number(x.fences[i*fenceBytes+12:])]
}

// seek returns the page that a subject would be in.
func (x *subjectIndex) seek(subject string) int {
	after := sort.Search(x.pages, func(i int) bool { return view(x.firstOf(i)) > subject })
	return max(after-1, 0)
}

// pageReader goes through the entries of a page. The subject is unfolded into one buffer, whatever the length
// of the page, and the sum of all lengths is bounded: sharing lets a small page claim long subjects.
type pageReader struct {
	cursor
	term

	extent   *Extent // its bounds hold for every entry
	unfolded int     // bytes of the subjects so far
}

// next reads an entry; false after the last, or if it is malformed: then bad is set.
func (p *pageReader) next() bool {
	if len(p.b) == 0 || p.bad {
		return false
	}
	shared := p.size(uint64(len(p.subject)))
	rest := p.bytes(p.size(MaxSubjectBytes))
	p.subject = append(p.subject[:shared], rest...)
	p.unfolded += len(p.subject)
	p.count = p.uvarint()
	p.first = p.add(p.extent.First, p.uvarint())
	p.last = p.first
	if p.count > 1 {
		p.last = p.add(p.first, p.uvarint())
	}
	if p.count > 2 {
		p.readPostings()
	}
	if p.count == 0 || p.count > p.extent.Count || p.last > p.extent.Last || p.last-p.first < p.count-1 ||
		p.unfolded > maxPageBytes {
		p.fail()
	}
	return !p.bad
}

// readPostings reads the form and what follows it. A subject has every message of the extent only if its
// count says the same.
func (p *pageReader) readPostings() {
	p.form = p.byte()
	switch {
	case p.form == postingsAll && p.count == p.extent.Count:
	case p.form&^postingsChunk != postingsDeltas && p.form&^postingsChunk != postingsBitmap:
		p.fail()
	case p.form&postingsChunk != 0:
		p.chunk = location{offset: p.uvarint(), bytes: uint32(p.size(1<<32 - 1))}
	default:
		p.inline = p.bytes(p.size(inlineBytes))
	}
}
