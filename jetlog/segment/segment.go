package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sort"
	"sync/atomic"

	"runnel/jetlog/vfs"
)

// Config says how a file is read. The zero value is good for a file that is not sealed.
type Config struct {
	// Keys are those that the file may be sealed with: the one in use and previous ones.
	Keys []*Key
	// Cache keeps what was read, with that of other segments; nil means that everything is read anew.
	Cache *Cache
}

// Segment is an open file. It is immutable and safe for concurrent use; Close it when nobody uses it any
// more. What it returns may point into shared memory and must not be changed.
type Segment struct {
	name   string
	file   vfs.File
	frame  frame
	id     identity
	cache  *Cache // may be nil
	number uint64 // in the cache
	closed atomic.Bool
	cold   bool // reads nothing: see Cached

	bytes    int64
	place    location // of the footer
	checksum uint32   // of the footer
	footer   footer
}

// tailBytes is what Open reads at first: the trailer and, of most files, the footer.
const tailBytes = 16 << 10

// Open opens a file and reads its footer. Errors are a *Corruption, ErrNewer, ErrKey or those of the disk.
func Open(fs vfs.FS, name string, c Config) (*Segment, error) {
	file, err := fs.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open segment: %w", err)
	}
	s := &Segment{name: name, file: file, cache: c.Cache}
	if err := s.load(func(id identity) (frame, error) { return id.frame(c.Keys) }); err != nil {
		file.Close() // the first error is the one to tell
		return nil, err
	}
	if s.cache != nil {
		s.number = s.cache.enter()
	}
	return s, nil
}

// Cached returns the segment as one that answers from memory alone, with ErrCold where it would have to
// read. It needs no Close.
func (s *Segment) Cached() *Segment {
	return &Segment{
		name: s.name, frame: s.frame, id: s.id, cache: s.cache, number: s.number, cold: true,
		bytes: s.bytes, place: s.place, checksum: s.checksum, footer: s.footer,
	}
}

// load reads the end of the file and takes the footer from it.
//
// The order is that of trust: the trailer's checksum before what it says, its version before its layout, the
// key before the footer, the footer's checksum and seal before its content.
func (s *Segment) load(frame func(identity) (frame, error)) error {
	var err error
	if s.bytes, err = s.file.Size(); err != nil {
		return fmt.Errorf("open segment %s: %w", s.name, err)
	}
	if s.bytes < headerBytes+trailerBytes {
		return s.damaged(0, concern{}, errMagic)
	}
	start := uint64(max(0, s.bytes-tailBytes))
	tail, err := s.readAt(location{offset: start, bytes: uint32(uint64(s.bytes) - start)}, concern{})
	if err != nil {
		return err
	}
	trailer := tail[len(tail)-trailerBytes:]
	if s.id, s.place, err = parseTrailer(trailer, uint64(s.bytes)); err != nil {
		return s.refuse(uint64(s.bytes-trailerBytes), err)
	}
	if s.frame, err = frame(s.id); err != nil {
		return fmt.Errorf("open segment %s (key %s): %w", s.name, s.id.key, err)
	}
	var chunk []byte
	if s.place.offset >= start {
		chunk = tail[s.place.offset-start:][:s.place.bytes]
	} else if chunk, err = s.readAt(s.place, concern{}); err != nil {
		return err
	}
	if len(chunk) >= envelopeBytes {
		s.checksum = binary.LittleEndian.Uint32(chunk[12:])
	}
	content, err := s.frame.open(chunk, s.place.offset, kindFooter)
	if err == nil {
		s.footer, err = parseFooter(content, s.place.offset)
	}
	if err != nil {
		return s.damaged(s.place.offset, concern{}, err)
	}
	return nil
}

// refuse wraps what a header or trailer is wrong with.
func (s *Segment) refuse(offset uint64, err error) error {
	if errors.Is(err, ErrNewer) {
		return fmt.Errorf("open segment %s: %w", s.name, err)
	}
	return s.damaged(offset, concern{}, err)
}

// Close closes the file. Whoever still reads gets an error. To close again does nothing.
func (s *Segment) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	if s.cache != nil {
		s.cache.leave(s.number)
	}
	if err := s.file.Close(); err != nil {
		return fmt.Errorf("close segment: %w", err)
	}
	return nil
}

// Summary describes the file as Finish did when it was written.
func (s *Segment) Summary() Summary { return s.footer.summary(s.id.file, s.bytes, s.checksum) }

// KeyID names the key that the file is sealed with; ok is false if it is not sealed.
func (s *Segment) KeyID() (id KeyID, ok bool) { return s.id.key, s.id.cipher != 0 }

// MemoryBytes is about what the open file takes in memory now, without its part of the cache.
func (s *Segment) MemoryBytes() int64 {
	sum := 256 + len(s.name)
	for i := range s.footer.extents {
		e := &s.footer.extents[i]
		sum += 128 + 48*len(e.blocks)
		if x := e.index.Load(); x != nil {
			sum += x.bytes()
		}
	}
	for i := range s.footer.tables {
		sum += 64
		if x := s.footer.tables[i].loaded.Load(); x != nil {
			sum += x.bytes()
		}
	}
	return int64(sum)
}

// Extents lists what the file has of each stream, by stream.
func (s *Segment) Extents() []Extent { return s.Summary().Extents }

// Only reports whether the file has nothing of other streams.
func (s *Segment) Only(stream uint64) bool {
	for i := range s.footer.extents {
		if s.footer.extents[i].Stream != stream {
			return false
		}
	}
	for i := range s.footer.tables {
		if s.footer.tables[i].Stream != stream {
			return false
		}
	}
	return true
}

// Extent returns what the file has of a stream; ok is false if that is nothing.
func (s *Segment) Extent(stream uint64) (e Extent, ok bool) {
	x := s.extent(stream)
	if x == nil {
		return Extent{}, false
	}
	return x.Extent, true
}

// extent returns a stream's extent, or nil.
func (s *Segment) extent(stream uint64) *extent {
	all := s.footer.extents
	i := sort.Search(len(all), func(i int) bool { return all[i].Stream >= stream })
	if i == len(all) || all[i].Stream != stream {
		return nil
	}
	return &all[i]
}

// concern is what a Corruption says besides the place.
type concern struct{ stream, first, last uint64 }

// concern is that of all of an extent.
func (e *extent) concern() concern {
	return concern{stream: e.Stream, first: e.First, last: e.Last}
}

// concernOf is that of one block.
func (e *extent) concernOf(k *blockKey) concern {
	return concern{stream: e.Stream, first: k.first, last: k.last}
}

// damaged makes a Corruption.
func (s *Segment) damaged(offset uint64, about concern, err error) error {
	return &Corruption{
		File: s.name, Offset: int64(offset), Stream: about.stream, First: about.first, Last: about.last, Err: err,
	}
}

// readAt reads part of the file as it is.
func (s *Segment) readAt(at location, about concern) ([]byte, error) {
	end := at.offset + uint64(at.bytes)
	if end < at.offset || end > uint64(s.bytes) {
		return nil, s.damaged(at.offset, about, errPlace)
	}
	if s.cold {
		return nil, ErrCold
	}
	b := make([]byte, at.bytes)
	if n, err := s.file.ReadAt(b, int64(at.offset)); n < len(b) {
		if err == io.EOF || err == nil {
			return nil, s.damaged(at.offset, about, errShort)
		}
		return nil, fmt.Errorf("read segment %s at offset %d: %w", s.name, at.offset, err)
	}
	return b, nil
}

// open opens a chunk that was read.
func (s *Segment) open(chunk []byte, offset uint64, k kind, about concern) ([]byte, error) {
	content, err := s.frame.open(chunk, offset, k)
	if err != nil {
		return nil, s.damaged(offset, about, err)
	}
	return content, nil
}

// readFunc is read or cached.
type readFunc func(at location, k kind, about concern) ([]byte, error)

// read returns the content of a chunk, past the cache.
func (s *Segment) read(at location, k kind, about concern) ([]byte, error) {
	chunk, err := s.readAt(at, about)
	if err != nil {
		return nil, err
	}
	return s.open(chunk, at.offset, k, about)
}

// cached returns the content of a chunk.
func (s *Segment) cached(at location, k kind, about concern) ([]byte, error) {
	if content := s.look(at.offset); content != nil {
		return content, nil
	}
	content, err := s.read(at, k, about)
	if err != nil {
		return nil, err
	}
	s.keep(at.offset, content)
	return content, nil
}

// look returns the content of a chunk that is in the cache, or nil.
func (s *Segment) look(offset uint64) []byte {
	if s.cache == nil {
		return nil
	}
	if item := s.cache.get(cacheKey{segment: s.number, offset: offset}); item != nil {
		return item.chunk
	}
	return nil
}

// keep gives the content of a chunk to the cache.
func (s *Segment) keep(offset uint64, content []byte) {
	if s.cache != nil {
		s.cache.put(&cacheItem{key: cacheKey{segment: s.number, offset: offset}, chunk: content})
	}
}
