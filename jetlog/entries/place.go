package entries

import (
	"fmt"

	"runnel/jetlog/wal"
)

// Flushed says that the state up to a place is in files: entries up to there are only kept for others, within bounds.
func (l *Log) Flushed(place Place) {
	l.advance(place)
	l.set.window(l)
	l.set.trim(l)
	l.release(false)
}

// advance takes a place over, and keeps the window within its bounds.
func (l *Log) advance(place Place) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if place.Index < l.place.Index {
		return
	}
	for i := range l.items {
		if x := l.items[i].Index; x > l.place.Index && x <= place.Index {
			size := l.items[i].size()
			l.bound -= size
			l.set.bound.Add(-size)
		}
	}
	l.place = place
	l.shrink(l.set.cfg.GroupBytes)
}

// shrink drops entries before the place until those up to it take no more than so many bytes. The one at the place stays:
// raft asks for its term.
func (l *Log) shrink(most int64) {
	n, window := 0, l.bytes-l.bound
	for n < len(l.items) && l.items[n].Index < l.place.Index && window > most {
		window -= l.items[n].size()
		n++
	}
	if n > 0 {
		l.drop(n)
	}
}

// giveUp drops the window.
func (l *Log) giveUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shrink(0)
}

// release lets the shared log forget what nobody needs: with hard set the window as well, which then is in memory alone.
func (l *Log) release(hard bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if before := l.needed(hard); before > l.held {
		l.held = before
		l.set.cfg.Log().Release(l.group, before)
	}
}

// needed is the first position whose records are needed.
func (l *Log) needed(hard bool) wal.Position {
	before := l.newest + 1
	if l.open {
		before = l.newest // what is on its way may be in the same batch
	}
	if len(l.values) > 0 {
		before = min(before, l.valuesAt)
	}
	from := 0
	if hard {
		from = l.behind()
	}
	return min(before, oldest(l.items[from:]))
}

// oldest is the first position where one of some entries stands.
func oldest(items []item) wal.Position {
	p := wal.End
	for i := range items {
		p = min(p, items[i].position)
	}
	return p
}

// behind is where in items the entries behind the place begin.
func (l *Log) behind() int {
	if len(l.items) == 0 || l.items[0].Index > l.place.Index {
		return 0
	}
	return int(min(l.place.Index-l.items[0].Index+1, uint64(len(l.items))))
}

// againBytes is how much of a group is appended again at most: with more, a flush is the better way.
const againBytes = 4 << 20

// again appends once more what is needed and stands up to a position, and returns where.
func (l *Log) again(upTo wal.Position) (wal.Position, error) {
	l.gate.Lock()
	defer l.gate.Unlock()
	items, values := l.old(upTo)
	last := wal.Position(0)
	if values != nil {
		p, err := l.set.cfg.Log().AppendReserved(l.set.never, l.valuesRecord(values))
		if err != nil {
			return 0, fmt.Errorf("append values of group %d again: %w", l.group, err)
		}
		l.moved(nil, p)
		last = p
	}
	for i := range items {
		p, err := l.set.cfg.Log().AppendReserved(l.set.never, items[i].record(l.group))
		if err != nil {
			return last, fmt.Errorf("append entry %d of group %d again: %w", items[i].Index, l.group, err)
		}
		items[i].position = p
		last = p
	}
	l.moved(items, 0)
	return last, nil
}

// old returns copies of what is needed and stands up to a position: all entries behind the place if one of them does, so
// that they stay in order.
func (l *Log) old(upTo wal.Position) (items []item, values []value) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failure != nil {
		return nil, nil
	}
	if len(l.values) > 0 && l.valuesAt <= upTo {
		values = l.values
	}
	if behind := l.items[l.behind():]; len(behind) > 0 && oldest(behind) <= upTo && l.bound <= againBytes {
		items = append(items, behind...)
	}
	return items, values
}

// moved notes where copies stand. Nobody but who holds gate adds or cuts entries; a flush may have dropped some.
func (l *Log) moved(items []item, values wal.Position) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if values > 0 {
		l.valuesAt = values
		l.newest = max(l.newest, values)
	}
	for _, x := range items {
		if len(l.items) > 0 && x.Index >= l.items[0].Index {
			l.items[x.Index-l.items[0].Index].position = x.position
		}
		l.newest = max(l.newest, x.position)
	}
}

// Reset makes the log that of a state that came from elsewhere: it has no entries then. Those that stand before begin
// are not found any more when the store is opened again.
func (l *Log) Reset(place Place, begin wal.Position) {
	l.reset(place, begin)
	l.release(false)
}

func (l *Log) reset(place Place, begin wal.Position) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut(0)
	l.place, l.begin = place, begin
}

// Close says that the log is not in use any more. Nothing is appended once it returns.
func (l *Log) Close() {
	l.gate.Lock()
	defer l.gate.Unlock()
	l.close()
	l.set.forget(l)
}

func (l *Log) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut(0)
	l.failure = fmt.Errorf("group %d: %w", l.group, ErrClosed)
}

// Safe is the position of the last record of the group, 0 if that is not synced yet or more is on its way.
func (l *Log) Safe(synced wal.Position) wal.Position {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open || l.newest > synced || l.failure != nil {
		return 0
	}
	return l.newest
}
