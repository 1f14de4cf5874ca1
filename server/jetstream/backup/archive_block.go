package backup

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"runnel/jetlog/body"
)

// A record of a block, integers in little endian:
//
//	4  length of the whole record; the highest bit is set when there is a header block
//	8  sequence; the highest bit marks an erased message, the next one the record of a deletion
//	8  time, in nanoseconds since 1970
//	2  length of the subject
//	   subject
//	4  length of the header block, and the block, if there is one
//	   payload
//	8  sum
const (
	recordFront = 4 + 8 + 8 + 2
	recordSum   = 8

	recordHeader    = 1 << 31
	recordErased    = 1 << 63
	recordTombstone = 1 << 62
)

// block reads the records of a block file.
type block struct {
	in      *bufio.Reader
	skip    int // bytes of the last record that were not read
	current record
	front   [recordFront]byte
}

// record is the front of a record.
type record struct {
	sequence                      uint64
	time                          int64
	erased, tombstone, withHeader bool
	subjectBytes                  int
	contentBytes                  int // behind the front, without the sum
}

func newBlock(r io.Reader) *block { return &block{in: bufio.NewReaderSize(r, 32<<10)} }

// next returns the front of the next record, io.EOF behind the last.
func (b *block) next() (record, error) {
	if _, err := b.in.Discard(b.skip); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF // here it is not the end of the block
		}
		return record{}, err
	}
	b.skip = 0
	if _, err := io.ReadFull(b.in, b.front[:]); err != nil {
		return record{}, err
	}
	length := binary.LittleEndian.Uint32(b.front[0:])
	seq := binary.LittleEndian.Uint64(b.front[4:])
	r := record{
		sequence:     seq &^ (recordErased | recordTombstone),
		time:         int64(binary.LittleEndian.Uint64(b.front[12:])),
		erased:       seq&recordErased != 0,
		tombstone:    seq&recordTombstone != 0,
		withHeader:   length&recordHeader != 0,
		subjectBytes: int(binary.LittleEndian.Uint16(b.front[20:])),
		contentBytes: int(length&^recordHeader) - recordFront - recordSum,
	}
	switch {
	case r.contentBytes < r.subjectBytes:
		return r, fmt.Errorf("%w: record %d has a length of %d bytes", ErrDamaged, r.sequence, length&^recordHeader)
	case r.contentBytes > maxMessageBytes+maxNameBytes:
		return r, fmt.Errorf("%w: record %d has a length of %d bytes", ErrTooLarge, r.sequence, length&^recordHeader)
	}
	b.current, b.skip = r, r.contentBytes+recordSum
	return r, nil
}

// content reads what belongs to the record that next has returned.
func (b *block) content() ([]byte, error) {
	b.skip = recordSum
	return take(b.in, uint64(b.current.contentBytes))
}

// message takes the content apart.
func (r record) message(content []byte) (*body.Message, error) {
	subject, rest := content[:r.subjectBytes], content[r.subjectBytes:]
	if !r.withHeader {
		return newMessage(r.sequence, r.time, string(subject), rest, 0), nil
	}
	if len(rest) < 4 {
		return nil, fmt.Errorf("%w: message %d has no room for its header block", ErrDamaged, r.sequence)
	}
	size := uint64(binary.LittleEndian.Uint32(rest))
	rest = rest[4:]
	if size > uint64(len(rest)) {
		return nil, fmt.Errorf("%w: message %d has a header block of %d bytes in %d", ErrDamaged, r.sequence, size, len(rest))
	}
	return newMessage(r.sequence, r.time, string(subject), rest, size), nil
}
