package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"runnel/jetlog"
	"runnel/jetlog/checkpoint"
	"runnel/jetlog/entries"
	"runnel/jetlog/gone"
	"runnel/jetlog/layer"
	"runnel/jetlog/layout"
	"runnel/jetlog/manifest"
	"runnel/jetlog/messages"
	"runnel/jetlog/wal"
)

// installation is one call of Install.
type installation struct {
	stream *Stream
	row    *manifest.StreamEdit // as it came, then as it is here
	state  *jetlog.Stream
	body   *messages.Body
	fresh  []received
	files  map[uint64]*layer.File // by the number that they have where they come from
	held   []*layer.File          // that were here already
}

// received is a file that was fetched and has no name yet.
type received struct {
	number uint64        // that it gets here
	from   manifest.File // as it was described
}

// Install gives a replica the state of a checkpoint of another member, whatever it had before. Files that are not here yet
// are fetched; when a reader ends early, fetch is called again from there on, as long as something comes. All is
// verified, and synced when Install returns; after a crash there is either what was before or the new state. Who reads
// the stream finds either one too. The log of the group has no entries then.
//
// An entry must not be applied meanwhile. With ErrFull, or an error of fetch or ctx, everything is as before.
func (t *Stream) Install(ctx context.Context, metadata []byte, place entries.Place, fetch Fetch) error {
	n := &installation{stream: t, files: map[uint64]*layer.File{}}
	defer n.end()
	err := n.prepare(ctx, metadata, place, fetch)
	if err == nil {
		err = n.commit(place)
	}
	if err != nil {
		return fmt.Errorf("install stream %q: %w", t.name, err)
	}
	return nil
}

// prepare fetches what is missing.
func (n *installation) prepare(ctx context.Context, metadata []byte, place entries.Place, fetch Fetch) error {
	t := n.stream
	if !t.Replicated() {
		return errSolo
	}
	if err := t.usable(); err != nil {
		return err
	}
	row, files, err := checkpoint.Decode(metadata)
	if err != nil {
		return err
	}
	if n.state, err = jetlog.Restore(row.Snapshot); err != nil {
		return err
	}
	if row.ID != t.id || row.Account != t.account || n.state.Config().Name != t.name || row.Replica.Index != place.Index {
		return fmt.Errorf("it is stream %d, %q, at %d, want %d at %d: %w",
			row.ID, n.state.Config().Name, row.Replica.Index, t.id, place.Index, checkpoint.ErrDamaged)
	}
	n.row = row
	for i := range files {
		if err := n.receive(ctx, &files[i], fetch); err != nil {
			return err
		}
	}
	return nil
}

// receive fetches a file, unless it is here.
func (n *installation) receive(ctx context.Context, e *manifest.File, fetch Fetch) error {
	s := n.stream.store
	if f := s.known(e); f != nil {
		n.held, n.files[e.Number] = append(n.held, f), f
		return nil
	}
	_, keys := s.seal.SegmentKeys()
	x := received{number: s.nextFile(), from: *e}
	err := checkpoint.Receive(ctx, s.cfg.FS, s.segmentPath(x.number)+layout.Temporary, checkpoint.FileOf(e), keys, fetch)
	if err != nil {
		return s.unwritten(err)
	}
	n.fresh = append(n.fresh, x)
	return nil
}

// known returns a file that is here already, which the caller has to leave, nil for none.
func (s *Store) known(e *manifest.File) *layer.File {
	s.edits.Lock()
	defer s.edits.Unlock()
	for _, f := range s.files {
		if f.ID == e.ID && f.Bytes == e.Bytes && f.Checksum == e.Checksum && f.Failure == nil && f.Enter() == nil {
			return f
		}
	}
	return nil
}

// end removes what was fetched and is not used.
func (n *installation) end() {
	s := n.stream.store
	for _, f := range n.held {
		f.Leave()
	}
	for _, x := range n.fresh {
		_ = s.cfg.FS.Remove(s.segmentPath(x.number) + layout.Temporary) // the next start does it otherwise
	}
}

// commit makes the new state that of the stream.
func (n *installation) commit(place entries.Place) error {
	t := n.stream
	s, r := t.store, t.replica.Load()
	s.flushing.Lock()
	defer s.flushing.Unlock()
	if r == nil || s.StreamByID(t.id) != t {
		return ErrNotFound
	}
	r.applying.Lock()
	defer r.applying.Unlock()
	if err := t.usable(); err != nil {
		return err
	}
	begin, err := s.nextPosition()
	if err != nil {
		return err
	}
	fresh, err := n.publish()
	if err == nil {
		err = n.write(fresh, place, begin)
	}
	if err != nil {
		for _, f := range fresh {
			s.discard(f)
		}
		return err
	}
	n.replace(r, place, begin)
	r.log.Reset(place, begin)
	s.edits.Lock()
	defer s.edits.Unlock()
	s.sweep()
	return nil
}

// publish gives the files that were fetched their names.
func (n *installation) publish() (fresh []*layer.File, err error) {
	s := n.stream.store
	for len(n.fresh) > 0 {
		x := n.fresh[0]
		name := s.segmentPath(x.number)
		if err := s.cfg.FS.Rename(name+layout.Temporary, name); err != nil {
			return fresh, s.unwritten(err)
		}
		n.fresh = n.fresh[1:]
		e := x.from
		e.Number = x.number
		f := s.openFile(&e)
		fresh = append(fresh, f)
		if f.Failure != nil {
			return fresh, f.Failure
		}
		n.files[x.from.Number] = f
	}
	if len(fresh) > 0 {
		if err := s.cfg.FS.SyncDir(filepath.Join(s.cfg.Dir, layout.Segments)); err != nil {
			return fresh, s.fail(err)
		}
	}
	return fresh, nil
}

// write lets the manifest have the new state. From then on nothing can fail.
func (n *installation) write(fresh []*layer.File, place entries.Place, begin wal.Position) error {
	t, e := n.stream, n.row
	for i := range e.Parts {
		e.Parts[i].File = n.files[e.Parts[i].File].Number
	}
	e.Noted, e.Pages = 0, e.Changed // what was noted there says nothing about the log here
	e.Replica = &manifest.Replica{
		Index: place.Index, Term: place.Term, Configuration: place.Configuration, Begin: uint64(begin), Key: e.Replica.Key,
	}
	var err error
	if n.body, err = t.store.bodyOf(&e.Stream, n.state, fresh); err != nil {
		return err
	}
	edit := &manifest.Edit{Streams: []manifest.StreamEdit{*e}}
	for _, f := range fresh {
		edit.Files = append(edit.Files, f.File)
	}
	return t.store.note(fresh, edit)
}

// replace lets the stream have the new state.
func (n *installation) replace(r *replica, place entries.Place, begin wal.Position) {
	t := n.stream
	t.mu.Lock()
	defer t.mu.Unlock()
	t.body.Drop()
	t.state, t.body, t.messages, t.frozen, t.key = n.state, n.body, n.body, nil, n.row.Replica.Key
	t.flushed = t.state.Applied()
	t.appended.Store(t.flushed)
	t.promise(t.state.Config())
	r.begin, r.place, r.flushed = begin, place, place
	r.applied.Store(place.Index)
}

// errMissing is an error that cannot be: the manifest has a file that nobody opened.
var errMissing = errors.New("a file of the manifest is not open")

// bodyOf returns the messages of a stream as the manifest has it, with files of the store, or fresh ones.
func (s *Store) bodyOf(e *manifest.Stream, state *jetlog.Stream, fresh []*layer.File) (*messages.Body, error) {
	s.edits.Lock()
	defer s.edits.Unlock()
	b := messages.New(s.hashKey(e.Replica), &s.memory, s.cfg.FactEntries)
	b.Start = state.State().Last + 1
	b.Purged, b.Forgot, b.Gone = e.Purged, e.Forgot, gone.Of(e.Floor, e.Pages)
	var parts []*layer.Part
	for i := range e.Parts {
		f := s.files[e.Parts[i].File]
		for _, x := range fresh {
			if x.Number == e.Parts[i].File {
				f = x
			}
		}
		if f == nil {
			return nil, errMissing
		}
		if f.Failure != nil {
			return nil, f.Failure
		}
		parts = append(parts, layer.NewPart(f, e.ID, &e.Parts[i]))
	}
	b.SetParts(parts)
	return b, nil
}
