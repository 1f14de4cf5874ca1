package wal

import (
	"bytes"
	"encoding/binary"
)

// batchHeader is the length of what stands before the records of a batch:
//
//	 0  checksum  4   of the rest of the header
//	 4  bytes     4   of the batch, header and padding included: a multiple of batchAlign
//	 8  sequence  8   its number
//	16  synced    8   the last batch that was known to be synced when this one was written
//	24  previous  4   checksum of the batch before it
//	28  records   4   how many
//	32  sum       4   all records' checksums folded, so that the header's checksum stands for everything
//	36  flags     4   batchMark, batchClosing
const batchHeader = 40

// batchAlign is what batches start at multiples of: they can be searched for with long steps.
const batchAlign = 8

const (
	batchMark    = 0x42570000 // in the flags of every batch
	batchClosing = 1          // written by Close: nothing follows, everything before is synced
)

// header is a batch header.
type header struct {
	bytes    uint32
	sequence uint64
	synced   uint64
	previous uint32
	records  uint32
	sum      uint32
	flags    uint32
	checksum uint32
}

// put writes the header of a batch that stands at offset of a segment and returns its checksum.
func (h *header) put(b []byte, segment uint64, offset int64) uint32 {
	b = b[:batchHeader]
	binary.LittleEndian.PutUint32(b[4:], h.bytes)
	binary.LittleEndian.PutUint64(b[8:], h.sequence)
	binary.LittleEndian.PutUint64(b[16:], h.synced)
	binary.LittleEndian.PutUint32(b[24:], h.previous)
	binary.LittleEndian.PutUint32(b[28:], h.records)
	binary.LittleEndian.PutUint32(b[32:], h.sum)
	binary.LittleEndian.PutUint32(b[36:], batchMark|h.flags)
	sum := checksum(b, segment, offset)
	binary.LittleEndian.PutUint32(b, sum)
	return sum
}

// decodeHeader reads a batch header at the start of b, which stands at offset of a segment with so many
// bytes left. It is false if there is no valid one.
func decodeHeader(b []byte, segment uint64, offset, left int64) (header, bool) {
	if len(b) < batchHeader || binary.LittleEndian.Uint32(b[36:])&^batchClosing != batchMark {
		return header{}, false
	}
	h := header{
		checksum: binary.LittleEndian.Uint32(b),
		bytes:    binary.LittleEndian.Uint32(b[4:]),
		sequence: binary.LittleEndian.Uint64(b[8:]),
		synced:   binary.LittleEndian.Uint64(b[16:]),
		previous: binary.LittleEndian.Uint32(b[24:]),
		records:  binary.LittleEndian.Uint32(b[28:]),
		sum:      binary.LittleEndian.Uint32(b[32:]),
		flags:    binary.LittleEndian.Uint32(b[36:]) &^ batchMark,
	}
	if int64(h.bytes) > left || h.bytes < batchHeader || h.bytes%batchAlign != 0 || h.sequence == 0 || h.sequence > sequenceMax ||
		h.synced >= h.sequence || h.checksum != checksum(b[:batchHeader], segment, offset) {
		return header{}, false
	}
	return h, true
}

// nextBatchMark finds the first place in b where the mark of a batch header stands, if b starts where a
// batch may.
func nextBatchMark(b []byte) (int, bool) {
	const mark = batchHeader - 2 // where the upper half of the flags stands
	for i := 0; i+batchHeader <= len(b); {
		n := bytes.Index(b[i+mark:], []byte{batchMark >> 16 & 0xff, batchMark >> 24})
		if n < 0 {
			return 0, false
		}
		if i += n; i%batchAlign == 0 {
			return i, true
		}
		i = align(i)
	}
	return 0, false
}

// fold adds a record's checksum to those of the records before it. It is no checksum itself: it only has
// to tell two batches apart that have the same place, length and number.
func fold(sum, record uint32) uint32 { return (sum^record)*0x9e3779b1 + 1 }

// align rounds a length up to where the next batch may start.
func align[T int | int64](n T) T { return (n + batchAlign - 1) &^ (batchAlign - 1) }

// sequenceMax is far beyond what a log reaches; larger numbers are no batch's.
const sequenceMax = 1 << 62

// batch is what is written at once. It knows its place from the start, so that checksums are computed
// while the batch before it is being synced.
type batch struct {
	segment  *segment
	offset   int64
	sequence uint64
	records  uint32
	relaxed  uint32 // of the records
	sum      uint32
	buf      []byte        // starts with the place for the header
	done     chan struct{} // made for the first who waits; closed when the batch is safe, or will never be
}

// begin makes b an empty batch for a place in a segment; it keeps its buffer.
func (b *batch) begin(s *segment, offset int64, sequence uint64) {
	buf := append(b.buf[:0], make([]byte, batchHeader)...)
	*b = batch{segment: s, offset: offset, sequence: sequence, buf: buf}
}

// add appends a record; payload stands for r.Payload.
func (b *batch) add(r *Record, payload []byte, flags uint8) {
	var sum uint32
	b.buf, sum = appendRecord(b.buf, r, payload, flags, b.segment.number, b.offset+int64(len(b.buf)))
	b.sum = fold(b.sum, sum)
	b.records++
	if r.Relaxed {
		b.relaxed++
	}
}

// seal makes the batch ready to be written and returns its checksum.
func (b *batch) seal(synced uint64, previous, flags uint32) uint32 {
	b.buf = append(b.buf, make([]byte, align(len(b.buf))-len(b.buf))...)
	h := header{
		bytes: uint32(len(b.buf)), sequence: b.sequence, synced: synced,
		previous: previous, records: b.records, sum: b.sum, flags: flags,
	}
	return h.put(b.buf, b.segment.number, b.offset)
}

// end is where the batch after this one starts.
func (b *batch) end() int64 { return b.offset + align(int64(len(b.buf))) }
