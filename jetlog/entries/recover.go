package entries

import (
	"fmt"

	"runnel/jetlog/wal"
)

// Recover takes a record of the shared log over, which is being read again from its beginning. What is wrong with it is
// told by Recovered too.
func (l *Log) Recover(r *wal.Entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.newest = max(l.newest, r.Position)
	var err error
	switch kind := r.Kind; {
	case !Owns(kind): // the stream was none of a group
	case kind == kindValues:
		var values []value
		if values, err = decodeValues(r.Payload); err == nil {
			l.values, l.valuesAt = values, r.Position
		}
	case r.Position < l.begin: // of an earlier log of this group
	case kind == kindCut:
		l.cutFrom(r.Index)
	case kind >= kindEntry && kind < kindCut:
		err = l.recoverEntry(r)
	default:
		err = fmt.Errorf("record of kind %d", kind)
	}
	if err != nil && l.failure == nil {
		l.failure = fmt.Errorf("group %d: %w: %w", l.group, ErrDamaged, err)
	}
	return l.failure
}

// cutFrom drops the entries from an index on.
func (l *Log) cutFrom(index uint64) {
	if len(l.items) > 0 && index <= l.last() {
		l.cut(int(max(index, l.items[0].Index) - l.items[0].Index))
	}
}

// recoverEntry adds an entry. One that was appended again only stands elsewhere; what follows another one with its index
// does not count any more.
func (l *Log) recoverEntry(r *wal.Entry) error {
	e, err := decodeEntry(&r.Record)
	if err != nil {
		return err
	}
	if n := len(l.items); n > 0 && e.Index >= l.items[0].Index && e.Index <= l.last() {
		x := &l.items[e.Index-l.items[0].Index]
		if x.Term == e.Term {
			x.position = r.Position
			return nil
		}
	}
	l.cutFrom(e.Index)
	if last := l.last(); last > 0 && e.Index != last+1 {
		if last > l.place.Index {
			return fmt.Errorf("entry %d follows %d", e.Index, last)
		}
		l.cut(0) // a window with a gap is of no use
	}
	e.Data = append([]byte(nil), e.Data...)
	e.Extensions = append([]byte(nil), e.Extensions...)
	l.push(&e, r.Position)
	l.shrink(l.set.cfg.GroupBytes)
	if l.set.bytes.Load() > l.set.cfg.Bytes {
		l.shrink(0)
	}
	return nil
}

// Recovered ends Recover. The error is ErrDamaged if entries are missing behind the place: then nothing else works.
func (l *Log) Recovered() error {
	l.recovered()
	l.set.window(l)
	if err := l.Err(); err != nil {
		return err
	}
	l.release(false)
	return nil
}

func (l *Log) recovered() {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.failure != nil || len(l.items) == 0:
	case l.last() < l.place.Index:
		l.cut(0) // a state that came from elsewhere has them all
	case l.items[0].Index > l.place.Index+1:
		l.failure = fmt.Errorf("group %d: %w: entries %d to %d are missing", l.group, ErrDamaged, l.place.Index+1, l.items[0].Index-1)
	}
}

// Err says why nothing goes on: ErrDamaged or ErrClosed.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failure
}

// Halt says that the log is damaged in a way that its records do not show.
func (l *Log) Halt(cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failure == nil {
		l.failure = fmt.Errorf("group %d: %w: %w", l.group, ErrDamaged, cause)
	}
}

// Newest is the position of the last record of the group that there was, 0 for none.
func (l *Log) Newest() wal.Position {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.newest
}

// Covers reports whether nothing that is needed can have stood up to a position: all values and all entries behind the
// place came later, and there are some of both.
func (l *Log) Covers(upTo wal.Position) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	behind := l.items[l.behind():]
	return l.valuesAt > upTo && (l.begin > upTo ||
		len(behind) > 0 && oldest(behind) > upTo && behind[0].Index == l.place.Index+1)
}
