package wal

import (
	"encoding/binary"
	"hash/crc32"
	"math/bits"
)

// Record is one thing to remember. The log looks at the group and hands the rest back as it was.
type Record struct {
	Group uint64 // whose record it is: a stream or a raft group
	Index uint64
	Term  uint64
	Kind  uint8
	// Relaxed: nobody waits until it is synced. With the policy Always a batch that has nothing else is
	// written, and synced only with what comes later; see Config.OnWritten. It is not stored.
	Relaxed bool
	Payload []byte // Append copies it; of a recovered record it is valid until the next one
}

// recordHeader is the length of what stands before the payload:
//
//	 0  checksum  4   of all that follows, payload included
//	 4  bytes     4   of the payload as stored
//	 8  group     8
//	16  index     8
//	24  term      8
//	32  kind      1
//	33  flags     1   recordMark, recordSealed
//	34  check     2   of the header alone: if only the payload is damaged, what is lost can still be named
const recordHeader = 36

// An encrypted payload is bound to this part of the header: group, index, term, kind and flags.
const (
	recordBound    = 8
	recordBoundEnd = 34
)

const (
	recordMark   = 0x80 // in the flags of every record: zeros are none
	recordSealed = 0x01 // the payload is encrypted
)

// castagnoli is the polynomial that processors have an instruction for.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seed is where the checksum of what stands at offset in a segment starts. For one offset every segment
// has another seed: the first factor is odd, so nothing is lost in it.
func seed(segment uint64, offset int64) uint32 {
	return uint32(segment)*0x9e3779b1 ^ bits.RotateLeft32(uint32(offset), 16)*0x85ebca77
}

// checksum of b, which starts at offset and whose first four bytes are the place for the checksum.
func checksum(b []byte, segment uint64, offset int64) uint32 {
	return crc32.Update(seed(segment, offset), castagnoli, b[4:])
}

// headerCheck is a check of a record's header alone.
func headerCheck(h []byte, seed uint32) uint16 {
	_ = h[recordHeader-1]
	x := uint64(binary.LittleEndian.Uint32(h[4:])) | uint64(h[32])<<32 | uint64(h[33])<<40
	x = (x ^ uint64(seed)<<32) * 0x9e3779b97f4a7c15
	x = (x ^ x>>32 ^ binary.LittleEndian.Uint64(h[8:])) * 0xff51afd7ed558ccd
	x = (x ^ x>>32 ^ binary.LittleEndian.Uint64(h[16:])) * 0xc4ceb9fe1a85ec53
	x = (x ^ x>>32 ^ binary.LittleEndian.Uint64(h[24:])) * 0x9e3779b97f4a7c15
	return uint16(x >> 48)
}

// appendRecord appends a record to buf, which ends at offset of the segment. payload is what to store in
// place of r.Payload. It returns the checksum too.
func appendRecord(buf []byte, r *Record, payload []byte, flags uint8, segment uint64, offset int64) ([]byte, uint32) {
	at := len(buf)
	buf = append(buf, make([]byte, recordHeader)...)
	h := buf[at:]
	putRecordHeader(h, r, len(payload), flags)
	start := seed(segment, offset)
	binary.LittleEndian.PutUint16(h[34:], headerCheck(h, start))
	buf = append(buf, payload...)
	sum := crc32.Update(start, castagnoli, buf[at+4:])
	binary.LittleEndian.PutUint32(buf[at:], sum)
	return buf, sum
}

// putRecordHeader fills in all of a record's header but the checksum and the check.
func putRecordHeader(h []byte, r *Record, payloadBytes int, flags uint8) {
	_ = h[recordHeader-1]
	binary.LittleEndian.PutUint32(h[4:], uint32(payloadBytes))
	binary.LittleEndian.PutUint64(h[8:], r.Group)
	binary.LittleEndian.PutUint64(h[16:], r.Index)
	binary.LittleEndian.PutUint64(h[24:], r.Term)
	h[32], h[33] = r.Kind, recordMark|flags
}

// stored is a record as it stands in a segment.
type stored struct {
	Record
	flags uint8
	bound []byte // the part of the header that an encrypted payload is bound to
	sum   uint32 // its checksum
	bytes int    // its length, header included
}

// peekRecord reads the header at the start of b, which stands at offset of a segment, without a look at the
// checksum. It is false if b does not hold a whole record with a header that was written for this place.
func peekRecord(b []byte, segment uint64, offset int64) (r stored, ok bool) {
	if len(b) < recordHeader || b[33]&^recordSealed != recordMark ||
		binary.LittleEndian.Uint16(b[34:]) != headerCheck(b, seed(segment, offset)) {
		return stored{}, false
	}
	n := binary.LittleEndian.Uint32(b[4:])
	if uint64(n) > uint64(len(b)-recordHeader) {
		return stored{}, false
	}
	r = stored{
		Record: Record{
			Group:   binary.LittleEndian.Uint64(b[8:]),
			Index:   binary.LittleEndian.Uint64(b[16:]),
			Term:    binary.LittleEndian.Uint64(b[24:]),
			Kind:    b[32],
			Payload: b[recordHeader : recordHeader+int(n)],
		},
		flags: b[33] &^ recordMark,
		bound: b[recordBound:recordBoundEnd],
		sum:   binary.LittleEndian.Uint32(b),
		bytes: recordHeader + int(n),
	}
	return r, true
}

// decodeRecord reads the record at the start of b, which stands at offset of a segment. Its slices point
// into b. It is false if there is no valid record.
func decodeRecord(b []byte, segment uint64, offset int64) (stored, bool) {
	r, ok := peekRecord(b, segment, offset)
	if !ok || r.sum != checksum(b[:r.bytes], segment, offset) {
		return stored{}, false
	}
	return r, true
}
