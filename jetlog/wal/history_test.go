package wal_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"sync"
	"testing"

	"runnel/jetlog/vfs"
	"runnel/jetlog/wal"
)

// long makes the sweeps go through many more seeds; so does the build tag long.
var long = flag.Bool("long", longByDefault, "sweep many more seeds (minutes)")

// seeds is how many seeds a sweep takes.
func seeds(few, many uint64) uint64 {
	if *long {
		return many
	}
	return few
}

// update writes golden files that are missing.
var update = flag.Bool("update", false, "write golden files that are missing")

const dir = "/log"

// config is a log of small segments: a short scenario uses several.
func config(fs vfs.FS) wal.Config {
	return wal.Config{FS: fs, Dir: dir, SegmentBytes: 8 << 10, MaxBytes: 8 << 20}
}

func open(t *testing.T, cfg wal.Config) (*wal.Log, *wal.Recovered) {
	t.Helper()
	log, recovered, err := wal.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() }) // the tests that care close it themselves
	return log, recovered
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func is(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got error %v, want %v", err, want)
	}
}

// entries reads all recovered records.
func entries(r *wal.Recovered) (all []wal.Entry, err error) {
	for e, err := range r.All() {
		if err != nil {
			return all, err
		}
		e.Payload = bytes.Clone(e.Payload)
		all = append(all, e)
	}
	return all, nil
}

// payload is what the record with this index of a group holds.
func payload(group, index uint64) []byte {
	x := group*1_000_003 + index*7919
	b := make([]byte, x%300)
	for i := range b {
		x = x*6364136223846793005 + 1442695040888963407
		b[i] = byte(x >> 56)
	}
	return b
}

// progress is how far a group has come, as indexes; they start at 1.
type progress struct {
	attempted uint64 // given to Append
	waited    uint64 // Wait has returned
	acked     uint64 // with the policy Always the same; else WaitSynced has returned
	released  uint64 // given to Release
}

// state is the progress of all groups.
type state map[uint64]progress

// history does things to a log and remembers what must hold.
type history struct {
	relaxed   bool // the policy is not Always
	mu        sync.Mutex
	state     state
	positions map[uint64][]wal.Position // of each group's records, by index; [0] is unused
}

func newHistory() *history {
	return &history{state: state{}, positions: map[uint64][]wal.Position{}}
}

func (h *history) update(group uint64, f func(*progress)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.state[group]
	f(&p)
	h.state[group] = p
}

// snapshot is the state now.
func (h *history) snapshot() state {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := state{}
	maps.Copy(s, h.state)
	return s
}

// killed is what must be there if only the process ended: all that Wait returned for.
func (s state) killed() state {
	k := state{}
	for group, p := range s {
		p.acked = p.waited
		k[group] = p
	}
	return k
}

// append gives so many records of a group to the log at once. Their term says so: verify then knows that
// they belong together.
func (h *history) append(log *wal.Log, group uint64, count int) (wal.Position, error) {
	var first uint64
	h.update(group, func(p *progress) {
		first = p.attempted + 1
		p.attempted += uint64(count)
	})
	records := make([]wal.Record, count)
	for i := range records {
		index := first + uint64(i)
		records[i] = wal.Record{
			Group: group, Index: index, Term: first<<8 | uint64(count), Kind: uint8(index), Payload: payload(group, index),
		}
	}
	p, err := log.Append(context.Background(), records...)
	if err != nil {
		if !errors.Is(err, wal.ErrPoisoned) {
			h.update(group, func(p *progress) { p.attempted = first - 1 })
		}
		return 0, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.positions[group]) < int(first)+count {
		h.positions[group] = append(h.positions[group], p)
	}
	return p, nil
}

// wait waits for what a group has appended so far. With another policy than Always every other time it
// also waits for a sync.
func (h *history) wait(log *wal.Log, group uint64, p wal.Position) error {
	index := h.snapshot()[group].attempted
	if err := log.Wait(context.Background(), p); err != nil {
		return err
	}
	h.update(group, func(p *progress) { p.waited = max(p.waited, index) })
	if h.relaxed && index%2 == 0 {
		return nil
	}
	if h.relaxed {
		if err := log.WaitSynced(context.Background(), p); err != nil {
			return err
		}
	}
	h.update(group, func(p *progress) { p.acked = max(p.acked, index) })
	return nil
}

// release releases what a group has up to an index, if there is something after it.
func (h *history) release(log *wal.Log, group, upTo uint64) {
	h.mu.Lock()
	p := h.state[group]
	positions := h.positions[group]
	if upTo <= p.released || upTo+1 >= uint64(len(positions)) {
		h.mu.Unlock()
		return
	}
	p.released = upTo
	h.state[group] = p
	h.mu.Unlock()
	log.Release(group, positions[upTo+1])
}

// verify says what is wrong with recovered records, given what was known before and after the moment of
// the crash: of each group all that was acknowledged and not released is there, in order, without gaps, as it
// was appended, nothing that was not, and of one Append all or nothing.
func verify(all []wal.Entry, before, after state) error {
	seen := map[uint64][]wal.Entry{}
	last := wal.Position(0)
	for _, e := range all {
		if e.Position < last || e.Position == 0 {
			return fmt.Errorf("position %d after %d", e.Position, last)
		}
		last = e.Position
		seen[e.Group] = append(seen[e.Group], e)
	}
	for group, list := range seen {
		if err := verifyGroup(list, after[group]); err != nil {
			return fmt.Errorf("group %d: %w", group, err)
		}
	}
	for group, p := range before {
		if p.acked <= after[group].released {
			continue
		}
		list := seen[group]
		if len(list) == 0 || list[0].Index > after[group].released+1 || list[len(list)-1].Index < p.acked {
			return fmt.Errorf("group %d has %s, want at least %d to %d", group, span(list), after[group].released+1, p.acked)
		}
	}
	return nil
}

func span(list []wal.Entry) string {
	if len(list) == 0 {
		return "nothing"
	}
	return fmt.Sprintf("%d to %d", list[0].Index, list[len(list)-1].Index)
}

func verifyGroup(list []wal.Entry, p progress) error {
	for i, e := range list {
		first, count := e.Term>>8, e.Term&0xff
		switch {
		case i > 0 && e.Index != list[i-1].Index+1:
			return fmt.Errorf("index %d after %d", e.Index, list[i-1].Index)
		case e.Index > p.attempted:
			return fmt.Errorf("index %d was never appended, the last was %d", e.Index, p.attempted)
		case !bytes.Equal(e.Payload, payload(e.Group, e.Index)) || e.Kind != uint8(e.Index):
			return fmt.Errorf("index %d has another payload or kind", e.Index)
		case list[0].Index > first || list[len(list)-1].Index < first+count-1:
			return fmt.Errorf("of the append %d to %d there is only a part: %s", first, first+count-1, span(list))
		}
	}
	return nil
}

// check opens the log of a file system, compares what it finds with what must be there, and returns what
// is there then as a state: all that is recovered counts as acknowledged.
func check(fs vfs.FS, cfg wal.Config, before, after state) (found state, err error) {
	cfg.FS = fs
	err = inspect(cfg, before, after, func(_ *wal.Log, s state) error {
		found = s
		return nil
	})
	return found, err
}

// inspect is check with something to do while the log is open.
func inspect(cfg wal.Config, before, after state, do func(*wal.Log, state) error) (err error) {
	log, recovered, err := wal.Open(cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	if len(recovered.Damage) > 0 {
		return fmt.Errorf("damage: %v", recovered.Damage)
	}
	all, err := entries(recovered)
	if err != nil {
		return err
	}
	if err := verify(all, before, after); err != nil {
		return fmt.Errorf("%w (torn: %v)", err, recovered.Torn)
	}
	found := state{}
	for group, p := range after {
		found[group] = progress{attempted: p.attempted, released: p.released}
	}
	for _, e := range all {
		p := found[e.Group]
		p.waited, p.acked = e.Index, e.Index
		found[e.Group] = p
	}
	return do(log, found)
}

// resume is a history that goes on from what was found.
func resume(found state) *history {
	h := newHistory()
	for group, p := range found {
		h.state[group] = progress{attempted: p.acked, waited: p.acked, acked: p.acked, released: p.released}
		h.positions[group] = make([]wal.Position, p.acked+1)
	}
	return h
}
