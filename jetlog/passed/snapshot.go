package passed

import (
	"encoding/binary"
	"math/bits"

	"runnel/jetlog/codec"
)

// A page is written as runs of sequences, each as how many are missing before it and how many it has. One with more runs
// than runsMax takes less as it is: then 0 stands for their number, and the words follow.
const runsMax = 128

// AppendSnapshot appends the set: the pages by number. Equal sets give equal bytes.
func (s *Set) AppendSnapshot(out []byte) []byte {
	if s == nil {
		return codec.AppendUint(out, uint64(0))
	}
	out = codec.AppendUint(out, uint64(len(s.pages)))
	last := uint64(0)
	for i := range s.pages {
		p := &s.pages[i]
		out = codec.AppendUint(out, p.number-last)
		last = p.number
		if runs := p.runs(); len(runs) <= 2*runsMax {
			out = codec.AppendUint(out, uint64(len(runs)/2))
			for _, n := range runs {
				out = codec.AppendUint(out, n)
			}
			continue
		}
		words := make([]byte, 0, 8*pageWords)
		for _, word := range p.words {
			words = binary.LittleEndian.AppendUint64(words, word)
		}
		out = codec.AppendBytes(codec.AppendUint(out, uint64(0)), words)
	}
	return out
}

// runs returns, in turn, how many sequences of the page are missing and how many are there.
func (p *page) runs() []uint64 {
	var runs []uint64
	length, is := uint64(0), false
	for n := range uint64(pageSpan) {
		if (p.words[n/64]&(1<<(n%64)) != 0) != is {
			runs = append(runs, length)
			length, is = 0, !is
		}
		length++
	}
	if is {
		runs = append(runs, length)
	}
	return runs
}

// Read returns the set that AppendSnapshot has written. What is damaged makes the reader fail.
func Read(r *codec.Reader) *Set {
	s := &Set{}
	number := uint64(0)
	for i := range r.Count(2) {
		gap := r.Uint()
		if number += gap; i > 0 && gap == 0 || gap > 1<<52 || number > 1<<52 {
			r.Fail("pages of messages that were passed over are not in order")
		}
		p := page{number: number, words: new([pageWords]uint64)}
		p.read(r)
		if r.Err() != nil {
			return s
		}
		s.pages = append(s.pages, p)
		s.length += uint64(p.length)
	}
	return s
}

// read reads what is in a page.
func (p *page) read(r *codec.Reader) {
	runs, at := r.Count(2), uint64(0)
	for i := range runs {
		missing, there := r.Uint(), r.Uint()
		if max(missing, there) > pageSpan || at+missing+there > pageSpan || there == 0 || i > 0 && missing == 0 {
			r.Fail("messages that were passed over are not in order")
			return
		}
		for at += missing; there > 0; there-- {
			p.words[at/64] |= 1 << (at % 64)
			at++
		}
	}
	if runs == 0 {
		words := r.Bytes()
		if len(words) != 8*pageWords {
			r.Fail("a page of messages that were passed over is cut off")
			return
		}
		for i := range p.words {
			p.words[i] = binary.LittleEndian.Uint64(words[8*i:])
		}
	}
	for _, word := range p.words {
		p.length += bits.OnesCount64(word)
	}
	if p.number == 0 && p.words[0]&1 != 0 {
		r.Fail("there is no message 0 that could be passed over")
	}
	if runs > runsMax || p.length == 0 || runs == 0 && len(p.runs()) <= 2*runsMax {
		r.Fail("a page of messages that were passed over is written in another way")
	}
}
