// Package lasts is what a consumer of the last message of each subject gets before it goes on like any other: those messages
// that were the last when it was made, and are still there. It is part of the state of a stream.
package lasts

import (
	"cmp"
	"iter"
	"slices"
)

// List has those messages. The zero value is that of a consumer that begins otherwise. It is not safe for concurrent use.
//
// Invariant: sequences ascend, none is above Resume; gone counts the entries that are marked so.
type List struct {
	// Resume is up to where the consumer gets nothing else.
	Resume uint64
	// left are the messages, nil for none: most consumers have none, and there are many.
	left *left
}

// left has each sequence twice its value, plus 1 when the message is gone.
type left struct {
	list []uint64
	gone int
}

// list is what is left.
func (n *List) list() []uint64 {
	if n.left == nil {
		return nil
	}
	return n.left.list
}

func (n *List) find(seq uint64) (int, bool) {
	return slices.BinarySearchFunc(n.list(), seq, func(e, seq uint64) int { return cmp.Compare(e>>1, seq) })
}

// Has reports whether a message is in the list and still there.
func (n *List) Has(seq uint64) bool {
	i, found := n.find(seq)
	return found && n.left.list[i]&1 == 0
}

// Next returns the first sequence above a given one that is still there, 0 for none.
func (n *List) Next(above uint64) uint64 {
	list := n.list()
	i, _ := n.find(above + 1)
	for ; i < len(list); i++ {
		if list[i]&1 == 0 {
			return list[i] >> 1
		}
	}
	return 0
}

// Remove marks a sequence as gone.
func (n *List) Remove(seq uint64) {
	i, found := n.find(seq)
	if !found || n.left.list[i]&1 == 1 {
		return
	}
	l := n.left
	l.list[i] |= 1
	l.gone++
	if l.gone > 16+len(l.list)/2 {
		l.list = slices.DeleteFunc(l.list, func(e uint64) bool { return e&1 == 1 })
		l.gone = 0
	}
}

// Pass drops all up to a sequence.
func (n *List) Pass(seq uint64) {
	l := n.left
	if l == nil {
		return
	}
	for len(l.list) > 0 && l.list[0]>>1 <= seq {
		l.gone -= int(l.list[0] & 1)
		l.list = l.list[1:]
	}
	if len(l.list) == 0 {
		n.left = nil
	}
}

// Live returns the sequences that are still there.
func (n *List) Live() []uint64 {
	var out []uint64
	for _, e := range n.list() {
		if e&1 == 0 {
			out = append(out, e>>1)
		}
	}
	return out
}

// With returns the sequences that are still there with others that are not above Resume, in their order and each once.
func (n *List) With(others ...iter.Seq[uint64]) []uint64 {
	out := n.Live()
	for _, all := range others {
		for seq := range all {
			if seq <= n.Resume {
				out = append(out, seq)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Renew takes other messages in place of those, which must ascend and not be above Resume.
func (n *List) Renew(sequences []uint64) {
	n.left = nil
	if len(sequences) == 0 {
		return
	}
	n.left = &left{}
	for _, seq := range sequences {
		n.left.list = append(n.left.list, seq<<1)
	}
}
