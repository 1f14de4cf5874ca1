package wal

import (
	"errors"
	"fmt"
	"iter"

	"runnel/jetlog/vfs"
)

// Recovered is what Open found.
type Recovered struct {
	// Last is the position of the last record, or of the last one that there was: 0 in a new log.
	Last Position
	// Torn is what was cut off the end; nil if nothing was recognised there.
	Torn *Torn
	// Damage is what is not as it was written although it was synced. The log works in spite of it; who
	// owns the groups decides what becomes of them, writes that down, and calls AcceptDamage.
	Damage []Damage
	// Notes tell, a line for each, about prepared segments that are missing or spoiled: they held nothing and are
	// made again. And that there are only prepared ones left, when the log did not begin with the first.
	Notes []string

	fs     vfs.FS
	cipher Cipher
	parts  []part
}

// part is a segment with records.
type part struct {
	path   string
	number uint64
	end    int64
	holes  []hole
}

// Entry is a recovered record.
type Entry struct {
	Record
	Position Position
}

// errStop ends a walk early.
var errStop = errors.New("stop")

// All goes through the records of all groups in the order in which they were appended. It reads them from
// the files, a megabyte at a time; the payload is valid until the next step. Records that were released may
// be among them. After an error there is no further record. It must be done before the first Release.
func (r *Recovered) All() iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for _, p := range r.parts {
			err := r.each(p, func(e Entry) error {
				if !yield(e, nil) {
					return errStop
				}
				return nil
			})
			if err != nil {
				if !errors.Is(err, errStop) {
					yield(Entry{}, err)
				}
				return
			}
		}
	}
}

// each goes through the records of a segment.
func (r *Recovered) each(p part, do func(Entry) error) error {
	var plain []byte // reused from record to record
	give := func(at int64, s stored, sequence uint64) error {
		if s.flags&recordSealed != 0 {
			if r.cipher == nil {
				return fmt.Errorf("offset %d: %w: there is no key", at, ErrSealed)
			}
			opened, err := r.cipher.Open(plain[:0], s.Payload, s.bound)
			if err != nil {
				return fmt.Errorf("offset %d: %w: %w", at, ErrSealed, err)
			}
			plain, s.Payload = opened, opened
		}
		return do(Entry{Record: s.Record, Position: Position(sequence)})
	}
	return withWindow(r.fs, p.path, p.number, func(w *window) error {
		return w.walk(p.end, p.holes, func(at int64, h header, whole bool) error {
			if whole {
				return w.give(at, h, give)
			}
			return w.salvage(at, at+int64(h.bytes), func(x piece) error {
				if !x.valid {
					return nil
				}
				return give(x.offset, x.record, h.sequence)
			})
		})
	})
}

// give hands out the records of a batch that was valid before.
func (w *window) give(at int64, h header, do func(int64, stored, uint64) error) error {
	var failed error
	whole, err := w.records(at, h, func(at int64, s stored) {
		if failed == nil {
			failed = do(at, s, h.sequence)
		}
	})
	if err == nil && failed == nil && !whole {
		return fmt.Errorf("offset %d: %w", at, errChanged)
	}
	return errors.Join(failed, err)
}
