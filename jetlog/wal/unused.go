package wal

import (
	"encoding/binary"
	"fmt"

	"runnel/jetlog/vfs"
)

// damagedHeader is the reason when the header of a segment does not hold what was written.
const damagedHeader = "segment header"

// headerBytes is the length of the file as the header of a segment tells it.
func headerBytes(page []byte) int64 { return int64(binary.LittleEndian.Uint32(page[36:])) }

// settle decides which segments were used: those with batches, with a mark, and with damage that may have
// hit some, and all before them. The others are prepared ones, where nothing is lost.
func (r *recovery) settle() error {
	held := -1
	for i, s := range r.segments {
		blank, err := s.blank(r.maker.fs)
		if err != nil {
			return err
		}
		if s.last > 0 || s.closing > 0 || s.damage != "" && !blank {
			held = i
		}
	}
	for i, s := range r.segments[:held+1] {
		if s.last == 0 && s.short {
			s.damage = s.tooShort()
		}
		if s.last > 0 || s.damage != "" {
			r.used = i + 1
		}
	}
	if err := r.forgive(held); err != nil {
		return err
	}
	switch n := len(r.segments); {
	case n == 0:
	case held < 0 && r.segments[0].number > 1:
		r.note(r.segments[0].number-1, "it is missing, and so are those before it; what they held is lost")
	case r.used == n:
		r.note(r.segments[n-1].number+1, "no prepared segment is there; they are missing or the disk was full")
	}
	return nil
}

// forgive looks at the segments behind the last one that was used for sure. Segments are used in the order of
// their numbers, and the first batch stands right behind the header. So one with no batch there was not used,
// and neither was any behind it. What is missing, or too short to show that, is damage if the log may have
// gone on in it; otherwise it is noted and made again.
func (r *recovery) forgive(held int) error {
	begun := r.begun(held)
	for i := held + 1; i < len(r.segments); i++ {
		s := r.segments[i]
		if i > 0 && r.segments[i-1].number+1 != s.number {
			missing := r.segments[i-1].number + 1
			if begun { // join tells, and this one stays, so that the next start can tell it too
				r.used, begun = i+1, s.damage != "" || s.short
				continue
			}
			s.follows = true
			r.note(missing, fmt.Sprintf("%d segments are missing from it on; nothing was written to them", s.number-missing))
		}
		reason := s.damage
		if s.short {
			reason = s.tooShort()
		}
		goesOn, err := s.goesOn(r.maker.fs)
		if err != nil {
			return err
		}
		switch {
		case reason != "" && begun && goesOn:
			s.damage, r.used = reason, i+1
			continue
		case reason != "":
			s.damage, s.unfit = "", true
			r.note(s.number, reason+"; nothing was written to it")
		}
		begun = false
	}
	return nil
}

// begun reports whether the log may have gone on behind a segment. It does when a batch does not fit in: that
// takes a large one if there is much room. And then so many segments are prepared behind the next one.
func (r *recovery) begun(held int) bool {
	if held < 0 || r.segments[held].last == 0 {
		return true
	}
	s := r.segments[held]
	newest := r.segments[len(r.segments)-1].number
	return newest > s.number+uint64(r.ready) || s.bytes-s.end < min((s.bytes-segmentHeader)/2, 2*int64(r.batchBytes))
}

// note tells about a segment that is not as it should be and holds nothing.
func (r *recovery) note(number uint64, what string) {
	r.notes = append(r.notes, fmt.Sprintf("log segment %s: %s", r.maker.path(segmentName(number)), what))
}

func (s *scanned) tooShort() string { return fmt.Sprintf("the file has %d bytes only", s.bytes) }

// shortened looks for segments that have lost their end. A file is made in full before it is used, so no crash makes it shorter:
// if it is, batches may be gone behind the last one. Only where there is room for a batch header, and none, was none. What follows in
// later segments says nothing: it may have been written when the end was gone already, and each start must find the same until the
// segment is given up.
func (r *recovery) shortened() error {
	for _, s := range r.segments {
		if !s.short || s.last == 0 || s.closing > 0 {
			continue
		}
		goesOn, err := s.goesOn(r.maker.fs)
		if err != nil {
			return err
		}
		if goesOn {
			g := gap{path: s.path, number: s.number, holder: s.number, reason: s.tooShort(), certain: true}
			g.offset, g.first, g.last = s.end, s.last+1, s.last
			r.gaps = append(r.gaps, g)
		}
	}
	return nil
}

// goesOn reports whether there may have been a batch behind the last one, or the first one, of a file that is too short: its header is
// there, or there is no room for it.
func (s *scanned) goesOn(fs vfs.FS) (goesOn bool, err error) {
	err = withWindow(fs, s.path, s.number, func(w *window) error {
		b, err := w.view(s.end, batchHeader)
		if err != nil {
			return err
		}
		_, headed := decodeHeader(b, w.number, s.end, headerRoom)
		goesOn = headed || len(b) < batchHeader
		return nil
	})
	return goesOn, err
}

// headerRoom is where every batch fits in: its header counts, whatever of it is there.
const headerRoom = 1 << 40

// blank reports whether the header of a segment is damaged and nothing but zeros stands behind it.
func (s *scanned) blank(fs vfs.FS) (blank bool, err error) {
	if s.damage != damagedHeader || s.last > 0 {
		return false, nil
	}
	return blank, withWindow(fs, s.path, s.number, func(w *window) error {
		blank, err = w.zeros(segmentHeader)
		return err
	})
}

// zeros reports whether nothing else stands from an offset to the end of the file.
func (w *window) zeros(offset int64) (bool, error) {
	for offset < w.bytes {
		b, err := w.view(offset, windowBytes)
		if err != nil {
			return false, err
		}
		if len(b) == 0 {
			return true, nil
		}
		for _, x := range b {
			if x != 0 {
				return false, nil
			}
		}
		offset += int64(len(b))
	}
	return true, nil
}
