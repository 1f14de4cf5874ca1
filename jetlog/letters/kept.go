package letters

import (
	"maps"
	"slices"

	"runnel/jetlog/codec"
)

// Kept are messages that an age or a limit has removed, but for a letter that is not handed over: they are still there, and
// no limit counts them. Once the letter has gone they go too. The zero value is empty.
type Kept struct {
	of    map[uint64]Reserve
	bytes uint64
}

// Reserve is what is known of a message that is kept.
type Reserve struct {
	// Bytes is what the message counts for.
	Bytes uint64
	// Why says which age or limit it was, a number that means nothing here.
	Why uint8
	// Ended is set when its own time to live was over, which is then awaited no more.
	Ended bool
}

// Get returns what is known of a message; it is false for one that is not kept.
func (k *Kept) Get(seq uint64) (Reserve, bool) {
	r, kept := k.of[seq]
	return r, kept
}

// Has reports whether a message is kept.
func (k *Kept) Has(seq uint64) bool {
	_, kept := k.of[seq]
	return kept
}

// Len returns how many messages are kept.
func (k *Kept) Len() int { return len(k.of) }

// Add takes a message in. Of one that is kept only the end of its time to live is new.
func (k *Kept) Add(seq uint64, r Reserve) {
	if old, kept := k.of[seq]; kept {
		old.Ended = old.Ended || r.Ended
		k.of[seq] = old
		return
	}
	if k.of == nil {
		k.of = make(map[uint64]Reserve)
	}
	k.of[seq] = r
	k.bytes += r.Bytes
}

// Remove forgets a message that has gone.
func (k *Kept) Remove(seq uint64) {
	if r, kept := k.of[seq]; kept {
		delete(k.of, seq)
		k.bytes -= r.Bytes
	}
}

// Retain forgets the messages that there does not find.
func (k *Kept) Retain(there func(seq uint64) bool) {
	for seq := range k.of {
		if !there(seq) {
			k.Remove(seq)
		}
	}
}

// All calls yield for all messages in the order of their sequences until it returns false.
func (k *Kept) All(yield func(seq uint64, r Reserve) bool) {
	for _, seq := range slices.Sorted(maps.Keys(k.of)) {
		if !yield(seq, k.of[seq]) {
			return
		}
	}
}

// AppendSnapshot appends all, sequences as differences.
func (k *Kept) AppendSnapshot(out []byte) []byte {
	out = codec.AppendUint(out, uint64(len(k.of)))
	last := uint64(0)
	for seq, r := range k.All {
		out = append(codec.AppendUint(codec.AppendUint(out, seq-last), r.Bytes), r.Why)
		out = codec.AppendBool(out, r.Ended)
		last = seq
	}
	return out
}

// Restore fills empty Kept with what AppendSnapshot has written, and reports whether it is in order.
func (k *Kept) Restore(r *codec.Reader) bool {
	seq := uint64(0)
	for range r.Count(4) {
		next := seq + r.Uint()
		kept := Reserve{Bytes: r.Uint(), Why: r.Byte(), Ended: r.Bool()}
		if r.Err() != nil {
			return true
		}
		if next <= seq {
			return false
		}
		k.Add(next, kept)
		seq = next
	}
	return true
}

// Staged is what a batch that is being planned does to what is kept. The zero value does nothing.
type Staged struct {
	spared          Kept
	gone, goneBytes uint64
}

// Spare notes that a message is kept from now on.
func (g *Staged) Spare(seq, bytes uint64) { g.spared.Add(seq, Reserve{Bytes: bytes}) }

// Go notes that one that was kept goes.
func (g *Staged) Go(bytes uint64) {
	g.gone++
	g.goneBytes += bytes
}

// Has reports whether a message was spared.
func (g *Staged) Has(seq uint64) bool { return g.spared.Has(seq) }

// Count returns how many messages are kept then, and what they count for.
func (g *Staged) Count(k *Kept) (messages, bytes uint64) {
	return uint64(k.Len()+g.spared.Len()) - g.gone, k.bytes + g.spared.bytes - g.goneBytes
}
