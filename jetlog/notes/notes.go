// Package notes is what a consumer with policies knows of each delivery that waits for an answer, beside what every consumer
// knows. It is part of the state of a stream, and knows no clock.
package notes

// Note is what is known of a delivery.
type Note struct {
	// First is when the message was first delivered, in nanoseconds since 1970.
	First int64
	// Last is when it was last delivered.
	Last int64
	// Resting is set while nobody has the message: it comes again at its deadline, and until then takes no place of
	// those that may wait for an answer.
	Resting bool
}

// Table has the notes of a consumer, by sequence. All methods may be called of the nil table of a consumer without
// policies, which stays empty. It is not safe for concurrent use.
//
// Invariant: resting counts those that rest.
type Table struct {
	of      map[uint64]Note
	resting int
}

// New returns an empty table.
func New() *Table { return &Table{of: map[uint64]Note{}} }

// Begin notes the first delivery of a message.
func (t *Table) Begin(seq uint64, now int64) {
	if t != nil {
		t.of[seq] = Note{First: now, Last: now}
	}
}

// Again notes a further delivery of a message. Nothing is noted of one that is not known.
func (t *Table) Again(seq uint64, now int64) {
	if n, known := t.Get(seq); known {
		n.Last = now
		t.of[seq] = n
	}
}

// Once forgets that messages were delivered further times.
func (t *Table) Once() {
	if t == nil {
		return
	}
	for seq, n := range t.of {
		n.Last = n.First
		t.of[seq] = n
	}
}

// Rest sets whether a message rests. Nothing is noted of one that is not known.
func (t *Table) Rest(seq uint64, resting bool) {
	n, known := t.Get(seq)
	if !known || n.Resting == resting {
		return
	}
	n.Resting = resting
	t.of[seq] = n
	if resting {
		t.resting++
	} else {
		t.resting--
	}
}

// End forgets a message.
func (t *Table) End(seq uint64) {
	if t != nil {
		t.Rest(seq, false)
		delete(t.of, seq)
	}
}

// Get returns what is noted of a message; it is false for one that is not known.
func (t *Table) Get(seq uint64) (Note, bool) {
	if t == nil {
		return Note{}, false
	}
	n, known := t.of[seq]
	return n, known
}

// Len returns of how many messages something is noted.
func (t *Table) Len() int {
	if t == nil {
		return 0
	}
	return len(t.of)
}

// Resting returns how many of them rest.
func (t *Table) Resting() int {
	if t == nil {
		return 0
	}
	return t.resting
}
