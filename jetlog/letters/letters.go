// Package letters is what a consumer has given up and is not yet in its dead-letter stream: which messages, and why. It is
// part of the state of a stream, and knows no clock: times come in.
//
// Each letter has a number, which is never given again. Letters are handed over in the order of their numbers, so that the
// dead-letter stream knows by the last number that it has taken whether one comes again.
package letters

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"runnel/jetlog/codec"
)

// TextMax is how long the text of a letter may be, in bytes; the rest is cut off.
const TextMax = 1024

// Waiting is how many letters a consumer may have before it is to deliver nothing new: as long as they are not handed over,
// they take memory, and their messages take room beyond the limits of the stream.
const Waiting = 16384

// Reason says why a message was given up. The numbers are part of the snapshot's format.
type Reason uint8

// The reasons.
const (
	MaxDeliver Reason = 1 + iota // delivered as often as max_deliver allows
	RetryLimit                   // tried as often, or as long, as the retry policy allows
	Terminated                   // the receiver has said that it is not to come again
	Expired                      // removed by an age or a limit while an answer was awaited
	Filter                       // the content filter could not be asked
	reasonsEnd
)

// String returns the reason as it is in headers.
func (r Reason) String() string {
	switch r {
	case MaxDeliver:
		return "max_deliver"
	case RetryLimit:
		return "retry_limit"
	case Terminated:
		return "terminated"
	case Expired:
		return "expired"
	case Filter:
		return "filter"
	}
	return "unknown"
}

// Letter is a message that was given up.
type Letter struct {
	Number uint64
	// Sequence is that of the message, and Consumer the consumer sequence of its first delivery.
	Sequence, Consumer uint64
	Reason             Reason
	// Text is what the receiver has said, or what went wrong; empty for nothing.
	Text string
	// Deliveries is how often the message was delivered; First and Last are when that was, and Time is when it was given
	// up, in nanoseconds since 1970. They are 0 when it is not known.
	Deliveries        uint64
	First, Last, Time int64
}

// place is where the letter of a message is.
type place struct {
	sequence, number uint64
}

// Box has the letters of a consumer. The methods that only ask may be called of a nil box, which is that of a consumer
// without dead letters and has none. It is not safe for concurrent use, but several may ask at once.
//
// Invariants, which Check verifies: numbers ascend, none is above last; places has each letter once, in the order of the
// sequences.
type Box struct {
	id     uint64
	last   uint64
	list   []Letter
	places []place
}

// New returns an empty box. The id is never used again in the stream.
func New(id uint64) *Box { return &Box{id: id} }

// ID returns what the box is known by, which together with a number says for ever which letter is meant.
func (b *Box) ID() uint64 {
	if b == nil {
		return 0
	}
	return b.id
}

// Len returns how many letters there are.
func (b *Box) Len() int {
	if b == nil {
		return 0
	}
	return len(b.places)
}

// Last returns the number that was given last.
func (b *Box) Last() uint64 {
	if b == nil {
		return 0
	}
	return b.last
}

// Has reports whether there is a letter of a message.
func (b *Box) Has(seq uint64) bool {
	if b == nil {
		return false
	}
	_, found := b.find(seq)
	return found
}

func (b *Box) find(seq uint64) (int, bool) {
	return slices.BinarySearchFunc(b.places, seq, func(p place, seq uint64) int { return cmp.Compare(p.sequence, seq) })
}

// Lowest returns the letter of the message with the lowest sequence, nil if there is none.
func (b *Box) Lowest() *Letter {
	if b.Len() == 0 {
		return nil
	}
	return b.at(b.places[0].number)
}

// at returns the letter of a number that there is.
func (b *Box) at(number uint64) *Letter {
	if first := &b.list[0]; first.Number == number { // mostly, as what was given up first is handed over first
		return first
	}
	return &b.list[b.above(number-1)]
}

// above returns the position of the first letter with a number above a given one.
func (b *Box) above(number uint64) int {
	i, found := slices.BinarySearchFunc(b.list, number, func(l Letter, n uint64) int { return cmp.Compare(l.Number, n) })
	if found {
		i++
	}
	return i
}

// All calls yield for all letters in the order of their numbers until it returns false.
func (b *Box) All(yield func(*Letter) bool) {
	if b == nil {
		return
	}
	for i := range b.list {
		if !yield(&b.list[i]) {
			return
		}
	}
}

// Sequences returns the sequences of the messages, in order.
func (b *Box) Sequences() []uint64 {
	if b == nil {
		return nil
	}
	list := make([]uint64, len(b.places))
	for i, p := range b.places {
		list[i] = p.sequence
	}
	return list
}

// Add gives a letter the next number and takes it in, unless there is one of the same message.
func (b *Box) Add(l Letter) {
	i, found := len(b.places), false
	if i > 0 && b.places[i-1].sequence >= l.Sequence { // mostly they come in order
		i, found = b.find(l.Sequence)
	}
	if found {
		return
	}
	b.last++
	l.Number, l.Text = b.last, Clip(l.Text)
	if len(b.list) == cap(b.list) {
		b.list = slices.Grow(b.list, len(b.list)+1) // twice as many, as letters come fast or not at all
	}
	b.list = append(b.list, l)
	b.places = slices.Insert(b.places, i, place{l.Sequence, l.Number})
}

// Remove takes out the letter of a message and reports whether there was one.
func (b *Box) Remove(seq uint64) bool {
	if b == nil {
		return false
	}
	i, found := b.find(seq)
	if found {
		b.list = remove(b.list, b.above(b.places[i].number-1))
		b.places = remove(b.places, i)
	}
	return found
}

// remove takes out one of a list, quickly if it is the first.
func remove[T any](list []T, i int) []T {
	if i > 0 {
		return slices.Delete(list, i, i+1)
	}
	clear(list[:1])
	return list[1:]
}

// Retain takes out the letters of the messages that keep does not want.
func (b *Box) Retain(keep func(seq uint64) bool) {
	if b == nil {
		return
	}
	b.list = slices.DeleteFunc(b.list, func(l Letter) bool { return !keep(l.Sequence) })
	b.places = slices.DeleteFunc(b.places, func(p place) bool { return !keep(p.sequence) })
}

// UpTo returns the letters with a number <= upTo. They must not be changed.
func (b *Box) UpTo(upTo uint64) []Letter {
	if b == nil {
		return nil
	}
	return b.list[:b.above(upTo)]
}

// Handed takes these out.
func (b *Box) Handed(upTo uint64) {
	n := len(b.UpTo(upTo))
	if n == 0 {
		return
	}
	clear(b.list[:n])
	if b.list = b.list[n:]; len(b.list) == 0 {
		b.list, b.places = nil, nil
		return
	}
	// Mostly the first ones go: then the others stay where they are.
	for n > 0 && b.places[0].number <= upTo {
		b.places, n = b.places[1:], n-1
	}
	if n > 0 {
		b.places = slices.DeleteFunc(b.places, func(p place) bool { return p.number <= upTo })
	}
}

// Clone returns a copy.
func (b *Box) Clone() *Box {
	if b == nil {
		return nil
	}
	c := *b
	c.list, c.places = slices.Clone(b.list), slices.Clone(b.places)
	return &c
}

// Clip returns a text as it is kept: what cannot be in a header is blank, and it is cut to TextMax.
func Clip(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError {
			return ' '
		}
		return r
	}, text[:min(len(text), 4*TextMax)])
	for n := min(len(text), TextMax); ; n-- {
		if n == len(text) || utf8.RuneStart(text[n]) {
			return strings.TrimSpace(text[:n])
		}
	}
}

// AppendSnapshot appends the box, numbers as differences.
func (b *Box) AppendSnapshot(out []byte) []byte {
	out = codec.AppendUint(codec.AppendUint(out, b.id), b.last)
	out = codec.AppendUint(out, uint64(len(b.places)))
	last := uint64(0)
	for l := range b.All {
		out = codec.AppendUint(codec.AppendUint(out, l.Number-last), l.Sequence)
		out = append(codec.AppendUint(out, l.Consumer), byte(l.Reason))
		out = codec.AppendUint(codec.AppendBytes(out, l.Text), l.Deliveries)
		out = codec.AppendInt(codec.AppendInt(codec.AppendInt(out, l.First), l.Last), l.Time)
		last = l.Number
	}
	return out
}

// minBytes is the least that a letter takes in a snapshot.
const minBytes = 9

// Restore fills a new box with what AppendSnapshot has written, and reports whether it is in order.
func (b *Box) Restore(r *codec.Reader) bool {
	b.id, b.last = r.Uint(), r.Uint()
	number := uint64(0)
	for range r.Count(minBytes) {
		l := Letter{Number: number + r.Uint(), Sequence: r.Uint(), Consumer: r.Uint(), Reason: Reason(r.Byte())}
		l.Text, l.Deliveries = r.String(), r.Uint()
		l.First, l.Last, l.Time = r.Int(), r.Int(), r.Int()
		if r.Err() != nil {
			return true
		}
		i, found := b.find(l.Sequence)
		if found || l.Sequence == 0 || l.Number <= number || l.Number > b.last || l.Reason == 0 || l.Reason >= reasonsEnd {
			return false
		}
		number = l.Number
		b.list = append(b.list, l)
		b.places = slices.Insert(b.places, i, place{l.Sequence, l.Number})
	}
	return true
}
