package wal

import (
	"bytes"
	"encoding/binary"
)

// piece is a part of a segment that was read in spite of a hole: a valid record, or bytes that belong to
// none.
type piece struct {
	offset, bytes int64
	record        stored // if valid, or if claimed, but then its payload is not what was written
	valid         bool
	claimed       bool // only the header is valid
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

// piece judges what stands at an offset; it is empty if that is no record.
func (w *window) piece(at, to int64) (piece, error) {
	b, err := w.view(at, int(min(recordHeader, to-at)))
	if err != nil || len(b) < recordHeader {
		return piece{}, err
	}
	n := int64(recordHeader) + int64(binary.LittleEndian.Uint32(b[4:]))
	if at+n > to {
		return piece{}, nil
	}
	if b, err = w.view(at, int(n)); err != nil {
		return piece{}, err
	}
	r, ok := peekRecord(b, w.number, at)
	if !ok {
		return piece{}, nil
	}
	valid := r.sum == checksum(b, w.number, at)
	return piece{offset: at, bytes: n, record: r, valid: valid, claimed: !valid}, nil
}
