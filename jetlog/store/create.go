package store

import (
	"fmt"
	"sync"

	"runnel/jetlog"
	"runnel/jetlog/config"
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
}

// creation is a stream to be made, and then what became of it.
type creation struct {
	account string
	config  config.Stream
	stream  *Stream
	err     error
}

// creationsAtOnce is how many streams share a record at most.
const creationsAtOnce = 256

// Create makes a stream; the configuration is normalised already. It is safe when Create returns. The
// name must not be in use in the account.
func (s *Store) Create(account string, cfg config.Stream) (*Stream, error) {
	c := &creation{account: account, config: cfg}
	s.edits.creations.Do(c, creationsAtOnce, s.createAll)
	return c.stream, c.err
}

// createAll makes streams by one record of the manifest.
func (s *Store) createAll(batch []*creation) {
	s.edits.Lock()
	defer s.edits.Unlock()
	e, states := &manifest.Edit{}, map[*creation]*jetlog.Stream{}
	names := map[streamName]bool{}
	id := s.catalog.NextStream
	for _, c := range batch {
		name := streamName{c.account, c.config.Name}
		if c.err = s.usable(); c.err == nil && (names[name] || s.Stream(c.account, c.config.Name) != nil) {
			c.err = fmt.Errorf("create stream %q: %w", c.config.Name, ErrExists)
		}
		if c.err != nil {
			continue
		}
		names[name] = true
		state := jetlog.New(id, c.config, s.cfg.Clock().UnixNano())
		id++
		x := manifest.StreamEdit{Created: true, Advanced: true}
		x.ID, x.Account, x.Snapshot = state.ID(), c.account, state.AppendSnapshot(nil)
		e.Streams, states[c] = append(e.Streams, x), state
	}
	if len(states) == 0 {
		return
	}
	err := s.commitLocked(e)
	for c, state := range states {
		if err != nil {
			c.err = fmt.Errorf("create stream %q: %w", c.config.Name, err)
			continue
		}
		c.stream = s.newStream(c.account, state)
		s.enter(c.stream)
	}
}

// newStream returns a stream with a state and no messages.
func (s *Store) newStream(account string, state *jetlog.Stream) *Stream {
	cfg := state.Config()
	t := &Stream{
		store: s, id: state.ID(), account: account, name: cfg.Name, state: state,
		file: cfg.Storage == config.FileStorage, flushed: state.Applied(),
	}
	t.appended.Store(state.Applied())
	t.assign()
	if !t.file {
		t.messages = jetlog.NewMemory()
		return t
	}
	t.body = messages.New(siphash.Key(s.catalog.HashKey), &s.memory, s.cfg.FactEntries)
	t.body.Start = state.State().Last + 1
	t.messages = t.body
	return t
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
	for err != nil && s.manifest.Failed() == nil && s.spend() {
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
