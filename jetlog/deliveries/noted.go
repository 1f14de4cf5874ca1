package deliveries

import "runnel/jetlog/notes"

// Noting reports whether notes are kept, which policies need.
func (t *Table) Noting() bool { return t.notes != nil }

// Note says whether notes are kept. Where they begin to be, what waits already counts as delivered first now.
func (t *Table) Note(keep bool, now int64) {
	if !keep {
		t.notes = nil
		return
	}
	if t.notes == nil {
		t.notes = notes.New()
	}
	for d := range t.All() {
		if _, known := t.notes.Get(d.Sequence); !known {
			t.notes.Begin(d.Sequence, now)
		}
	}
}

// Wake lets no delivery rest any more. Their deadlines stay.
func (t *Table) Wake() {
	if t.Resting() == 0 {
		return
	}
	for d := range t.All() {
		t.notes.Rest(d.Sequence, false)
	}
}

// Again notes when a message was delivered that was delivered before.
func (t *Table) Again(d *Delivery, now int64) { t.notes.Again(d.Sequence, now) }

// Once forgets when messages were delivered last, as if each had been delivered once.
func (t *Table) Once() { t.notes.Once() }

// Noted returns what is noted of a message, the zero value for nothing.
func (t *Table) Noted(seq uint64) notes.Note {
	n, _ := t.notes.Get(seq)
	return n
}

// Resting returns how many of the deliveries rest: nobody has them, they come again by themselves at a time. Without notes
// none does.
func (t *Table) Resting() int { return t.notes.Resting() }
