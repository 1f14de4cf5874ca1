package store

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

// body is the messages of a stream: the newest in a memory table, the others below it in files. It is
// the jetlog.Messages of a stream with file storage. Changes are for one goroutine, with nobody
// reading; readers may be many.
//
// Invariants: the memory table has exactly the live messages with sequences >= start; at most one
// table is frozen, and it is the last of the layers.
type body struct {
	layer.Below
	key    siphash.Key
	active *jetlog.Memory
	start  uint64
	frozen *frozen       // being written into files, nil for none
	parts  []*layer.Part // all files, oldest first; those with messages are layers
	asked  int           // files that are asked about subjects
	facts  *layer.Facts
	ids    map[segment.Hash]note
	idTime int64 // of the last message id in ids
	forgot int64 // ids with an earlier time are forgotten

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

// newBody returns the body of a stream that has nothing.
func newBody(key siphash.Key, memory *atomic.Int64, factLimit int) *body {
	return &body{
		Below: layer.Below{Gone: gone.New()}, key: key, active: jetlog.NewMemory(), start: 1,
		facts: layer.NewFacts(factLimit), ids: map[segment.Hash]note{}, memory: memory,
	}
}

// setParts makes the files of the stream known.
func (b *body) setParts(parts []*layer.Part) {
	b.parts, b.Layers, b.asked = parts, nil, 0
	for _, p := range parts {
		if !p.Covered {
			b.asked++
		}
		if p.Has() {
			b.Layers = append(b.Layers, p)
		}
	}
	if b.frozen != nil && b.frozen.table.Spanned.Count > 0 {
		b.Layers = append(b.Layers, b.frozen.table)
	}
}

// Meta returns what is known of a live message.
func (b *body) Meta(seq uint64) (jetlog.Meta, error) {
	if seq >= b.start {
		return b.active.Meta(seq)
	}
	return b.Below.Meta(seq)
}

// Load returns a live message.
func (b *body) Load(seq uint64) (jetlog.Message, error) {
	if seq >= b.start {
		return b.active.Load(seq)
	}
	return b.Below.Load(seq)
}

// Next returns the first live sequence >= seq.
func (b *body) Next(seq uint64) (uint64, error) { return b.NextOf(nil, seq) }

// NextOf returns the first live sequence >= seq that the filter matches.
func (b *body) NextOf(filter jetlog.Filter, seq uint64) (uint64, error) {
	if seq < b.start {
		if found, err := b.Below.NextOf(filter, seq); err != nil || found != 0 {
			return found, err
		}
	}
	return b.active.NextOf(filter, seq)
}

// literalLayers is how many files are asked one after the other for the last message of a subject: facts tell it when
// there are more.
const literalLayers = 4

// LastOf returns the last live sequence <= upTo that the filter matches.
func (b *body) LastOf(filter jetlog.Filter, upTo uint64) (uint64, error) {
	if upTo >= b.start {
		if found, err := b.active.LastOf(filter, upTo); err != nil || found != 0 {
			return found, err
		}
	}
	if subject, ok := filter.Literal(); ok && len(b.Layers) > literalLayers {
		if s, err := b.base(subject); err != nil || s.Last <= upTo {
			return s.Last, err
		}
	}
	return b.Below.LastOf(filter, min(upTo, b.start-1))
}

// Count returns how many live messages >= from the filter matches.
func (b *body) Count(filter jetlog.Filter, from uint64) (uint64, error) {
	n, err := b.active.Count(filter, from)
	if from >= b.start || err != nil {
		return n, err
	}
	old, err := b.Below.Count(filter, from)
	return old + n, err
}

// Size returns the number and the bytes of the live messages from..to.
func (b *body) Size(from, to uint64) (messages, bytes uint64, err error) {
	if messages, bytes, err = b.active.Size(from, to); err != nil || from >= b.start {
		return messages, bytes, err
	}
	n, size, err := b.Below.SizeOf(from, to)
	return messages + n, bytes + size, err
}

// FirstAfter returns the first live sequence with a time >= time.
func (b *body) FirstAfter(time int64) (uint64, error) {
	if found, err := b.Below.FirstAfter(time); err != nil || found != 0 {
		return found, err
	}
	return b.active.FirstAfter(time)
}

// Subject returns the state of exactly this subject.
func (b *body) Subject(subject string) (jetlog.SubjectState, error) {
	young, err := b.active.Subject(subject)
	if err != nil {
		return young, err
	}
	old, err := b.base(subject)
	return layer.Combine(old, young), err
}

// Subjects calls yield for every subject with live messages that the filter matches, in order.
func (b *body) Subjects(filter jetlog.Filter, yield func(string, jetlog.SubjectState) bool) error {
	sources := []iter.Seq2[string, error]{(&layer.Table{Memory: b.active}).Subjects(b.Asker, filter)}
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
func (b *body) MessageID(id []byte) (seq uint64, time int64, err error) {
	h := b.key.Sum(string(id))
	n, ok := b.ids[h]
	if !ok && b.frozen != nil {
		n, ok = b.frozen.ids[h]
	}
	for i := len(b.parts) - 1; i >= 0 && !ok; i-- {
		p := b.parts[i]
		if p.IDTime == 0 || p.IDTime < b.forgot {
			continue
		}
		var v segment.Value
		if v, ok, err = p.Fact(b.Asker, layer.IDFact, h); err != nil {
			return 0, 0, err
		}
		n = note{seq: v[0], time: int64(v[1])}
	}
	if !ok || n.time < b.forgot {
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
func (b *body) Append(message *jetlog.Message, meta *jetlog.Meta) {
	m := *message
	if len(m.Header)+len(m.Payload) <= slabMessage {
		m.Header, m.Payload = b.keep(m.Header), b.keep(m.Payload)
	}
	b.active.Append(&m, meta)
	b.messages++
	b.size += meta.Bytes
	b.grow(int64(meta.Bytes) + messageOverhead + b.newSubjects())
}

// Remove removes a live message.
func (b *body) Remove(meta *jetlog.Meta, reason jetlog.Reason) {
	if meta.Sequence >= b.start {
		b.active.Remove(meta, reason)
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
	if b.facts.Removed(b.key.Sum(meta.Subject), meta.Subject) {
		b.grow(layer.FactBytes)
	}
}

// RemoveRange removes all live messages from..to, of which from is the first live one or below.
func (b *body) RemoveRange(from, to uint64, reason jetlog.Reason) {
	if to >= b.start {
		n, size, _ := b.active.Size(b.start, to) // a memory table cannot fail
		b.active.RemoveRange(b.start, to, reason)
		b.shrink(n, size)
	}
	to = min(to, b.start-1)
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
func (b *body) Remember(id []byte, seq uint64, time int64) {
	before := len(b.ids)
	b.ids[b.key.Sum(string(id))] = note{seq: seq, time: time}
	b.grow(int64(len(b.ids)-before) * idBytes)
	b.idTime = time
}

// Forget drops all ids with a time < before.
func (b *body) Forget(before int64) { b.forgot = max(b.forgot, before) }

// keep returns a copy of content that is to stay.
func (b *body) keep(content []byte) []byte {
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
func (b *body) shrink(messages, bytes uint64) {
	b.messages -= messages
	b.size -= bytes
	b.grow(-int64(bytes) - int64(messages)*messageOverhead + b.newSubjects())
}

// newSubjects is about what the subjects take that the memory table has now and had not at the call before.
func (b *body) newSubjects() int64 {
	before := b.subjects
	b.subjects = b.active.SubjectCount()
	return int64(b.subjects-before) * subjectBytes
}

// grow counts memory.
func (b *body) grow(bytes int64) {
	b.bytes += bytes
	b.memory.Add(bytes)
}
