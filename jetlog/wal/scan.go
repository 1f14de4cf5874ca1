package wal

import (
	"runnel/jetlog/vfs"
)

// scanned is what is found in one segment, with no regard to the others.
type scanned struct {
	number uint64
	path   string
	bytes  int64

	damage      string // what is wrong with the header of the segment
	short       bool   // the file has fewer bytes than its header says
	unfit       bool   // nothing was written to it, and it has to be made again
	follows     bool   // nothing that is missing before it was written to
	first, last uint64 // sequences of the batches; 0: none
	end         int64  // where the last batch ends
	previous    link   // checksum of the batch before the first
	checksum    link   // of the last batch
	synced      uint64 // the highest batch that one here says is synced
	closing     int64  // where the mark is that Close leaves; 0: none
	holes       []hole // by offset
	groups      map[uint64]Position
}

// link is the checksum of a batch, if it is known: that of a batch that is lost may be told by the next.
type link struct {
	sum   uint32
	known bool
}

// breaks reports whether two links that should be the same are not.
func (a link) breaks(b link) bool { return a.known && b.known && a.sum != b.sum }

// hole is a part of a segment before its end that is not as it was written: a batch whose records are
// not all valid, or what stands where a batch header should.
type hole struct {
	offset, bytes int64
	first, last   uint64 // the batches concerned; first is 0 before the first valid batch of a segment
	known         bool   // what was in it is elsewhere
}

// position is that of the records in it: exact if only one batch is concerned.
func (h hole) position() uint64 { return max(h.first, h.last) }

// unlimited is the limit of a segment in which every batch counts.
const unlimited = ^uint64(0)

// scanSegment reads a segment. Its batches count up to limit: what is behind that was written again in a
// later segment, or was cut off.
func scanSegment(fs vfs.FS, path string, number uint64, id [16]byte, limit uint64) (*scanned, error) {
	s := &scanned{number: number, path: path, end: segmentHeader, groups: map[uint64]Position{}}
	return s, withWindow(fs, path, number, func(w *window) error {
		s.bytes = w.bytes
		return s.scan(w, id, limit)
	})
}

func (s *scanned) scan(w *window, id [16]byte, limit uint64) error {
	page, err := w.view(0, segmentHeader)
	if err != nil {
		return err
	}
	if s.damage, err = checkSegmentHeader(page, s.number, id); err != nil {
		return err
	}
	s.short = s.damage == "" && headerBytes(page) > s.bytes
	for {
		h, ok, err := w.header(s.end)
		if err != nil {
			return err
		}
		at := s.end
		if !ok || !s.continues(h) {
			if at, h, ok, err = w.search(s.end+batchAlign, s.last+1); err != nil || !ok {
				return err
			}
		}
		if h.sequence > limit {
			// What is written again starts with the first whole batch: if that is this one, what stands before
			// it is damage, which stays. Otherwise both were cut off.
			if s.last == 0 && h.sequence-1 > limit {
				return nil
			}
			return s.finish(w, at, h, limit)
		}
		s.synced = max(s.synced, h.synced)
		if h.flags&batchClosing != 0 {
			s.closing = at
			return s.finish(w, at, h, h.sequence-1)
		}
		if err := s.take(w, at, h); err != nil {
			return err
		}
	}
}

// continues reports whether a batch is the one that was written after the last.
func (s *scanned) continues(h header) bool {
	return s.last == 0 || h.sequence == s.last+1 && h.previous == s.checksum.sum
}

// take adds the batch at an offset to what was found.
func (s *scanned) take(w *window, at int64, h header) error {
	if err := s.gap(w, at, h, h.sequence-1); err != nil {
		return err
	}
	note := notes{groups: s.groups}
	whole, err := w.records(at, h, func(_ int64, r stored) { note.add(r.Group, Position(h.sequence)) })
	if err == nil && !whole {
		err = s.skip(w, hole{offset: at, bytes: int64(h.bytes), first: h.sequence, last: h.sequence})
	}
	if err != nil {
		return err
	}
	if s.first == 0 {
		s.first, s.previous = h.sequence, link{h.previous, true}
	}
	s.last, s.checksum, s.end = h.sequence, link{h.checksum, true}, at+int64(h.bytes)
	return nil
}

// finish is gap where no batch follows that counts.
func (s *scanned) finish(w *window, at int64, h header, last uint64) error {
	err := s.gap(w, at, h, last)
	if s.first == 0 {
		s.first = s.last
	}
	return err
}

// gap adds what is between the last batch and the one at an offset, if there is something: batches up to
// last, that nobody could recognise.
func (s *scanned) gap(w *window, at int64, h header, last uint64) error {
	if at == s.end || last <= s.last {
		return nil
	}
	lost := hole{offset: s.end, bytes: at - s.end, last: last}
	if s.last > 0 {
		lost.first = s.last + 1
	}
	s.last, s.end = last, at
	s.checksum = link{h.previous, h.sequence == last+1}
	return s.skip(w, lost)
}

// skip adds a hole. What can be read of it is needed as all else is.
func (s *scanned) skip(w *window, h hole) error {
	s.holes = append(s.holes, h)
	return w.salvage(h.offset, h.offset+h.bytes, func(p piece) error {
		if p.valid {
			s.groups[p.record.Group] = Position(h.position())
		}
		return nil
	})
}

// salvageEnd makes a hole of the records that follow where the header of the next batch should be: that
// batch is lost otherwise. It goes no further than they follow one another: what is behind may be a later
// batch, which was cut off.
func (s *scanned) salvageEnd(fs vfs.FS, first, last uint64) error {
	return withWindow(fs, s.path, s.number, func(w *window) error {
		h := hole{offset: s.end, bytes: batchHeader, first: first, last: last}
		for {
			p, err := w.piece(h.offset+h.bytes, w.bytes)
			if err != nil {
				return err
			}
			if !p.valid {
				break
			}
			h.bytes += p.bytes
		}
		if h.bytes == batchHeader {
			return nil
		}
		s.end += h.bytes
		return s.skip(w, h)
	})
}

// notes adds the groups of a batch to a table without a look into it for each record: streams of records
// of one group are common.
type notes struct {
	groups map[uint64]Position
	group  uint64
	some   bool
}

func (n *notes) add(group uint64, p Position) {
	if !n.some || group != n.group {
		n.groups[group], n.group, n.some = p, group, true
	}
}
