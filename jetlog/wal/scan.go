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
	first, last uint64 // sequences of the batches; 0: none
	end         int64  // where the last batch ends
	previous    uint32 // checksum of the batch before the first
	checksum    uint32 // of the last batch
	synced      uint64 // the highest batch that one here says is synced
	closing     int64  // where the mark is that Close leaves; 0: none
	holes       []hole // by offset
	groups      map[uint64]Position
}

// hole is a part of a segment before its end that is not as it was written: a batch whose records are
// not all valid, or what stands where a batch header should.
type hole struct {
	offset, bytes int64
	first, last   uint64 // the batches concerned; first is 0 before the first valid batch of a segment
}

// scanSegment reads a segment, up to a sequence; what is behind was written again in a later segment.
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
			return nil
		}
		s.synced = max(s.synced, h.synced)
		if h.flags&batchClosing != 0 {
			s.closing = at
			return nil
		}
		if err := s.take(w, at, h); err != nil {
			return err
		}
	}
}

// continues reports whether a batch is the one that was written after the last.
func (s *scanned) continues(h header) bool {
	return s.last == 0 || h.sequence == s.last+1 && h.previous == s.checksum
}

// take adds the batch at an offset to what was found.
func (s *scanned) take(w *window, at int64, h header) error {
	if at > s.end {
		gap := hole{offset: s.end, bytes: at - s.end, last: h.sequence - 1}
		if s.last > 0 {
			gap.first = s.last + 1
		}
		s.holes = append(s.holes, gap)
	}
	note := notes{groups: s.groups}
	whole, err := w.records(at, h, func(_ int64, r stored) { note.add(r.Group, Position(h.sequence)) })
	if err != nil {
		return err
	}
	if !whole {
		s.holes = append(s.holes, hole{offset: at, bytes: int64(h.bytes), first: h.sequence, last: h.sequence})
	}
	if s.first == 0 {
		s.first, s.previous = h.sequence, h.previous
	}
	s.last, s.checksum, s.end = h.sequence, h.checksum, at+int64(h.bytes)
	return nil
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
