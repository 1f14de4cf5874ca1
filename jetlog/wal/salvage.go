package wal

import (
	"bytes"
	"encoding/binary"
)

// piece is a part of a segment that was read in spite of a hole: a valid record, or bytes that belong to
// none.
type piece struct {
	offset, bytes int64
	record        stored // if valid; if claimed, as it says itself
	valid         bool
	claimed       bool // not valid, but its header looks like one and its length fits what follows
}

// salvage reads what can be read of the part [from, to) of a segment, which starts where a batch header
// should be, and calls each for its pieces, by offset. The place of the header is the first. A record is
// valid until each returns.
func (w *window) salvage(from, to int64, each func(piece) error) error {
	done := min(from+batchHeader, to) // all before was handed out
	if err := each(piece{offset: from, bytes: done - from}); err != nil {
		return err
	}
	for at := done; ; {
		next, err := w.candidate(at, to)
		if err != nil {
			return err
		}
		p, err := w.piece(next, to)
		switch {
		case err != nil:
			return err
		case next < to && !p.valid && !p.claimed:
			at = next + 1
			continue
		case next > done && (next < to || align(done) < to): // not only padding
			if err := each(piece{offset: done, bytes: next - done}); err != nil {
				return err
			}
		}
		if next == to {
			return nil
		}
		if err := each(p); err != nil {
			return err
		}
		at = next + p.bytes
		done = at
	}
}

// candidate is the first offset in [at, to) where a record may start, or to.
func (w *window) candidate(at, to int64) (int64, error) {
	const mark = 33 // offset of the flags in a record
	for at+recordHeader <= to {
		b, err := w.view(at, int(min(to-at, zeroChunk)))
		if err != nil {
			return 0, err
		}
		if len(b) < recordHeader {
			break
		}
		flags := b[mark:]
		i := bytes.IndexByte(flags, recordMark)
		if i >= 0 {
			flags = flags[:i]
		}
		if j := bytes.IndexByte(flags, recordMark|recordSealed); j >= 0 {
			i = j
		}
		if i >= 0 {
			return at + int64(i), nil
		}
		at += int64(len(b) - mark)
	}
	return to, nil
}

// recordAt returns the bytes of what may be a record at an offset, or none.
func (w *window) recordAt(at, to int64) ([]byte, error) {
	b, err := w.view(at, int(min(recordHeader, to-at)))
	if err != nil || len(b) < recordHeader {
		return nil, err
	}
	n := int64(recordHeader) + int64(binary.LittleEndian.Uint32(b[4:]))
	if at+n > to {
		return nil, nil
	}
	return w.view(at, int(n))
}

// piece judges what stands at an offset.
func (w *window) piece(at, to int64) (piece, error) {
	b, err := w.recordAt(at, to)
	if err != nil {
		return piece{}, err
	}
	r, ok := peekRecord(b)
	if !ok {
		return piece{}, nil
	}
	p := piece{offset: at, bytes: int64(r.bytes), record: r}
	if r.sum == checksum(b, w.number, at) {
		p.valid = true
		return p, nil
	}
	p.record.Payload, p.record.bound = nil, nil
	p.claimed, err = w.boundary(at+p.bytes, to)
	return p, err
}

// boundary reports whether a valid record, or the end of the part, is at an offset.
func (w *window) boundary(at, to int64) (bool, error) {
	if align(at) >= to {
		return true, nil
	}
	b, err := w.recordAt(at, to)
	if err != nil {
		return false, err
	}
	_, ok := decodeRecord(b, w.number, at)
	return ok, nil
}
