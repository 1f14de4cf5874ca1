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
	if g.raft.State() == raft.Leader {
		g.stored(logs)
	}
	if first.Type == raft.LogNoop && g.raft.State() == raft.Leader {
		g.elected(first.Index, first.Term)
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

// stable keeps the term and the vote in the log. What was never set is as the birth of the group says, see birth.
type stable struct {
	g     *Group
	born  birth
	floor uint64 // the term is not before that of the place and of the last entry
}

// begin looks at where the replica begins. Raft goes by the term that it kept alone.
func (s *stable) begin(place Place) error {
	s.born, s.floor = bornAt(place), place.Term
	last := s.g.cfg.Log.Last()
	if last == 0 {
		if s.born.leads(s.g.cfg.Self) {
			s.floor = 0 // its first term is still to begin
		}
		return nil
	}
	e, err := s.g.cfg.Log.Get(last)
	if err != nil {
		return fmt.Errorf("read entry %d: %w", last, err)
	}
	s.floor = max(s.floor, e.Term)
	return nil
}

// The keys of raft that matter here.
const (
	keyTerm     = "CurrentTerm"
	keyVoteTerm = "LastVoteTerm"
	keyVote     = "LastVoteCand"
)

// errNoVote says that a replica which waits for a checkpoint gives no votes: it may have given one before it lost its state.
var errNoVote = errors.New("a replica without a state has no vote")

// errUnset has the text by which raft knows that a key was never set.
var errUnset = errors.New("not found")

// Set keeps a value. What is there already is not written again, and neither is what birth says: the first term of who leads from then
// on, since its first entry, which is waited for, tells as much.
func (s *stable) Set(key, value []byte) error {
	if string(key) == keyVoteTerm && s.g.cfg.Machine.Place().Index == 0 {
		return errNoVote
	}
	if old, err := s.Get(key); err == nil && string(old) == string(value) || s.goesWithoutSaying(key, value) {
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

// goesWithoutSaying reports whether a value is the term that this replica would begin with if nothing was kept, or the first of a group
// that it leads from birth on.
func (s *stable) goesWithoutSaying(key, value []byte) bool {
	if string(key) != keyTerm || s.g.cfg.Log.Value(keyTerm) != nil {
		return false
	}
	return string(value) == string(number(s.floor)) ||
		s.floor < birthTerm && s.born.leads(s.g.cfg.Self) && string(value) == string(number(birthTerm))
}

// Get is the value of a key. The vote of birth holds until another one is given.
func (s *stable) Get(key []byte) ([]byte, error) {
	log := s.g.cfg.Log
	v := log.Value(string(key))
	switch {
	case v != nil:
		return v, nil
	case s.born.leader == "" || log.Value(keyVoteTerm) != nil:
	case string(key) == keyVoteTerm:
		return number(birthTerm), nil
	case string(key) == keyVote:
		return []byte(s.born.leader), nil
	}
	return nil, errUnset
}

// SetUint64 is Set.
func (s *stable) SetUint64(key []byte, value uint64) error { return s.Set(key, number(value)) }

// number encodes a value that is one.
func number(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }

// GetUint64 is Get.
func (s *stable) GetUint64(key []byte) (uint64, error) {
	v, err := s.Get(key)
	switch {
	case errors.Is(err, errUnset) && string(key) == keyTerm && s.floor > 0:
		return s.floor, nil
	case err != nil:
		return 0, err
	case len(v) != 8:
		return 0, fmt.Errorf("value of %s has %d bytes", key, len(v))
	}
	n := binary.LittleEndian.Uint64(v)
	if string(key) == keyTerm {
		n = max(n, s.floor)
	}
	return n, nil
}
