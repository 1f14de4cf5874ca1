package accounts

import "iter"

const (
	// ChainMost is through how many accounts a message is followed at most, one after the other. An import that leads in a
	// circle is refused, but while accounts change, some may be new already and others not.
	ChainMost = 16
	// WaysMost is in how many ways a message is led into one account at most. Imports that each lead on twice would make
	// 2^16 of one message, and whoever has an account may make such.
	WaysMost = 1024
)

// Follow iterates over the imports of streams by which a message on subject in the account gets into others, each with its
// subject there, from one account on to the next, within the bounds of [ChainMost] and [WaysMost].
func (a *Account) Follow(subject string) iter.Seq2[*StreamImport, string] {
	return func(yield func(*StreamImport, string) bool) {
		w := walk{ways: make(map[*Account]int), yield: yield}
		w.from(a, subject, 0)
	}
}

type walk struct {
	ways  map[*Account]int
	yield func(*StreamImport, string) bool
}

// from goes on from an account. It is false when nobody wants to hear more.
func (w *walk) from(a *Account, subject string, chain int) bool {
	x := a.Crossings()
	if x == nil || chain == ChainMost {
		return true
	}
	for i := range x.Streams(subject) {
		local, ok := i.Local(subject)
		if !ok || w.ways[i.Account] == WaysMost {
			continue
		}
		w.ways[i.Account]++
		if !w.yield(i, local) || !w.from(i.Account, local, chain+1) {
			return false
		}
	}
	return true
}
