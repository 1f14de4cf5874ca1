package manifest

import (
	"fmt"
	"maps"
	"slices"

	"runnel/jetlog/codec"
	"runnel/jetlog/segment"
)

// Catalog is what the manifest says: which streams there are, their state as of their last flush, and
// which files their messages and facts are in. It is changed by edits alone, so that the manifest's
// records, applied again, give the same.
type Catalog struct {
	HashKey    [2]uint64          // secret of the hashes of facts
	NextStream uint64             // id that the next stream gets; ids are never used twice
	NextFile   uint64             // number that the next file gets
	Files      map[uint64]*File   // by number
	Streams    map[uint64]*Stream // by id
}

// File is a segment file: what tells it from any other.
type File struct {
	Number   uint64         // part of its name
	ID       segment.FileID // random
	Bytes    int64          // its length
	Checksum uint32         // of its footer
}

// Stream is a stream as of its last flush.
type Stream struct {
	ID       uint64
	Account  string
	Snapshot []byte // of the logical state
	Applied  uint64 // commands in it
	Purged   uint64 // every sequence up to here went at once some time
	Forgot   int64  // message ids noted before this time are forgotten
	Floor    uint64 // every sequence up to here has gone
	Noted    uint64 // commands that were safe when that was noted last, in the log or by the state
	Pages    map[uint64]*Page
	Parts    []Part   // oldest first
	Replica  *Replica // nil for a stream that never was one
}

// Replica is what a stream has besides whose commands come from a raft group. It is never changed, only replaced.
//
// Noted is not a number of commands then, but the position of a record of the group in the log.
type Replica struct {
	// Index and Term are of the last entry that is in the state, both 0 as long as there is no state; the
	// configuration is that of the group as of there.
	Index, Term   uint64
	Configuration []byte
	Begin         uint64    // entries before this position of the log are not of this stream
	Solo          bool      // it is none any more
	Key           [2]uint64 // of the hashes of facts, zeros for that of the store: files that came from another one have its own
}

// FirstAssigned is the first of the ids of streams that are given to a store. It gives lower ones itself.
const FirstAssigned = 1 << 40

// Part is what a file has of a stream.
type Part struct {
	File    uint64
	Purged  uint64 // as it was when the file's facts were written
	IDTime  int64  // time of the last message id among its facts, 0 for none
	Removed uint64 // messages of it that have gone, or Unknown
	Bytes   uint64 // what those counted for
	// Covered: a later file says all that it says of subjects, or what is newer. Its facts are not asked for.
	Covered bool
}

// Unknown stands for a number of removed messages that was not counted.
const Unknown = ^uint64(0)

// NewCatalog returns the catalog of a store that has nothing. The key is that of its hashes: a secret, since
// nobody may find two subjects with the same hash.
func NewCatalog(key [2]uint64) *Catalog {
	return &Catalog{
		HashKey: key, NextStream: 1, NextFile: 1,
		Files: map[uint64]*File{}, Streams: map[uint64]*Stream{},
	}
}

// Edit is one change of the catalog, which is one record of the manifest: all of it holds, or none.
type Edit struct {
	Key        *[2]uint64 // only of the first record
	NextStream uint64
	NextFile   uint64
	Files      []File   // new
	Deleted    []uint64 // streams that are no more
	Streams    []StreamEdit
}

// StreamEdit says what is new about a stream. With Noted, and unless the stream is new, it says nothing else.
type StreamEdit struct {
	Stream
	Created  bool             // the stream is new
	Advanced bool             // snapshot, applied, purged, forgot and floor are new
	Cleared  []uint64         // pages that are no more
	Changed  map[uint64]*Page // pages that are new or have changed
}

// Apply carries an edit out. Files that no stream has any more leave the catalog.
func (c *Catalog) Apply(e *Edit) error {
	if e.Key != nil {
		c.HashKey = *e.Key
	}
	c.NextStream, c.NextFile = max(c.NextStream, e.NextStream), max(c.NextFile, e.NextFile)
	for i := range e.Files {
		f := e.Files[i]
		c.Files[f.Number] = &f
		c.NextFile = max(c.NextFile, f.Number+1)
	}
	loose := len(e.Files) > 0 // there may be files that no stream has
	for _, id := range e.Deleted {
		loose = loose || c.Streams[id] != nil && len(c.Streams[id].Parts) > 0
		delete(c.Streams, id)
	}
	for i := range e.Streams {
		s := c.Streams[e.Streams[i].ID]
		loose = loose || s != nil && len(s.Parts) > 0
		if err := c.applyStream(&e.Streams[i]); err != nil {
			return err
		}
	}
	if loose {
		c.dropLoose()
	}
	return nil
}

// dropLoose forgets the files that no stream has.
func (c *Catalog) dropLoose() {
	used := map[uint64]bool{}
	for _, s := range c.Streams {
		for _, p := range s.Parts {
			used[p.File] = true
		}
	}
	maps.DeleteFunc(c.Files, func(n uint64, _ *File) bool { return !used[n] })
}

// applyStream carries out what an edit says of one stream.
func (c *Catalog) applyStream(e *StreamEdit) error {
	s := c.Streams[e.ID]
	switch {
	case e.Created:
		s = &Stream{ID: e.ID, Account: e.Account, Noted: e.Noted, Pages: map[uint64]*Page{}}
		c.Streams[e.ID] = s
		if e.ID < FirstAssigned {
			c.NextStream = max(c.NextStream, e.ID+1)
		}
	case s == nil:
		return fmt.Errorf("a change of stream %d, which does not exist", e.ID)
	case e.Noted > 0: // nothing else is in it: the stream keeps its files
		s.Noted = max(s.Noted, e.Noted)
		return nil
	}
	if e.Advanced {
		s.Snapshot, s.Applied = e.Snapshot, e.Applied
		s.Purged, s.Forgot, s.Floor = e.Purged, e.Forgot, e.Floor
		maps.DeleteFunc(s.Pages, func(n uint64, _ *Page) bool { return n < (s.Floor+1)/PageSpan })
	}
	if e.Replica != nil {
		if !e.Created && s.replicated() == e.Replica.Solo {
			s.Noted = 0 // it meant something else
		}
		s.Replica = e.Replica
	}
	for _, n := range e.Cleared {
		delete(s.Pages, n)
	}
	maps.Copy(s.Pages, e.Changed)
	for _, p := range e.Parts {
		if c.Files[p.File] == nil {
			return fmt.Errorf("stream %d is in file %d, which does not exist", e.ID, p.File)
		}
	}
	s.Parts = e.Parts
	return nil
}

// replicated reports whether commands come from a group.
func (s *Stream) replicated() bool { return s.Replica != nil && !s.Replica.Solo }

// whole is the edit that makes this catalog out of an empty one.
func (c *Catalog) whole() *Edit {
	key := c.HashKey
	e := &Edit{Key: &key, NextStream: c.NextStream, NextFile: c.NextFile}
	for _, n := range slices.Sorted(maps.Keys(c.Files)) {
		e.Files = append(e.Files, *c.Files[n])
	}
	for _, id := range slices.Sorted(maps.Keys(c.Streams)) {
		s := c.Streams[id]
		e.Streams = append(e.Streams, StreamEdit{Stream: *s, Created: true, Advanced: true, Changed: s.Pages})
	}
	return e
}

// PageSpan is how many sequences a Page has.
const PageSpan = PageWords * 64

// PageWords is of how many words a Page is.
const PageWords = 64

// Page is a bitmap of the sequences from its number times PageSpan on.
type Page [PageWords]uint64

const editVersion = 1

// Bits of the flags byte of a streamEdit. What a flag is for stands only where it is set: most edits are notes, of which
// there is one every second for each stream that is busy, and few streams have files that are covered.
const (
	flagCreated  = 1 << iota
	flagAdvanced // not set by compaction, which changes files alone
	flagNoted    // with a stream that is not new nothing else follows
	flagCovered  // each part has one byte more
	flagReplica
	flagsEnd
)

// Append appends the encoded edit; docs/format/manifest.md is the page for it.
func (e *Edit) Append(out []byte) []byte {
	out = append(out, editVersion)
	out = codec.AppendBool(out, e.Key != nil)
	if e.Key != nil {
		out = codec.AppendUint(codec.AppendUint(out, e.Key[0]), e.Key[1])
	}
	out = codec.AppendUint(codec.AppendUint(out, e.NextStream), e.NextFile)
	out = codec.AppendUint(out, uint64(len(e.Files)))
	for _, f := range e.Files {
		out = codec.AppendUint(out, f.Number)
		out = append(out, f.ID[:]...)
		out = codec.AppendUint(codec.AppendUint(out, uint64(f.Bytes)), f.Checksum)
	}
	out = codec.AppendUint(out, uint64(len(e.Deleted)))
	for _, id := range e.Deleted {
		out = codec.AppendUint(out, id)
	}
	out = codec.AppendUint(out, uint64(len(e.Streams)))
	for i := range e.Streams {
		out = e.Streams[i].append(out)
	}
	return out
}

// append encodes what is new about a stream.
func (s *StreamEdit) append(out []byte) []byte {
	flags := byte(0)
	if s.Created {
		flags |= flagCreated
	}
	if s.Advanced {
		flags |= flagAdvanced
	}
	if s.Noted > 0 {
		flags |= flagNoted
	}
	covered := slices.ContainsFunc(s.Parts, func(p Part) bool { return p.Covered })
	if covered {
		flags |= flagCovered
	}
	if s.Replica != nil {
		flags |= flagReplica
	}
	out = append(codec.AppendUint(out, s.ID), flags)
	if s.Created {
		out = codec.AppendBytes(out, s.Account)
	}
	if s.Advanced {
		out = codec.AppendUint(codec.AppendBytes(out, s.Snapshot), s.Applied)
		out = codec.AppendUint(codec.AppendInt(codec.AppendUint(out, s.Purged), s.Forgot), s.Floor)
	}
	if s.Noted > 0 {
		out = codec.AppendUint(out, s.Noted)
		if !s.Created {
			return out
		}
	}
	if s.Replica != nil {
		out = s.Replica.append(out)
	}
	out = codec.AppendUint(out, uint64(len(s.Cleared)))
	for _, n := range s.Cleared {
		out = codec.AppendUint(out, n)
	}
	out = codec.AppendUint(out, uint64(len(s.Changed)))
	for _, n := range slices.Sorted(maps.Keys(s.Changed)) {
		out = codec.AppendUint(out, n)
		for _, word := range s.Changed[n] {
			out = codec.AppendUint(out, word)
		}
	}
	out = codec.AppendUint(out, uint64(len(s.Parts)))
	for _, p := range s.Parts {
		out = codec.AppendUint(codec.AppendUint(out, p.File), p.Purged)
		out = codec.AppendUint(codec.AppendUint(codec.AppendInt(out, p.IDTime), p.Removed), p.Bytes)
		if covered {
			out = codec.AppendBool(out, p.Covered)
		}
	}
	return out
}

// append encodes what a replica has besides.
func (p *Replica) append(out []byte) []byte {
	out = codec.AppendUint(codec.AppendUint(out, p.Index), p.Term)
	out = codec.AppendUint(codec.AppendBytes(out, p.Configuration), p.Begin)
	return codec.AppendUint(codec.AppendUint(codec.AppendBool(out, p.Solo), p.Key[0]), p.Key[1])
}

// readReplica decodes it.
func readReplica(r *codec.Reader) *Replica {
	return &Replica{
		Index: r.Uint(), Term: r.Uint(), Configuration: r.Bytes(), Begin: r.Uint(), Solo: r.Bool(), Key: [2]uint64{r.Uint(), r.Uint()},
	}
}

// The fewest bytes that items of lists take.
const (
	fileEntryBytes  = 1 + len(segment.FileID{}) + 2
	streamEditBytes = 3
	pageBytes       = 1 + PageWords
	partEntryBytes  = 5
)

// ReadEdit decodes an edit. It keeps the data.
func ReadEdit(data []byte) (*Edit, error) {
	r := codec.NewReader(data)
	if version := r.Byte(); version != editVersion && r.Err() == nil {
		return nil, fmt.Errorf("manifest record of version %d, this program knows %d: %w", version, editVersion, ErrNewer)
	}
	e := &Edit{}
	if r.Bool() {
		e.Key = &[2]uint64{r.Uint(), r.Uint()}
	}
	e.NextStream, e.NextFile = r.Uint(), r.Uint()
	for range r.Count(fileEntryBytes) {
		f := File{Number: r.Uint()}
		for i := range f.ID {
			f.ID[i] = r.Byte()
		}
		f.Bytes, f.Checksum = int64(r.Uint()), uint32(r.Uint())
		e.Files = append(e.Files, f)
	}
	for range r.Count(1) {
		e.Deleted = append(e.Deleted, r.Uint())
	}
	for range r.Count(streamEditBytes) {
		e.Streams = append(e.Streams, readStreamEdit(&r))
	}
	if err := r.End(); err != nil {
		return nil, fmt.Errorf("manifest record: %w", err)
	}
	return e, nil
}

// readStreamEdit decodes one stream. What is wrong the reader remembers.
func readStreamEdit(r *codec.Reader) StreamEdit {
	s := StreamEdit{}
	s.ID = r.Uint()
	flags := r.Byte()
	if flags >= flagsEnd {
		r.Fail("flags of a stream that nobody knows")
	}
	s.Created, s.Advanced = flags&flagCreated != 0, flags&flagAdvanced != 0
	if s.Created {
		s.Account = r.String()
	}
	if s.Advanced {
		s.Snapshot, s.Applied, s.Purged, s.Forgot, s.Floor = r.Bytes(), r.Uint(), r.Uint(), r.Int(), r.Uint()
	}
	if flags&flagNoted != 0 {
		s.Noted = r.Uint()
		if !s.Created {
			return s
		}
	}
	if flags&flagReplica != 0 {
		s.Replica = readReplica(r)
	}
	for range r.Count(1) {
		s.Cleared = append(s.Cleared, r.Uint())
	}
	s.Changed = map[uint64]*Page{}
	for range r.Count(pageBytes) {
		n, p := r.Uint(), &Page{}
		for w := range p {
			p[w] = r.Uint()
		}
		s.Changed[n] = p
	}
	for range r.Count(partEntryBytes) {
		p := Part{File: r.Uint(), Purged: r.Uint(), IDTime: r.Int(), Removed: r.Uint(), Bytes: r.Uint()}
		if flags&flagCovered != 0 {
			p.Covered = r.Bool()
		}
		s.Parts = append(s.Parts, p)
	}
	return s
}
