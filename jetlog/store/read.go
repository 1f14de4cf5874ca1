package store

import (
	"sync"

	"runnel/jetlog"
	"runnel/jetlog/gone"
	"runnel/jetlog/layer"
	"runnel/jetlog/messages"
	"runnel/jetlog/segment"
)

const (
	// batchMessages is how many messages Read takes at once.
	batchMessages = 256
	// lookAtOnce is how many messages in memory Read looks at without letting commands in between.
	lookAtOnce = 1024
)

// Read calls yield with the messages from a sequence on that the filter matches, in order: up to so many,
// until their headers and payloads have so many bytes or more, until yield returns false, or until
// there are no more. It returns where to go on: every message before that was yielded, or does not
// match, or has gone. So a reader that is at the end gets the sequence that the next message will have.
//
// It is made for long walks: many messages cost one lock, a block of a file is decoded once for all that
// it has, and nothing is locked while a disk is read or yield runs. Each message was there at some
// moment of the call. The message that yield gets is valid during its call; its slices stay valid,
// and must not be changed.
func (t *Stream) Read(
	from uint64, filter jetlog.Filter, messages, bytes int, yield func(*jetlog.Message) bool,
) (next uint64, err error) {
	r := t.store.pools.readings.get()
	defer t.store.pools.readings.put(r)
	r.stream, r.filter, r.next, r.left, r.leftBytes = t, filter, max(from, 1), messages, bytes
	if _, literal := filter.Literal(); literal {
		r.step = filter
	}
	for r.left > 0 && r.leftBytes > 0 {
		more, err := r.round()
		if err != nil {
			return r.next, t.blame(err)
		}
		if stopped := r.emit(yield); stopped || !more {
			break
		}
	}
	return r.next, nil
}

// Load returns a message, with sequence 0 if there is none. Its slices must not be changed. Nothing is
// locked while a disk is read.
func (t *Stream) Load(seq uint64) (jetlog.Message, error) {
	for {
		m, p, err := t.loadNow(seq)
		if p == nil || err != nil {
			return m, t.blame(err)
		}
		m, err = p.Load(layer.Direct, seq)
		p.File.Leave()
		if err != nil {
			return jetlog.Message{}, t.blame(err)
		}
		if live, known := t.confirm(p, seq); known {
			if !live {
				m = jetlog.Message{}
			}
			return m, nil
		}
	}
}

// loadNow returns a message that is in memory, or the file that may have it, which the caller has to leave.
func (t *Stream) loadNow(seq uint64) (m jetlog.Message, p *layer.Part, err error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.state == nil {
		return m, nil, t.Err()
	}
	if b := t.body; b != nil && seq < b.Start && !b.Gone.Has(seq) {
		if p, ok := b.Below.Find(seq).(*layer.Part); ok {
			return m, p, p.File.Enter()
		}
	}
	m, err = t.messages.Load(seq)
	return m, nil, err
}

// confirm reports whether a message that was read from a file is still live. It is not known when the
// stream does not have the file any more: what has gone from it may be forgotten.
func (t *Stream) confirm(p *layer.Part, seq uint64) (live, known bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if !t.has(p) {
		return false, false
	}
	return !t.body.Gone.Has(seq), true
}

// has reports whether a file is one that the stream has messages in. The caller holds the lock.
func (t *Stream) has(p *layer.Part) bool {
	return t.body != nil && t.body.Below.Find(p.Spanned.First) == layer.Layer(p)
}

// reading is one call of Read.
//
// Invariant: every message before next was looked at, and those that are to be yielded are in batch.
type reading struct {
	stream *Stream
	filter jetlog.Filter
	step   jetlog.Filter // the filter, if memory can look it up; otherwise nil, and each message is looked at
	next   uint64

	left, leftBytes int // that yield may still get
	batch           []jetlog.Message
	batchBytes      int
}

// readings keeps them for further use.
type readings struct{ pool sync.Pool }

func (p *readings) get() *reading {
	if r, ok := p.pool.Get().(*reading); ok {
		return r
	}
	return &reading{}
}

// put takes one back. Nothing of a message stays in it.
func (p *readings) put(r *reading) {
	clear(r.batch)
	*r = reading{batch: r.batch[:0]}
	p.pool.Put(r)
}

// clear empties the batch.
func (r *reading) clear() {
	clear(r.batch)
	r.batch, r.batchBytes = r.batch[:0], 0
}

// round fills the batch; it is false when there is nothing behind it.
func (r *reading) round() (more bool, err error) {
	r.clear()
	p, more, err := r.look()
	if p == nil || err != nil {
		return more, err
	}
	before := r.next
	err = r.scan(p)
	p.File.Leave()
	if err != nil {
		return false, err
	}
	if !r.confirm(p) {
		r.clear()
		r.next = before
	}
	return true, nil
}

// look fills the batch from memory, if that is where the next messages are; otherwise it returns the file
// that has them, which the caller has to leave.
func (r *reading) look() (p *layer.Part, more bool, err error) {
	t := r.stream
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.state == nil {
		return nil, false, t.Err()
	}
	b := t.body
	if b != nil && r.next < b.Start {
		r.next = min(b.Gone.Next(r.next), b.Start)
		if i := b.Below.At(r.next); i < len(b.Layers) {
			return r.lookInto(b, b.Layers[i])
		}
		r.next = b.Start
	}
	if r.fill(t.memory(), nil) {
		return nil, true, nil
	}
	r.next = max(r.next, t.state.State().Last+1)
	return nil, false, nil
}

// lookInto is look in a layer.
func (r *reading) lookInto(b *messages.Body, l layer.Layer) (p *layer.Part, more bool, err error) {
	if p, ok := l.(*layer.Part); ok {
		return p, true, p.File.Enter()
	}
	if !r.fill(l.(*layer.Table).Memory, b.Gone) {
		r.next = l.Span().Last + 1
	}
	return nil, true, nil
}

// memory returns the newest messages. The caller holds the lock.
func (t *Stream) memory() *jetlog.Memory {
	if t.body != nil {
		return t.body.Active
	}
	return t.messages.(*jetlog.Memory)
}

// fill takes messages out of a memory table, but for what has gone; it is false at the end of the table.
func (r *reading) fill(m *jetlog.Memory, gone *gone.Set) bool {
	for looked := 0; looked < lookAtOnce && !r.full(); looked++ {
		seq, _ := m.NextOf(r.step, r.next) // a memory table cannot fail
		if seq == 0 {
			return false
		}
		r.next = seq + 1
		if gone != nil && gone.Has(seq) {
			continue
		}
		message, _ := m.Load(seq)
		if r.step != nil || r.filter.Matches(message.Subject) {
			r.take(&message)
		}
	}
	return true
}

// take adds a message to the batch.
func (r *reading) take(m *jetlog.Message) {
	r.batch = append(r.batch, *m)
	r.batchBytes += len(m.Header) + len(m.Payload)
}

// full reports whether the batch has enough.
func (r *reading) full() bool {
	return len(r.batch) >= min(r.left, batchMessages) || r.batchBytes >= r.leftBytes
}

// scan takes messages out of a block of a file, without any lock. What has gone is among them.
func (r *reading) scan(p *layer.Part) error {
	selects := r.filter.Matches
	if r.filter.All() {
		selects = nil
	} else {
		seq, err := p.NextOf(layer.Direct, r.filter, r.next)
		if err != nil {
			return err
		}
		if seq == 0 {
			r.next = p.Spanned.Last + 1
			return nil
		}
		r.next = seq
	}
	next, err := p.File.Segment.Scan(p.Stream, r.next, selects, func(m *segment.Message) bool {
		message := layer.MessageOf(m)
		r.take(&message)
		return !r.full()
	})
	if err != nil {
		return err
	}
	if next == 0 {
		next = p.Spanned.Last + 1
	}
	r.next = next
	return nil
}

// confirm takes out of the batch what had gone when it was read from a file. It is false if the stream
// has the file no more: what had gone from it may be forgotten.
func (r *reading) confirm(p *layer.Part) bool {
	t := r.stream
	t.mu.RLock()
	defer t.mu.RUnlock()
	if !t.has(p) {
		return false
	}
	gone := t.body.Gone
	if len(r.batch) == 0 || gone.NoneFrom(r.batch[0].Sequence) {
		return true
	}
	kept := r.batch[:0]
	for i := range r.batch {
		if !gone.Has(r.batch[i].Sequence) {
			kept = append(kept, r.batch[i])
		}
	}
	clear(r.batch[len(kept):])
	r.batch = kept
	return true
}

// emit yields the batch; it is true if yield wants no more.
func (r *reading) emit(yield func(*jetlog.Message) bool) (stopped bool) {
	for i := range r.batch {
		m := &r.batch[i]
		r.left--
		r.leftBytes -= len(m.Header) + len(m.Payload)
		if !yield(m) {
			r.next = m.Sequence + 1
			return true
		}
	}
	return false
}
