package segment

import (
	"crypto/rand"
	"errors"
	"fmt"
	"math"

	"runnel/jetlog/vfs"
)

// WriterConfig says how a file is written. The zero value is good.
type WriterConfig struct {
	// BlockBytes is how many bytes of messages, as they are before compression, a block should have; 0
	// means 64 KiB. Pages of the dictionary have an eighth of that.
	BlockBytes int
	// Compress lets chunks that become smaller by it be compressed.
	Compress bool
	// Key seals the file; nil means that everybody can read it.
	Key *Key
	// Cipher is how a Key seals; 0 means ChaCha20Poly1305.
	Cipher Cipher
}

const (
	defaultBlockBytes = 64 << 10
	minBlockTarget    = 64
	// flushBytes are written at once. The system caches a new file in pieces of up to the length of a write; a megabyte
	// at a time was found to take four times the processor time of this.
	flushBytes = 128 << 10
)

// Writer writes a file: messages first, sorted by stream and sequence, then facts. It is for one
// goroutine. After the first error everything returns it; Finish or Abort ends it.
//
// In memory are 128 KiB that are not written yet, the block at hand, and of the stream at hand 12
// bytes a message and its subjects.
type Writer struct {
	fs       vfs.FS
	name     string
	file     vfs.File
	id       identity
	frame    frame
	compress bool

	blockBytes, pageBytes int

	err     error // latches
	offset  uint64
	out     []byte // is to be written at offset
	scratch []byte // of compression
	heads   []byte // scratch

	extent     *extent // the stream at hand; nil between streams and when facts have begun
	roster     *roster
	block      blockBuilder
	blocks     uint32 // blocks so far, so that rows know which of them they are in
	dictionary dictionaryBuilder

	inFacts bool
	facts   factBuilder

	extents []*extent
	tables  []factTable
}

// Create makes a file, or empties the one that is there. Its name is safe, and its content complete, only
// once Finish has returned and the directory is synced.
func Create(fs vfs.FS, name string, c WriterConfig) (*Writer, error) {
	w := &Writer{
		fs: fs, name: name, id: identity{version: version}, compress: c.Compress,
		blockBytes: c.BlockBytes, roster: newRoster(),
	}
	if w.blockBytes == 0 {
		w.blockBytes = defaultBlockBytes
	}
	w.blockBytes = max(w.blockBytes, minBlockTarget)
	w.pageBytes = w.blockBytes / 8
	rand.Read(w.id.file[:]) // never fails: it ends the program rather than give what is not random
	if c.Key != nil {
		w.id.cipher, w.id.key = c.Cipher, c.Key.id
		if w.id.cipher == 0 {
			w.id.cipher = ChaCha20Poly1305
		}
	}
	keys := []*Key{c.Key}
	f, err := w.id.frame(keys)
	if err != nil {
		return nil, fmt.Errorf("create segment %s: %w", name, err)
	}
	w.frame = f
	if w.file, err = fs.Create(name); err != nil {
		return nil, fmt.Errorf("create segment: %w", err)
	}
	w.out = appendHeader(w.out, w.id)
	return w, nil
}

// fail latches an error.
func (w *Writer) fail(what string, err error) error {
	w.err = fmt.Errorf("segment %s: %s: %w", w.name, what, err)
	return w.err
}

var errFinished = errors.New("segment writer is finished")

// usable is the error that everything returns from now on, or nil.
func (w *Writer) usable() error {
	if w.err == nil && w.file == nil {
		return errFinished
	}
	return w.err
}

// Add adds a message. The message is not kept.
func (w *Writer) Add(stream uint64, m Message) error {
	if err := w.usable(); err != nil {
		return err
	}
	if w.extent == nil || w.extent.Stream != stream {
		if err := w.begin(stream, &m); err != nil {
			return err
		}
	}
	e := w.extent
	body := len(m.Header) + len(m.Payload)
	switch {
	case e.Count > 0 && m.Sequence <= e.Last:
		return w.fail(fmt.Sprintf("add message %d of stream %d", m.Sequence, stream), ErrOrder)
	case len(m.Subject) > MaxSubjectBytes, body > MaxMessageBytes, e.Count >= maxMessages:
		return w.fail(fmt.Sprintf("add message %d of stream %d", m.Sequence, stream), ErrTooLarge)
	}
	if w.block.count > 0 && body >= w.blockBytes { // small messages are not to share a block with a large one
		w.endBlock()
	}
	row := w.roster.add(m.Subject, m.Sequence)
	if row.block != w.blocks {
		row.block, row.inBlock = w.blocks, w.block.subject(m.Subject)
	}
	w.block.add(&m, row.inBlock)
	e.Last, e.LastTime = m.Sequence, m.Time
	e.Count++
	e.Bytes += m.Bytes
	if w.block.bytes() >= w.blockBytes {
		w.endBlock()
		return w.flush(false)
	}
	return nil
}

// begin ends the extent at hand and begins that of a stream, whose first message is m.
func (w *Writer) begin(stream uint64, m *Message) error {
	if err := w.endExtent(); err != nil {
		return err
	}
	if n := len(w.extents); w.inFacts || n > 0 && w.extents[n-1].Stream >= stream {
		return w.fail(fmt.Sprintf("add message %d of stream %d", m.Sequence, stream), ErrOrder)
	}
	w.extent = &extent{Extent: Extent{Stream: stream, First: m.Sequence, FirstTime: m.Time}}
	w.roster.reset()
	w.startBlock()
	return nil
}

// startBlock begins a block. Rows of the roster remember the number of a block and what they are in it, so
// that nothing has to be cleared here.
func (w *Writer) startBlock() {
	w.block.reset()
	w.blocks++ // rows of the roster have smaller numbers, or 0 when new
}

// endBlock writes the block.
func (w *Writer) endBlock() {
	b, e := &w.block, w.extent
	w.heads = b.appendHeads(w.heads[:0], e.Stream)
	heads := w.chunk(kindHeads, w.heads)
	bodies := w.chunk(kindBodies, b.bodies)
	e.blocks = append(e.blocks, blockKey{
		first: b.first, last: e.Last, latest: b.latest, count: b.count,
		offset: heads.offset, heads: heads.bytes, bodies: bodies.bytes,
	})
	w.startBlock()
}

// endExtent writes what is left of the extent, and its dictionary.
func (w *Writer) endExtent() error {
	if w.extent == nil {
		return nil
	}
	if w.block.count > 0 {
		w.endBlock()
	}
	w.extent.subjects = w.writeDictionary(&w.extent.Extent)
	w.extents = append(w.extents, w.extent)
	w.extent = nil
	return w.flush(false)
}

// chunk appends a chunk, compressed if that helps.
func (w *Writer) chunk(k kind, content []byte) location {
	if w.compress {
		var ok bool
		if w.scratch, ok = compress(w.scratch, content); ok {
			return w.append(k, w.scratch, true, len(content))
		}
	}
	return w.append(k, content, false, len(content))
}

// plainChunk appends a chunk that is not compressed.
func (w *Writer) plainChunk(k kind, content []byte) location {
	return w.append(k, content, false, len(content))
}

// append adds a chunk to what is to be written. It cannot fail but for content that no chunk can have, and
// then latches the error: so what is built from chunks needs no error handling before its next flush.
func (w *Writer) append(k kind, content []byte, compressed bool, raw int) location {
	start := len(w.out)
	at := location{offset: w.offset + uint64(start)}
	if uint64(len(content)) > math.MaxUint32-1024 {
		w.fail("write", ErrTooLarge) // latched: whoever appends comes to flush
		return at
	}
	w.out = w.frame.append(w.out, at.offset, k, content, compressed, raw)
	at.bytes = uint32(len(w.out) - start)
	return at
}

// flush writes what has gathered, once it is much or if all is to be written.
func (w *Writer) flush(all bool) error {
	if w.err != nil || len(w.out) < flushBytes && !all {
		return w.err
	}
	if _, err := w.file.WriteAt(w.out, int64(w.offset)); err != nil {
		return w.fail("write", err)
	}
	w.offset += uint64(len(w.out))
	w.out = w.out[:0]
	return nil
}

// Finish completes the file, syncs it and closes it. The caller syncs the directory.
func (w *Writer) Finish() (Summary, error) {
	if err := w.usable(); err != nil {
		return Summary{}, err
	}
	if err := w.endExtent(); err != nil {
		return Summary{}, err
	}
	w.endFacts()
	f := footer{tables: w.tables, extents: make([]extent, len(w.extents))}
	for i, e := range w.extents {
		f.extents[i].Extent, f.extents[i].blocks, f.extents[i].subjects = e.Extent, e.blocks, e.subjects
	}
	start := len(w.out)
	at := w.plainChunk(kindFooter, f.append(nil))
	checksum := w.frame.checksum(at.offset, w.out[start:])
	w.out = appendTrailer(w.out, w.id, at)
	if err := w.flush(true); err != nil {
		return Summary{}, err
	}
	if err := w.file.SyncData(); err != nil {
		return Summary{}, w.fail("sync", err)
	}
	err := w.file.Close()
	w.file = nil
	if err != nil {
		return Summary{}, w.fail("close", err)
	}
	return f.summary(w.id.file, int64(w.offset), checksum), nil
}

// Abort ends a writer whose file is not wanted, and removes it. After Finish it does nothing unless that
// has failed.
func (w *Writer) Abort() error {
	if w.file == nil && w.err == nil {
		return nil
	}
	var closed error
	if w.file != nil {
		closed = w.file.Close()
		w.file = nil
	}
	w.err = errFinished
	return errors.Join(closed, w.fs.Remove(w.name))
}

// summary describes a file with this footer.
func (f *footer) summary(id FileID, bytes int64, checksum uint32) Summary {
	s := Summary{ID: id, Bytes: bytes, Checksum: checksum}
	for i := range f.extents {
		s.Extents = append(s.Extents, f.extents[i].Extent)
	}
	for i := range f.tables {
		s.Facts = append(s.Facts, f.tables[i].FactTable)
	}
	return s
}
