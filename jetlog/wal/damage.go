package wal

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Damage is a part of the log that was synced and is not as it was written. What stands around it is
// whole and is among the recovered records; what stood in it is lost.
type Damage struct {
	File          string   // path of the segment
	Offset, Bytes int64    // where in it; 0 bytes if nobody knows how much
	First, Last   Position // the batches concerned; Last is less than First if that is not known
	// Known: one record is concerned, whose header names this group and index, and has a check of its own.
	// Otherwise every group may be concerned: those whose indexes do not continue behind it are, and whose
	// last record is before it may be.
	Known        bool
	Group, Index uint64
	// Harmless: what is damaged held no record.
	Harmless bool
	Reason   string
}

// String says it on one line.
func (d Damage) String() string {
	at := fmt.Sprintf("%s at %d: %s, %d bytes, batches %d to %d", d.File, d.Offset, d.Reason, d.Bytes, d.First, d.Last)
	switch {
	case d.Harmless:
		return at + ", no record is lost"
	case d.Known:
		return fmt.Sprintf("%s, group %d index %d", at, d.Group, d.Index)
	}
	return at + ", any group"
}

// Torn is what recovery cut off the end of the log: nothing says that it was synced, and it is not whole or
// follows something that is not.
type Torn struct {
	File    string   // path of the segment where it starts
	Offset  int64    // in that file
	Bytes   int64    // up to the end of the last thing that was recognised, in all files
	First   Position // the batch that would have stood there
	Records int      // how many were recognised
	Groups  []Cut    // whose they were, by group
}

// Cut is what was cut off of one group.
type Cut struct {
	Group       uint64
	First, Last uint64 // lowest and highest index
}

// String says it on one line.
func (t Torn) String() string {
	return fmt.Sprintf("%s at %d: cut off %d bytes from batch %d on, %d records of %d groups recognised",
		t.File, t.Offset, t.Bytes, t.First, t.Records, len(t.Groups))
}

// gap is a place where the log as a whole is not as it was written.
type gap struct {
	hole
	path    string
	number  uint64
	reason  string // "" if it is worth a look inside
	certain bool   // damage, whatever is said to be synced
	holder  uint64 // number of the segment that shows the gap as long as it is there
}

// examine describes a gap as damage, as exactly as it can.
func (r *recovery) examine(g gap) error {
	r.damaged[g.holder] = true
	whole := Damage{
		File: g.path, Offset: g.offset, Bytes: g.bytes, Reason: g.reason,
		First: Position(g.first), Last: Position(g.last), Harmless: g.known,
	}
	if g.reason != "" {
		whole.Harmless = g.bytes > 0 && g.last < g.first
		r.damage = append(r.damage, whole)
		return nil
	}
	return withWindow(r.maker.fs, g.path, g.number, func(w *window) error {
		found, err := w.examine(whole)
		r.damage = append(r.damage, found...)
		return err
	})
}

// examine splits a damage into its pieces.
func (w *window) examine(whole Damage) ([]Damage, error) {
	h, ok, err := w.header(whole.Offset)
	if err != nil {
		return nil, err
	}
	headed := ok && int64(h.bytes) == whole.Bytes
	var found []Damage
	err = w.salvage(whole.Offset, whole.Offset+whole.Bytes, func(p piece) error {
		d := whole
		d.Offset, d.Bytes = p.offset, p.bytes
		switch {
		case p.valid || p.offset == whole.Offset && headed:
			return nil
		case p.offset == whole.Offset:
			d.Reason = "batch header"
		default:
			d.Reason = "record"
			d.Known, d.Group, d.Index = p.claimed, p.record.Group, p.record.Index
		}
		found = append(found, d)
		return nil
	})
	switch {
	case headed && len(found) == 0:
		whole.Reason = "batch does not hold what was written"
		found = append(found, whole)
	case !headed && len(found) == 1 && whole.First >= whole.Last:
		found[0].Harmless = true // one batch at most, and all its records are there
	}
	return found, err
}

// cutAt describes what is cut off from the end of segment i on, in the segments up to last.
func (r *recovery) cutAt(i, last int) error {
	groups := map[uint64]Cut{}
	for _, s := range r.segments[i : last+1] {
		err := withWindow(r.maker.fs, s.path, s.number, func(w *window) error { return r.cutFrom(w, s.end, groups) })
		if err != nil {
			return err
		}
	}
	if r.torn != nil {
		r.torn.Groups = slices.SortedFunc(maps.Values(groups), func(a, b Cut) int { return cmp.Compare(a.Group, b.Group) })
	}
	return nil
}

// cutFrom adds what is recognised behind an offset of a segment.
func (r *recovery) cutFrom(w *window, from int64, groups map[uint64]Cut) error {
	end := from // of what was recognised
	_, ok, err := w.header(from)
	if err != nil {
		return err
	}
	if ok {
		end = from + batchHeader
	}
	records := 0
	err = w.salvage(from, w.bytes, func(p piece) error {
		if !p.valid {
			return nil
		}
		end = p.offset + p.bytes
		records++
		c, ok := groups[p.record.Group]
		if !ok {
			c = Cut{Group: p.record.Group, First: p.record.Index}
		}
		c.First, c.Last = min(c.First, p.record.Index), max(c.Last, p.record.Index)
		groups[c.Group] = c
		return nil
	})
	if err != nil || end == from {
		return err
	}
	if r.torn == nil {
		r.torn = &Torn{File: w.path, Offset: from, First: Position(r.last + 1)}
	}
	r.torn.Bytes += end - from
	r.torn.Records += records
	return nil
}
