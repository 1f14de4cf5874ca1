package group

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/hashicorp/raft"

	"runnel/cluster/applying"
	"runnel/jetlog/entries"
)

// entryLog is the log of the group as raft wants it.
//
// Raft's own idea of its log is corrected in two cases. The entry at the place of the last flush may be gone, as after a checkpoint; its term is known
// all the same, and raft compares by it. And when a checkpoint replaces a log that went further but differently, raft still believes in the
// old end: those indexes are answered with term 0, which no leader's entry has, so that raft replaces them.
type entryLog struct {
	g     *Group
	log   Log
	ghost atomic.Uint64 // raft believes in entries up to here, behind the place, that are gone; 0 for none
}

// placeMark marks an entry that stands for the place of the last flush. It has no content and is never sent.
const placeMark = "place"

func newEntryLog(g *Group) *entryLog { return &entryLog{g: g, log: g.cfg.Log} }

// reconcile drops a log that does not belong to the state: a crash came between a checkpoint and what follows from it.
func (l *entryLog) reconcile(place Place) error {
	fits, err := l.fits(place)
	if err != nil || fits {
		return err
	}
	return l.clear()
}

// fits reports whether the log continues the state of a place.
func (l *entryLog) fits(place Place) (bool, error) {
	first, last := l.log.First(), l.log.Last()
	switch {
	case last == 0 || first == place.Index+1:
		return true, nil
	case place.Index < first || place.Index > last:
		return false, nil
	}
	e, err := l.log.Get(place.Index)
	if err != nil {
		return false, fmt.Errorf("read entry %d: %w", place.Index, err)
	}
	return e.Term == place.Term, nil
}

// clear empties the log.
func (l *entryLog) clear() error {
	if l.log.Last() == 0 {
		return nil
	}
	if err := l.log.Delete(l.log.First(), l.log.Last()); err != nil {
		return fmt.Errorf("clear the log: %w", err)
	}
	return nil
}

// installed empties the log behind a checkpoint that was installed. Raft waits meanwhile.
func (l *entryLog) installed(place Place) error {
	if believed := l.g.raft.LastIndex(); believed > place.Index {
		l.ghost.Store(believed)
	}
	return l.clear()
}

// has reports whether the log has just this entry.
func (l *entryLog) has(index, term uint64) bool {
	e, err := l.log.Get(index)
	return err == nil && e.Term == term
}

// FirstIndex is that of the oldest entry.
func (l *entryLog) FirstIndex() (uint64, error) { return l.log.First(), nil }

// LastIndex is that of the newest entry.
func (l *entryLog) LastIndex() (uint64, error) { return l.log.Last(), nil }

// GetLog reads an entry. ErrLogNotFound makes raft send a checkpoint.
func (l *entryLog) GetLog(index uint64, out *raft.Log) error {
	e, err := l.log.Get(index)
	if err == nil {
		*out = raft.Log{Index: e.Index, Term: e.Term, Type: raft.LogType(e.Type), Data: e.Data, Extensions: e.Extensions}
		return nil
	}
	if !errors.Is(err, entries.ErrNotFound) {
		return l.unreadable(index, err)
	}
	place := l.g.cfg.Machine.Place()
	switch {
	case index == place.Index && index != 0:
		*out = raft.Log{Index: index, Term: place.Term, Type: raft.LogNoop, Extensions: []byte(placeMark)}
		return nil
	case index > place.Index && index <= l.ghost.Load():
		*out = raft.Log{Index: index, Type: raft.LogNoop, Extensions: []byte(placeMark)}
		return nil
	}
	return raft.ErrLogNotFound
}

// unreadable takes the replica out, as an entry that is there cannot be read. Raft panics if it cannot read what it is about to apply: its
// main goroutine, with which its part in the group ends, ends here instead.
func (l *entryLog) unreadable(index uint64, err error) error {
	err = fmt.Errorf("read entry %d: %w", index, err)
	l.g.fail(err)
	applying.Stop()
	return err
}

// StoreLog is StoreLogs of one.
func (l *entryLog) StoreLog(log *raft.Log) error { return l.StoreLogs([]*raft.Log{log}) }

// StoreLogs appends entries. It is called by raft's main goroutine, the only one that begins to lead, so what is seen of
// the state is right or on the safe side: a leader does not wait for proposals, everything else is waited for.
func (l *entryLog) StoreLogs(logs []*raft.Log) error {
	g := l.g
	<-g.started
	if err := g.failed(); err != nil {
		return err
	}
	waits := g.raft.State() != raft.Leader
	list := make([]Entry, len(logs))
	for i, e := range logs {
		list[i] = Entry{Index: e.Index, Term: e.Term, Type: uint8(e.Type), Data: e.Data, Extensions: e.Extensions}
		waits = waits || e.Type != raft.LogCommand
	}
	first, last := logs[0], logs[len(logs)-1]
	err := l.log.Append(g.ctx, list)
	if err == nil && waits {
		err = l.log.WaitDurable(g.ctx, last.Index)
	}
	if err != nil {
		err = fmt.Errorf("store entries %d to %d: %w", first.Index, last.Index, err)
		if g.ctx.Err() == nil {
			g.fail(err)
		}
		return err
	}
	l.ghost.Store(0)
	if first.Type == raft.LogNoop && g.raft.State() == raft.Leader {
		g.elected(first.Term)
	}
	return nil
}

// DeleteRange takes away the end of the log, which differs from the leader's.
func (l *entryLog) DeleteRange(first, last uint64) error {
	l.ghost.Store(0)
	last = min(last, l.log.Last())
	if first > last {
		return nil
	}
	if err := l.log.Delete(first, last); err != nil {
		err = fmt.Errorf("delete entries %d to %d: %w", first, last, err)
		l.g.fail(err)
		return err
	}
	return nil
}

// stable keeps the term and the vote in the log.
type stable struct{ g *Group }

// begin sees to it that the term is not before that of the place where the replica begins. Raft goes by what it kept alone.
func (s *stable) begin(term uint64) error {
	now, err := s.GetUint64([]byte(keyTerm))
	if err != nil && !errors.Is(err, errUnset) {
		return fmt.Errorf("read the term: %w", err)
	}
	if now >= term || term <= 1 { // the first election is in term 1 anyway
		return nil
	}
	return s.g.cfg.Log.Set(keyTerm, binary.LittleEndian.AppendUint64(nil, term))
}

// The keys of raft that matter here.
const (
	keyTerm     = "CurrentTerm"
	keyVoteTerm = "LastVoteTerm"
)

// errNoVote says that a replica which waits for a checkpoint gives no votes: it may have given one before it lost its state.
var errNoVote = errors.New("a replica without a state has no vote")

// errUnset has the text by which raft knows that a key was never set.
var errUnset = errors.New("not found")

// Set keeps a value. What is there already is not written again.
func (s *stable) Set(key, value []byte) error {
	if string(key) == keyVoteTerm && s.g.cfg.Machine.Place().Index == 0 {
		return errNoVote
	}
	if old := s.g.cfg.Log.Value(string(key)); old != nil && string(old) == string(value) {
		return nil
	}
	err := s.g.cfg.Log.Set(string(key), value)
	if err == nil {
		return nil
	}
	// Raft would panic. A replica that cannot vote is of no use, but its host decides what follows: it closes it, and what
	// raft was about to do (answer a vote, begin a term) is never done.
	s.g.fail(fmt.Errorf("keep the vote: %w", err))
	<-s.g.ctx.Done()
	runtime.Goexit()
	return err
}

// Get is the value of a key.
func (s *stable) Get(key []byte) ([]byte, error) {
	if v := s.g.cfg.Log.Value(string(key)); v != nil {
		return v, nil
	}
	return nil, errUnset
}

// SetUint64 is Set.
func (s *stable) SetUint64(key []byte, value uint64) error {
	return s.Set(key, binary.LittleEndian.AppendUint64(nil, value))
}

// GetUint64 is Get.
func (s *stable) GetUint64(key []byte) (uint64, error) {
	v, err := s.Get(key)
	if err != nil {
		return 0, err
	}
	if len(v) != 8 {
		return 0, fmt.Errorf("value of %s has %d bytes", key, len(v))
	}
	return binary.LittleEndian.Uint64(v), nil
}
