package segment

import (
	"encoding/binary"
	"sort"
	"sync/atomic"
)

// The footer is what Open reads:
//
//	uvarint extents
//	  uvarint stream | uvarint first | uvarint last - first | varint first time | varint last time - first time
//	  uvarint messages | uvarint bytes | uvarint offset, uvarint bytes of the index of subjects
//	  uvarint blocks
//	    uvarint first - last of the block before (at the first block: first of the extent) | uvarint last - first
//	    uvarint messages | varint highest time - first time of the extent
//	    uvarint offset - end of the block before (at the first block: 0) | uvarint bytes of the heads | of the bodies
//	uvarint fact tables
//	  uvarint stream | kind u8 | uvarint facts | uvarint offset, uvarint bytes of the index

// footer is what a file has, and where.
type footer struct {
	extents []extent // by stream
	tables  []factTable
}

// extent is an Extent and where it lies.
type extent struct {
	Extent
	subjects location
	blocks   []blockKey

	index atomic.Pointer[subjectIndex] // nil until it was needed
}

// blockKey is what is in memory of each block, 48 bytes. Invariants, checked by parse: first <= last, sequences
// and places of the blocks of an extent ascend, and 0 < count <= last-first+1.
type blockKey struct {
	first, last uint64 // sequences
	latest      int64  // highest time
	offset      uint64 // of the heads; the bodies follow
	heads       uint32 // bytes of the chunk
	bodies      uint32 // bytes of the chunk
	count       uint32 // messages
}

func (k *blockKey) headsAt() location { return location{offset: k.offset, bytes: k.heads} }

func (k *blockKey) bodiesAt() location {
	return location{offset: k.offset + uint64(k.heads), bytes: k.bodies}
}

func (k *blockKey) end() uint64 { return k.offset + uint64(k.heads) + uint64(k.bodies) }

// dense reports that no sequence is missing between first and last.
func (k *blockKey) dense() bool { return k.last-k.first == uint64(k.count)-1 }

// factTable is a FactTable and where its index lies.
type factTable struct {
	FactTable
	index location

	loaded atomic.Pointer[factIndex] // nil until it was needed
}

// append codes the footer.
func (f *footer) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(f.extents)))
	for i := range f.extents {
		b = f.extents[i].append(b)
	}
	b = binary.AppendUvarint(b, uint64(len(f.tables)))
	for i := range f.tables {
		t := &f.tables[i]
		b = binary.AppendUvarint(b, t.Stream)
		b = append(b, byte(t.Kind))
		b = binary.AppendUvarint(b, t.Count)
		b = appendLocation(b, t.index)
	}
	return b
}

// appendLocation codes the place of a chunk.
func appendLocation(b []byte, l location) []byte {
	b = binary.AppendUvarint(b, l.offset)
	return binary.AppendUvarint(b, uint64(l.bytes))
}

// append codes an extent.
func (e *extent) append(b []byte) []byte {
	b = binary.AppendUvarint(b, e.Stream)
	b = binary.AppendUvarint(b, e.First)
	b = binary.AppendUvarint(b, e.Last-e.First)
	b = binary.AppendVarint(b, e.FirstTime)
	b = binary.AppendVarint(b, e.LastTime-e.FirstTime)
	b = binary.AppendUvarint(b, e.Count)
	b = binary.AppendUvarint(b, e.Bytes)
	b = appendLocation(b, e.subjects)
	b = binary.AppendUvarint(b, uint64(len(e.blocks)))
	prev := blockKey{last: e.First}
	for i := range e.blocks {
		k := &e.blocks[i]
		b = binary.AppendUvarint(b, k.first-prev.last)
		b = binary.AppendUvarint(b, k.last-k.first)
		b = binary.AppendUvarint(b, uint64(k.count))
		b = binary.AppendVarint(b, k.latest-e.FirstTime)
		b = binary.AppendUvarint(b, k.offset-prev.end())
		b = binary.AppendUvarint(b, uint64(k.heads))
		b = binary.AppendUvarint(b, uint64(k.bodies))
		prev = *k
	}
	return b
}

// Least lengths, by which counts are checked before anything is allocated.
const (
	minExtentBytes = 17
	minBlockBytes  = 7
	minTableBytes  = 5
)

// parseFooter decodes a footer that stands at offset end: all else lies before.
func parseFooter(b []byte, end uint64) (footer, error) {
	var f footer
	c := cursor{b: b}
	f.extents = make([]extent, c.size(uint64(len(c.b)/minExtentBytes)+1))
	place := uint64(headerBytes)
	for i := range f.extents {
		e := &f.extents[i]
		e.parse(&c, &place)
		if c.bad || i > 0 && e.Stream <= f.extents[i-1].Stream {
			return f, errFormat
		}
	}
	f.tables = make([]factTable, c.size(uint64(len(c.b)/minTableBytes)+1))
	for i := range f.tables {
		t := &f.tables[i]
		t.Stream, t.Kind, t.Count = c.uvarint(), FactKind(c.byte()), c.uvarint()
		t.index = c.location(&place)
		if c.bad || i > 0 && !f.tables[i-1].before(t) {
			return f, errFormat
		}
	}
	if c.bad || len(c.b) > 0 {
		return f, errFormat
	}
	if place > end {
		return f, errPlace
	}
	return f, nil
}

// before is the order of fact tables.
func (t *factTable) before(o *factTable) bool {
	return t.Stream < o.Stream || t.Stream == o.Stream && t.Kind < o.Kind
}

// location reads the place of a chunk that lies behind place, and moves place behind it. The parser starts with
// place at the end of the header and ends with it at the footer: so chunks cannot overlap.
func (c *cursor) location(place *uint64) location {
	l := location{offset: c.uvarint(), bytes: uint32(c.uvarint32())}
	if l.offset < *place {
		c.fail()
	}
	*place = c.add(l.offset, uint64(l.bytes))
	return l
}

// uvarint32 reads a number that must fit in 32 bits.
func (c *cursor) uvarint32() uint64 {
	v := c.uvarint()
	if v > 1<<32-1 {
		c.fail()
	}
	return v
}

// parse decodes an extent whose chunks lie behind place, and moves place behind them.
func (e *extent) parse(c *cursor, place *uint64) {
	e.Stream, e.First = c.uvarint(), c.uvarint()
	e.Last = c.add(e.First, c.uvarint())
	e.FirstTime = c.varint()
	e.LastTime = e.FirstTime + c.varint()
	e.Count, e.Bytes = c.uvarint(), c.uvarint()
	subjects := location{offset: c.uvarint(), bytes: uint32(c.uvarint32())}
	e.blocks = make([]blockKey, c.size(uint64(len(c.b)/minBlockBytes)))
	prev, count := blockKey{last: e.First}, uint64(0)
	for i := range e.blocks {
		k := &e.blocks[i]
		gap := c.uvarint()
		k.first = c.add(prev.last, gap)
		k.last = c.add(k.first, c.uvarint())
		k.count = uint32(c.uvarint32())
		k.latest = e.FirstTime + c.varint()
		k.offset = c.add(prev.end(), c.uvarint())
		k.heads, k.bodies = uint32(c.uvarint32()), uint32(c.uvarint32())
		if c.bad || (i > 0) != (gap > 0) || k.count == 0 || k.last-k.first < uint64(k.count)-1 || k.offset < *place {
			c.fail()
			return
		}
		c.add(k.offset, uint64(k.heads)+uint64(k.bodies))
		prev, *place = *k, k.end()
		count += uint64(k.count)
	}
	if len(e.blocks) == 0 || prev.last != e.Last || count != e.Count || subjects.offset < *place {
		c.fail()
	}
	e.subjects = subjects
	*place = c.add(subjects.offset, uint64(subjects.bytes))
}

// blockAt returns the number of the first block that has sequences of at least from; the number of
// blocks if there is none.
func (e *extent) blockAt(from uint64) int {
	return sort.Search(len(e.blocks), func(i int) bool { return e.blocks[i].last >= from })
}
