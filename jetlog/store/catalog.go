package store

import (
	"fmt"
	"maps"
	"slices"

	"runnel/jetlog/codec"
	"runnel/jetlog/segment"
)

// catalog is what the manifest says: which streams there are, their state as of their last flush, and
// which files their messages and facts are in. It is changed by edits alone, so that the manifest's
// records, applied again, give the same.
type catalog struct {
	hashKey    hashKey
	nextStream uint64 // id that the next stream gets; ids are never used twice
	nextFile   uint64 // number that the next file gets
	files      map[uint64]*fileEntry
	streams    map[uint64]*streamEntry
}

// fileEntry is a segment file.
type fileEntry struct {
	number   uint64
	id       segment.FileID
	bytes    int64
	checksum uint32
}

// streamEntry is a stream as of its last flush.
type streamEntry struct {
	id       uint64
	account  string
	snapshot []byte // of the logical state
	applied  uint64 // commands in it
	purged   uint64 // every sequence up to here went at once some time
	forgot   int64  // message ids noted before this time are forgotten
	floor    uint64 // every sequence up to here has gone
	pages    map[uint64]*page
	parts    []partEntry // oldest first
}

// partEntry is what a file has of a stream.
type partEntry struct {
	file    uint64
	purged  uint64 // as it was when the file's facts were written
	idTime  int64  // time of the last message id among its facts, 0 for none
	removed uint64 // messages of it that have gone, or unknown
	bytes   uint64 // what those counted for
}

// unknown stands for a number of removed messages that was not counted.
const unknown = ^uint64(0)

func newCatalog(key hashKey) *catalog {
	return &catalog{
		hashKey: key, nextStream: 1, nextFile: 1,
		files: map[uint64]*fileEntry{}, streams: map[uint64]*streamEntry{},
	}
}

// edit is one change of the catalog, which is one record of the manifest: all of it holds, or none.
type edit struct {
	key        *hashKey // only of the first record
	nextStream uint64
	nextFile   uint64
	files      []fileEntry // new
	deleted    []uint64    // streams that are no more
	streams    []streamEdit
}

// streamEdit says what is new about a stream.
type streamEdit struct {
	streamEntry
	created  bool             // the stream is new
	advanced bool             // snapshot, applied, purged, forgot and floor are new
	cleared  []uint64         // pages that are no more
	changed  map[uint64]*page // pages that are new or have changed
}

// apply carries an edit out. Files that no stream has any more leave the catalog.
func (c *catalog) apply(e *edit) error {
	if e.key != nil {
		c.hashKey = *e.key
	}
	c.nextStream, c.nextFile = max(c.nextStream, e.nextStream), max(c.nextFile, e.nextFile)
	for i := range e.files {
		f := e.files[i]
		c.files[f.number] = &f
		c.nextFile = max(c.nextFile, f.number+1)
	}
	for _, id := range e.deleted {
		delete(c.streams, id)
	}
	for i := range e.streams {
		if err := c.applyStream(&e.streams[i]); err != nil {
			return err
		}
	}
	used := map[uint64]bool{}
	for _, s := range c.streams {
		for _, p := range s.parts {
			used[p.file] = true
		}
	}
	maps.DeleteFunc(c.files, func(n uint64, _ *fileEntry) bool { return !used[n] })
	return nil
}

func (c *catalog) applyStream(e *streamEdit) error {
	s := c.streams[e.id]
	switch {
	case e.created:
		s = &streamEntry{id: e.id, account: e.account, pages: map[uint64]*page{}}
		c.streams[e.id] = s
		c.nextStream = max(c.nextStream, e.id+1)
	case s == nil:
		return fmt.Errorf("a change of stream %d, which does not exist", e.id)
	}
	if e.advanced {
		s.snapshot, s.applied = e.snapshot, e.applied
		s.purged, s.forgot, s.floor = e.purged, e.forgot, e.floor
		maps.DeleteFunc(s.pages, func(n uint64, _ *page) bool { return n < (s.floor+1)/pageSpan })
	}
	for _, n := range e.cleared {
		delete(s.pages, n)
	}
	maps.Copy(s.pages, e.changed)
	for _, p := range e.parts {
		if c.files[p.file] == nil {
			return fmt.Errorf("stream %d is in file %d, which does not exist", e.id, p.file)
		}
	}
	s.parts = e.parts
	return nil
}

// whole is the edit that makes this catalog out of an empty one.
func (c *catalog) whole() *edit {
	key := c.hashKey
	e := &edit{key: &key, nextStream: c.nextStream, nextFile: c.nextFile}
	for _, n := range slices.Sorted(maps.Keys(c.files)) {
		e.files = append(e.files, *c.files[n])
	}
	for _, id := range slices.Sorted(maps.Keys(c.streams)) {
		s := c.streams[id]
		e.streams = append(e.streams, streamEdit{streamEntry: *s, created: true, advanced: true, changed: s.pages})
	}
	return e
}

const editVersion = 1

// Bits of the flags byte of a streamEdit.
const (
	flagCreated = 1 << iota
	flagAdvanced
)

// append encodes an edit; docs/format/manifest.md is the page for it.
func (e *edit) append(out []byte) []byte {
	out = append(out, editVersion)
	out = codec.AppendBool(out, e.key != nil)
	if e.key != nil {
		out = codec.AppendUint(codec.AppendUint(out, e.key[0]), e.key[1])
	}
	out = codec.AppendUint(codec.AppendUint(out, e.nextStream), e.nextFile)
	out = codec.AppendUint(out, uint64(len(e.files)))
	for _, f := range e.files {
		out = codec.AppendUint(out, f.number)
		out = append(out, f.id[:]...)
		out = codec.AppendUint(codec.AppendUint(out, uint64(f.bytes)), f.checksum)
	}
	out = codec.AppendUint(out, uint64(len(e.deleted)))
	for _, id := range e.deleted {
		out = codec.AppendUint(out, id)
	}
	out = codec.AppendUint(out, uint64(len(e.streams)))
	for i := range e.streams {
		out = e.streams[i].append(out)
	}
	return out
}

func (s *streamEdit) append(out []byte) []byte {
	flags := byte(0)
	if s.created {
		flags |= flagCreated
	}
	if s.advanced {
		flags |= flagAdvanced
	}
	out = append(codec.AppendUint(out, s.id), flags)
	if s.created {
		out = codec.AppendBytes(out, s.account)
	}
	if s.advanced {
		out = codec.AppendUint(codec.AppendBytes(out, s.snapshot), s.applied)
		out = codec.AppendUint(codec.AppendInt(codec.AppendUint(out, s.purged), s.forgot), s.floor)
	}
	out = codec.AppendUint(out, uint64(len(s.cleared)))
	for _, n := range s.cleared {
		out = codec.AppendUint(out, n)
	}
	out = codec.AppendUint(out, uint64(len(s.changed)))
	for _, n := range slices.Sorted(maps.Keys(s.changed)) {
		out = codec.AppendUint(out, n)
		for _, word := range s.changed[n] {
			out = codec.AppendUint(out, word)
		}
	}
	out = codec.AppendUint(out, uint64(len(s.parts)))
	for _, p := range s.parts {
		out = codec.AppendUint(codec.AppendUint(out, p.file), p.purged)
		out = codec.AppendUint(codec.AppendUint(codec.AppendInt(out, p.idTime), p.removed), p.bytes)
	}
	return out
}

// The fewest bytes that items of lists take.
const (
	fileEntryBytes  = 1 + len(segment.FileID{}) + 2
	streamEditBytes = 5
	pageBytes       = 1 + pageWords
	partEntryBytes  = 5
)

// readEdit decodes an edit. It keeps the data.
func readEdit(data []byte) (*edit, error) {
	r := codec.NewReader(data)
	if version := r.Byte(); version != editVersion && r.Err() == nil {
		return nil, fmt.Errorf("manifest record of version %d, this program knows %d: %w", version, editVersion, ErrNewer)
	}
	e := &edit{}
	if r.Bool() {
		e.key = &hashKey{r.Uint(), r.Uint()}
	}
	e.nextStream, e.nextFile = r.Uint(), r.Uint()
	for range r.Count(fileEntryBytes) {
		f := fileEntry{number: r.Uint()}
		for i := range f.id {
			f.id[i] = r.Byte()
		}
		f.bytes, f.checksum = int64(r.Uint()), uint32(r.Uint())
		e.files = append(e.files, f)
	}
	for range r.Count(1) {
		e.deleted = append(e.deleted, r.Uint())
	}
	for range r.Count(streamEditBytes) {
		e.streams = append(e.streams, readStreamEdit(&r))
	}
	if err := r.End(); err != nil {
		return nil, fmt.Errorf("manifest record: %w", err)
	}
	return e, nil
}

func readStreamEdit(r *codec.Reader) streamEdit {
	s := streamEdit{}
	s.id = r.Uint()
	flags := r.Byte()
	if flags&^(flagCreated|flagAdvanced) != 0 {
		r.Fail("flags of a stream that nobody knows")
	}
	s.created, s.advanced = flags&flagCreated != 0, flags&flagAdvanced != 0
	if s.created {
		s.account = r.String()
	}
	if s.advanced {
		s.snapshot, s.applied, s.purged, s.forgot, s.floor = r.Bytes(), r.Uint(), r.Uint(), r.Int(), r.Uint()
	}
	for range r.Count(1) {
		s.cleared = append(s.cleared, r.Uint())
	}
	s.changed = map[uint64]*page{}
	for range r.Count(pageBytes) {
		n, p := r.Uint(), &page{}
		for w := range p {
			p[w] = r.Uint()
		}
		s.changed[n] = p
	}
	for range r.Count(partEntryBytes) {
		p := partEntry{file: r.Uint(), purged: r.Uint(), idTime: r.Int(), removed: r.Uint(), bytes: r.Uint()}
		s.parts = append(s.parts, p)
	}
	return s
}
