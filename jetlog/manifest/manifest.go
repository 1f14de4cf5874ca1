// Package manifest is the file that says what a store has: its streams, their state as of their last flush,
// and which segment files belong to which stream. Nothing that it does not name is part of the store.
// docs/format/manifest.md draws the bytes.
//
// A Catalog is that in memory. It is changed by Edits; each is one record, synced before anything relies
// on it, and holds as a whole or not at all.
package manifest

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"runnel/jetlog/seal"
	"runnel/jetlog/vfs"
)

// The manifest is one file, a header and records, each synced before anything relies on it:
//
//	magic 8 | version u32 | flags u32 | number u64 | store id 16 | crc32c u32
//	{bytes u32 | crc32c of that u32 | crc32c of the payload u32 | payload}   ...
//
// Checksums of records start from the file's number and the offset, so that nothing is valid at another
// place; that of the length is there so that a search for records behind damage is quick. The payload is an edit, sealed if
// the flag says so. A file begins with an edit that has everything; a new file, with the next number,
// replaces it whenever the store is opened, and when it has grown a lot.
const (
	manifestMagic   = "RNLMANIF"
	manifestVersion = 1
	manifestHeader  = 44
	recordHeader    = 12
	recordBytesMax  = 1 << 30
	manifestPrefix  = "manifest-"
	temporary       = ".tmp"

	flagSealed = 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Errors of this package. They are wrapped; compare with errors.Is.
var (
	// ErrNewer: the manifest was written by a newer version of the program.
	ErrNewer = errors.New("written by a newer program")
)

// Damage says that the manifest, behind which nothing can be found, is not as it was written.
type Damage struct {
	File   string
	Offset int64 // of the record that is wrong; 0 for the header
	Later  int64 // of a valid record behind it, 0 if there is none
}

// Error implements error.
func (d *Damage) Error() string {
	return fmt.Sprintf("manifest %s is damaged at offset %d: restore it from a backup, or salvage the streams", d.File, d.Offset)
}

// Manifest is the file. It is for one goroutine at a time.
//
// Invariant: what is before offset is whole and synced.
type Manifest struct {
	fs     vfs.FS
	dir    string
	id     [16]byte     // of the store
	seal   *seal.Sealer // nil if nothing is sealed
	number uint64
	file   vfs.File
	offset int64 // where the next record goes
	base   int64 // where the records after the first began
	failed error // a write or sync that failed: what the file holds is not known
}

// New returns the manifest of a directory, which is not read yet. The id is that of the store if there is
// none; a sealer of nil seals nothing.
func New(fsys vfs.FS, dir string, id [16]byte, sealer *seal.Sealer) *Manifest {
	return &Manifest{fs: fsys, dir: dir, id: id, seal: sealer}
}

// ID is the id of the store.
func (m *Manifest) ID() [16]byte { return m.id }

// Number is that of the file, 0 if there is none.
func (m *Manifest) Number() uint64 { return m.number }

// Failed says why nothing can be added any more: a write or sync failed, and what the file holds is not
// known. It is nil after an error that changed nothing.
func (m *Manifest) Failed() error { return m.failed }

// Owner returns the path of another manifest in the directory, and whether it is of the same store.
func (m *Manifest) Owner(number uint64) (path string, same bool, err error) {
	other := Manifest{fs: m.fs, dir: m.dir, number: number, seal: m.seal}
	path = other.path(number)
	data, err := readAll(m.fs, path)
	if err != nil {
		return path, false, fmt.Errorf("read manifest: %w", err)
	}
	_, err = other.parseHeader(path, data)
	return path, err == nil && other.id == m.id, nil
}

func (m *Manifest) path(number uint64) string {
	return filepath.Join(m.dir, fmt.Sprintf("%s%08d", manifestPrefix, number))
}

// Numbers lists the manifests of a directory, ascending.
func Numbers(fsys vfs.FS, dir string) ([]uint64, error) {
	entries, err := fsys.List(dir)
	if err != nil {
		return nil, fmt.Errorf("list store: %w", err)
	}
	var numbers []uint64
	for _, e := range entries {
		digits, ok := strings.CutPrefix(e.Name, manifestPrefix)
		if n, err := strconv.ParseUint(digits, 10, 64); ok && err == nil && !e.Dir {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

// NewID returns a random id of a store, and a key for its hashes.
func NewID() (id [16]byte, key [2]uint64) {
	var b [32]byte
	rand.Read(b[:]) // never fails
	copy(id[:], b[:])
	return id, [2]uint64{binary.LittleEndian.Uint64(b[16:]), binary.LittleEndian.Uint64(b[24:])}
}

// Create begins the next manifest with all that the catalog has, and removes the one before.
func (m *Manifest) Create(c *Catalog) error {
	number := m.number + 1
	name := m.path(number)
	file, end, err := m.write(name+temporary, number, c.whole())
	if err != nil {
		return fmt.Errorf("write manifest: %w", err)
	}
	if err := m.publish(file, name); err != nil {
		// The new file may be there or not: what is added to the old one could be lost.
		m.failed = fmt.Errorf("write manifest: %w", err)
		return m.failed
	}
	if file, err = m.fs.OpenReadWrite(name); err != nil {
		m.failed = fmt.Errorf("open manifest: %w", err)
		return m.failed
	}
	if m.file != nil {
		_ = m.file.Close() // nothing in it is needed any more
	}
	old := m.number
	m.number, m.file, m.offset, m.base, m.failed = number, file, end, end, nil
	if old > 0 {
		if err := m.fs.Remove(m.path(old)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove manifest: %w", err)
		}
	}
	return nil
}

// Resume goes on in the file that was loaded, where there is no room for a new one.
func (m *Manifest) Resume() error {
	file, err := m.fs.OpenReadWrite(m.path(m.number))
	if err == nil {
		err = file.Sync()
	}
	if err != nil {
		return fmt.Errorf("open manifest: %w", err)
	}
	m.file, m.failed = file, nil
	return nil
}

// publish gives a complete file its name.
func (m *Manifest) publish(file vfs.File, name string) error {
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := m.fs.Rename(name+temporary, name); err != nil {
		return err
	}
	return m.fs.SyncDir(m.dir)
}

// write makes a file with a header and one record.
func (m *Manifest) write(name string, number uint64, e *Edit) (vfs.File, int64, error) {
	file, err := m.fs.Create(name)
	if err != nil {
		return nil, 0, err
	}
	b := m.header(number)
	b, err = m.record(b, number, manifestHeader, e)
	if err == nil {
		_, err = file.WriteAt(b, 0)
	}
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	return file, int64(len(b)), nil
}

func (m *Manifest) header(number uint64) []byte {
	b := append([]byte(nil), manifestMagic...)
	b = binary.LittleEndian.AppendUint32(b, manifestVersion)
	flags := uint32(0)
	if m.seal != nil {
		flags |= flagSealed
	}
	b = binary.LittleEndian.AppendUint32(b, flags)
	b = binary.LittleEndian.AppendUint64(b, number)
	b = append(b, m.id[:]...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// boundTo names the place of a record, so that it is not taken for another.
func boundTo(number uint64, offset int64) []byte {
	b := binary.LittleEndian.AppendUint64(nil, number)
	return binary.LittleEndian.AppendUint64(b, uint64(offset))
}

// record appends the record for an edit that will stand at an offset.
func (m *Manifest) record(b []byte, number uint64, offset int64, e *Edit) ([]byte, error) {
	payload := e.Append(nil)
	if m.seal != nil {
		payload = m.seal.Seal(nil, payload, boundTo(number, offset))
	}
	if len(payload) > recordBytesMax {
		return nil, fmt.Errorf("a manifest record of %d bytes is too large", len(payload))
	}
	at := len(b)
	b = append(b, make([]byte, recordHeader)...)
	h := b[at:]
	binary.LittleEndian.PutUint32(h, uint32(len(payload)))
	binary.LittleEndian.PutUint32(h[4:], recordSum(number, offset, h[:4]))
	binary.LittleEndian.PutUint32(h[8:], recordSum(number, offset, payload))
	return append(b, payload...), nil
}

func recordSum(number uint64, offset int64, b []byte) uint32 {
	return crc32.Update(crc32.Checksum(boundTo(number, offset), castagnoli), castagnoli, b)
}

// Append writes a record and syncs it. After an error of the sync nobody knows what the file holds:
// every later call fails. A write that failed for lack of space has only left garbage behind the end.
func (m *Manifest) Append(e *Edit) error {
	if m.failed != nil {
		return m.failed
	}
	b, err := m.record(nil, m.number, m.offset, e)
	if err != nil {
		return err
	}
	if _, err := m.file.WriteAt(b, m.offset); err != nil {
		err = fmt.Errorf("write manifest %s: %w", m.path(m.number), err)
		if !vfs.NoSpace(err) {
			m.failed = err
		}
		return err
	}
	if err := m.file.SyncData(); err != nil {
		m.failed = fmt.Errorf("sync manifest %s: %w", m.path(m.number), err)
		return m.failed
	}
	m.offset += int64(len(b))
	return nil
}

// Overgrown reports whether a new file would be much smaller.
func (m *Manifest) Overgrown() bool { return m.offset-m.base > 4<<20+4*m.base }

// Close closes the file.
func (m *Manifest) Close() error {
	if m.file == nil {
		return nil
	}
	return m.file.Close()
}

// Torn says that the end of the manifest was not whole: its last record had not been synced
// when the process ended, so nothing relied on it.
type Torn struct {
	File   string
	Offset int64 // of the record
	Bytes  int64 // up to the end of the file
}

// Load reads the manifest with the highest number into an empty catalog. It is false if there is none.
func (m *Manifest) Load(c *Catalog) (torn *Torn, found bool, err error) {
	numbers, err := Numbers(m.fs, m.dir)
	if err != nil || len(numbers) == 0 {
		return nil, false, err
	}
	m.number = numbers[len(numbers)-1]
	name := m.path(m.number)
	data, err := readAll(m.fs, name)
	if err != nil {
		return nil, false, fmt.Errorf("read manifest: %w", err)
	}
	sealed, err := m.parseHeader(name, data)
	if err != nil {
		return nil, false, err
	}
	at := int64(manifestHeader)
	for at < int64(len(data)) {
		payload, ok := m.next(data, at)
		if !ok {
			break
		}
		if err := m.replay(c, payload, sealed, at); err != nil {
			return nil, false, fmt.Errorf("manifest %s, offset %d: %w", name, at, err)
		}
		at += int64(recordHeader + len(payload))
	}
	m.offset, m.base = at, at
	if at == int64(len(data)) && at > manifestHeader {
		return nil, true, nil
	}
	if where, ok := m.later(data, at); ok || at == manifestHeader {
		return nil, false, &Damage{File: name, Offset: at, Later: where}
	}
	return &Torn{File: name, Offset: at, Bytes: int64(len(data)) - at}, true, nil
}

func (m *Manifest) parseHeader(name string, data []byte) (sealed bool, err error) {
	if len(data) < manifestHeader || string(data[:8]) != manifestMagic {
		return false, &Damage{File: name}
	}
	h := data[:manifestHeader]
	if v := binary.LittleEndian.Uint32(h[8:]); v > manifestVersion {
		return false, fmt.Errorf("manifest %s has version %d, this program knows up to %d: %w", name, v, manifestVersion, ErrNewer)
	}
	if crc32.Checksum(h[:40], castagnoli) != binary.LittleEndian.Uint32(h[40:]) || binary.LittleEndian.Uint64(h[16:]) != m.number {
		return false, &Damage{File: name}
	}
	copy(m.id[:], h[24:])
	sealed = binary.LittleEndian.Uint32(h[12:])&flagSealed != 0
	if sealed && m.seal == nil {
		return false, fmt.Errorf("manifest %s: %w", name, seal.ErrKey)
	}
	return sealed, nil
}

// next returns the payload of the record at an offset; it is false if there is no valid one.
func (m *Manifest) next(data []byte, at int64) ([]byte, bool) {
	rest := data[at:]
	if len(rest) < recordHeader {
		return nil, false
	}
	n := int(binary.LittleEndian.Uint32(rest))
	if recordSum(m.number, at, rest[:4]) != binary.LittleEndian.Uint32(rest[4:]) || n > len(rest)-recordHeader {
		return nil, false
	}
	payload := rest[recordHeader : recordHeader+n]
	return payload, recordSum(m.number, at, payload) == binary.LittleEndian.Uint32(rest[8:])
}

// later looks for a valid record behind a place that is not valid.
func (m *Manifest) later(data []byte, at int64) (int64, bool) {
	for at++; at < int64(len(data)); at++ {
		if _, ok := m.next(data, at); ok {
			return at, true
		}
	}
	return 0, false
}

func (m *Manifest) replay(c *Catalog, payload []byte, sealed bool, at int64) error {
	if sealed {
		var err error
		if payload, err = m.seal.Open(nil, payload, boundTo(m.number, at)); err != nil {
			return err
		}
	}
	e, err := ReadEdit(payload)
	if err != nil {
		return err
	}
	return c.Apply(e)
}

// readAll reads a file.
func readAll(fsys vfs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	b := make([]byte, size)
	n, err := f.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return b[:n], nil
}
