// Package verify marks the messages of a load and checks what is delivered of them: per publisher
// gapless, in order, once, and unchanged.
//
// A publisher stamps its Payload with a number for each message. A Verifier observes what one
// subscription gets, and Settle sums up what those that belong together have found.
package verify

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/bits"
	"slices"
)

// StampBytes is the size of the stamp at the head of every verified payload,
// and so the smallest payload that can be verified or carry a send time.
//
//	bytes  0..7   publisher (24 bits), sequence (40 bits), big endian
//	bytes  8..11  due time in ticks of 64 ns, wrapping every 274 s
//	bytes 12..15  CRC-32C over the payload from byte 16 on, then bytes 0..11
//
// The checksum covers the tail first, so that a publisher whose tail never
// changes continues from a checksum which it computed once.
const StampBytes = 16

const (
	sequenceBits = 40
	// MaxSequence is the highest sequence that a stamp has room for.
	MaxSequence  = 1<<sequenceBits - 1
	maxPublisher = 1<<(64-sequenceBits) - 1

	// MaxTracked bounds the bitmap of one publisher (512 MiB): a sequence above
	// it is treated as foreign, whatever its checksum says.
	MaxTracked = 1 << 32

	// maxLearned bounds how many publishers a learning verifier accepts.
	maxLearned = 4096

	// maxNotes is how many single violations are described in words.
	maxNotes = 8
)

// castagnoli is the CRC-32C table; it never changes.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Stamp is what the head of a payload says about the message.
type Stamp struct {
	Publisher uint32 // who sent it; 24 bits
	Sequence  uint64 // 0 for the publisher's first message, then one more each; 40 bits
	Due       uint32 // when it was due to be sent, in clock ticks; 0 where nothing is timed
}

// ReadStamp decodes and checks the stamp of a payload. It reports false when
// the payload is too short for one or was changed on its way.
func ReadStamp(data []byte) (Stamp, bool) {
	if len(data) < StampBytes {
		return Stamp{}, false
	}
	sum := crc32.Update(crc32.Checksum(data[StampBytes:], castagnoli), castagnoli, data[:12])
	if sum != binary.BigEndian.Uint32(data[12:]) {
		return Stamp{}, false
	}
	return DecodeStamp(data), true
}

// DecodeStamp reads a stamp without checking it; data must hold at least StampBytes.
func DecodeStamp(data []byte) Stamp {
	head := binary.BigEndian.Uint64(data)
	return Stamp{
		Publisher: uint32(head >> sequenceBits),
		Sequence:  head & MaxSequence,
		Due:       binary.BigEndian.Uint32(data[8:]),
	}
}

// Payload is a publisher's reusable message body. It is not safe for
// concurrent use.
type Payload struct {
	data      []byte
	publisher uint64
	tailSum   uint32
}

// NewPayload makes a body of size bytes for one publisher. A body smaller than
// StampBytes carries no stamp and cannot be verified.
func NewPayload(size int, publisher uint32) *Payload {
	p := &Payload{data: make([]byte, size), publisher: uint64(publisher&maxPublisher) << sequenceBits}
	for i := range p.data {
		p.data[i] = byte('a' + (uint32(i)+publisher)%26)
	}
	if size >= StampBytes {
		p.tailSum = crc32.Checksum(p.data[StampBytes:], castagnoli)
	}
	return p
}

// Publisher is whose payload it is.
func (p *Payload) Publisher() uint32 { return uint32(p.publisher >> sequenceBits) }

// Data is the body as it was stamped last. It must not be changed.
func (p *Payload) Data() []byte { return p.data }

// Stamped writes sequence and due time into the body and returns it. The slice
// is the same each time: the caller must be done with it before the next call.
func (p *Payload) Stamped(sequence uint64, due uint32) []byte {
	if len(p.data) < StampBytes {
		return p.data
	}
	binary.BigEndian.PutUint64(p.data, p.publisher|sequence&MaxSequence)
	binary.BigEndian.PutUint32(p.data[8:], due)
	binary.BigEndian.PutUint32(p.data[12:], crc32.Update(p.tailSum, castagnoli, p.data[:12]))
	return p.data
}

// Tally counts deliveries and what was wrong with them. The zero Tally is one
// of a run without deliveries and without fault.
type Tally struct {
	Delivered  int64    `json:"delivered"`       // all deliveries, good or bad
	Lost       int64    `json:"lost"`            // sent, and never delivered
	Duplicated int64    `json:"duplicated"`      // delivered again
	Reordered  int64    `json:"reordered"`       // delivered after a later message of the same publisher
	Corrupted  int64    `json:"corrupted"`       // payload or header changed or cut
	Foreign    int64    `json:"foreign"`         // not sent by this run, or not to this subscription
	Notes      []string `json:"notes,omitempty"` // the first few violations in words
}

// OK reports whether every delivery was as it should be.
func (t *Tally) OK() bool {
	return t.Lost == 0 && t.Duplicated == 0 && t.Reordered == 0 && t.Corrupted == 0 && t.Foreign == 0
}

// Add adds the counts of other, and its notes as far as there is room.
func (t *Tally) Add(other Tally) {
	t.Delivered += other.Delivered
	t.Lost += other.Lost
	t.Duplicated += other.Duplicated
	t.Reordered += other.Reordered
	t.Corrupted += other.Corrupted
	t.Foreign += other.Foreign
	for _, note := range other.Notes {
		t.note(note)
	}
}

// note keeps a description while there is room for it.
func (t *Tally) note(text string) {
	if len(t.Notes) < maxNotes {
		t.Notes = append(t.Notes, text)
	}
}

// Lane is the part of a publisher's messages that a subscription must get:
// those whose sequence leaves Offset when divided by Stride. Stride 1, Offset 0
// is all of them.
type Lane struct {
	Publisher uint32
	Stride    uint64
	Offset    uint64
}

// Verifier checks the deliveries of one subscription. It keeps one bit for each
// message. It is not safe for concurrent use.
type Verifier struct {
	name      string
	learn     bool // accept publishers that were not announced
	unordered bool // messages may overtake each other
	sources   map[uint32]*source
	last      *source // the source of the previous delivery, mostly that of the next too
	tally     Tally
}

// source is what a verifier knows about one publisher.
type source struct {
	lane Lane
	seen []uint64 // bit i: message i of the lane was delivered
	next uint64   // one above the highest index delivered
}

// NewVerifier makes a verifier that expects exactly the given lanes. The name
// stands in the notes of violations.
func NewVerifier(name string, lanes ...Lane) *Verifier {
	v := &Verifier{name: name, sources: make(map[uint32]*source, len(lanes))}
	for _, lane := range lanes {
		v.sources[lane.Publisher] = &source{lane: lane}
	}
	return v
}

// NewLearningVerifier makes a verifier for publishers that are not known
// beforehand: each one counts from the first of its messages that arrives.
func NewLearningVerifier(name string) *Verifier {
	v := NewVerifier(name)
	v.learn = true
	return v
}

// AllowOvertaking makes the verifier accept messages in any order, as replies
// of several responders are.
func (v *Verifier) AllowOvertaking() { v.unordered = true }

// Observe checks one delivery and returns its stamp; false means that the
// stamp cannot be trusted.
func (v *Verifier) Observe(data []byte) (Stamp, bool) {
	v.tally.Delivered++
	stamp, ok := ReadStamp(data)
	if !ok {
		v.tally.Corrupted++
		v.tally.note(fmt.Sprintf("%s: delivery %d is corrupt (%d bytes)", v.name, v.tally.Delivered, len(data)))
		return stamp, false
	}
	src := v.last
	if src == nil || src.lane.Publisher != stamp.Publisher {
		if src = v.source(stamp); src == nil {
			v.Foreign(stamp)
			return stamp, true
		}
		v.last = src
	}
	index, ok := src.index(stamp.Sequence)
	switch {
	case !ok && v.learn:
		v.tally.Reordered++
		v.tally.note(fmt.Sprintf("%s: publisher %d: sequence %d came after the first one, %d", v.name, stamp.Publisher, stamp.Sequence, src.lane.Offset))
	case !ok:
		v.Foreign(stamp)
	default:
		v.mark(src, index, stamp)
	}
	return stamp, true
}

// mark notes the delivery of message index of a source.
func (v *Verifier) mark(src *source, index uint64, stamp Stamp) {
	word, bit := index/64, uint64(1)<<(index%64)
	if index >= src.next {
		src.grow(word)
		src.seen[word] |= bit
		src.next = index + 1
		return
	}
	if src.seen[word]&bit != 0 {
		v.tally.Duplicated++
		v.tally.note(fmt.Sprintf("%s: publisher %d: sequence %d again", v.name, stamp.Publisher, stamp.Sequence))
		return
	}
	src.seen[word] |= bit
	if !v.unordered {
		v.tally.Reordered++
		v.tally.note(fmt.Sprintf("%s: publisher %d: sequence %d after %d", v.name, stamp.Publisher, stamp.Sequence, src.sequence(src.next-1)))
	}
}

// Observed is how many deliveries there were.
func (v *Verifier) Observed() int64 { return v.tally.Delivered }

// CorruptHeader counts the delivery observed last as corrupted: its payload was
// good, its header was not.
func (v *Verifier) CorruptHeader(text string) {
	v.tally.Corrupted++
	v.tally.note(v.name + ": header: " + text)
}

// Foreign counts a delivery that is none of this subscription's.
func (v *Verifier) Foreign(stamp Stamp) {
	v.tally.Foreign++
	v.tally.note(fmt.Sprintf("%s: publisher %d: sequence %d does not belong here", v.name, stamp.Publisher, stamp.Sequence))
}

// source finds the source of a stamp, learning it where that is allowed; nil
// means that there is none.
func (v *Verifier) source(stamp Stamp) *source {
	src := v.sources[stamp.Publisher]
	if src == nil && v.learn && len(v.sources) < maxLearned {
		src = &source{lane: Lane{Publisher: stamp.Publisher, Stride: 1, Offset: stamp.Sequence}}
		v.sources[stamp.Publisher] = src
	}
	return src
}

// index says which message of the lane has a sequence; false if none has.
func (s *source) index(sequence uint64) (uint64, bool) {
	if sequence < s.lane.Offset {
		return 0, false
	}
	index := sequence - s.lane.Offset
	if s.lane.Stride > 1 {
		if index%s.lane.Stride != 0 {
			return 0, false
		}
		index /= s.lane.Stride
	}
	return index, index < MaxTracked
}

// sequence is the reverse of index.
func (s *source) sequence(index uint64) uint64 { return s.lane.Offset + index*s.lane.Stride }

// count is how many messages the lane has among the first sent of its publisher.
func (s *source) count(sent uint64) uint64 {
	if sent <= s.lane.Offset {
		return 0
	}
	return (sent-s.lane.Offset-1)/s.lane.Stride + 1
}

// grow makes room for a word of the bitmap.
func (s *source) grow(word uint64) {
	if missing := int(word) + 1 - len(s.seen); missing > 0 {
		s.seen = slices.Grow(s.seen, missing)[:len(s.seen)+missing]
	}
}

// Settle adds up the tallies of verifiers that together must have got every
// message once: a single subscription, or the members of a queue group. sent
// says how many messages each publisher sent; a publisher that is missing in it
// is judged by its highest message that arrived, which finds gaps but not a
// missing end. A nil sent means that messages may still be on their way: losses
// are not judged.
func Settle(sent map[uint32]uint64, members ...*Verifier) Tally {
	var total Tally
	for _, v := range members {
		total.Add(v.tally)
	}
	for _, publisher := range publishersOf(members) {
		settleSource(&total, publisher, sent, members)
	}
	return total
}

// publishersOf lists the publishers that any of the verifiers knows, sorted.
func publishersOf(members []*Verifier) []uint32 {
	var ids []uint32
	for _, v := range members {
		for id := range v.sources {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// settleSource joins what the members saw of one publisher.
func settleSource(total *Tally, publisher uint32, sent map[uint32]uint64, members []*Verifier) {
	var union []uint64
	var first *source
	var next uint64
	for _, v := range members {
		src := v.sources[publisher]
		if src == nil {
			continue
		}
		if first == nil {
			first = src
		}
		next = max(next, src.next)
		union = join(total, union, src.seen)
	}
	if sent == nil {
		return
	}
	want := next
	if n, known := sent[publisher]; known {
		want = first.count(n)
	}
	if next > want {
		total.Foreign += int64(next - want)
		total.note(fmt.Sprintf("publisher %d: %d messages delivered which it never sent", publisher, next-want))
	}
	missing, at := gaps(union, want)
	if missing > 0 {
		total.Lost += int64(missing)
		total.note(fmt.Sprintf("%s: publisher %d: %d lost, the first is sequence %d", members[0].name, publisher, missing, first.sequence(at)))
	}
}

// join merges a member's bitmap into the union; what both have was delivered
// twice.
func join(total *Tally, union, seen []uint64) []uint64 {
	for i, word := range seen {
		if i == len(union) {
			return append(union, seen[i:]...)
		}
		if twice := bits.OnesCount64(union[i] & word); twice > 0 {
			total.Duplicated += int64(twice)
			total.note(fmt.Sprintf("queue group: %d messages went to two members", twice))
		}
		union[i] |= word
	}
	return union
}

// gaps counts the zero bits among the first want bits, and finds the first.
func gaps(seen []uint64, want uint64) (missing, first uint64) {
	for index := uint64(0); index < want; index += 64 {
		var word uint64
		if i := index / 64; i < uint64(len(seen)) {
			word = seen[i]
		}
		absent := ^word
		if left := want - index; left < 64 {
			absent &= 1<<left - 1
		}
		if absent != 0 && missing == 0 {
			first = index + uint64(bits.TrailingZeros64(absent))
		}
		missing += uint64(bits.OnesCount64(absent))
	}
	return missing, first
}
