package keyed

import "iter"

// Hold is a key and the message that has its turn.
type Hold struct {
	Hash     uint64 // of the key
	Sequence uint64 // the message, 0 if the state is Unlisted
	State    State
	Behind   int  // messages that are listed behind it
	More     bool // further ones are in the stream and not listed
}

// Counts is what a Table has.
type Counts struct {
	Keys     int         // with an undone message
	Waiting  int         // messages that are ready or listed
	Overfull int         // keys with messages that are not listed
	ByState  [states]int // keys, by their state
}

// Counts returns what the Table has.
func (t *Table) Counts() Counts {
	c := Counts{Keys: t.keys.length, Waiting: t.waiting, Overfull: len(t.beyond)}
	for s, l := range t.lists {
		c.ByState[s] = l.length
	}
	return c
}

// Held iterates over the keys whose message is blocked, in flight or returned, in this order, and each by how long
// it is so. It ends after limit of them. The Table must not be changed meanwhile.
func (t *Table) Held(limit int) iter.Seq[Hold] {
	return func(yield func(Hold) bool) {
		for _, s := range []State{Blocked, InFlight, Returned} {
			for i := t.lists[s].first; i != 0; i = t.turns.at(i).links.after {
				if limit--; limit < 0 || !yield(t.hold(i)) {
					return
				}
			}
		}
	}
}

// Blocked iterates over the messages that are listed behind the one that has the turn of a key, in their order.
// It ends after limit of them. The Table must not be changed meanwhile.
func (t *Table) Blocked(hash uint64, limit int) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		i := t.keys.find(hash)
		if i == 0 {
			return
		}
		turn := t.turns.at(i)
		e := turn.first
		for range min(limit, int(turn.listed)) {
			entry := t.entries.at(e)
			if !yield(entry.sequence) {
				return
			}
			e = entry.next
		}
	}
}

// Holder returns who has the turn of a key. It is false if the Table does not know the key: it is free.
func (t *Table) Holder(hash uint64) (Hold, bool) {
	i := t.keys.find(hash)
	if i == 0 {
		return Hold{}, false
	}
	return t.hold(i), true
}

func (t *Table) hold(i uint32) Hold {
	turn := t.turns.at(i)
	_, more := t.beyond[i]
	return Hold{Hash: turn.hash, Sequence: turn.sequence, State: turn.state, Behind: int(turn.listed), More: more}
}
