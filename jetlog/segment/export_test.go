package segment

import (
	"encoding/binary"
	"hash/crc32"
	"math"
)

// HashText shows the hash that filters of subjects and tokens use.
func HashText(salt uint64, text string) uint64 { return hashText(salt, text) }

// EnvelopeBytes, HeaderBytes and TrailerBytes are lengths of the format.
const (
	EnvelopeBytes = envelopeBytes
	HeaderBytes   = headerBytes
	TrailerBytes  = trailerBytes
)

// Chunk is where a chunk of a file lies.
type Chunk struct {
	Kind       string
	Start, End int
}

// Chunks returns the chunks of a file, one after the other, as far as they can be followed.
func Chunks(file []byte) []Chunk {
	names := []string{"", "heads", "bodies", "postings", "dictionary", "subjects", "facts", "fact index", "footer"}
	var list []Chunk
	for at := headerBytes; at+envelopeBytes <= len(file)-trailerBytes; {
		end := at + envelopeBytes + number(file[at+4:])
		if end < at || end > len(file)-trailerBytes { // less where an int has 32 bits
			break
		}
		list = append(list, Chunk{Kind: names[int(file[at])%len(names)], Start: at, End: end})
		at = end
	}
	return list
}

// Repair gives header, trailer and all chunks of a changed file their checksums, so that what was changed is
// looked at.
func Repair(file []byte) {
	if len(file) < headerBytes+trailerBytes {
		return
	}
	trailer := file[len(file)-trailerBytes:]
	copy(file, magic)
	copy(trailer, magic)
	for _, b := range [][]byte{file[:headerBytes], trailer} {
		end := len(b) - 4
		binary.LittleEndian.PutUint32(b[end:], crc32.Checksum(b[:end], castagnoli))
	}
	f := newFrame(FileID(trailer[16:32]), nil)
	for _, c := range Chunks(file) {
		binary.LittleEndian.PutUint32(file[c.Start+12:], f.checksum(uint64(c.Start), file[c.Start:c.End]))
	}
}

// Decompress opens content that is said to have raw bytes.
func Decompress(content []byte, raw int) ([]byte, error) { return decompress(content, raw) }

// AddJunk lets a writer write a chunk that nothing refers to.
func AddJunk(w *Writer) { w.plainChunk(kindPostings, []byte("junk")) }

// WalkBlock reads all entries of a block and looks for one, and returns how many entries and bytes of headers and
// payloads there were.
func WalkBlock(heads, bodies []byte, sequence uint64) (entries, bytes int, err error) {
	b, err := parseBlock(heads)
	if err != nil {
		return 0, 0, err
	}
	names := string(b.names)
	w := walker{block: &b}
	for w.next() {
		entries++
		m, err := w.message(b.subjectIn(names, uint64(w.base.subject)), bodies)
		if err != nil {
			return entries, bytes, err
		}
		bytes += len(m.Header) + len(m.Payload)
	}
	s := walker{block: &b}
	if s.seek(sequence) && s.sequence < sequence {
		panic("seek went too short")
	}
	if w.bad {
		return entries, bytes, errFormat
	}
	return entries, bytes, nil
}

// WalkPage reads a page of a dictionary, with the postings that it has, and returns the sequences found.
func WalkPage(page []byte) (sequences uint64, err error) {
	e := Extent{First: 1, Last: math.MaxUint64, Count: math.MaxUint64}
	p := pageReader{cursor: cursor{b: page}, extent: &e}
	for p.next() {
		b := newSetBuilder(e.First, e.Last)
		if p.count > 2 && (p.form&postingsChunk != 0 || p.form == postingsAll) {
			continue
		}
		if err := p.postings(p.inline, b.add); err != nil {
			return sequences, err
		}
		sequences += b.build().count(0)
	}
	if p.bad {
		return sequences, errFormat
	}
	return sequences, nil
}

// SeekIndex reads an index of subjects and looks for one.
func SeekIndex(b []byte, subject string) error {
	x, err := parseSubjectIndex(b)
	if err != nil {
		return err
	}
	f := newFilter(subject)
	x.mayMatch(&f)
	if page := x.seek(subject); page >= x.pages {
		panic("no such page")
	}
	return nil
}

// ReadFacts reads a page of facts and an index of pages, and looks for a hash in both.
func ReadFacts(page, index []byte, rows int, count uint64, h Hash) error {
	p, err := parseFactPage(page, rows)
	if err == nil {
		for i := range p.rows {
			p.value(i)
		}
		p.find(&h)
	}
	x, err2 := parseFactIndex(index, count, 1<<20)
	if err2 != nil {
		return err2
	}
	x.candidates(&h, x.after(&h), func(page int) bool {
		x.page(page)
		return true
	})
	return err
}

// Set is a set of sequences.
type Set struct{ s *set }

// NewSet returns a set of sequences between first and last.
func NewSet(first, last uint64, sequences []uint64) Set {
	b := newSetBuilder(first, last)
	for _, s := range sequences {
		b.add(s)
	}
	return Set{b.build()}
}

// Bitmap reports whether the set is one.
func (s Set) Bitmap() bool { return s.s.words != nil }

// Next, Prev and Count are what the queries use.
func (s Set) Next(from uint64) (uint64, bool) { return s.s.next(from) }

// Prev returns the last of at most upTo.
func (s Set) Prev(upTo uint64) (uint64, bool) { return s.s.prev(upTo) }

// Count returns how many are at least from.
func (s Set) Count(from uint64) uint64 { return s.s.count(from) }

// Sorted gathers subjects and returns them sorted, each once.
func Sorted(subjects []string) []string {
	r := newRoster()
	for i, s := range subjects {
		r.add(s, uint64(i))
	}
	var list []string
	for _, row := range r.sorted() {
		list = append(list, string(r.name(&r.rows[row])))
	}
	return list
}

// BloomHits fills a filter with so many keys and returns how many of as many others it seems to have.
func BloomHits(keys int) (hits int) {
	s := newHashSet()
	for i := range keys {
		s.add(fold(uint64(i)^hashWord, hashEnd))
	}
	b := s.bloom()
	for i := range keys {
		if !b.has(fold(uint64(i)^hashWord, hashEnd)) {
			panic("a key is missing")
		}
		if b.has(fold(uint64(i+keys)^hashWord, hashEnd)) {
			hits++
		}
	}
	return hits
}

// AddBodies lets a writer have bytes in the bodies of the block at hand that no message has.
func AddBodies(w *Writer, junk string) { w.block.bodies = append(w.block.bodies, junk...) }
