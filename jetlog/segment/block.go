package segment

import (
	"encoding/binary"
	"sort"
)

// A block is two chunks. The heads have everything but headers and payloads, so that a search by subject or
// time reads no payload:
//
//	stream u64 | first sequence u64 | first time i64 | messages u32 | subjects u32
//	restart: {offset of the entry u32, offset in the bodies u32} for entry 0, 16, 32, ...
//	subject: end of its name u32                                  for each subject
//	names of the subjects, one after the other, in the order in which they occur
//	entries
//
// An entry is coded relative to the one before, and every sixteenth relative to the block.
const (
	headsBytes   = 32
	restartEvery = 16
	restartBytes = 8
	entryBytes   = 3 // at least: flags, time, payload length
)

// Flags of an entry: what follows after them, in this order.
const (
	entryGap      = 1  // uvarint: sequences missing before this one; at a restart its distance from the first
	entryExpires  = 2  // varint: Expires, from the time on
	entrySubject  = 4  // uvarint: number of the subject; without it, the one before
	entryHeader   = 8  // uvarint: length of the header, not 0
	entryOverhead = 16 // varint: Bytes less subject, header and payload; without it, as before
	entryFlags    = 31
)

// base is what an entry is coded relative to.
type base struct {
	sequence uint64
	time     int64
	subject  uint32
	overhead int64
}

// blockBuilder gathers the messages of a block. Its buffers are used again for the next one.
type blockBuilder struct {
	restarts, ends, names, entries, bodies []byte // the parts as they will be written

	count, subjects uint32
	first           uint64
	firstTime       int64
	latest          int64 // highest time
	prev            base
}

// reset empties the block.
func (b *blockBuilder) reset() {
	*b = blockBuilder{
		restarts: b.restarts[:0], ends: b.ends[:0], names: b.names[:0],
		entries: b.entries[:0], bodies: b.bodies[:0],
	}
}

// bytes is the length of the block so far, without what the chunks add.
func (b *blockBuilder) bytes() int {
	return headsBytes + len(b.restarts) + len(b.ends) + len(b.names) + len(b.entries) + len(b.bodies)
}

// subject gives a subject of the block a number.
func (b *blockBuilder) subject(name string) uint32 {
	b.names = append(b.names, name...)
	b.ends = binary.LittleEndian.AppendUint32(b.ends, uint32(len(b.names)))
	b.subjects++
	return b.subjects - 1
}

// add appends a message whose subject has this number.
func (b *blockBuilder) add(m *Message, subject uint32) {
	if b.count == 0 {
		b.first, b.firstTime, b.latest = m.Sequence, m.Time, m.Time
	}
	flags, gap := byte(0), m.Sequence-b.prev.sequence-1
	if b.count%restartEvery == 0 {
		b.restarts = binary.LittleEndian.AppendUint32(b.restarts, uint32(len(b.entries)))
		b.restarts = binary.LittleEndian.AppendUint32(b.restarts, uint32(len(b.bodies)))
		b.prev = base{time: b.firstTime}
		flags, gap = entryGap|entrySubject, m.Sequence-b.first
	}
	overhead := int64(m.Bytes) - int64(len(m.Subject)+len(m.Header)+len(m.Payload))
	if gap != 0 {
		flags |= entryGap
	}
	if m.Expires != 0 {
		flags |= entryExpires
	}
	if subject != b.prev.subject {
		flags |= entrySubject
	}
	if len(m.Header) > 0 {
		flags |= entryHeader
	}
	if overhead != b.prev.overhead {
		flags |= entryOverhead
	}
	b.encode(m, flags, gap, subject, overhead)
	b.bodies = append(append(b.bodies, m.Header...), m.Payload...)
	b.prev = base{sequence: m.Sequence, time: m.Time, subject: subject, overhead: overhead}
	b.latest = max(b.latest, m.Time)
	b.count++
}

// encode appends an entry whose flags are decided.
func (b *blockBuilder) encode(m *Message, flags byte, gap uint64, subject uint32, overhead int64) {
	e := append(b.entries, flags)
	if flags&entryGap != 0 {
		e = binary.AppendUvarint(e, gap)
	}
	e = binary.AppendVarint(e, m.Time-b.prev.time)
	if flags&entryExpires != 0 {
		e = binary.AppendVarint(e, m.Expires-m.Time)
	}
	if flags&entrySubject != 0 {
		e = binary.AppendUvarint(e, uint64(subject))
	}
	if flags&entryHeader != 0 {
		e = binary.AppendUvarint(e, uint64(len(m.Header)))
	}
	if flags&entryOverhead != 0 {
		e = binary.AppendVarint(e, overhead)
	}
	b.entries = binary.AppendUvarint(e, uint64(len(m.Payload)))
}

// appendHeads adds the heads to dst.
func (b *blockBuilder) appendHeads(dst []byte, stream uint64) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, stream)
	dst = binary.LittleEndian.AppendUint64(dst, b.first)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(b.firstTime))
	dst = binary.LittleEndian.AppendUint32(dst, b.count)
	dst = binary.LittleEndian.AppendUint32(dst, b.subjects)
	dst = append(dst, b.restarts...)
	dst = append(dst, b.ends...)
	dst = append(dst, b.names...)
	return append(dst, b.entries...)
}

// block is the heads of a block. The slices are parts of the chunk's content, so a block costs nothing to make
// and may be made anew for each question.
type block struct {
	stream    uint64
	first     uint64
	firstTime int64
	count     int
	subjects  int
	restarts  []byte
	ends      []byte
	names     []byte
	entries   []byte
}

// parseBlock finds the parts of heads. It allocates nothing, and no count is larger than what is there.
func parseBlock(heads []byte) (block, error) {
	if len(heads) < headsBytes {
		return block{}, errLength
	}
	b := block{
		stream:    binary.LittleEndian.Uint64(heads),
		first:     binary.LittleEndian.Uint64(heads[8:]),
		firstTime: int64(binary.LittleEndian.Uint64(heads[16:])),
		count:     number(heads[24:]),
		subjects:  number(heads[28:]),
	}
	rest := heads[headsBytes:]
	if b.count == 0 || b.subjects == 0 || b.count > len(rest)/entryBytes || b.subjects > len(rest)/4 {
		return block{}, errFormat
	}
	restarts := (b.count + restartEvery - 1) / restartEvery * restartBytes
	if restarts+4*b.subjects > len(rest) {
		return block{}, errFormat
	}
	b.restarts, rest = rest[:restarts], rest[restarts:]
	b.ends, rest = rest[:4*b.subjects], rest[4*b.subjects:]
	names := number(b.ends[len(b.ends)-4:])
	if names > len(rest) {
		return block{}, errFormat
	}
	b.names, b.entries = rest[:names], rest[names:]
	return b, nil
}

// subject returns the name of a subject; ok is false if the block has none of this number.
func (b *block) subject(i uint64) (name []byte, ok bool) {
	if i >= uint64(b.subjects) {
		return nil, false
	}
	start, end := 0, number(b.ends[4*i:])
	if i > 0 {
		start = number(b.ends[4*i-4:])
	}
	if start > end || end > len(b.names) {
		return nil, false
	}
	return b.names[start:end], true
}

// walker goes through the entries of a block. The zero value, with its block, stands before the first.
type walker struct {
	*block
	cursor

	at      int // number of the next entry
	base        // of the entry that next has read
	expires int64
	body    int // where its header begins in the bodies
	header  int // length
	payload int // length
	name    []byte
	after   int // where those of the next entry begin in the bodies
}

// restart goes before the first entry of a group.
func (w *walker) restart(group int) {
	r := w.restarts[group*restartBytes:]
	offset := number(r)
	w.at, w.after = group*restartEvery, number(r[4:])
	if offset > len(w.entries) {
		w.fail()
		return
	}
	w.b = w.entries[offset:]
}

// next reads an entry. After the last it returns false, and so it does if the entry is malformed: then bad is set.
func (w *walker) next() bool {
	if w.at >= w.count || w.bad {
		return false
	}
	if w.at == 0 {
		w.restart(0)
	}
	prev, flags := w.sequence, w.byte()
	first := w.at%restartEvery == 0
	if flags&^entryFlags != 0 || first && flags&(entryGap|entrySubject) != entryGap|entrySubject {
		w.fail()
	}
	w.sequence++
	if first {
		w.base = base{sequence: w.block.first, time: w.firstTime}
	}
	if flags&entryGap != 0 {
		w.sequence = w.add(w.sequence, w.uvarint())
	}
	if !first && w.sequence <= prev {
		w.fail()
	}
	w.time += w.varint()
	w.expires = 0
	if flags&entryExpires != 0 {
		w.expires = w.time + w.varint()
	}
	if flags&entrySubject != 0 {
		w.find(w.uvarint())
	}
	w.header = 0
	if flags&entryHeader != 0 {
		w.header = w.size(MaxMessageBytes)
	}
	if flags&entryOverhead != 0 {
		w.overhead = w.varint()
	}
	w.payload = w.size(MaxMessageBytes)
	w.body = w.after
	w.after += w.header + w.payload
	w.at++
	return !w.bad
}

// find sets the subject of the entry.
func (w *walker) find(subject uint64) {
	name, ok := w.block.subject(subject)
	if !ok {
		w.fail()
	}
	w.base.subject, w.name = uint32(subject), name
}

// seek reads the first entry whose sequence is at least from; false as for next. It searches the restarts, so
// at most sixteen entries and a few restarts are decoded.
func (w *walker) seek(from uint64) bool {
	groups := len(w.restarts) / restartBytes
	group := sort.Search(groups, func(i int) bool {
		w.restart(i)
		return w.next() && w.sequence > from
	})
	w.restart(max(group-1, 0))
	for w.next() {
		if w.sequence >= from {
			return true
		}
	}
	return false
}

// meta returns what the entry says.
func (w *walker) meta(subject string) Meta {
	return Meta{
		Sequence: w.sequence, Time: w.time, Expires: w.expires, Subject: subject,
		Bytes:       uint64(w.overhead + int64(len(w.name)+w.header+w.payload)),
		HeaderBytes: w.header, PayloadBytes: w.payload,
	}
}

// message returns the entry with its header and payload, which are parts of bodies.
func (w *walker) message(subject string, bodies []byte) (Message, error) {
	end := w.body + w.header + w.payload
	if w.body < 0 || end > len(bodies) {
		return Message{}, errFormat
	}
	m := w.meta(subject)
	split := w.body + w.header
	msg := Message{
		Sequence: m.Sequence, Time: m.Time, Expires: m.Expires, Bytes: m.Bytes, Subject: subject,
		Payload: bodies[split:end:end],
	}
	if w.header > 0 {
		msg.Header = bodies[w.body:split:split]
	}
	return msg, nil
}

// subjectIn is subject, cut from a copy of names. The subject is one that a walker has found.
func (b *block) subjectIn(names string, i uint64) string {
	start := 0
	if i > 0 {
		start = number(b.ends[4*i-4:])
	}
	return names[start:number(b.ends[4*i:])]
}
