package segment

import (
	"bytes"
	"encoding/binary"
	"iter"
	"math/bits"
	"sort"
)

// A fact table is pages of factsPerPage rows, the last with what is left, one right after the other:
//
//	least value u64 | bytes of a value u8                         three times, for the three numbers
//	hash 16 bytes                                                 for each row, ascending
//	number less the least, little endian, in so many bytes        three times for each row
//
// and its index, which follows them and is kept in memory once it was needed:
//
//	{first 8 bytes of the first hash, offset u64}                 for each page
//	filter of the page: bloomBytes(rows)                          for each page
//
// Each page has a filter of its own, rather than the table one for all: then a table of any length is written
// in one pass, with nothing in memory but its index, and no count has to be known before. A look-up
// searches the fences first and then asks the filter of the one page, which is a few cache lines.
const (
	factsPerPage   = 256
	factPageBytes  = 27
	factFenceBytes = 16
	hashBytes      = len(Hash{})
)

// bloomHash is what filters know of a hash.
func (h *Hash) bloomHash() uint64 { return binary.LittleEndian.Uint64(h[8:]) }

// prefix orders like the hash, but for hashes with the same.
func (h *Hash) prefix() uint64 { return binary.BigEndian.Uint64(h[:8]) }

// factBuilder writes a fact table, one page at a time.
type factBuilder struct {
	table FactTable
	open  bool // a table is begun
	last  Hash // the last hash added; all others are less

	hashes  []byte  // of the page at hand
	values  []Value // of the page at hand, as many as hashes
	fences  []byte  // of the pages that are written
	filters []byte  // of the pages that are written
	page    []byte  // scratch
}

// AddFact adds a fact. Facts come after all messages, sorted by stream, kind and hash; no hash comes twice in
// a table.
func (w *Writer) AddFact(stream uint64, k FactKind, hash Hash, v Value) error {
	if err := w.usable(); err != nil {
		return err
	}
	if err := w.endExtent(); err != nil {
		return err
	}
	w.inFacts = true
	f := &w.facts
	t := FactTable{Stream: stream, Kind: k}
	same := f.open && f.table.Stream == stream && f.table.Kind == k
	switch {
	case same && bytes.Compare(hash[:], f.last[:]) <= 0,
		f.open && !same && (stream < f.table.Stream || stream == f.table.Stream && k < f.table.Kind):
		return w.fail("add fact", ErrOrder)
	case !same:
		w.endFacts()
		*f = factBuilder{
			table: t, open: true,
			hashes: f.hashes[:0], values: f.values[:0], fences: f.fences[:0], filters: f.filters[:0], page: f.page[:0],
		}
	}
	f.last = hash
	f.hashes = append(f.hashes, hash[:]...)
	f.values = append(f.values, v)
	f.table.Count++
	if len(f.values) == factsPerPage {
		w.writeFacts()
	}
	return w.flush(false)
}

// writeFacts ends the page, if there is something in it.
func (w *Writer) writeFacts() {
	f := &w.facts
	if len(f.values) == 0 {
		return
	}
	f.page = appendFactPage(f.page[:0], f.hashes, f.values)
	at := w.chunk(kindFacts, f.page)
	f.fences = append(f.fences, f.hashes[:8]...)
	f.fences = binary.LittleEndian.AppendUint64(f.fences, at.offset)
	start := len(f.filters)
	f.filters = append(f.filters, make([]byte, bloomBytes(len(f.values)))...)
	for i := range f.values {
		bloom(f.filters[start:]).add(binary.LittleEndian.Uint64(f.hashes[i*hashBytes+8:]))
	}
	f.hashes, f.values = f.hashes[:0], f.values[:0]
}

// endFacts ends the table, if one is begun.
func (w *Writer) endFacts() {
	f := &w.facts
	if !f.open {
		return
	}
	w.writeFacts()
	f.fences = append(f.fences, f.filters...)
	index := w.plainChunk(kindFactIndex, f.fences)
	w.tables = append(w.tables, factTable{FactTable: f.table, index: index})
	f.open = false
}

// appendFactPage codes a page. Each of the three numbers takes as many bytes as the range of its values in the
// page needs, none if they are all the same: rows have one length, and a row is found by its number.
func appendFactPage(dst, hashes []byte, values []Value) []byte {
	var least Value
	var width [3]int
	for n := range least {
		least[n] = values[0][n]
		most := least[n]
		for i := range values {
			least[n], most = min(least[n], values[i][n]), max(most, values[i][n])
		}
		width[n] = (bits.Len64(most-least[n]) + 7) / 8
		dst = binary.LittleEndian.AppendUint64(dst, least[n])
		dst = append(dst, byte(width[n]))
	}
	dst = append(dst, hashes...)
	for i := range values {
		for n := range least {
			var b [8]byte
			binary.LittleEndian.PutUint64(b[:], values[i][n]-least[n])
			dst = append(dst, b[:width[n]]...)
		}
	}
	return dst
}

// factPage is a page of facts.
type factPage struct {
	rows   int
	least  Value
	width  [3]int
	hashes []byte
	values []byte
}

// parseFactPage finds the parts of a page that must have so many rows.
func parseFactPage(b []byte, rows int) (factPage, error) {
	if len(b) < factPageBytes {
		return factPage{}, errLength
	}
	p, row := factPage{rows: rows}, 0
	for n := range p.least {
		p.least[n] = binary.LittleEndian.Uint64(b[9*n:])
		p.width[n] = int(b[9*n+8])
		row += p.width[n]
		if p.width[n] > 8 {
			return factPage{}, errFormat
		}
	}
	b = b[factPageBytes:]
	if len(b) != rows*(hashBytes+row) {
		return factPage{}, errLength
	}
	p.hashes, p.values = b[:rows*hashBytes], b[rows*hashBytes:]
	return p, nil
}

// hash is the hash of a row.
func (p *factPage) hash(i int) []byte { return p.hashes[i*hashBytes : (i+1)*hashBytes] }

// value is the value of a row.
func (p *factPage) value(i int) (v Value) {
	row := p.values[i*(p.width[0]+p.width[1]+p.width[2]):]
	for n := range v {
		var b [8]byte
		copy(b[:], row[:p.width[n]])
		v[n] = p.least[n] + binary.LittleEndian.Uint64(b[:])
		row = row[p.width[n]:]
	}
	return v
}

// find returns the row of a hash.
func (p *factPage) find(h *Hash) (int, bool) {
	return sort.Find(p.rows, func(i int) int { return bytes.Compare(h[:], p.hash(i)) })
}

// factIndex is the index of a table. The slices are parts of its chunk.
type factIndex struct {
	pages   int
	count   uint64 // facts
	end     uint64 // offset behind the last page
	fences  []byte
	filters []byte
}

// parseFactIndex finds the parts of the index of a table of count facts whose pages end at offset end.
func parseFactIndex(b []byte, count, end uint64) (*factIndex, error) {
	pages := (count + factsPerPage - 1) / factsPerPage
	if count == 0 || pages > uint64(len(b))/factFenceBytes {
		return nil, errFormat
	}
	x := &factIndex{pages: int(pages), count: count, end: end}
	fences := x.pages * factFenceBytes
	x.fences, x.filters = b[:fences], b[fences:]
	if len(x.filters) != (x.pages-1)*bloomBytes(factsPerPage)+bloomBytes(x.rows(x.pages-1)) {
		return nil, errLength
	}
	return x, nil
}

// bytes is about what the index takes in memory.
func (x *factIndex) bytes() int { return 128 + len(x.fences) + len(x.filters) }

// rows is how many facts a page has.
func (x *factIndex) rows(page int) int {
	return int(min(factsPerPage, x.count-uint64(page)*factsPerPage))
}

// fence is the prefix of the first hash of a page.
func (x *factIndex) fence(page int) uint64 {
	return binary.BigEndian.Uint64(x.fences[page*factFenceBytes:])
}

// page is where a page lies: it ends where the next begins. Nonsense becomes a location that is refused.
func (x *factIndex) page(page int) location {
	start, end := binary.LittleEndian.Uint64(x.fences[page*factFenceBytes+8:]), x.end
	if page+1 < x.pages {
		end = binary.LittleEndian.Uint64(x.fences[(page+1)*factFenceBytes+8:])
	}
	if end < start || end-start > maxPageBytes {
		return location{}
	}
	return location{offset: start, bytes: uint32(end - start)}
}

// filter is the filter of a page.
func (x *factIndex) filter(page int) bloom {
	start := page * bloomBytes(factsPerPage)
	return bloom(x.filters[start : start+bloomBytes(x.rows(page))])
}

// candidates calls visit with the pages that may have a hash until it returns false; after is the first page that
// begins behind it. It is one page, unless pages begin with hashes whose first eight bytes are the same.
func (x *factIndex) candidates(h *Hash, after int, visit func(page int) bool) {
	prefix := h.prefix()
	for page := after - 1; page >= 0; page-- {
		if x.filter(page).has(h.bloomHash()) && !visit(page) || x.fence(page) < prefix {
			return
		}
	}
}

// after is the first page that begins behind a hash.
func (x *factIndex) after(h *Hash) int {
	prefix := h.prefix()
	return sort.Search(x.pages, func(i int) bool { return x.fence(i) > prefix })
}

// Fact returns what the file says under a hash; ok is false if it says nothing. Most hashes that are not
// there need no read.
func (s *Segment) Fact(stream uint64, k FactKind, h Hash) (v Value, ok bool, err error) {
	t := s.table(stream, k)
	if t == nil {
		return v, false, nil
	}
	x, err := s.factIndex(t)
	if err != nil {
		return v, false, err
	}
	x.candidates(&h, x.after(&h), func(page int) bool {
		var p factPage
		var i int
		if p, err = s.factPage(t, x, page, s.cached); err != nil {
			return false
		}
		if i, ok = p.find(&h); ok {
			v = p.value(i)
		}
		return !ok
	})
	return v, ok, err
}

// FindFacts looks for many hashes, which ascend, and calls found with the position in the list and the value of each that
// the file says something of. It reads past the cache, and no page more than once: much quicker than Fact for each
// of them.
func (s *Segment) FindFacts(stream uint64, k FactKind, hashes []Hash, found func(i int, v Value)) error {
	t := s.table(stream, k)
	if t == nil || len(hashes) == 0 {
		return nil
	}
	x, err := s.factIndex(t)
	if err != nil {
		return err
	}
	var p factPage
	current := -1 // the page that p is
	after := x.after(&hashes[0])
	for i := range hashes {
		h := &hashes[i]
		for prefix := h.prefix(); after < x.pages && x.fence(after) <= prefix; {
			after++
		}
		x.candidates(h, after, func(page int) bool {
			if page != current {
				if p, err = s.factPage(t, x, page, s.read); err != nil {
					return false
				}
				current = page
			}
			row, ok := p.find(h)
			if ok {
				found(i, p.value(row))
			}
			return !ok
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// FactCount is how many facts of a kind the file has of a stream.
func (s *Segment) FactCount(stream uint64, k FactKind) uint64 {
	if t := s.table(stream, k); t != nil {
		return t.Count
	}
	return 0
}

// Facts iterates over a fact table in the order of hashes, past the cache: for compaction. It ends at the
// first error.
func (s *Segment) Facts(stream uint64, k FactKind) iter.Seq2[Fact, error] {
	return func(yield func(Fact, error) bool) {
		c := s.FactCursor(stream, k)
		for c.Next() {
			if !yield(Fact{Hash: Hash(c.Hash()), Value: c.Value()}, nil) {
				return
			}
		}
		if c.Err() != nil {
			yield(Fact{}, c.Err())
		}
	}
}

// FactCursor goes through a fact table as Facts does, with less work for each: for those who go through several side by
// side. It is for one goroutine.
type FactCursor struct {
	segment *Segment
	table   *factTable // nil for none
	index   *factIndex
	page    factPage
	pages   int // that were read
	row     int // in page; it is valid once Next was called
	err     error
}

// FactCursor returns a cursor before the first fact.
func (s *Segment) FactCursor(stream uint64, k FactKind) *FactCursor {
	return &FactCursor{segment: s, table: s.table(stream, k), row: -1}
}

// Next goes to the next fact. It is false at the end, and after an error.
func (c *FactCursor) Next() bool {
	if c.row++; c.row < c.page.rows {
		return true
	}
	if c.table == nil || c.err != nil {
		return false
	}
	if c.index == nil {
		if c.index, c.err = c.segment.factIndex(c.table); c.err != nil {
			return false
		}
	}
	if c.pages == c.index.pages {
		return false
	}
	c.page, c.err = c.segment.factPage(c.table, c.index, c.pages, c.segment.read)
	c.pages, c.row = c.pages+1, 0
	return c.err == nil
}

// Hash is that of the fact, valid until Next.
func (c *FactCursor) Hash() []byte { return c.page.hash(c.row) }

// Value is that of the fact.
func (c *FactCursor) Value() Value { return c.page.value(c.row) }

// Err is why Next was false, nil at the end of the table.
func (c *FactCursor) Err() error { return c.err }

// table returns a fact table, or nil.
func (s *Segment) table(stream uint64, k FactKind) *factTable {
	i, ok := sort.Find(len(s.footer.tables), func(i int) int {
		t := &s.footer.tables[i]
		switch {
		case stream < t.Stream || stream == t.Stream && k < t.Kind:
			return -1
		case stream > t.Stream || k > t.Kind:
			return 1
		default:
			return 0
		}
	})
	if !ok {
		return nil
	}
	return &s.footer.tables[i]
}

// factIndex returns the index of a table, which it reads at the first call. Two that call at once may
// both read it: they read the same, and one copy stays.
func (s *Segment) factIndex(t *factTable) (*factIndex, error) {
	if x := t.loaded.Load(); x != nil {
		return x, nil
	}
	about := concern{stream: t.Stream}
	b, err := s.read(t.index, kindFactIndex, about)
	if err != nil {
		return nil, err
	}
	x, err := parseFactIndex(b, t.Count, t.index.offset)
	if err != nil {
		return nil, s.damaged(t.index.offset, about, err)
	}
	t.loaded.Store(x)
	return x, nil
}

// factPage returns a page of a table that is read in this way.
func (s *Segment) factPage(t *factTable, x *factIndex, page int, read readFunc) (factPage, error) {
	at, about := x.page(page), concern{stream: t.Stream}
	b, err := read(at, kindFacts, about)
	if err != nil {
		return factPage{}, err
	}
	p, err := parseFactPage(b, x.rows(page))
	if err != nil {
		return factPage{}, s.damaged(at.offset, about, err)
	}
	return p, nil
}
