package backup

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/s2"

	"runnel/headers"
	"runnel/jetlog/body"
	"runnel/subjects"
)

// What a part of a backup may have at most.
const (
	maxNameBytes    = 64 << 10
	maxMessageBytes = 72 << 20 // header and payload; no server takes in more than 64 MiB
	maxJSONBytes    = 64 << 20
)

// peekBytes is how much is looked at to know the version: the first header of a tar archive.
const peekBytes = 512

// Entry is a part of a backup. Exactly one of its fields is set. What it points to belongs to the
// caller.
type Entry struct {
	State    *State
	Consumer *Consumer
	Message  *body.Message
}

// Reader reads a backup of either version, entry by entry. It holds one entry at a time and some
// buffers, whatever the size of the backup; of version 1 also which sequences are missing. It is
// for one goroutine.
type Reader struct {
	source  source
	version int
	last    uint64 // sequence of the last message
	err     error  // what ended it
}

// source is one form of a backup.
type source interface {
	// next returns the next entry, and io.EOF after the last.
	next() (Entry, error)
}

// NewReader looks at the beginning of a backup. Versions are told apart by what they contain. For
// version 1 r has to be an io.ReadSeeker that stands at its beginning, and is read once from
// there to the end before NewReader returns; otherwise the error is ErrSeek.
func NewReader(r io.Reader) (*Reader, error) {
	in := newInput(r)
	head, err := in.Peek(peekBytes)
	switch {
	case bytes.HasPrefix(head, []byte(magic)):
		// The length of the magic was just seen.
		_, _ = in.Discard(len(magic))
		return &Reader{source: &entries{in: in}, version: 2}, nil
	case isTar(head):
		a, err := newArchive(r)
		if err != nil {
			return nil, err
		}
		return &Reader{source: a, version: 1}, nil
	case in.failure() != nil:
		return nil, fmt.Errorf("read backup: %w", in.failure())
	case err != nil && !errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return nil, fmt.Errorf("%w: it begins with %.16q", ErrFormat, head)
}

// Version returns 2 for the form that NewWriter writes, and 1 for that of nats-server 2.10 to 2.14.
func (r *Reader) Version() int { return r.version }

// Next returns the next entry: the state first, consumers before the messages in version 2 and
// after them in version 1. After the last it returns io.EOF, and only then the backup was
// whole. Every other error is final.
func (r *Reader) Next() (Entry, error) {
	if r.err != nil {
		return Entry{}, r.err
	}
	e, err := r.source.next()
	if err == nil && e.Message != nil {
		err = r.check(e.Message)
	}
	if err != nil {
		r.err = err
		return Entry{}, err
	}
	return e, nil
}

// check holds a message to what every stream guarantees of its messages.
func (r *Reader) check(m *body.Message) error {
	switch {
	case m.Sequence <= r.last:
		return fmt.Errorf("%w: message %d comes after message %d", ErrDamaged, m.Sequence, r.last)
	case !subjects.ValidLiteral(m.Subject):
		return fmt.Errorf("%w: message %d has no valid subject: %.64q", ErrDamaged, m.Sequence, m.Subject)
	case m.Header != nil && !headers.Valid(m.Header):
		return fmt.Errorf("%w: message %d has no valid header block", ErrDamaged, m.Sequence)
	}
	r.last = m.Sequence
	return nil
}

// input is what is compressed, as a stream that tells its own faults from those of what it is
// read from.
type input struct {
	*bufio.Reader
	raw *rawInput
}

// rawInput remembers the error of a reader.
type rawInput struct {
	r   io.Reader
	err error
}

// Read reads on, and notes an error that is not the end.
func (i *rawInput) Read(p []byte) (int, error) {
	n, err := i.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		i.err = err
	}
	return n, err
}

// newInput begins to decompress.
func newInput(r io.Reader) *input {
	raw := &rawInput{r: r}
	return &input{Reader: bufio.NewReaderSize(s2.NewReader(raw, s2.ReaderAllocBlock(64<<10)), 64<<10), raw: raw}
}

// failure is why the input cannot be read, nil if it can.
func (i *input) failure() error { return i.raw.err }

// broken makes the error for a part that cannot be read: damage, unless reading itself failed.
func (i *input) broken(part string, err error) error {
	if failure := i.failure(); failure != nil {
		return fmt.Errorf("read backup: %s: %w", part, failure)
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%w: %s: %w", ErrDamaged, part, err)
}

// takeStep is how much is allocated on the word of a length, before as much has been read.
const takeStep = 1 << 20

// take reads n bytes into memory of their own.
func take(r io.Reader, n uint64) ([]byte, error) {
	b := make([]byte, min(n, takeStep))
	for have := uint64(0); ; {
		if _, err := io.ReadFull(r, b[have:]); err != nil {
			return nil, err
		}
		have = uint64(len(b))
		if have == n {
			return b, nil
		}
		longer := make([]byte, min(n, 2*have))
		copy(longer, b)
		b = longer
	}
}
