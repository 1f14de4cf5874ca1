package group_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"runnel/cluster/group"
	"runnel/jetlog/entries"
)

// errDead is what a log answers whose process has ended.
var errDead = errors.New("the power is off")

// disk keeps what a replica has stored, through crashes. What is not synced when the power goes is lost.
type disk struct {
	mu         sync.Mutex
	journal    []op          // everything since the beginning, or since the flush that made it needless
	dropped    uint64        // entries below are gone since a flush
	flushed    *snapshot     // of the machine
	slow       time.Duration // the longest sync
	exact      time.Duration // how long every sync takes; 0 for up to slow
	rand       *rand.Rand
	life       int // counts power cuts: a log of an earlier life is dead
	broken     error
	unreadable error // what reading an entry fails with; nil for nothing
}

// op is a change of the log, safe from a moment on.
type op struct {
	entries     []group.Entry
	first, last uint64 // deleted, if no entries
	whole       bool   // all that there was is deleted
	key         string
	value       []byte
	safe        time.Time
}

func newDisk(seed uint64) *disk {
	return &disk{slow: 2 * time.Millisecond, rand: rand.New(rand.NewPCG(seed, 1))}
}

// cut cuts the power: what is not safe is lost.
func (d *disk) cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	d.journal = slices.DeleteFunc(d.journal, func(o op) bool { return o.safe.After(now) })
	d.life++
}

// take has every sync take so long from now on.
func (d *disk) take(delay time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.exact = delay
}

// spoil has reading entries fail from now on; nil ends it.
func (d *disk) spoil(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unreadable = err
}

// fail has everything fail from now on.
func (d *disk) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.broken = err
}

// has reports whether the entry would survive a power cut.
func (d *disk) has(index, term uint64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.flushed != nil && d.flushed.place.Index >= index {
		return true
	}
	now := time.Now()
	for i := len(d.journal) - 1; i >= 0; i-- {
		o := &d.journal[i]
		n := uint64(len(o.entries))
		switch {
		case o.safe.After(now) || o.key != "":
		case n == 0 && (o.whole || o.first <= index):
			return false
		case n > 0 && o.entries[0].Index <= index && index < o.entries[0].Index+n:
			return o.entries[index-o.entries[0].Index].Term == term
		}
	}
	return false
}

// open is the log as a process finds it.
func (d *disk) open() *memLog {
	d.mu.Lock()
	defer d.mu.Unlock()
	return &memLog{d: d, life: d.life, image: replay(d.journal, d.dropped)}
}

// image is what a journal amounts to.
type image struct {
	entries []group.Entry
	values  map[string][]byte
}

func replay(journal []op, dropped uint64) *image {
	i := &image{values: map[string][]byte{}}
	for _, o := range journal {
		i.apply(o)
	}
	i.drop(dropped)
	return i
}

func (i *image) first() uint64 {
	if len(i.entries) == 0 {
		return 0
	}
	return i.entries[0].Index
}

func (i *image) last() uint64 {
	if len(i.entries) == 0 {
		return 0
	}
	return i.entries[len(i.entries)-1].Index
}

func (i *image) get(index uint64) (group.Entry, bool) {
	if len(i.entries) == 0 || index < i.first() || index > i.last() {
		return group.Entry{}, false
	}
	return i.entries[index-i.first()], true
}

func (i *image) apply(o op) {
	switch {
	case o.key != "":
		i.values[o.key] = o.value
	case len(o.entries) > 0:
		if last := i.last(); last != 0 && o.entries[0].Index != last+1 {
			panic(fmt.Sprintf("a gap in the log: %d after %d", o.entries[0].Index, last))
		}
		i.entries = append(i.entries[:len(i.entries):len(i.entries)], o.entries...)
	case len(i.entries) > 0 && !o.whole && o.last != i.last():
		panic(fmt.Sprintf("deleted %d to %d of a log that ends at %d", o.first, o.last, i.last()))
	case o.whole:
		i.entries = nil
	default:
		keep := max(o.first, i.first()) - i.first()
		i.entries = i.entries[:keep:keep]
	}
}

func (i *image) drop(below uint64) {
	n := 0
	for n < len(i.entries) && i.entries[n].Index < below {
		n++
	}
	i.entries = i.entries[n:]
}

// memLog is the log of one process on a disk.
type memLog struct {
	d    *disk
	life int
	*image
}

// alive fails once the power was cut, or the disk broke.
func (l *memLog) alive() error {
	if l.life != l.d.life {
		return errDead
	}
	return l.d.broken
}

func (l *memLog) First() uint64 {
	l.d.mu.Lock()
	defer l.d.mu.Unlock()
	return l.first()
}

func (l *memLog) Last() uint64 {
	l.d.mu.Lock()
	defer l.d.mu.Unlock()
	return l.last()
}

func (l *memLog) Get(index uint64) (group.Entry, error) {
	l.d.mu.Lock()
	defer l.d.mu.Unlock()
	if l.d.unreadable != nil {
		return group.Entry{}, l.d.unreadable
	}
	e, ok := l.get(index)
	if !ok {
		return e, fmt.Errorf("entry %d: %w", index, entries.ErrNotFound)
	}
	return e, nil
}

// write adds to the journal; it is safe a moment later.
func (l *memLog) write(o op) (time.Time, error) {
	l.d.mu.Lock()
	defer l.d.mu.Unlock()
	if err := l.alive(); err != nil {
		return time.Time{}, err
	}
	delay := l.d.exact
	if delay == 0 {
		delay = time.Duration(l.d.rand.Int64N(int64(l.d.slow) + 1))
	}
	o.safe = time.Now().Add(delay)
	if n := len(l.d.journal); n > 0 && l.d.journal[n-1].safe.After(o.safe) {
		o.safe = l.d.journal[n-1].safe
	}
	l.d.journal = append(l.d.journal, o)
	l.apply(o)
	return o.safe, nil
}

func (l *memLog) Append(_ context.Context, list []group.Entry) error {
	_, err := l.write(op{entries: slices.Clone(list)})
	return err
}

func (l *memLog) Delete(first, last uint64) error {
	_, err := l.write(op{first: first, last: last, whole: first <= l.First()})
	return err
}

func (l *memLog) Set(key string, value []byte) error {
	safe, err := l.write(op{key: key, value: slices.Clone(value)})
	if err != nil {
		return err
	}
	<-time.After(time.Until(safe))
	l.d.mu.Lock()
	defer l.d.mu.Unlock()
	return l.alive()
}

func (l *memLog) Value(key string) []byte {
	l.d.mu.Lock()
	defer l.d.mu.Unlock()
	return l.values[key]
}

func (l *memLog) Durable() uint64 {
	l.d.mu.Lock()
	defer l.d.mu.Unlock()
	return l.durable()
}

func (l *memLog) durable() uint64 {
	now, d := time.Now(), l.last()
	for i := len(l.d.journal) - 1; i >= 0 && l.d.journal[i].safe.After(now); i-- {
		if e := l.d.journal[i].entries; len(e) > 0 {
			d = min(d, e[0].Index-1)
		}
	}
	return d
}

func (l *memLog) WaitDurable(ctx context.Context, index uint64) error {
	for {
		l.d.mu.Lock()
		err, done := l.alive(), l.durable() >= index
		wait := time.Millisecond
		if n := len(l.d.journal); n > 0 {
			wait = max(time.Until(l.d.journal[n-1].safe), time.Microsecond)
		}
		l.d.mu.Unlock()
		if err != nil || done {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
