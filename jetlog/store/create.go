package store

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"runnel/jetlog"
	"runnel/jetlog/config"
	"runnel/jetlog/entries"
	"runnel/jetlog/manifest"
	"runnel/jetlog/messages"
	"runnel/jetlog/order"
	"runnel/jetlog/siphash"
	"runnel/jetlog/wal"
)

// edits is held by who changes what the manifest says. Streams that are to be made at the same time share a record, and
// its sync.
type edits struct {
	sync.Mutex
	creations order.Together[*creation]
	// gone is the highest id of a stream that was deleted since the store was opened: records of it may be on their way into the log.
	gone uint64
}

// creation is a stream to be made, and then what became of it.
type creation struct {
	Assigned // without an id, the store gives one
	stream   *Stream
	err      error
}

// creationsAtOnce is how many streams share a record at most.
const creationsAtOnce = 256

// Create makes a stream; the configuration is normalised already. It is safe when Create returns. The
// name must not be in use in the account.
func (s *Store) Create(account string, cfg config.Stream) (*Stream, error) {
	c := &creation{Assigned: Assigned{Account: account, Config: cfg}}
	s.edits.creations.Do(c, creationsAtOnce, s.createAll)
	return c.stream, c.err
}

// Assigned is a stream that a store is to have: with an id and a time that are the same on all that have it.
type Assigned struct {
	ID      uint64 // manifest.FirstAssigned or more
	Account string
	Config  config.Stream // normalised
	Created int64
	// Place says where the group begins whose replica the stream is, with an empty stream as its state; the zero Place lets
	// it wait for a state from elsewhere: see Install. Nil is for a stream without a group.
	Place *entries.Place
}

// CreateAssigned is Create for a stream whose id was given to it. The id must not be in use here either. A
// replica keeps its messages in files, whatever the storage of its configuration.
func (s *Store) CreateAssigned(a Assigned) (*Stream, error) {
	if a.ID < manifest.FirstAssigned {
		return nil, fmt.Errorf("create stream %q: the id %d is one that the store gives, want %d or more", a.Config.Name, a.ID, uint64(manifest.FirstAssigned))
	}
	c := &creation{Assigned: a}
	s.edits.creations.Do(c, creationsAtOnce, s.createAll)
	return c.stream, c.err
}

// createAll makes streams by one record of the manifest.
func (s *Store) createAll(batch []*creation) {
	s.edits.Lock()
	defer s.edits.Unlock()
	e, made := &manifest.Edit{}, []*creation{}
	names, ids := map[streamName]bool{}, map[uint64]bool{}
	begin, err := s.fence(batch)
	next := s.catalog.NextStream
	for _, c := range batch {
		if c.err = err; err == nil {
			c.err = s.free(c, names, ids)
		}
		if c.err != nil {
			continue
		}
		if c.ID == 0 {
			c.ID, c.Created = next, s.cfg.Clock().UnixNano()
			next++
		}
		names[streamName{c.Account, c.Config.Name}], ids[c.ID] = true, true
		e.Streams, made = append(e.Streams, c.edit(begin)), append(made, c)
	}
	if len(made) == 0 {
		return
	}
	err = s.commitLocked(e)
	for i, c := range made {
		if err != nil {
			c.err = fmt.Errorf("create stream %q: %w", c.Config.Name, err)
			continue
		}
		c.stream = s.newStream(c.Account, jetlog.New(c.ID, c.Config, c.Created), e.Streams[i].Replica)
		s.enter(c.stream)
	}
}

// free says why a stream cannot be made.
func (s *Store) free(c *creation, names map[streamName]bool, ids map[uint64]bool) error {
	err := s.usable()
	switch name := (streamName{c.Account, c.Config.Name}); {
	case err != nil:
		return err
	case names[name] || s.Stream(c.Account, c.Config.Name) != nil:
		return fmt.Errorf("create stream %q: %w", c.Config.Name, ErrExists)
	case c.ID != 0 && (ids[c.ID] || s.StreamByID(c.ID) != nil):
		return fmt.Errorf("create stream %q: the id %d is in use: %w", c.Config.Name, c.ID, ErrExists)
	}
	return nil
}

// edit is what the manifest has of the new stream. What the log has before begin is not of it.
func (c *creation) edit(begin wal.Position) manifest.StreamEdit {
	e := manifest.StreamEdit{Created: true, Advanced: true}
	e.ID, e.Account, e.Snapshot = c.ID, c.Account, jetlog.New(c.ID, c.Config, c.Created).AppendSnapshot(nil)
	if p := c.Place; p != nil {
		e.Replica = &manifest.Replica{Index: p.Index, Term: p.Term, Configuration: p.Configuration, Begin: uint64(begin)}
	}
	return e
}

// fence returns a position before which the log has nothing of the streams to be made, and all is synced: what is there of an earlier stream
// of the same id is not theirs.
func (s *Store) fence(batch []*creation) (wal.Position, error) {
	if slices.ContainsFunc(batch, func(c *creation) bool { return c.Place != nil && c.ID <= s.edits.gone }) {
		return s.nextPosition()
	}
	return s.log.Synced() + 1, nil
}

// nextPosition returns a position that no record has yet: all before it are synced.
func (s *Store) nextPosition() (wal.Position, error) {
	last, err := s.log.Append(s.never)
	if err == nil {
		err = s.log.WaitSynced(context.Background(), last)
	}
	if err != nil {
		return 0, s.refusal(err)
	}
	return last + 1, nil
}

// newStream returns a stream with a state and no messages. One that is or was replicated has its messages in files,
// whatever its storage.
func (s *Store) newStream(account string, state *jetlog.Stream, e *manifest.Replica) *Stream {
	cfg := state.Config()
	t := &Stream{
		store: s, id: state.ID(), account: account, name: cfg.Name, state: state,
		flushed: state.Applied(),
	}
	t.file.Store(cfg.Storage == config.FileStorage || e != nil)
	t.key = s.hashKey(e)
	if e != nil && !e.Solo {
		t.replica.Store(s.newReplica(t.id, e))
	}
	t.appended.Store(state.Applied())
	t.assign()
	if !t.file.Load() {
		t.messages = jetlog.NewMemory()
		return t
	}
	t.body = messages.New(t.key, &s.memory, s.cfg.FactEntries)
	t.body.Start = state.State().Last + 1
	t.messages = t.body
	return t
}

// hashKey is the key of the facts in a stream's files.
func (s *Store) hashKey(e *manifest.Replica) siphash.Key {
	if e != nil && e.Key != [2]uint64{} {
		return e.Key
	}
	return s.catalog.HashKey
}

// enter makes a stream known.
func (s *Store) enter(t *Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams[t.id] = t
	s.names[streamName{t.account, t.name}] = t
}

// leave makes a stream unknown; it is false if it is so already.
func (s *Store) leave(t *Stream) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.streams[t.id] != t {
		return false
	}
	delete(s.streams, t.id)
	delete(s.names, streamName{t.account, t.name})
	return true
}

// Delete removes a stream and all that belongs to it. Commands that are on their way fail. A stream
// that did not start can be deleted too.
func (s *Store) Delete(t *Stream) error {
	if err := s.usable(); err != nil {
		return err
	}
	// A flush that goes on may still write about the stream.
	s.flushing.Lock()
	defer s.flushing.Unlock()
	s.edits.Lock()
	defer s.edits.Unlock()
	if s.StreamByID(t.id) != t {
		return fmt.Errorf("delete stream %q: %w", t.name, ErrNotFound)
	}
	if err := s.commitLocked(&manifest.Edit{Deleted: []uint64{t.id}}); err != nil {
		return fmt.Errorf("delete stream %q: %w", t.name, err)
	}
	t.end()
	s.leave(t)
	s.edits.gone = max(s.edits.gone, t.id)
	if r := t.replica.Load(); r != nil {
		r.log.Close()
	}
	s.log.Release(t.id, wal.End)
	s.sweep()
	return nil
}

// end stops a stream that was deleted.
func (t *Stream) end() {
	gone := fmt.Errorf("stream %q was deleted: %w", t.name, ErrNotFound)
	t.gate.Lock() // nothing is appended to the log behind this
	t.failure.CompareAndSwap(nil, &gone)
	t.gate.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.body != nil {
		t.body.Drop()
	}
	// Whoever has the stream still finds it, but nothing in it.
	t.state, t.messages, t.body, t.frozen = nil, nil, nil, nil
}

// commit makes an edit safe, and part of the catalog.
func (s *Store) commit(e *manifest.Edit) error {
	s.edits.Lock()
	defer s.edits.Unlock()
	return s.commitLocked(e)
}

// commitLocked is commit for who holds edits. Only a full disk is an error after which things go on.
func (s *Store) commitLocked(e *manifest.Edit) error {
	err := s.manifest.Append(e)
	for err != nil && s.manifest.Failed() == nil && s.space.Spend() {
		err = s.manifest.Append(e)
	}
	if err != nil {
		if s.manifest.Failed() != nil {
			return s.fail(err)
		}
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	if err := s.catalog.Apply(e); err != nil {
		return s.fail(err) // the program contradicts itself
	}
	if !s.manifest.Overgrown() {
		return nil
	}
	if err := s.manifest.Create(s.catalog); err != nil && s.manifest.Failed() != nil {
		return s.fail(err)
	}
	return nil
}

// sweep lets go of the files that the catalog does not have any more: they are removed when nobody reads
// them. The caller holds edits; no stream refers to the files.
func (s *Store) sweep() {
	for number, f := range s.files {
		if s.catalog.Files[number] == nil {
			delete(s.files, number)
			f.Discard()
			f.Leave()
		}
	}
}
