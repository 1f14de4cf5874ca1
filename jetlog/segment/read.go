package segment

import "iter"

// heads returns the heads of a block.
func (s *Segment) heads(e *extent, k *blockKey) (block, error) {
	content, err := s.cached(k.headsAt(), kindHeads, e.concernOf(k))
	if err != nil {
		return block{}, err
	}
	return s.parse(e, k, content)
}

// parse finds the parts of heads and checks that they are those of the index.
func (s *Segment) parse(e *extent, k *blockKey, heads []byte) (block, error) {
	b, err := parseBlock(heads)
	if err == nil && (b.stream != e.Stream || b.first != k.first || uint32(b.count) != k.count) {
		err = errSequence
	}
	if err != nil {
		return block{}, s.damaged(k.offset, e.concernOf(k), err)
	}
	return b, nil
}

// whole returns heads and bodies of a block.
func (s *Segment) whole(e *extent, k *blockKey) (b block, bodies []byte, err error) {
	if b, err = s.heads(e, k); err != nil {
		return b, nil, err
	}
	bodies, err = s.cached(k.bodiesAt(), kindBodies, e.concernOf(k))
	return b, bodies, err
}

// uncached is whole, past the cache.
func (s *Segment) uncached(e *extent, k *blockKey) (b block, bodies []byte, err error) {
	heads, err := s.read(k.headsAt(), kindHeads, e.concernOf(k))
	if err != nil {
		return b, nil, err
	}
	if b, err = s.parse(e, k, heads); err != nil {
		return b, nil, err
	}
	bodies, err = s.read(k.bodiesAt(), kindBodies, e.concernOf(k))
	return b, bodies, err
}

// malformed is the error for a walker that went bad.
func (s *Segment) malformed(e *extent, k *blockKey) error {
	return s.damaged(k.offset, e.concernOf(k), errFormat)
}

// Load returns a message; ok is false if the file does not have it. Header and Payload must not be changed;
// they keep their block in memory, so copy what is to stay for long.
func (s *Segment) Load(stream, sequence uint64) (m Message, ok bool, err error) {
	e, k := s.blockOf(stream, sequence)
	if k == nil {
		return m, false, nil
	}
	b, bodies, err := s.whole(e, k)
	if err != nil {
		return m, false, err
	}
	w := walker{block: &b}
	if !w.seek(sequence) || w.sequence != sequence {
		if w.bad {
			err = s.malformed(e, k)
		}
		return m, false, err
	}
	if m, err = w.message(string(w.name), bodies); err != nil {
		return m, false, s.damaged(k.offset, e.concernOf(k), err)
	}
	return m, true, nil
}

// Meta returns what is known of a message, without reading payloads; ok is false if the file does not
// have it.
func (s *Segment) Meta(stream, sequence uint64) (m Meta, ok bool, err error) {
	e, k := s.blockOf(stream, sequence)
	if k == nil {
		return m, false, nil
	}
	b, err := s.heads(e, k)
	if err != nil {
		return m, false, err
	}
	w := walker{block: &b}
	if !w.seek(sequence) || w.sequence != sequence {
		if w.bad {
			err = s.malformed(e, k)
		}
		return m, false, err
	}
	return w.meta(string(w.name)), true, nil
}

// blockOf returns the block that a message is in if the file has it; nil if it has not.
func (s *Segment) blockOf(stream, sequence uint64) (*extent, *blockKey) {
	e := s.extent(stream)
	if e == nil || sequence < e.First {
		return nil, nil
	}
	i := e.blockAt(sequence)
	if i == len(e.blocks) || sequence < e.blocks[i].first {
		return nil, nil
	}
	return e, &e.blocks[i]
}

// Next returns the first stored sequence that is at least from; ok is false if there is none.
func (s *Segment) Next(stream, from uint64) (sequence uint64, ok bool, err error) {
	if e := s.extent(stream); e != nil {
		return s.next(e, from)
	}
	return 0, false, nil
}

// next is Next in an extent. Where no sequence is missing in a block, nothing is read.
func (s *Segment) next(e *extent, from uint64) (sequence uint64, ok bool, err error) {
	i := e.blockAt(from)
	if i == len(e.blocks) {
		return 0, false, nil
	}
	k := &e.blocks[i]
	if from <= k.first || k.dense() || from == k.last {
		return max(from, k.first), true, nil
	}
	b, err := s.heads(e, k)
	if err != nil {
		return 0, false, err
	}
	w := walker{block: &b}
	if !w.seek(from) {
		return 0, false, s.malformed(e, k) // k.last is there
	}
	return w.sequence, true, nil
}

// prev returns the last stored sequence that is at most upTo.
func (s *Segment) prev(e *extent, upTo uint64) (sequence uint64, ok bool, err error) {
	if upTo < e.First {
		return 0, false, nil
	}
	i := e.blockBefore(upTo)
	k := &e.blocks[i]
	if upTo >= k.last || k.dense() {
		return min(upTo, k.last), true, nil
	}
	return s.scanBack(e, k, upTo, func([]byte) bool { return true })
}

// blockBefore returns the number of the last block that has sequences of at most upTo, which is at least the
// first of the extent.
func (e *extent) blockBefore(upTo uint64) int {
	i := e.blockAt(upTo)
	if i == len(e.blocks) || e.blocks[i].first > upTo {
		return i - 1
	}
	return i
}

// count returns how many stored sequences are at least from.
func (s *Segment) count(e *extent, from uint64) (uint64, error) {
	i, sum := e.blockAt(from), uint64(0)
	if i == len(e.blocks) {
		return 0, nil
	}
	for j := i + 1; j < len(e.blocks); j++ {
		sum += uint64(e.blocks[j].count)
	}
	k := &e.blocks[i]
	switch {
	case from <= k.first:
		return sum + uint64(k.count), nil
	case k.dense():
		return sum + k.last - from + 1, nil
	}
	b, err := s.heads(e, k)
	if err != nil {
		return 0, err
	}
	w := walker{block: &b}
	if !w.seek(from) {
		return 0, s.malformed(e, k)
	}
	return sum + uint64(b.count-w.at+1), nil
}

// FirstAt returns the first sequence whose message has at least this time, unix time in nanoseconds; ok is
// false if there is none. It does not assume that times ascend.
func (s *Segment) FirstAt(stream uint64, time int64) (sequence uint64, ok bool, err error) {
	e := s.extent(stream)
	if e == nil {
		return 0, false, nil
	}
	for i := range e.blocks {
		k := &e.blocks[i]
		if k.latest < time {
			continue
		}
		b, err := s.heads(e, k)
		if err != nil {
			return 0, false, err
		}
		w := walker{block: &b}
		for w.next() {
			if w.time >= time {
				return w.sequence, true, nil
			}
		}
		return 0, false, s.malformed(e, k) // the one with the highest time is there
	}
	return 0, false, nil
}

// Messages iterates over a stream's messages from a sequence on, past the cache: for compaction. A message is
// valid until the next. When a block is damaged the error is a *Corruption that names its sequences, and
// the loop may go on with the next block; any other error is the last.
func (s *Segment) Messages(stream, from uint64) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		e := s.extent(stream)
		if e == nil {
			return
		}
		for i := e.blockAt(from); i < len(e.blocks); i++ {
			if !s.yieldBlock(e, &e.blocks[i], from, yield) {
				return
			}
		}
	}
}

// yieldBlock yields the messages of a block and reports whether the loop goes on.
func (s *Segment) yieldBlock(e *extent, k *blockKey, from uint64, yield func(Message, error) bool) bool {
	b, bodies, err := s.uncached(e, k)
	if err != nil {
		return yield(Message{}, err) && isCorruption(err)
	}
	names := string(b.names) // one allocation for all subjects
	w := walker{block: &b}
	for w.next() {
		if w.sequence < from {
			continue
		}
		m, err := w.message(b.subjectIn(names, uint64(w.base.subject)), bodies)
		if err != nil {
			return yield(Message{}, s.damaged(k.offset, e.concernOf(k), err))
		}
		if !yield(m, nil) {
			return false
		}
	}
	if w.bad || w.sequence != k.last {
		return yield(Message{}, s.malformed(e, k))
	}
	return true
}
