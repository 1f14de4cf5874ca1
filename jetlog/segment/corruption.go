package segment

import (
	"errors"
	"fmt"
	"slices"
)

// Corruption says that a file does not hold what was written to it, and what is concerned. Match it with
// errors.As; errors of reading that say nothing about the file's content are not of this type.
type Corruption struct {
	File   string
	Offset int64  // of the chunk, header or trailer that is wrong
	Stream uint64 // whose messages or subjects are concerned; 0 if it is not known or concerns all
	First  uint64 // lowest sequence concerned; 0 if it is not known
	Last   uint64 // highest sequence concerned
	Err    error  // what is wrong
}

// Error implements error.
func (c *Corruption) Error() string {
	where := fmt.Sprintf("segment %s is damaged at offset %d", c.File, c.Offset)
	if c.Stream != 0 || c.First != 0 {
		where += fmt.Sprintf(" (stream %d, sequences %d to %d)", c.Stream, c.First, c.Last)
	}
	return fmt.Sprintf("%s: %v", where, c.Err)
}

// Unwrap gives what is wrong.
func (c *Corruption) Unwrap() error { return c.Err }

// Concerns reports whether an error, which may be several that are joined, says that what a file has of a stream may be damaged.
// What is not known to be of another stream concerns all.
func Concerns(err error, stream uint64) bool {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return slices.ContainsFunc(joined.Unwrap(), func(e error) bool { return Concerns(e, stream) })
	}
	var c *Corruption
	return !errors.As(err, &c) || c.Stream == 0 || c.Stream == stream
}

var (
	// ErrNewer is returned for a file that a newer version of the program has written.
	ErrNewer = errors.New("segment was written by a newer version: upgrade to read it")
	// ErrKey is returned for a sealed file whose key is not among those given.
	ErrKey = errors.New("segment is sealed with a key that is not known: configure it as previous key")
	// ErrSeal is what a Corruption wraps when a checksum is right and the seal is not: somebody has
	// changed the file.
	ErrSeal = errors.New("seal is broken: the file was changed")
	// ErrOrder is returned by a Writer for messages or facts that come out of order.
	ErrOrder = errors.New("out of order")
	// ErrCold is returned by a segment that does not read, for what is not in memory: see Cached.
	ErrCold = errors.New("not in memory")
	// ErrTooLarge is returned by a Writer for what does not fit in a file.
	ErrTooLarge = errors.New("too large for a segment")
)

// What a Corruption wraps besides ErrSeal.
var (
	errChecksum = errors.New("checksum does not match")
	errShort    = errors.New("file ends early")
	errKind     = errors.New("another kind of chunk is expected")
	errLength   = errors.New("length is out of bounds")
	errFlags    = errors.New("unknown flags")
	errMagic    = errors.New("not a segment file, or its end is missing")
	errPlace    = errors.New("chunks overlap or lie outside the file")
	errFormat   = errors.New("content is malformed")
	errSequence = errors.New("sequences are not those of the index")
	errSummary  = errors.New("messages are not those of the index")
	errSubjects = errors.New("subjects are not those of the messages")
	errFacts    = errors.New("facts are not those of the index")
	errReplaced = errors.New("file is not the one that was opened")
	errHeader   = errors.New("header and trailer differ")
)

func isCorruption(err error) bool {
	var c *Corruption
	return errors.As(err, &c)
}
