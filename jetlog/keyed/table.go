package keyed

import "hash/maphash"

// Defaults of a Config.
const (
	PerKeyMaxDefault  = 1024
	WaitingMaxDefault = 1_000_000
)

// Config is what a Table is made for.
type Config struct {
	// PerKeyMax is how many messages may be listed behind the one that has the turn of a key. 0 means
	// PerKeyMaxDefault.
	PerKeyMax int
	// WaitingMax is with how many messages that wait or are ready the Table is full. 0 means WaitingMaxDefault.
	WaitingMax int
	// Block makes a message that failed keep its turn, so that the later ones of its key wait. Otherwise they
	// go on without it.
	Block bool
}

// Table is which message of each key may be delivered next. It is for one goroutine.
//
// Keys are known by a hash of 64 bits, which each Table makes in a way of its own, so that nobody can choose keys
// that collide. Should two have the same, they share a turn: the order within each is kept, and one of them
// sometimes waits for the other.
//
// Every method takes the same time however many keys and messages there are.
type Table struct {
	config  Config
	seed    maphash.Seed
	keys    index // the turns by the hash of their key
	heads   index // the turns by the message that they are at, if there is one
	turns   pool[turn]
	entries pool[entry]
	lists   [states]list    // each turn is in the list of its state
	beyond  map[uint32]span // by turn: the messages of its key that are not listed
	waiting int             // messages that are ready or listed
}

// turn is a key with undone messages.
type turn struct {
	hash        uint64
	sequence    uint64 // the message that the turn is at; 0 with Unlisted
	first, last uint32 // entries of the messages behind it, in their order
	listed      uint32 // how many these are
	links       links  // to its neighbours in the list of its state
	state       State
}

// entry is a message that waits behind another one.
type entry struct {
	sequence uint64
	next     uint32
}

// span is a part of the stream with messages of a key that are not listed: all from the first to the last of them.
type span struct{ from, to uint64 }

// State is what a turn is doing.
type State uint8

// The states of turns.
const (
	Ready    State = iota // its message may be delivered
	InFlight              // its message was delivered
	Returned              // its message is to be delivered again, when its time has come
	Blocked               // its message failed, and the later ones wait
	Unlisted              // all listed messages are done, the next ones are to be looked for in the stream
	states
)

// String returns the state in words.
func (s State) String() string {
	return [...]string{"ready", "in flight", "returned", "blocked", "unlisted"}[s]
}

// New returns an empty Table.
func New(c Config) *Table {
	if c.PerKeyMax == 0 {
		c.PerKeyMax = PerKeyMaxDefault
	}
	if c.WaitingMax == 0 {
		c.WaitingMax = WaitingMaxDefault
	}
	t := &Table{config: c, seed: maphash.MakeSeed()}
	t.clear()
	return t
}

func (t *Table) clear() {
	factor := maphash.Bytes(t.seed, nil) | 1
	t.keys = index{factor: factor, of: func(i uint32) uint64 { return t.turns.at(i).hash }}
	t.heads = index{factor: factor, of: func(i uint32) uint64 { return t.turns.at(i).sequence }}
	t.beyond = map[uint32]span{}
	t.turns, t.entries = pool[turn]{}, pool[entry]{}
	t.lists = [states]list{}
}

// Hash returns by what the Table knows a key.
func (t *Table) Hash(key []byte) uint64 { return maphash.Bytes(t.seed, key) }

// Offer adds a message, which must come later in the stream than all that were offered. It reports whether the
// message is ready, since no other one of its key is undone. Otherwise it waits.
//
// Nobody may offer anything while the Table is Full. What is offered all the same is not lost, but takes memory.
func (t *Table) Offer(sequence uint64, key []byte) bool { return t.offer(sequence, t.Hash(key)) }

// OfferAlone is Offer for a message without a key, which waits for no other one.
func (t *Table) OfferAlone(sequence uint64) bool {
	return t.offer(sequence, maphash.Comparable(t.seed, sequence))
}

func (t *Table) offer(sequence, hash uint64) bool {
	if i := t.keys.find(hash); i != 0 {
		t.append(i, sequence)
		return false
	}
	i := t.turns.take()
	*t.turns.at(i) = turn{hash: hash}
	t.keys.add(hash, i)
	t.waiting++
	t.ready(i, sequence)
	return true
}

// append adds a message behind the others of its key.
func (t *Table) append(i uint32, sequence uint64) {
	if beyond, ok := t.beyond[i]; ok {
		beyond.to = sequence
		t.beyond[i] = beyond
	} else if !t.list(i, sequence) {
		t.beyond[i] = span{from: sequence, to: sequence}
	}
}

// list adds a message to the list of its key, if there is room.
func (t *Table) list(i uint32, sequence uint64) bool {
	turn := t.turns.at(i)
	if int(turn.listed) >= t.config.PerKeyMax {
		return false
	}
	e := t.entries.take()
	*t.entries.at(e) = entry{sequence: sequence}
	if turn.listed == 0 {
		turn.first = e
	} else {
		t.entries.at(turn.last).next = e
	}
	turn.last = e
	turn.listed++
	t.waiting++
	return true
}

// ready gives the turn to a message.
func (t *Table) ready(i uint32, sequence uint64) {
	t.turns.at(i).sequence = sequence
	t.heads.add(sequence, i)
	t.enter(i, Ready)
}

// Next returns the message that is ready for longest. It stays so until it is taken.
func (t *Table) Next() (sequence uint64, ok bool) {
	i := t.lists[Ready].first
	if i == 0 {
		return 0, false
	}
	return t.turns.at(i).sequence, true
}

// Take says that a message is being delivered, which must be ready, or returned and due again. It is false, and
// nothing has changed, if it is neither.
func (t *Table) Take(sequence uint64) bool {
	i, state := t.find(sequence)
	switch state {
	case Ready:
		t.waiting--
	case Returned:
	default:
		return false
	}
	t.move(i, InFlight)
	return true
}

// Untake says that a message that is in flight was not delivered after all: it is ready, and comes before all others that
// are. It is false, and nothing has changed, if it is not in flight.
func (t *Table) Untake(sequence uint64) bool {
	i, state := t.find(sequence)
	if state != InFlight {
		return false
	}
	t.leave(i)
	t.enterFirst(i, Ready)
	t.waiting++
	return true
}

// Done says that a message needs nothing any more: it was acknowledged, given up, or is no longer in the stream,
// and it may have been in any state but waiting behind another one. The next message of its key becomes ready.
// It is false, and nothing has changed, if the Table does not know the message or it waits; then Next comes to
// it later.
func (t *Table) Done(sequence uint64) bool {
	i, state := t.find(sequence)
	if state == states {
		return false
	}
	if state == Ready {
		t.waiting--
	}
	t.heads.remove(sequence)
	t.leave(i)
	t.advance(i)
	return true
}

// Back says that a message that is in flight or blocked is to be delivered again. It keeps the turn of its key,
// and whoever says Back also knows when its time comes, which is when it can be taken. It is false, and nothing
// has changed, if the message is neither.
func (t *Table) Back(sequence uint64) bool {
	i, state := t.find(sequence)
	if state != InFlight && state != Blocked {
		return false
	}
	t.move(i, Returned)
	return true
}

// Fail says that a message was given up. With Block it keeps the turn of its key, until it is Done or comes Back;
// otherwise it is done. It is false, and nothing has changed, if the message is neither in flight nor returned.
func (t *Table) Fail(sequence uint64) bool {
	i, state := t.find(sequence)
	if state != InFlight && state != Returned {
		return false
	}
	if !t.config.Block {
		return t.Done(sequence)
	}
	t.move(i, Blocked)
	return true
}

// State returns what the turn is doing that a message has. It is false if it has none: the Table does not know it, or it waits
// behind another one.
func (t *Table) State(sequence uint64) (State, bool) {
	_, state := t.find(sequence)
	return state, state != states
}

// Full reports whether so many messages wait that no more may be offered.
func (t *Table) Full() bool { return t.waiting >= t.config.WaitingMax }

// find returns the turn that a message has, and its state, which is states if it has none.
func (t *Table) find(sequence uint64) (uint32, State) {
	i := t.heads.find(sequence)
	if i == 0 {
		return 0, states
	}
	return i, t.turns.at(i).state
}

// advance gives a turn, which is in no list, to the next message of its key.
func (t *Table) advance(i uint32) {
	turn := t.turns.at(i)
	if turn.listed > 0 {
		e := turn.first
		next := *t.entries.at(e)
		t.entries.give(e)
		turn.first = next.next
		turn.listed--
		t.ready(i, next.sequence)
		return
	}
	turn.sequence = 0
	if _, ok := t.beyond[i]; ok {
		t.enter(i, Unlisted)
		return
	}
	t.forget(i)
}

// forget ends the turn of a key of which nothing is left.
func (t *Table) forget(i uint32) {
	const worthwhile = 4096 // turns; nothing shrinks by itself
	t.keys.remove(t.turns.at(i).hash)
	t.turns.give(i)
	if t.keys.length == 0 && t.turns.size() > worthwhile {
		t.clear()
	}
}
