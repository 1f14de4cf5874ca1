// Package lasts is what a consumer of the last message of each subject gets before it goes on like any other: those messages
// that were the last when it was made, and are still there. It is part of the state of a stream.
package lasts

import (
	"cmp"
	"slices"
)

// List has those messages. The zero value is that of a consumer that begins otherwise. It is not safe for concurrent use.
//
// Invariant: sequences ascend, none is above Resume; gone counts the entries that are marked so.
type List struct {
	// Resume is up to where the consumer gets nothing else.
	Resume uint64
	// list has each sequence twice its value, plus 1 when the message is gone.
	list []uint64
	gone int
}

func (n *List) find(seq uint64) (int, bool) {
	return slices.BinarySearchFunc(n.list, seq, func(e, seq uint64) int { return cmp.Compare(e>>1, seq) })
}

// Has reports whether a message is in the list and still there.
func (n *List) Has(seq uint64) bool {
	i, found := n.find(seq)
	return found && n.list[i]&1 == 0
}

// Next returns the first sequence above a given one that is still there, 0 for none.
func (n *List) Next(above uint64) uint64 {
	i, _ := n.find(above + 1)
	for ; i < len(n.list); i++ {
		if n.list[i]&1 == 0 {
			return n.list[i] >> 1
		}
	}
	return 0
}

// Remove marks a sequence as gone.
func (n *List) Remove(seq uint64) {
	i, found := n.find(seq)
	if !found || n.list[i]&1 == 1 {
		return
	}
	n.list[i] |= 1
	n.gone++
	if n.gone > 16+len(n.list)/2 {
		n.list = slices.DeleteFunc(n.list, func(e uint64) bool { return e&1 == 1 })
		n.gone = 0
	}
}

// Pass drops all up to a sequence.
func (n *List) Pass(seq uint64) {
	for len(n.list) > 0 && n.list[0]>>1 <= seq {
		n.gone -= int(n.list[0] & 1)
		n.list = n.list[1:]
	}
	if len(n.list) == 0 {
		n.list = nil
	}
}

// Live returns the sequences that are still there.
func (n *List) Live() []uint64 {
	var out []uint64
	for _, e := range n.list {
		if e&1 == 0 {
			out = append(out, e>>1)
		}
	}
	return out
}

// Renew takes other messages in place of those, which must ascend and not be above Resume.
func (n *List) Renew(sequences []uint64) {
	n.list, n.gone = nil, 0
	for _, seq := range sequences {
		n.list = append(n.list, seq<<1)
	}
}
