package layer

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"

	"runnel/jetlog"
	"runnel/jetlog/segment"
)

// CountSubjects returns how many subjects have messages. It counts those of which files say so, and then looks at those that
// something may have become new about since, by name: states returns how they are now. No part is covered. exact is false if files say what is
// outdated, since a range that reaches into them was purged: then there is no number. The files are read, so it may take
// a second for ten million subjects; it ends with the context.
func CountSubjects(
	ctx context.Context, parts []*Part, purged uint64, changed []string, hash func(string) [16]byte,
	states func([]string) ([]jetlog.SubjectState, error),
) (n int, exact bool, err error) {
	if n, exact, err = countStored(ctx, parts, purged); !exact || err != nil {
		return 0, false, err
	}
	names := map[segment.Hash]string{}
	for _, name := range changed {
		names[hash(name)] = name
	}
	hashes := make([]segment.Hash, 0, len(names))
	for h := range names {
		hashes = append(hashes, h)
	}
	slices.SortFunc(hashes, func(a, b segment.Hash) int { return bytes.Compare(a[:], b[:]) })
	err = StoredAll(parts, purged, hashes, func(_ int, s jetlog.SubjectState, _ bool) {
		if s.Count > 0 {
			n-- // it is counted again below, as it is now
		}
	})
	const atOnce = 128
	var batch []string
	for i, h := range hashes {
		if batch = append(batch, names[h]); len(batch) < atOnce && i < len(hashes)-1 {
			continue
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return 0, false, err
		}
		var now []jetlog.SubjectState
		now, err = states(batch)
		for j := range now {
			if now[j].Count > 0 {
				n++
			}
		}
		batch = batch[:0]
	}
	return n, true, err
}

// head is the next fact of a file.
type head struct {
	*segment.FactCursor
	part  *Part
	order uint64 // like the first bytes of the hash
}

// next goes on, and is false at the end.
func (h *head) next() bool {
	if !h.Next() {
		return false
	}
	h.order = binary.BigEndian.Uint64(h.Hash())
	return true
}

// before compares hashes: mostly their first bytes decide.
func (h *head) before(other *head) bool {
	return h.order < other.order || h.order == other.order && bytes.Compare(h.Hash(), other.Hash()) < 0
}

// countStored counts the subjects of which the newest file that says something says that they have messages.
func countStored(ctx context.Context, parts []*Part, purged uint64) (n int, exact bool, err error) {
	var heads []*head // newest first
	for _, p := range slices.Backward(parts) {
		h := &head{FactCursor: p.File.Segment.FactCursor(p.Stream, SubjectFact), part: p}
		if !h.next() {
			if h.Err() != nil {
				return 0, false, h.Err()
			}
			continue
		}
		heads = append(heads, h)
	}
	var last segment.Hash // of the fact before
	for facts := 0; len(heads) > 0; facts++ {
		if facts%(1<<16) == 0 && ctx.Err() != nil {
			return 0, false, ctx.Err()
		}
		least := heads[0]
		for _, h := range heads[1:] {
			if h.before(least) {
				least = h
			}
		}
		if facts == 0 || last != segment.Hash(least.Hash()) { // otherwise a newer file has said it
			s, sure := least.part.stored(least.Value(), purged)
			if !sure {
				return 0, false, nil
			}
			if s.Count > 0 {
				n++
			}
			last = segment.Hash(least.Hash())
		}
		if !least.next() {
			if least.Err() != nil {
				return 0, false, least.Err()
			}
			heads = slices.DeleteFunc(heads, func(h *head) bool { return h == least })
		}
	}
	return n, true, nil
}

// Live returns the layers that may have live messages.
func (b *Below) Live() (live []Layer) {
	for _, l := range b.Layers {
		if l.Span().Last > b.Gone.Floor() {
			live = append(live, l)
		}
	}
	return live
}
