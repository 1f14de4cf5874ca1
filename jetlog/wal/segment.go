package wal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"runnel/jetlog/vfs"
)

// segmentHeader is the first page of a segment, of which 44 bytes are used:
//
//	 0  magic     8   segmentMagic
//	 8  version   1   segmentVersion
//	 9  zero      3
//	12  number    8   the one in the name
//	20  id       16   of the log
//	36  bytes     4   length of the file
//	40  checksum  4   of the 40 bytes before it
//
// It is a page of its own, since it must not be written again with the batches.
const segmentHeader = 4096

const (
	segmentMagic   = "runnelWL"
	segmentVersion = 1
)

// Names of the files in the directory of a log. Number and extension make a segment; the rest is not
// part of the log.
const (
	segmentExtension = ".wal"
	damagedExtension = ".damaged" // a damaged segment that is not needed any more, kept for whoever looks into it
	sparePrefix      = "spare-"   // a file that waits for its next number
	newName          = "new.tmp"  // a segment in the making
)

func segmentName(number uint64) string { return fmt.Sprintf("%020d%s", number, segmentExtension) }

// segmentNumber is the number in a segment's name, or false.
func segmentNumber(name string) (uint64, bool) {
	digits, ok := strings.CutSuffix(name, segmentExtension)
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, ok && err == nil && name == segmentName(n) && n > 0
}

// segment is a file of the log. Its fields belong to the Log, under its mutex, but for the file, which
// belongs to the goroutine that writes.
type segment struct {
	number  uint64
	path    string
	bytes   int64
	file    vfs.File            // nil when nothing is written any more
	groups  map[uint64]Position // groups whose records here are needed, with the last one's position
	last    Position            // of the last batch
	retired bool                // nothing is written any more
	damaged bool                // recovery found damage: not to be used again
	pinned  bool                // and nobody has accepted that yet
}

// putSegmentHeader fills a page.
func putSegmentHeader(page []byte, number uint64, id [16]byte, size int64) {
	clear(page[:segmentHeader])
	copy(page, segmentMagic)
	page[8] = segmentVersion
	binary.LittleEndian.PutUint64(page[12:], number)
	copy(page[20:36], id[:])
	binary.LittleEndian.PutUint32(page[36:], uint32(size))
	binary.LittleEndian.PutUint32(page[40:], headerChecksum(page))
}

func headerChecksum(page []byte) uint32 {
	var b [44]byte // the checksum's place comes first elsewhere
	copy(b[4:], page[:40])
	return checksum(b[:], 0, 0)
}

// checkSegmentHeader says what is damaged in the header of a segment; err is for one that is whole but not
// for us.
func checkSegmentHeader(page []byte, number uint64, id [16]byte) (damage string, err error) {
	if len(page) < 44 || !bytes.HasPrefix(page, []byte(segmentMagic)) ||
		binary.LittleEndian.Uint32(page[40:]) != headerChecksum(page) {
		return damagedHeader, nil
	}
	switch found := binary.LittleEndian.Uint64(page[12:]); {
	case page[8] > segmentVersion:
		return "", fmt.Errorf("%w: format %d, this program knows %d; upgrade", ErrVersion, page[8], segmentVersion)
	case !bytes.Equal(page[20:36], id[:]):
		return "", fmt.Errorf("%w: its id is %x, ours is %x", ErrForeign, page[20:36], id)
	case found != number:
		return fmt.Sprintf("segment header: it is of segment %d", found), nil
	}
	return "", nil
}

// maker makes segments: it knows what they have in common.
type maker struct {
	fs    vfs.FS
	dir   string
	id    [16]byte
	bytes int64
}

func (m *maker) path(name string) string { return filepath.Join(m.dir, name) }

// putAside takes the number from a segment: its file becomes a spare one.
func (m *maker) putAside(path string, number uint64) (spare string, err error) {
	spare = m.path(fmt.Sprintf("%s%020d", sparePrefix, number))
	return spare, m.rename(path, spare)
}

// rename gives a file another name that is safe, or leaves it as it was with ErrNoSpace: a crash in between may find
// either name, and both are right.
func (m *maker) rename(from, to string) error {
	if err := m.fs.Rename(from, to); err != nil {
		return err
	}
	err := scarce(m.fs.SyncDir(m.dir))
	if errors.Is(err, ErrNoSpace) {
		if back := m.fs.Rename(to, from); back != nil {
			return back
		}
	}
	return err
}

// remove removes a file for good. After ErrNoSpace it may be tried again.
func (m *maker) remove(path string) error {
	if err := m.fs.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return scarce(m.fs.SyncDir(m.dir))
}

// scarce makes an ErrNoSpace of the error that no more files may be open: a file that somebody closes is as good as space.
func scarce(err error) error {
	if vfs.TooManyFiles(err) {
		return fmt.Errorf("%w: %w", ErrNoSpace, err)
	}
	return err
}

// zeroChunk is how much is filled with zeros at once. The system caches a file in pieces of up to the length of the
// write that made them, and to sync one byte looks at the whole piece that it is in: with pages a sync of a small batch
// takes half as long as with pieces of 256 KiB.
const zeroChunk = 4 << 10

// make turns a spare file, or a new one if spare is empty, into the segment with this number, which is
// safe, and in which fill, if given, has written something after the header. It never leaves a file with
// the number that is not complete.
func (m *maker) make(number uint64, spare string, size int64, fill func(vfs.File) error) (*segment, error) {
	from := spare
	if from == "" {
		from = m.path(newName)
	}
	path := m.path(segmentName(number))
	err := m.write(from, spare == "", number, size, fill)
	if err == nil {
		err = m.rename(from, path)
	}
	var f vfs.File
	if err == nil {
		if f, err = m.fs.OpenReadWrite(path); vfs.TooManyFiles(err) {
			err = errors.Join(scarce(err), m.fs.Rename(path, from)) // either name is right after a crash
		}
	}
	if err != nil {
		if spare == "" {
			_ = m.fs.Remove(from) // gives its space back; the next attempt starts over in any case
		}
		return nil, fmt.Errorf("prepare log segment %d: %w", number, err)
	}
	return &segment{number: number, path: path, bytes: size, file: f, groups: map[uint64]Position{}}, nil
}

// write writes the file that becomes a segment and makes it safe, but for its name.
func (m *maker) write(path string, fresh bool, number uint64, size int64, fill func(vfs.File) error) (err error) {
	open := m.fs.OpenReadWrite
	if fresh {
		open = m.fs.Create
	}
	f, err := open(path)
	if err != nil {
		return scarce(err)
	}
	defer func() {
		if closed := f.Close(); err == nil {
			err = closed
		}
	}()
	if fresh {
		if err := zero(f, size); err != nil {
			return err
		}
	}
	page := make([]byte, segmentHeader)
	putSegmentHeader(page, number, m.id, size)
	if _, err := f.WriteAt(page, 0); err != nil {
		return err
	}
	if fill != nil {
		if err := fill(f); err != nil {
			return err
		}
	}
	return f.Sync()
}

// zero fills a new file.
func zero(f vfs.File, size int64) error {
	chunk := make([]byte, min(size, zeroChunk))
	for at := int64(0); at < size; at += int64(len(chunk)) {
		if _, err := f.WriteAt(chunk[:min(int64(len(chunk)), size-at)], at); err != nil {
			return err
		}
	}
	return nil
}
