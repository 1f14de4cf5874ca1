// Package wal is the write-ahead log that all streams and raft groups of a server share: records are
// appended by many, written and synced by one goroutine, and read back once, when the log is opened.
//
// # Use
//
//	log, recovered, err := wal.Open(wal.Config{FS: vfs.Disk{}, Dir: dir})
//	for entry, err := range recovered.All() { ... }   // oldest first
//	position, err := log.Append(ctx, wal.Record{Group: 7, Kind: 1, Index: 12, Payload: p})
//	err = log.Wait(ctx, position)                     // now it is safe
//	log.Release(7, position)                          // what group 7 has before is not needed any more
//
// # Batches
//
// What is appended while a sync runs is one batch: one write, one sync, however many records and waiters.
// Nothing is delayed to fill a batch. A batch has a sequence number, which is the Position of its records.
// The records of one Append are in one batch: after a crash all are there or none.
//
// # Files
//
// The log is a row of segments with consecutive numbers, named by them. A segment is allocated in full and
// synced before it gets its number, and one that is not needed any more gets a new number instead of being
// removed: a sync that has no block to allocate and no length to change needs no journal, which halves it.
// It also means that a full disk is noticed before a record is accepted. docs/format/wal.md draws the bytes.
//
//	segment   page with version, number, id of the log | batch | batch | ... | what an earlier use left
//	batch     header {bytes, sequence, synced, previous, ...} | record | record | ... | up to 7 zeros
//	record    header {checksum, bytes, group, index, term, kind} | payload
//
// Every checksum is a CRC-32C that starts from the segment's number and the offset, so that what is left
// from an earlier use of the file never looks valid. Each batch holds the checksum of the one before it.
//
// # Recovery
//
// Each batch says which batch was the last one known to be synced when it was written. So an invalid place
// can be judged: if anything later says that it was synced, it is damage: the rest stays, and what is lost is
// reported with file, offset and, where it can be told, group and index. If not, the log was interrupted
// there: it ends before that batch, and what is cut off is reported too.
//
// Batches that nothing proves to be synced may have been read from the page cache without being on the
// disk. They are written once more, into a segment of their own, and synced, before Open returns; from then
// on its first sequence number ends the segments before it.
//
// # Failure
//
// When a write or a sync fails the log is dead: every later call returns ErrPoisoned. Nobody can say what
// the file holds then; only opening it again can. Only a full disk is different: it is noticed while a
// segment is prepared, Append returns ErrNoSpace and works again when there is space.
package wal

import (
	"errors"
	"fmt"
	"time"

	"runnel/jetlog/vfs"
)

// Errors of a Log. They are wrapped; compare with errors.Is.
var (
	// ErrPoisoned: a write or sync failed earlier. The process should stop and open the log again.
	ErrPoisoned = errors.New("log has failed and takes nothing more")
	// ErrClosed: Close was called.
	ErrClosed = errors.New("log is closed")
	// ErrNoSpace: the disk is full and what was allocated ahead is used up. Nothing was appended; the
	// same call may succeed later.
	ErrNoSpace = errors.New("no space for another log segment")
	// ErrFull: all segments that the log may have are in use; Append would wait until records are released.
	ErrFull = errors.New("log is full until records are released")
	// ErrTooLarge: the records do not fit into a segment together.
	ErrTooLarge = errors.New("records are larger than a log segment")
	// ErrVersion: a file was written by a newer version of the program.
	ErrVersion = errors.New("log was written by a newer version")
	// ErrForeign: a file belongs to another log.
	ErrForeign = errors.New("segment belongs to another log")
	// ErrSealed: a record is encrypted and cannot be opened with what Config.Cipher has.
	ErrSealed = errors.New("record is encrypted with another key")
)

// Position is the place of a record in the order of the log. Records of one batch share it. It grows by
// one from batch to batch, over restarts too; the first is 1.
type Position uint64

// End is after every position.
const End = ^Position(0)

// Policy says when Wait may return.
type Policy uint8

const (
	// Always: after a sync. It follows the write at once, unless all records of a batch are relaxed.
	Always Policy = iota
	// Interval: after the write; a sync follows within Config.Interval. A power cut loses at most that.
	Interval
	// OS: after the write; syncs happen when a segment is full and in Close.
	OS
)

// Cipher encrypts payloads. It is called concurrently.
type Cipher interface {
	// Seal appends the encrypted form of plain to dst. bound is not stored with it, but Open needs the
	// same.
	Seal(dst, plain, bound []byte) []byte
	// Open appends what Seal was given to dst, or returns an error if sealed or bound is not the same.
	Open(dst, sealed, bound []byte) ([]byte, error)
	// Overhead is how many bytes Seal adds at most.
	Overhead() int
}

// Config says where a log is and how it works. Zero values mean the defaults.
type Config struct {
	FS  vfs.FS   // required
	Dir string   // required; made if it is missing; holds nothing but the log
	ID  [16]byte // of the log; segments with another one are refused

	SegmentBytes int64 // length of new segments; default 16 MiB
	MaxBytes     int64 // of all segments together; default 512 MiB, at least 4 segments
	BatchBytes   int   // queued and not yet being written, beyond which Append waits; default 1 MiB
	Ready        int   // segments prepared ahead; default 3
	Reserve      int   // how many of those only AppendReserved may begin; default 1, less than Ready

	Policy   Policy        // when Wait returns; default Always
	Interval time.Duration // between syncs with the policy Interval; default 100 ms
	Cipher   Cipher        // for payloads; nil stores them as they are

	// OnDurable is called after each batch, in order, when Wait for its position would return. It runs on
	// the goroutine that writes: it must be quick, and must not wait in Append, or for what is appended.
	OnDurable func(Position)
	// OnWritten is called after each batch with relaxed records, in order, when it is written and not yet
	// synced. The same holds for it.
	OnWritten func(Position)
}

const (
	defaultSegmentBytes = 16 << 20
	defaultMaxBytes     = 512 << 20
	defaultBatchBytes   = 1 << 20
	defaultReady        = 3
	defaultInterval     = 100 * time.Millisecond

	// segmentBytesMin lets a segment hold a page of header and some records; segmentBytesMax keeps
	// lengths within a batch header's 32 bits.
	segmentBytesMin = 2 * segmentHeader
	segmentBytesMax = 1 << 30
	segmentsMin     = 4
)

// withDefaults fills in what is zero and refuses what cannot work.
func (c Config) withDefaults() (Config, error) {
	if c.SegmentBytes == 0 {
		c.SegmentBytes = defaultSegmentBytes
	}
	if c.MaxBytes == 0 {
		c.MaxBytes = max(defaultMaxBytes, segmentsMin*c.SegmentBytes)
	}
	if c.BatchBytes == 0 {
		c.BatchBytes = defaultBatchBytes
	}
	if c.Ready == 0 {
		c.Ready = defaultReady
		c.Reserve = max(c.Reserve, 1)
	}
	if c.Interval == 0 {
		c.Interval = defaultInterval
	}
	switch {
	case c.FS == nil || c.Dir == "":
		return c, errors.New("log: FS and Dir are required")
	case c.SegmentBytes < segmentBytesMin || c.SegmentBytes > segmentBytesMax:
		return c, fmt.Errorf("log: segments of %d bytes, want %d to %d", c.SegmentBytes, segmentBytesMin, segmentBytesMax)
	case c.MaxBytes/c.SegmentBytes < segmentsMin:
		return c, fmt.Errorf("log: %d bytes hold fewer than %d segments of %d", c.MaxBytes, segmentsMin, c.SegmentBytes)
	case c.BatchBytes < 0 || c.Interval < 0 || c.Policy > OS:
		return c, errors.New("log: negative batch size or interval, or an unknown policy")
	case c.Reserve < 0 || c.Ready <= c.Reserve || int64(c.Ready) >= c.MaxBytes/c.SegmentBytes:
		return c, fmt.Errorf("log: %d segments ready of which %d reserved, want fewer reserved than ready and fewer ready than in all", c.Ready, c.Reserve)
	}
	return c, nil
}
