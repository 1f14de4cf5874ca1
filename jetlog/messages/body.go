package messages

import (
	"iter"
	"strings"
	"sync/atomic"

	"runnel/jetlog"
	"runnel/jetlog/gone"
	"runnel/jetlog/layer"
	"runnel/jetlog/manifest"
	"runnel/jetlog/order"
	"runnel/jetlog/segment"
	"runnel/jetlog/siphash"
)

// Body is the messages of a stream. Changes are for one goroutine, with nobody reading; readers may be many.
// Its fields are for who owns the stream, to look at.
//
// Invariants: the memory table has exactly the live messages with sequences >= Start; at most one
// table is frozen, and it is the last of the layers.
type Body struct {
	layer.Below
	Key    siphash.Key    // of the hashes of facts in the files
	Active *jetlog.Memory // the memory table
	Start  uint64
	Frozen *Frozen       // being written into files, nil for none
	Parts  []*layer.Part // all files, oldest first; those with messages are layers
	Asked  int           // files that are asked about subjects
	Forgot int64         // ids with an earlier time are forgotten

	facts  *layer.Facts
	ids    map[segment.Hash]note
	idTime int64 // of the last message id in ids

	slab           []byte        // where the next messages' content goes
	messages, size uint64        // of the memory table
	subjects       int           // of the memory table, as counted
	bytes          int64         // about what the memory table and what belongs to it take
	memory         *atomic.Int64 // what those of all streams take
}

// What entries take in memory besides their content, about.
const (
	messageOverhead = 96
	subjectBytes    = 192 // what a flush needs for it included
	idBytes         = 64
)

// New returns the body of a stream that has nothing. What it takes in memory is added to memory; it keeps what files say
// of so many subjects.
func New(key siphash.Key, memory *atomic.Int64, factLimit int) *Body {
	return &Body{
		Below: layer.Below{Gone: gone.New()}, Key: key, Active: jetlog.NewMemory(), Start: 1,
		facts: layer.NewFacts(factLimit), ids: map[segment.Hash]note{}, memory: memory,
	}
}

// Adopt returns a body that has what was in memory alone so far, which belongs to it from now on. The rest is as for New.
func Adopt(active *jetlog.Memory, key siphash.Key, memory *atomic.Int64, factLimit int) *Body {
	b := New(key, memory, factLimit)
	b.Active = active
	b.messages, b.size, _ = active.Size(0, ^uint64(0)) // a memory table cannot fail
	active.MessageIDs(func(id string, seq uint64, time int64) {
		b.ids[b.Key.Sum(id)] = note{seq: seq, time: time}
		b.idTime = max(b.idTime, time)
	})
	b.grow(int64(b.size) + int64(b.messages)*messageOverhead + int64(len(b.ids))*idBytes + b.newSubjects())
	return b
}

// SetParts makes the files of the stream known.
func (b *Body) SetParts(parts []*layer.Part) {
	b.Parts, b.Layers, b.Asked = parts, nil, 0
	for _, p := range parts {
		if !p.Covered {
			b.Asked++
		}
		if p.Has() {
			b.Layers = append(b.Layers, p)
		}
	}
	if b.Frozen != nil && b.Frozen.Table.Spanned.Count > 0 {
		b.Layers = append(b.Layers, b.Frozen.Table)
	}
}

// Meta returns what is known of a live message.
func (b *Body) Meta(seq uint64) (jetlog.Meta, error) {
	if seq >= b.Start {
		return b.Active.Meta(seq)
	}
	return b.Below.Meta(seq)
}

// Load returns a live message.
func (b *Body) Load(seq uint64) (jetlog.Message, error) {
	if seq >= b.Start {
		return b.Active.Load(seq)
	}
	return b.Below.Load(seq)
}

// Next returns the first live sequence >= seq.
func (b *Body) Next(seq uint64) (uint64, error) { return b.NextOf(nil, seq) }

// NextOf returns the first live sequence >= seq that the filter matches.
func (b *Body) NextOf(filter jetlog.Filter, seq uint64) (uint64, error) {
	if seq < b.Start {
		if found, err := b.Below.NextOf(filter, seq); err != nil || found != 0 {
			return found, err
		}
	}
	return b.Active.NextOf(filter, seq)
}

// literalLayers is how many files are asked one after the other for the last message of a subject: facts tell it when
// there are more.
const literalLayers = 4

// LastOf returns the last live sequence <= upTo that the filter matches.
func (b *Body) LastOf(filter jetlog.Filter, upTo uint64) (uint64, error) {
	if upTo >= b.Start {
		if found, err := b.Active.LastOf(filter, upTo); err != nil || found != 0 {
			return found, err
		}
	}
	if subject, ok := filter.Literal(); ok && len(b.Layers) > literalLayers {
		if s, err := b.base(subject); err != nil || s.Last <= upTo {
			return s.Last, err
		}
	}
	return b.Below.LastOf(filter, min(upTo, b.Start-1))
}

// Count returns how many live messages >= from the filter matches.
func (b *Body) Count(filter jetlog.Filter, from uint64) (uint64, error) {
	n, err := b.Active.Count(filter, from)
	if from >= b.Start || err != nil {
		return n, err
	}
	old, err := b.Below.Count(filter, from)
	return old + n, err
}

// Size returns the number and the bytes of the live messages from..to.
func (b *Body) Size(from, to uint64) (messages, bytes uint64, err error) {
	if messages, bytes, err = b.Active.Size(from, to); err != nil || from >= b.Start {
		return messages, bytes, err
	}
	n, size, err := b.Below.SizeOf(from, to)
	return messages + n, bytes + size, err
}

// FirstAfter returns the first live sequence with a time >= time.
func (b *Body) FirstAfter(time int64) (uint64, error) {
	if found, err := b.Below.FirstAfter(time); err != nil || found != 0 {
		return found, err
	}
	return b.Active.FirstAfter(time)
}

// Subject returns the state of exactly this subject.
func (b *Body) Subject(subject string) (jetlog.SubjectState, error) {
	young, err := b.Active.Subject(subject)
	if err != nil {
		return young, err
	}
	old, err := b.base(subject)
	return layer.Combine(old, young), err
}

// Subjects calls yield for every subject with live messages that the filter matches, in order.
func (b *Body) Subjects(filter jetlog.Filter, yield func(string, jetlog.SubjectState) bool) error {
	sources := []iter.Seq2[string, error]{(&layer.Table{Memory: b.Active}).Subjects(b.Asker, filter)}
	for _, l := range b.Layers {
		if l.Span().Last > b.Gone.Floor() {
			sources = append(sources, l.Subjects(b.Asker, filter))
		}
	}
	for subject, err := range order.Merge(sources, strings.Compare) {
		if err != nil {
			return err
		}
		s, err := b.Subject(subject)
		if err != nil {
			return err
		}
		if s.Count > 0 && !yield(subject, s) {
			return nil
		}
	}
	return nil
}

// MessageID returns the sequence and time that were remembered for id.
func (b *Body) MessageID(id []byte) (seq uint64, time int64, err error) {
	h := b.Key.Sum(string(id))
	n, ok := b.ids[h]
	if !ok && b.Frozen != nil {
		n, ok = b.Frozen.ids[h]
	}
	for i := len(b.Parts) - 1; i >= 0 && !ok; i-- {
		p := b.Parts[i]
		if p.IDTime == 0 || p.IDTime < b.Forgot {
			continue
		}
		var v segment.Value
		if v, ok, err = p.Fact(b.Asker, layer.IDFact, h); err != nil {
			return 0, 0, err
		}
		n = note{seq: v[0], time: int64(v[1])}
	}
	if !ok || n.time < b.Forgot {
		return 0, 0, nil
	}
	return n.seq, n.time, nil
}

// Content is allocated in slabs: few large pieces without pointers cost the collector much less than one
// or two for each message. Slabs grow with what the table has, so that a stream with little takes little.
// Messages with more than slabMessage bytes stay where they are.
const (
	slabLeast   = 512
	slabMost    = 32 << 10
	slabMessage = 1 << 10
)

// Append adds a message behind all others.
func (b *Body) Append(message *jetlog.Message, meta *jetlog.Meta) {
	m := *message
	if len(m.Header)+len(m.Payload) <= slabMessage {
		m.Header, m.Payload = b.keep(m.Header), b.keep(m.Payload)
	}
	b.Active.Append(&m, meta)
	b.messages++
	b.size += meta.Bytes
	b.grow(int64(meta.Bytes) + messageOverhead + b.newSubjects())
}

// Remove removes a live message.
func (b *Body) Remove(meta *jetlog.Meta, reason jetlog.Reason) {
	if meta.Sequence >= b.Start {
		b.Active.Remove(meta, reason)
		b.shrink(1, meta.Bytes)
		return
	}
	b.Gone.Add(meta.Sequence)
	if l := b.Below.Find(meta.Sequence); l != nil {
		if s := l.Span(); s.Removed != manifest.Unknown {
			s.Removed++
			s.RemovedBytes += meta.Bytes
		}
	}
	if b.facts.Removed(b.Key.Sum(meta.Subject), meta.Subject) {
		b.grow(layer.FactBytes)
	}
}

// RemoveRange removes all live messages from..to, of which from is the first live one or below.
func (b *Body) RemoveRange(from, to uint64, reason jetlog.Reason) {
	if to >= b.Start {
		n, size, _ := b.Active.Size(b.Start, to) // a memory table cannot fail
		b.Active.RemoveRange(b.Start, to, reason)
		b.shrink(n, size)
	}
	to = min(to, b.Start-1)
	if to <= b.Gone.Floor() || from > to {
		return
	}
	for _, l := range b.Layers {
		s := l.Span()
		switch {
		case s.Last <= to:
			s.Removed, s.RemovedBytes = s.Count, s.Bytes
		case s.First > to:
		default:
			s.Removed = manifest.Unknown // counting would mean to read; the next freeze does it
		}
	}
	b.Gone.Raise(to)
	b.Purged = max(b.Purged, to)
	b.facts.Purged(to)
}

// Remember notes a message id.
func (b *Body) Remember(id []byte, seq uint64, time int64) {
	before := len(b.ids)
	b.ids[b.Key.Sum(string(id))] = note{seq: seq, time: time}
	b.grow(int64(len(b.ids)-before) * idBytes)
	b.idTime = time
}

// Forget drops all ids with a time < before.
func (b *Body) Forget(before int64) { b.Forgot = max(b.Forgot, before) }

// keep returns a copy of content that is to stay.
func (b *Body) keep(content []byte) []byte {
	n := len(content)
	if n == 0 {
		return content
	}
	if n > cap(b.slab)-len(b.slab) {
		b.slab = make([]byte, 0, max(n, int(min(max(b.size/4, slabLeast), slabMost))))
	}
	start := len(b.slab)
	b.slab = append(b.slab, content...)
	return b.slab[start:len(b.slab):len(b.slab)]
}

// shrink counts messages that have left the memory table.
func (b *Body) shrink(messages, bytes uint64) {
	b.messages -= messages
	b.size -= bytes
	b.grow(-int64(bytes) - int64(messages)*messageOverhead + b.newSubjects())
}

// newSubjects is about what the subjects take that the memory table has now and had not at the call before.
func (b *Body) newSubjects() int64 {
	before := b.subjects
	b.subjects = b.Active.SubjectCount()
	return int64(b.subjects-before) * subjectBytes
}

// grow counts memory.
func (b *Body) grow(bytes int64) {
	b.bytes += bytes
	b.memory.Add(bytes)
}

// Drop says that nobody needs the body any more: what it takes is not counted any longer.
func (b *Body) Drop() {
	b.memory.Add(-b.bytes)
	if b.Frozen != nil {
		b.memory.Add(-b.Frozen.bytes)
	}
}

// Changed returns the subjects about which the files may not know the newest.
func (b *Body) Changed() (changed []string) {
	note := func(_ segment.Hash, subject string) { changed = append(changed, subject) }
	b.facts.Changed(note)
	changed = b.Active.AppendSubjects(changed)
	if b.Frozen != nil {
		b.Frozen.facts.Changed(note)
		changed = b.Frozen.Table.Memory.AppendSubjects(changed)
	}
	return changed
}

// Uncounted reads what a freeze will need, while nothing is locked. It is for a copy of a body, which says in its Asker
// who asks.
func (b *Body) Uncounted() error {
	for _, l := range b.Layers {
		if s := l.Span(); s.Removed == manifest.Unknown {
			if _, _, err := b.Below.SizeIn(l, s.First, s.Last); err != nil {
				return err
			}
		}
	}
	return nil
}
