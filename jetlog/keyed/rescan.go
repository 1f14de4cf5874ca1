package keyed

// Scan is a part of the stream in which messages of a key are to be looked for.
type Scan struct {
	Hash     uint64 // of the key
	From, To uint64 // the sequences of the first and the last message that may be one
}

// Rescan returns a key whose listed messages are all done and which has more in the stream, the one that waits
// for longest. Whoever asks then goes through the stream from From to To, hands each undone message whose key has
// this Hash to Found, in order, until that is false, and says with Scanned up to which sequence all were found.
// It may do so in pieces and go on with the Table in between; Rescan then returns what is left.
func (t *Table) Rescan() (Scan, bool) {
	i := t.lists[Unlisted].first
	if i == 0 {
		return Scan{}, false
	}
	beyond := t.beyond[i]
	return Scan{Hash: t.turns.at(i).hash, From: beyond.from, To: beyond.to}, true
}

// Found adds a message that was looked for. It is false, and the message stays unlisted, if there is no room for
// it now, or if it is not one that was to be looked for.
func (t *Table) Found(hash, sequence uint64) bool {
	i := t.keys.find(hash)
	beyond, more := t.beyond[i]
	if !more || sequence < beyond.from || sequence > beyond.to {
		return false
	}
	if t.turns.at(i).state == Unlisted {
		t.leave(i)
		t.waiting++
		t.ready(i, sequence)
	} else if t.Full() || !t.list(i, sequence) {
		return false
	}
	t.scanned(i, beyond, sequence)
	return true
}

// Scanned says that all messages of a key up to a sequence were found.
func (t *Table) Scanned(hash, upTo uint64) {
	i := t.keys.find(hash)
	beyond, more := t.beyond[i]
	if !more || upTo < beyond.from {
		return
	}
	t.scanned(i, beyond, upTo)
	if t.turns.at(i).state != Unlisted {
		return
	}
	t.leave(i)
	if _, more := t.beyond[i]; more {
		t.enter(i, Unlisted) // behind the other keys
	} else {
		t.forget(i)
	}
}

// scanned takes away the beginning of what is not listed.
func (t *Table) scanned(i uint32, beyond span, upTo uint64) {
	if upTo >= beyond.to {
		delete(t.beyond, i)
		return
	}
	beyond.from = upTo + 1
	t.beyond[i] = beyond
}
