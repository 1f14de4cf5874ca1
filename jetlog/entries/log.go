package entries

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sort"
	"sync"

	"runnel/jetlog/wal"
)

// Log is the log of one group. Its methods may be called concurrently; what changes it is for one goroutine at a time, as
// raft does it.
//
// Invariants: the indexes of items are consecutive; of the entries behind the place none is missing. Positions do not
// descend, but for entries that were being appended again when the process ended.
type Log struct {
	set   *Set
	group uint64

	gate sync.Mutex // held by who appends to the shared log; taken before mu

	mu       sync.Mutex // guards everything below; nothing is waited for while it is held
	items    []item
	place    Place        // of the state in files
	bytes    int64        // of items
	bound    int64        // of items behind the place
	values   []value      // never changed, only replaced
	valuesAt wal.Position // of the record that has them
	begin    wal.Position // entries before it are not of this log
	newest   wal.Position // of the last record of the group
	held     wal.Position // first that is still needed
	open     bool         // something is on its way into the shared log
	failure  error        // why nothing goes on
}

// item is an entry in memory.
type item struct {
	Entry
	position wal.Position
}

// itemBytes is about what an item takes besides its content.
const itemBytes = 128

func (e *Entry) size() int64 { return itemBytes + int64(len(e.Data)+len(e.Extensions)) }

// chunkBytes is how much goes into one batch of the shared log.
const chunkBytes = 1 << 20

// First is the index of the first entry that there is, 0 for none.
func (l *Log) First() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.items) == 0 {
		return 0
	}
	return l.items[0].Index
}

// Last is the index of the last entry, 0 for none.
func (l *Log) Last() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last()
}

func (l *Log) last() uint64 {
	if len(l.items) == 0 {
		return 0
	}
	return l.items[len(l.items)-1].Index
}

// Get returns an entry. The error is ErrNotFound for one that is not there, or not any more.
func (l *Log) Get(index uint64) (Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.items) == 0 || index < l.items[0].Index || index > l.last() {
		return Entry{}, fmt.Errorf("entry %d of group %d: %w", index, l.group, ErrNotFound)
	}
	return l.items[index-l.items[0].Index].Entry, nil
}

// Place is where the state in files is.
func (l *Log) Place() Place {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.place
}

// Append puts entries into the queue of the shared log. It waits while that is full, or the disk, until ctx ends; with an
// error a part of them may be there. The first follows the last entry of the log, or, when there is none, is not behind
// the one after the place. The slices of the entries are kept.
func (l *Log) Append(ctx context.Context, entries []Entry) error {
	for len(entries) > 0 {
		n, size := 1, entries[0].size()
		for n < len(entries) && size+entries[n].size() <= chunkBytes {
			size += entries[n].size()
			n++
		}
		if err := l.wait(ctx, func() error { return l.append(entries[:n]) }); err != nil {
			return err
		}
		entries = entries[n:]
	}
	l.set.trim(l)
	return nil
}

// wait calls do, which must not wait, again as long as the shared log refuses something that it may take later.
func (l *Log) wait(ctx context.Context, do func() error) error {
	for {
		changed := l.set.cfg.Log().Changed()
		err := do()
		if err == nil || !refused(err) {
			return err
		}
		if err := l.set.pause(ctx, changed); err != nil {
			return err
		}
	}
}

// append is Append for what goes into one batch.
func (l *Log) append(entries []Entry) error {
	l.gate.Lock()
	defer l.gate.Unlock()
	if err := l.begins(entries); err != nil {
		return err
	}
	records := make([]wal.Record, 0, 8)
	for i := range entries {
		records = append(records, entries[i].record(l.group))
	}
	p, err := l.set.cfg.Log().Append(l.set.never, records...)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = false
	if err != nil {
		return err
	}
	for i := range entries {
		l.push(&entries[i], p)
	}
	return nil
}

// begins checks entries, and notes that they are on their way.
func (l *Log) begins(entries []Entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failure != nil {
		return l.failure
	}
	next := entries[0].Index
	if last := l.last(); last > 0 && next != last+1 || last == 0 && next > l.place.Index+1 || next == 0 {
		return fmt.Errorf("append entry %d of group %d behind %d, place %d: %w", next, l.group, last, l.place.Index, ErrOrder)
	}
	for i := range entries {
		if e := &entries[i]; e.Index != next+uint64(i) || e.Type >= entryTypes {
			return fmt.Errorf("append entry %d, type %d, of group %d: %w", e.Index, e.Type, l.group, ErrOrder)
		}
	}
	l.open = true
	return nil
}

// push adds an entry that is in the shared log.
func (l *Log) push(e *Entry, p wal.Position) {
	l.items = append(l.items, item{*e, p})
	l.newest = max(l.newest, p)
	l.count(e.size(), e.Index > l.place.Index)
}

// count counts bytes in memory.
func (l *Log) count(bytes int64, bound bool) {
	l.bytes += bytes
	l.set.bytes.Add(bytes)
	if bound {
		l.bound += bytes
		l.set.bound.Add(bytes)
	}
}

// cut drops the items from a position in the list on.
func (l *Log) cut(from int) {
	for i := from; i < len(l.items); i++ {
		l.count(-l.items[i].size(), l.items[i].Index > l.place.Index)
	}
	clear(l.items[from:])
	l.items = l.items[:from]
	if from == 0 {
		l.items = nil
	}
}

// drop drops the first items.
func (l *Log) drop(n int) {
	for i := range l.items[:n] {
		l.count(-l.items[i].size(), l.items[i].Index > l.place.Index)
	}
	clear(l.items[:n])
	if l.items = l.items[n:]; cap(l.items) > 4*len(l.items) {
		l.items = slices.Clone(l.items) // an idle group keeps no room
	}
}

// WaitDurable returns when an entry, and all before it, are synced, whatever the policy of the shared log: what a replica has told
// others that it has, it must have after a power cut too, or it could help to elect a leader who lacks what was agreed on.
func (l *Log) WaitDurable(ctx context.Context, index uint64) error {
	p, err := l.positionOf(index)
	if err != nil || p == 0 {
		return err
	}
	return l.set.cfg.Log().WaitSynced(ctx, p)
}

// positionOf returns where an entry stands, 0 if it is not there any more: then it is safe.
func (l *Log) positionOf(index uint64) (wal.Position, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch last := max(l.last(), l.place.Index); {
	case l.failure != nil:
		return 0, l.failure
	case index > last:
		return 0, fmt.Errorf("wait for entry %d of group %d, the last is %d: %w", index, l.group, last, ErrNotFound)
	case len(l.items) == 0 || index < l.items[0].Index || index > l.last():
		return 0, nil
	}
	return l.items[index-l.items[0].Index].position, nil
}

// Durable is the index up to which WaitDurable does not wait.
func (l *Log) Durable() uint64 {
	safe := l.set.cfg.Log().Synced()
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.items)
	if n > 0 && l.items[n-1].position > safe {
		n = sort.Search(n, func(i int) bool { return l.items[i].position > safe })
	}
	if n == 0 {
		if len(l.items) > 0 {
			return max(l.items[0].Index-1, l.place.Index)
		}
		return l.place.Index
	}
	return max(l.items[n-1].Index, l.place.Index)
}

// Delete removes the entries from first to last, both included. Where that is the end of the log, or all of it, it is
// safe when Delete returns. Of the beginning of the log nothing from the place on goes. Anything else is ErrOrder.
func (l *Log) Delete(first, last uint64) error {
	return l.wait(context.Background(), func() error { return l.delete(first, last) })
}

// delete is Delete, but it does not wait for room.
func (l *Log) delete(first, last uint64) error {
	l.gate.Lock()
	defer l.gate.Unlock()
	index, err := l.cutAt(first, last)
	if err != nil || index == 0 {
		return err
	}
	if _, err := l.write(wal.Record{Group: l.group, Kind: kindCut, Index: index}); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cutFrom(index)
	return nil
}

// cutAt is from which entry on a call of Delete wants nothing left, 0 for none.
func (l *Log) cutAt(first, last uint64) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.failure != nil:
		return 0, l.failure
	case len(l.items) == 0 || last < l.items[0].Index || first > l.last():
		return 0, nil
	case last >= l.last():
		return max(first, l.items[0].Index), nil
	case first > l.items[0].Index:
		return 0, fmt.Errorf("delete entries %d to %d of group %d from the middle: %w", first, last, l.group, ErrOrder)
	}
	if last = min(last+1, l.place.Index); last > l.items[0].Index {
		l.drop(int(last - l.items[0].Index))
	}
	return 0, nil
}

// write appends a record that has to get in, and waits until it is safe, but not for room. The caller holds gate.
func (l *Log) write(r wal.Record) (wal.Position, error) {
	l.opens()
	p, err := l.set.cfg.Log().AppendReserved(l.set.never, r)
	l.written(p)
	if err == nil {
		err = l.set.cfg.Log().WaitSynced(context.Background(), p)
	}
	return p, err
}

// opens notes that something is on its way into the shared log, written that it is there.
func (l *Log) opens() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = true
}

func (l *Log) written(p wal.Position) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = false
	l.newest = max(l.newest, p)
}

// Set notes a value. It is safe when Set returns; one that is there already costs nothing.
func (l *Log) Set(key string, data []byte) error {
	return l.wait(context.Background(), func() error { return l.note(key, data) })
}

// note is Set, but it does not wait for room.
func (l *Log) note(key string, data []byte) error {
	l.gate.Lock()
	defer l.gate.Unlock()
	values, err := l.with(key, data)
	if err != nil || values == nil {
		return err
	}
	p, err := l.write(l.valuesRecord(values))
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.values, l.valuesAt = values, p
	return nil
}

func (l *Log) valuesRecord(values []value) wal.Record {
	return wal.Record{Group: l.group, Kind: kindValues, Index: valuesIndex, Payload: appendValues(nil, values)}
}

// with returns the values with one of them set, nil if it is so already.
func (l *Log) with(key string, data []byte) ([]value, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failure != nil {
		return nil, l.failure
	}
	v := value{key: key, data: append([]byte{}, data...)}
	i := slices.IndexFunc(l.values, func(v value) bool { return v.key == key })
	switch {
	case i < 0:
		return append(slices.Clone(l.values), v), nil
	case bytes.Equal(l.values[i].data, data):
		return nil, nil
	}
	values := slices.Clone(l.values)
	values[i] = v
	return values, nil
}

// Value returns what was set last, nil if nothing was. It must not be changed.
func (l *Log) Value(key string) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.values {
		if l.values[i].key == key {
			return l.values[i].data
		}
	}
	return nil
}
