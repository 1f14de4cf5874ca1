package compaction

import (
	"bytes"
	"iter"
	"slices"

	"runnel/jetlog/gone"
	"runnel/jetlog/layer"
	"runnel/jetlog/manifest"
	"runnel/jetlog/order"
	"runnel/jetlog/segment"
)

// Plan is files of a stream, neighbours in its list, of which one is made: of all that they have, or of what they say
// about subjects. It looks at the stream as of its last flush, as the manifest has it.
type Plan struct {
	stream  uint64
	facts   bool // what they say about subjects goes into a file of its own, messages stay where they are
	gone    *gone.Set
	first   int // position of the run among the stream's files
	run     []*layer.Part
	oldest  bool // no file is older that is asked about subjects
	forgot  int64
	entries []manifest.Part // of all files of the stream
}

// New plans what is next for a stream with these files, which grow to so many bytes; nil for nothing.
func New(e *manifest.Stream, parts []*layer.Part, mostBytes int64) *Plan {
	files := make([]File, len(parts))
	for i, p := range parts {
		f := File{Bytes: int64(p.Spanned.Bytes), Left: int64(p.Spanned.Bytes), Covered: p.Covered}
		if e.Parts[i].Removed != manifest.Unknown {
			f.Left -= int64(e.Parts[i].Bytes)
		}
		f.Facts = p.File.Segment.FactCount(e.ID, layer.SubjectFact)
		files[i] = f
	}
	facts := false
	first, n := Messages(files, mostBytes)
	if n == 0 {
		facts = true
		first, n = Facts(files, mostBytes)
	}
	return plan(e, parts, first, n, facts)
}

// Own plans to write what the first files have that the stream shares with others into one of its own; nil if it shares
// none.
func Own(e *manifest.Stream, parts []*layer.Part) *Plan {
	shared := func(p *layer.Part) bool { return !p.File.Segment.Only(e.ID) }
	first := max(0, slices.IndexFunc(parts, shared))
	n := 0
	for first+n < len(parts) && shared(parts[first+n]) {
		n++
	}
	return plan(e, parts, first, n, false)
}

// plan makes one file of so many, nil if there are none.
func plan(e *manifest.Stream, parts []*layer.Part, first, n int, facts bool) *Plan {
	if n == 0 {
		return nil
	}
	p := &Plan{stream: e.ID, forgot: e.Forgot, facts: facts}
	p.first, p.run = first, parts[first:first+n]
	p.oldest = !slices.ContainsFunc(parts[:first], func(x *layer.Part) bool { return !x.Covered })
	p.gone, p.entries = gone.Of(e.Floor, e.Pages), slices.Clone(e.Parts)
	return p
}

// Write writes what is left of the messages and what is true of the facts.
func (p *Plan) Write(w *segment.Writer) error {
	if !p.facts {
		if err := p.writeMessages(w); err != nil {
			return err
		}
	}
	for f, err := range p.newest(p.asked(), layer.SubjectFact) {
		if err != nil {
			return err
		}
		if f.Value[2] == 0 && p.oldest {
			continue // nobody says otherwise
		}
		if err := w.AddFact(p.stream, layer.SubjectFact, f.Hash, f.Value); err != nil {
			return err
		}
	}
	if p.facts {
		return nil
	}
	for f, err := range p.newest(p.run, layer.IDFact) {
		if err != nil {
			return err
		}
		if int64(f.Value[1]) < p.forgot {
			continue
		}
		if err := w.AddFact(p.stream, layer.IDFact, f.Hash, f.Value); err != nil {
			return err
		}
	}
	return nil
}

func (p *Plan) writeMessages(w *segment.Writer) error {
	for _, x := range p.run {
		for m, err := range x.File.Segment.Messages(p.stream, 0) {
			if err != nil {
				return err
			}
			if p.gone.Has(m.Sequence) {
				continue
			}
			if err := w.Add(p.stream, m); err != nil {
				return err
			}
		}
	}
	return nil
}

// newest goes through the facts of several files in the order of their hashes, and yields of each what
// the newest file says.
func (p *Plan) newest(run []*layer.Part, kind segment.FactKind) iter.Seq2[segment.Fact, error] {
	var sources []iter.Seq2[segment.Fact, error]
	for _, x := range run {
		sources = append(sources, x.File.Segment.Facts(p.stream, kind))
	}
	return order.Merge(sources, func(a, b segment.Fact) int { return bytes.Compare(a.Hash[:], b.Hash[:]) })
}

// asked are the files of the run that are asked about subjects. What others say may be outdated: a file that has all
// of it, and is newer, knows better.
func (p *Plan) asked() []*layer.Part {
	return slices.DeleteFunc(slices.Clone(p.run), func(x *layer.Part) bool { return x.Covered })
}

// purgedOf is how outdated the facts of the run may be: as much as its oldest file.
func (p *Plan) purgedOf() uint64 {
	least := ^uint64(0)
	for _, x := range p.asked() {
		least = min(least, x.Purged)
	}
	return least
}

// idTime is the time of the last message id that the new file may have.
func (p *Plan) idTime() int64 {
	latest := int64(0)
	for _, x := range p.run {
		if !p.facts {
			latest = max(latest, x.IDTime)
		}
	}
	return latest
}

// stays reports whether a file of the run has something that the new one has not.
func (p *Plan) stays(x *layer.Part) bool { return p.facts && (x.Has() || x.IDTime != 0) }

// entry describes the new file. Nothing has gone from it as of the last flush: that was left out.
func (p *Plan) entry(f *layer.File) manifest.Part {
	return manifest.Part{File: f.Number, Purged: p.purgedOf(), IDTime: p.idTime(), Covered: len(p.asked()) == 0}
}

// Edit is the change of the manifest, once the file is there that Write has written.
func (p *Plan) Edit(f *layer.File) manifest.StreamEdit {
	var fresh []manifest.Part
	for i, x := range p.run {
		if p.stays(x) {
			e := p.entries[p.first+i]
			e.Covered = true
			fresh = append(fresh, e)
		}
	}
	e := manifest.StreamEdit{}
	e.ID = p.stream
	e.Parts = slices.Replace(slices.Clone(p.entries), p.first, p.first+len(p.run), append(fresh, p.entry(f))...)
	return e
}

// Replace does the same to what a stream has: its files, which it returns as they are now, and what has gone of them.
// What has gone since the last flush is counted again. The caller holds the lock of the stream.
func (p *Plan) Replace(parts []*layer.Part, since *gone.Set, f *layer.File) []*layer.Part {
	e := p.entry(f)
	part := layer.NewPart(f, p.stream, &e)
	var fresh []*layer.Part
	for _, x := range p.run {
		if p.stays(x) {
			x.Covered = true
			fresh = append(fresh, x)
		}
	}
	if first, last := p.bounds(); last > 0 && !p.facts {
		since.Drop(p.gone, first, last)
	}
	if part.Has() {
		part.Spanned.Removed, part.Spanned.RemovedBytes = p.goneSince()
	}
	return slices.Replace(slices.Clone(parts), p.first, p.first+len(p.run), append(fresh, part)...)
}

// bounds are the lowest and highest sequences of the run.
func (p *Plan) bounds() (first, last uint64) {
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
func (p *Plan) goneSince() (messages, bytes uint64) {
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
