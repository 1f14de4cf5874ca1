package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"runnel/jetlog"
	"runnel/jetlog/checkpoint"
	"runnel/jetlog/command"
	"runnel/jetlog/entries"
	"runnel/jetlog/findings"
	"runnel/jetlog/manifest"
	"runnel/jetlog/wal"
)

// replica is what a stream has besides whose commands come from a raft group. The group calls ApplyEntry and
// ApplyConfiguration, one at a time; anybody may propose.
type replica struct {
	log      *entries.Log
	begin    wal.Position
	proposer atomic.Pointer[Proposer]
	applied  atomic.Uint64 // index of the last entry that is in the state

	applying sync.Mutex // held while an entry is carried out, since a flush must not see a part of one; taken before Stream.mu

	sent checkpoint.Sent // files of checkpoints

	place   entries.Place // of what was applied; Stream.mu guards it
	flushed entries.Place // as the manifest has it; Stream.mu guards it
	solo    bool          // the next flush ends it; Stream.mu guards it
}

var errSolo = errors.New("stream is not replicated")

// newReplica returns what the manifest has of a replica.
func (s *Store) newReplica(id uint64, e *manifest.Replica) *replica {
	p := entries.Place{Index: e.Index, Term: e.Term, Configuration: e.Configuration}
	r := &replica{begin: wal.Position(e.Begin), place: p, flushed: p}
	r.log = s.entries.New(id, p, r.begin)
	r.applied.Store(p.Index)
	return r
}

// edit is what the manifest has of a replica at a place.
func (r *replica) edit(t *Stream, p entries.Place) *manifest.Replica {
	return &manifest.Replica{Index: p.Index, Term: p.Term, Configuration: p.Configuration, Begin: uint64(r.begin), Solo: r.solo, Key: t.key}
}

// Replicated reports whether the stream takes its commands from a group, and not from its own log.
func (t *Stream) Replicated() bool { return t.replica.Load() != nil }

// Entries is the log of the stream's group, nil without one.
func (t *Stream) Entries() *entries.Log {
	if r := t.replica.Load(); r != nil {
		return r.log
	}
	return nil
}

// Place is how far the state is that a restart begins with, as of the last flush: the zero Place for a stream that waits for
// a state from elsewhere.
func (t *Stream) Place() entries.Place {
	r := t.replica.Load()
	if r == nil {
		return entries.Place{}
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	return r.flushed
}

// Applied is the index of the last entry that is in the state, 0 without a group.
func (t *Stream) Applied() uint64 {
	if r := t.replica.Load(); r != nil {
		return r.applied.Load()
	}
	return 0
}

// SetProposer says who takes what is to be done with the stream. Without one, nil, it is refused with ErrNotLeader.
func (t *Stream) SetProposer(p Proposer) {
	r := t.replica.Load()
	switch {
	case r == nil:
	case p == nil:
		r.proposer.Store(nil)
	default:
		r.proposer.Store(&p)
	}
}

// propose hands a proposal to the group.
func (t *Stream) propose(ctx context.Context, r *replica, p *Proposal) error {
	if err := t.usable(); err != nil {
		return err
	}
	proposer := r.proposer.Load()
	if proposer == nil {
		return fmt.Errorf("stream %q: %w", t.name, ErrNotLeader)
	}
	if p.entry.kind().Stores() {
		if err := t.store.admit(ctx); err != nil {
			return err
		}
	}
	return (*proposer).Propose(ctx, p)
}

// StartTogether is Start for commands, at least one, that bring no messages and follow one another: a group takes all or
// none of them, in one entry. done is called for each. A stream without a group refuses them.
func (t *Stream) StartTogether(ctx context.Context, commands []command.Command, f func(jetlog.Result, error)) error {
	r := t.replica.Load()
	if r == nil {
		return errSolo
	}
	var first *Proposal
	for _, c := range slices.Backward(commands) {
		if err := t.store.allow(c.Kind()); err != nil {
			return err
		}
		p := newProposal(&entry{stream: t, command: c, answers: done(f)})
		if p.next = first; first != nil {
			p.bytes += first.bytes
		}
		first = p
	}
	return t.propose(ctx, r, first)
}

// ApplyEntry carries out the commands of an entry of the group, and answers those that were proposed here: if local is not
// nil, the entry is made of these proposals, in that order. An entry that is in the state already is skipped. A
// command that the state refuses is carried out as well. The error is ErrHalted if an entry cannot be carried out; the
// stream stands still then. records must not change any more.
//
// It is for one goroutine at a time, and waits while memory is full.
func (t *Stream) ApplyEntry(index, term uint64, records []byte, local []*Proposal) error {
	r := t.replica.Load()
	if r == nil {
		return fmt.Errorf("entry %d of stream %q: %w", index, t.name, errSolo)
	}
	t.store.waitForMemory(t)
	w := t.store.pools.appliers.get()
	defer t.store.pools.appliers.put(w)
	err := t.applyEntry(r, w, entries.Place{Index: index, Term: term}, records, local)
	w.flush()
	if err != nil {
		for _, p := range local {
			p.Fail(err)
		}
	}
	return err
}

func (t *Stream) applyEntry(r *replica, w *applier, at entries.Place, records []byte, local []*Proposal) error {
	r.applying.Lock()
	defer r.applying.Unlock()
	if at.Index <= r.applied.Load() {
		for _, p := range local {
			p.Fail(ErrLeadershipLost) // it came with a state, without its result
		}
		return nil
	}
	if err := t.usable(); err != nil {
		return err
	}
	batch, err := w.batch[:0], error(nil)
	if local == nil {
		batch, err = decodeRecords(batch, t, records)
	}
	for _, p := range local {
		batch = p.take(batch)
	}
	w.batch = batch
	if err != nil {
		return t.halt(findings.Of(t.id, t.name, fmt.Errorf("entry %d: %w", at.Index, err)))
	}
	steps := w.expand(batch, nil)
	for n := 0; n < len(steps); w.learn() {
		t.mu.Lock()
		n += t.applySome(&w.asker, steps[n:])
	}
	if err = t.Err(); err == nil {
		t.advance(r, at.Index, at.Term, nil)
	}
	w.answer(batch)
	clear(batch)
	return err
}

// ApplyConfiguration notes the configuration of the group that an entry has. The same holds for it as for ApplyEntry.
func (t *Stream) ApplyConfiguration(index, term uint64, configuration []byte) {
	r := t.replica.Load()
	if r == nil {
		return
	}
	r.applying.Lock()
	defer r.applying.Unlock()
	if index > r.applied.Load() {
		t.advance(r, index, term, configuration)
	}
}

// advance notes how far the state is; the caller holds applying. Without a configuration that is as before.
func (t *Stream) advance(r *replica, index, term uint64, configuration []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r.place.Index, r.place.Term = index, term
	if configuration != nil {
		r.place.Configuration = configuration
	}
	if t.state != nil {
		t.appended.Store(t.state.Applied())
	}
	r.applied.Store(index)
}

// waitForMemory waits while memory tables take so much more than publishes may fill that only a flush can help.
func (s *Store) waitForMemory(t *Stream) {
	for s.memory.Load() >= 2*s.cfg.MemoryBytes {
		moved := s.movement()
		s.nudge()
		if s.memory.Load() < 2*s.cfg.MemoryBytes || t.usable() != nil {
			return
		}
		<-moved
	}
}

// Hash returns the sum of everything that commands did to the stream, and the index of the last entry in it. Members of a
// group with the same index have the same sum.
func (t *Stream) Hash() (index, hash uint64) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.state == nil {
		return 0, 0
	}
	if r := t.replica.Load(); r != nil {
		index = r.place.Index
	}
	return index, t.state.Hash()
}

// startReplicated is start for a stream with a group: taken is false if it has none.
func (t *Stream) startReplicated(ctx context.Context, e *entry) (taken bool, err error) {
	r := t.replica.Load()
	if r == nil {
		return false, nil
	}
	return true, t.propose(ctx, r, newProposal(e))
}
