package wal

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"runnel/jetlog/vfs"
)

// recovery is what Open finds out about the files of a log.
type recovery struct {
	maker      maker
	ready      int        // so many segments are prepared ahead
	batchBytes int        // of a batch, about, at most
	segments   []*scanned // by number
	spares     []string   // paths of files that wait for a number
	used       int        // so many segments, from the first, hold something or did
	synced     uint64     // the highest batch that is proven to be synced
	last       uint64     // the last batch that stays
	checksum   uint32     // of that one
	gaps       []gap      // in order
	damage     []Damage
	damaged    map[uint64]bool // numbers of the segments that show it
	torn       *Torn
	notes      []string // about what is not as it should be, and held nothing
}

// recover reads all files and decides what stays. It changes nothing that is of use.
func (r *recovery) recover() error {
	numbers, err := r.list()
	if err != nil {
		return err
	}
	if err := r.scan(numbers); err != nil {
		return err
	}
	if err := r.join(); err != nil {
		return err
	}
	if err := r.shortened(); err != nil {
		return err
	}
	return r.judge()
}

// list finds the files of the log, and clears away what never became part of it. The names that it finds
// may not be safe yet: were one undone after the file has got another number, it would look damaged.
func (r *recovery) list() (numbers []uint64, err error) {
	if err := r.maker.fs.SyncDir(r.maker.dir); err != nil {
		return nil, fmt.Errorf("sync log directory: %w", err)
	}
	entries, err := r.maker.fs.List(r.maker.dir)
	if err != nil {
		return nil, fmt.Errorf("list log: %w", err)
	}
	for _, e := range entries {
		path := r.maker.path(e.Name)
		switch n, ok := segmentNumber(e.Name); {
		case ok:
			numbers = append(numbers, n)
		case e.Name == newName:
			err = r.maker.fs.Remove(path)
		case strings.HasPrefix(e.Name, sparePrefix):
			err = r.spare(path)
		}
		if err != nil {
			return nil, fmt.Errorf("clear log directory: %w", err)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

// spare keeps a spare file if it has the right size.
func (r *recovery) spare(path string) error {
	info, err := r.maker.fs.Stat(path)
	if err != nil {
		return err
	}
	if info.Bytes != r.maker.bytes {
		return r.maker.fs.Remove(path)
	}
	r.spares = append(r.spares, path)
	return nil
}

// scan reads all segments, the newest first: where one starts is where those before it end.
func (r *recovery) scan(numbers []uint64) error {
	limit := unlimited
	for _, n := range slices.Backward(numbers) {
		s, err := scanSegment(r.maker.fs, r.maker.path(segmentName(n)), n, r.maker.id, limit)
		if err != nil {
			return err
		}
		if s.first > 0 {
			limit = min(limit, s.first-1)
		}
		r.synced = max(r.synced, s.synced)
		r.segments = append(r.segments, s)
	}
	slices.Reverse(r.segments)
	return r.settle()
}

// join puts the segments in a row and finds what is missing in them and between them.
func (r *recovery) join() error {
	before := -1 // the last one with batches, or the very first
	for i, s := range r.segments {
		adjacent := i == 0 || r.segments[i-1].number+1 == s.number || s.follows
		if !adjacent {
			r.missing(r.segments[i-1], s)
		}
		if s.damage != "" {
			g := gap{path: s.path, number: s.number, holder: s.number, reason: s.damage, certain: true}
			g.bytes, g.first, g.last = segmentHeader, r.last+1, r.last
			if s.last == 0 {
				g.bytes = 0 // there may have been more
			}
			r.gaps = append(r.gaps, g)
		}
		if before >= 0 && s.last > 0 {
			if err := r.seam(before, i, adjacent); err != nil {
				return err
			}
		}
		r.holes(s, before >= 0)
		switch {
		case s.last > 0:
			before, r.last, r.checksum = i, s.last, s.checksum.sum
		case s.number == 1:
			before = i // nothing was ever before it: what follows starts with batch 1
		}
	}
	return nil
}

// holes notes the holes of a segment; follows says that there are batches before it.
func (r *recovery) holes(s *scanned, follows bool) {
	for j := range s.holes {
		h := &s.holes[j]
		switch {
		case h.first == 0 && !follows:
			// Nobody knows how many there were. What the log starts with is synced, if anything is: nothing
			// before it would have been given up otherwise.
			h.first = max(min(h.last, r.synced), 1)
		case h.first == 0:
			h.first = r.last + 1
			if h.known = h.last <= r.last; h.known { // the segment before has what was in it
				h.first = max(h.last, 1)
			}
		}
		r.gaps = append(r.gaps, gap{hole: *h, path: s.path, number: s.number, holder: s.number})
	}
}

// missing notes that there are no segments between two that do not follow one another.
func (r *recovery) missing(a, b *scanned) {
	g := gap{
		path: r.maker.path(segmentName(a.number + 1)), number: a.number + 1, holder: a.number, certain: true,
		reason: fmt.Sprintf("%d segments are missing", b.number-a.number-1),
	}
	g.first, g.last = r.last+1, r.last
	if b.first > 0 {
		g.last = b.first - 1
	}
	r.gaps = append(r.gaps, g)
}

// seam looks at the place between a segment with batches and the next one that has some.
func (r *recovery) seam(before, next int, adjacent bool) error {
	a, b := r.segments[before], r.segments[next]
	g := gap{path: a.path, number: a.number, holder: a.number, hole: hole{offset: a.end}}
	startsWithHole := len(b.holes) > 0 && b.holes[0].first == 0
	switch {
	case b.first > a.last+1 && adjacent && !startsWithHole:
		g.reason = "the end of the segment is missing"
		g.first, g.last = a.last+1, b.first-1
	case b.first == a.last+1 && !startsWithHole && b.previous.breaks(a.checksum):
		g.reason, g.certain = "the next segment does not continue this one", true
		g.first, g.last = b.first, b.first
	default:
		return nil
	}
	r.gaps = append(r.gaps, g)
	if g.certain {
		return nil
	}
	return a.salvageEnd(r.maker.fs, g.first, g.last)
}

// judge decides where the log ends, and what before that is damage.
func (r *recovery) judge() error {
	end := r.last + 1
	for _, g := range r.gaps {
		if !g.certain && !g.known && g.first > r.synced && g.last >= g.first {
			end = min(end, g.first)
		}
	}
	for _, g := range r.gaps {
		if g.certain || g.first < end {
			if err := r.examine(g); err != nil {
				return err
			}
		}
	}
	if err := r.limit(end - 1); err != nil {
		return err
	}
	if r.clean() {
		return nil
	}
	tail := max(r.tail(), 0)
	// A batch is written behind the last one or into the segment that comes next.
	return r.cutAt(tail, min(r.used, len(r.segments)-1))
}

// limit takes the log back to a batch.
func (r *recovery) limit(last uint64) error {
	if err := r.rescan(r.segments, last); err != nil {
		return err
	}
	r.last = last
	if tail := r.tail(); tail >= 0 {
		r.checksum = r.segments[tail].checksum.sum
	}
	return nil
}

// tail is the index of the last segment with batches, or -1.
func (r *recovery) tail() int {
	for i, s := range slices.Backward(r.segments) {
		if s.last > 0 {
			return i
		}
	}
	return -1
}

// clean reports whether the log was closed.
func (r *recovery) clean() bool {
	return r.closing() != nil && r.synced == r.last
}

// closing is the segment with the mark that Close leaves, or nil.
func (r *recovery) closing() *scanned {
	for _, s := range r.segments {
		if s.closing > 0 {
			return s
		}
	}
	return nil
}

// rescan reads segments again that have batches after one that is the last to count.
func (r *recovery) rescan(segments []*scanned, last uint64) error {
	for i, s := range segments {
		if s.last > last {
			again, err := scanSegment(r.maker.fs, s.path, s.number, r.maker.id, last)
			if err != nil {
				return err
			}
			segments[i] = again
		}
	}
	return nil
}

// prove writes the batches that nothing proves to be synced again, into a segment that follows all that
// were used. What was read may be in the page cache only, and look written back.
func (r *recovery) prove() error {
	if r.last == r.synced {
		return nil
	}
	size := int64(segmentHeader)
	for _, s := range r.segments {
		if s.last > r.synced {
			size += s.end - segmentHeader
		}
	}
	size = max(size, r.maker.bytes)
	number := r.segments[r.used-1].number + 1
	spare, err := r.takeSpare(size)
	if err != nil {
		return err
	}
	first := unlimited // of the batches that are written: none, if all that nothing proves are lost
	made, err := r.maker.make(number, spare, size, func(f vfs.File) (err error) {
		first, err = r.rewrite(f, number, size)
		return err
	})
	if err == nil {
		err = made.file.Close()
	}
	if err != nil {
		return fmt.Errorf("write the end of the log again: %w", err)
	}
	again, err := scanSegment(r.maker.fs, made.path, number, r.maker.id, unlimited)
	if err != nil {
		return err
	}
	if max(again.last, again.synced) != r.last || len(again.holes) > 0 {
		return fmt.Errorf("%s: does not hold what was just written to it", made.path)
	}
	before, after := r.segments[:r.used], r.segments[r.used:]
	if len(after) > 0 && after[0].number == number {
		after = after[1:]
	}
	if err := r.rescan(before, first-1); err != nil {
		return err
	}
	r.segments = slices.Concat(before, []*scanned{again}, after)
	r.used++
	r.synced = r.last
	if again.last > 0 {
		r.checksum = again.checksum.sum
	}
	return nil
}

// takeSpare gives up a file that is not needed for one of this size: so this works on a full disk. It
// returns "" if there is none.
func (r *recovery) takeSpare(size int64) (string, error) {
	if n := len(r.spares) - 1; n >= 0 && r.maker.bytes == size {
		path := r.spares[n]
		r.spares = r.spares[:n]
		return path, nil
	}
	n := len(r.segments) - 1
	if n < r.used || r.segments[n].bytes != size {
		return "", nil
	}
	path, err := r.maker.putAside(r.segments[n].path, r.segments[n].number)
	r.segments = r.segments[:n]
	return path, err
}

// rewrite writes the unproven batches into a segment in the making, and the mark of a log that was closed, if
// there is room for it: the segment gets its number when all of it is synced. It returns the first of these
// batches, or unlimited.
func (r *recovery) rewrite(to vfs.File, number uint64, size int64) (first uint64, err error) {
	target := &segment{number: number}
	var b batch
	end, sum := int64(segmentHeader), r.checksum
	first = unlimited
	for _, s := range r.segments[:r.used] {
		if s.last <= r.synced {
			continue
		}
		err := withWindow(r.maker.fs, s.path, s.number, func(w *window) error {
			return w.walk(s.end, s.holes, func(at int64, h header, whole bool) error {
				if !whole || h.sequence <= r.synced {
					return nil
				}
				if first == unlimited {
					sum, first = h.previous, h.sequence
				}
				b.begin(target, end, h.sequence)
				whole, err := w.records(at, h, func(_ int64, x stored) { b.add(&x.Record, x.Payload, x.flags) })
				if err != nil || !whole {
					return errors.Join(err, errChanged)
				}
				sum, end = b.seal(h.sequence-1, sum, 0), b.end()
				_, err = to.WriteAt(b.buf, b.offset)
				return err
			})
		})
		if err != nil {
			return 0, err
		}
	}
	if end+batchHeader > size {
		return first, nil
	}
	b.begin(target, end, r.last+1)
	b.seal(r.last, sum, batchClosing)
	_, err = to.WriteAt(b.buf, end)
	return first, err
}
