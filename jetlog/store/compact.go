package store

import (
	"bytes"
	"errors"
	"iter"
	"path/filepath"
	"slices"

	"runnel/jetlog/config"
	"runnel/jetlog/gone"
	"runnel/jetlog/layer"
	"runnel/jetlog/manifest"
	"runnel/jetlog/order"
	"runnel/jetlog/segment"
)

// runLength is how many files of about one size become one.
const runLength = 4

// plan is files of a stream, neighbours in its list, that become one.
type plan struct {
	stream  *Stream
	gone    *gone.Set // as of the last flush: what the manifest knows
	first   int       // position of the run among the stream's files
	run     []*layer.Part
	oldest  bool // no file is older
	forgot  int64
	purged  uint64
	entries []manifest.Part // of all files of the stream, as the manifest has them
}

// Compact rewrites files so that streams have few of them, without what has gone. Only what had gone
// by the last flush is left out: what the log has behind it may still ask for the rest.
func (s *Store) Compact() error {
	s.flushing.Lock()
	defer s.flushing.Unlock()
	for _, stream := range s.Streams() {
		for {
			if s.closing.Load() || s.usable() != nil {
				return nil
			}
			p := s.plan(stream)
			if p == nil {
				break
			}
			err := s.compact(p)
			var c *segment.Corruption
			if errors.As(err, &c) {
				// The stream keeps its files as they are; the others go on.
				s.damaged(damageOf(stream.id, stream.name, err))
				break
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// plan chooses what to compact; nil if there is nothing. It looks at what the manifest has.
func (s *Store) plan(t *Stream) *plan {
	s.edits.Lock()
	defer s.edits.Unlock()
	e := s.catalog.Streams[t.id]
	parts := t.files()
	if e == nil || len(parts) == 0 || len(parts) != len(e.Parts) || t.Err() != nil {
		return nil
	}
	first, n := s.choose(parts, e.Parts)
	if n == 0 {
		return nil
	}
	return &plan{
		stream: t, gone: gone.Of(e.Floor, e.Pages), first: first, run: parts[first : first+n], oldest: first == 0,
		forgot: e.Forgot, purged: e.Purged, entries: slices.Clone(e.Parts),
	}
}

// files returns the files of a stream, oldest first; nil while something is frozen.
func (t *Stream) files() []*layer.Part {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.body == nil || t.body.frozen != nil {
		return nil
	}
	return t.body.parts
}

// choose returns the first run worth the work: several files that are small together; or one that is
// mostly gone, with its older neighbour if that is small too.
func (s *Store) choose(parts []*layer.Part, entries []manifest.Part) (first, n int) {
	left := make([]int64, len(parts)) // bytes that are left of each
	for i, p := range parts {
		left[i] = int64(p.Spanned.Bytes)
		if entries[i].Removed != manifest.Unknown {
			left[i] -= int64(entries[i].Bytes)
		}
	}
	for i := range parts {
		sum, largest := int64(0), int64(0)
		for j := i; j < len(parts); j++ {
			sum += left[j]
			largest = max(largest, left[j])
			if sum > s.cfg.SegmentBytes {
				break
			}
			// Each byte is written again only when what it is in grows a lot by it.
			if j-i+1 >= runLength && sum >= largest*2 || j-i+1 >= 4*runLength {
				return i, j - i + 1
			}
		}
	}
	for i, p := range parts {
		half := int64(p.Spanned.Bytes) / 2
		if p.Spanned.Bytes >= ownBytes && left[i] < half {
			return i, 1
		}
	}
	return 0, 0
}

// compact carries a plan out.
func (s *Store) compact(p *plan) error {
	compress := p.stream.Config().Compression == config.S2Compression
	f, err := s.newFile(compress, p.write)
	if err != nil {
		return err
	}
	if err := s.cfg.FS.SyncDir(filepath.Join(s.cfg.Dir, segmentDir)); err != nil {
		s.discard(f)
		return s.fail(err)
	}
	e := &manifest.Edit{Files: []manifest.File{f.File}, Streams: []manifest.StreamEdit{p.edit(f)}}
	if err := s.note([]*layer.File{f}, e); err != nil {
		s.discard(f)
		return err
	}
	p.stream.replace(p, f)
	s.edits.Lock()
	defer s.edits.Unlock()
	s.sweep()
	return nil
}

// write writes what is left of the messages and what is true of the facts.
func (p *plan) write(w *segment.Writer) error {
	for _, x := range p.run {
		for m, err := range x.File.Segment.Messages(p.stream.id, 0) {
			if err != nil {
				return err
			}
			if p.gone.Has(m.Sequence) {
				continue
			}
			if err := w.Add(p.stream.id, m); err != nil {
				return err
			}
		}
	}
	for f, err := range newest(p.run, p.stream.id, subjectFact) {
		if err != nil {
			return err
		}
		if f.Value[2] == 0 && p.oldest {
			continue // nobody says otherwise
		}
		if err := w.AddFact(p.stream.id, subjectFact, f.Hash, f.Value); err != nil {
			return err
		}
	}
	for f, err := range newest(p.run, p.stream.id, idFact) {
		if err != nil {
			return err
		}
		if int64(f.Value[1]) < p.forgot {
			continue
		}
		if err := w.AddFact(p.stream.id, idFact, f.Hash, f.Value); err != nil {
			return err
		}
	}
	return nil
}

// purgedOf is how outdated the facts of the run may be: as much as its oldest file.
func (p *plan) purgedOf() uint64 {
	least := p.run[0].Purged
	for _, x := range p.run {
		least = min(least, x.Purged)
	}
	return least
}

// idTime is the time of the last message id that the new file may have.
func (p *plan) idTime() int64 {
	latest := int64(0)
	for _, x := range p.run {
		latest = max(latest, x.IDTime)
	}
	return latest
}

// edit replaces the run by the new file.
func (p *plan) edit(f *layer.File) manifest.StreamEdit {
	e := manifest.StreamEdit{}
	e.ID = p.stream.id
	e.Parts = slices.Replace(slices.Clone(p.entries), p.first, p.first+len(p.run), p.entry(f))
	return e
}

// entry describes the new file. Nothing has gone from it as of the last flush: that was left out.
func (p *plan) entry(f *layer.File) manifest.Part {
	return manifest.Part{File: f.Number, Purged: p.purgedOf(), IDTime: p.idTime()}
}

// replace lets the stream use the file of a plan. What has gone since the last flush is counted again.
func (t *Stream) replace(p *plan, f *layer.File) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.body == nil {
		return
	}
	e := p.entry(f)
	fresh := layer.NewPart(f, t.id, &e)
	b := t.body
	if first, last := p.bounds(); last > 0 {
		b.Gone.Drop(p.gone, first, last)
	}
	if fresh.Has() {
		fresh.Spanned.Removed, fresh.Spanned.RemovedBytes = p.goneSince()
	}
	b.setParts(slices.Replace(slices.Clone(b.parts), p.first, p.first+len(p.run), fresh))
}

// bounds are the lowest and highest sequences of the run.
func (p *plan) bounds() (first, last uint64) {
	for _, x := range p.run {
		if x.Has() {
			if first == 0 {
				first = x.Spanned.First
			}
			last = x.Spanned.Last
		}
	}
	return first, last
}

// goneSince is what has gone from the run since the last flush; unknown if that was not counted.
func (p *plan) goneSince() (messages, bytes uint64) {
	for i, x := range p.run {
		e := p.entries[p.first+i]
		if x.Spanned.Removed == manifest.Unknown || e.Removed == manifest.Unknown {
			return manifest.Unknown, 0
		}
		messages += x.Spanned.Removed - e.Removed
		bytes += x.Spanned.RemovedBytes - e.Bytes
	}
	return messages, bytes
}

// newest goes through the facts of several files in the order of their hashes, and yields of each what
// the newest file says.
func newest(run []*layer.Part, stream uint64, kind segment.FactKind) iter.Seq2[segment.Fact, error] {
	var sources []iter.Seq2[segment.Fact, error]
	for _, p := range run {
		sources = append(sources, p.File.Segment.Facts(stream, kind))
	}
	return order.Merge(sources, func(a, b segment.Fact) int { return bytes.Compare(a.Hash[:], b.Hash[:]) })
}
