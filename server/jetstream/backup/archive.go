package backup

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"runnel/jetlog/config"
)

// archive reads version 1: a tar archive of the files that nats-server 2.10 to 2.14 keep a stream in.
//
//	meta.inf           configuration of the stream (not read: it comes with the request to restore)
//	msgs/1.blk ...     records of messages, the blocks in the order of their sequences
//	msgs/index.db      sequences, sizes, and for each block what is deleted in it
//	obs/NAME/meta.inf  configuration of a consumer
//	obs/NAME/o.dat     its state
//
// A message that is in a block can have been deleted: that stands in the index, in records that
// say so, or in a mark of the message itself. All but the mark come behind the messages, so the
// archive is read twice, first for what is deleted. The sums of records and of meta files have
// keys; they are not verified, since the S2 format has checksums of its own.
type archive struct {
	in      *input
	tar     *tar.Reader
	index   *index
	stated  bool
	block   *block           // that is being read, nil for none
	pending *config.Consumer // whose state has not come yet
}

// isTar reports whether a tar archive begins like this.
func isTar(head []byte) bool {
	return len(head) == peekBytes && bytes.HasPrefix(head[257:], []byte("ustar"))
}

// newArchive reads the archive once, and goes back to its beginning.
func newArchive(r io.Reader) (*archive, error) {
	seeker, ok := r.(io.ReadSeeker)
	if !ok {
		return nil, ErrSeek
	}
	a := &archive{}
	if err := a.rewind(seeker); err != nil {
		return nil, err
	}
	if err := a.survey(); err != nil {
		return nil, err
	}
	return a, a.rewind(seeker)
}

// rewind begins to read from the beginning.
func (a *archive) rewind(s io.ReadSeeker) error {
	if _, err := s.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("read backup: %w", err)
	}
	a.in = newInput(s)
	a.tar = tar.NewReader(a.in)
	return nil
}

// survey collects what is deleted. It reads all records, so damage shows before the first entry.
func (a *archive) survey() error {
	deleted, consumers := sequences{}, 0
	for {
		h, err := a.file()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		switch {
		case isBlock(h.Name):
			err = a.tombstones(h.Name, deleted)
		case h.Name == indexName:
			var data []byte
			if data, err = a.content(h); err == nil {
				a.index, err = decodeIndex(data, deleted)
			}
		case isConsumerState(h.Name):
			consumers++
		}
		if err != nil {
			return err
		}
	}
	if a.index == nil {
		return fmt.Errorf("%w: it has no %s, so it is of nats-server 2.9 or earlier: "+
			"restore it in nats-server 2.10 or later, and take a backup of that", ErrVersion, indexName)
	}
	a.index.state.Consumers = consumers
	return nil
}

// tombstones collects the deletions that a block records.
func (a *archive) tombstones(name string, deleted sequences) error {
	b := newBlock(a.tar)
	for {
		r, err := b.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return a.failed(name, err)
		}
		if r.tombstone {
			if err := deleted.add(r.sequence); err != nil {
				return err
			}
		}
	}
}

// next returns the state, then live messages, then consumers.
func (a *archive) next() (Entry, error) {
	if !a.stated {
		a.stated = true
		s := a.index.state
		return Entry{State: &s}, nil
	}
	for {
		e, err := a.step()
		if err != nil || e != (Entry{}) {
			return e, err
		}
	}
}

// step reads one record or one file. It returns no entry for those that have none.
func (a *archive) step() (Entry, error) {
	if a.block != nil {
		return a.message()
	}
	h, err := a.file()
	if errors.Is(err, io.EOF) && a.pending != nil {
		return Entry{}, fmt.Errorf("%w: consumer %q has no state", ErrDamaged, a.pending.Name)
	}
	if err != nil {
		return Entry{}, err
	}
	if isBlock(h.Name) {
		a.block = newBlock(a.tar)
		return Entry{}, nil
	}
	if rest, ok := strings.CutPrefix(h.Name, "obs/"); ok {
		name, file, _ := strings.Cut(rest, "/")
		return a.consumer(h, name, file)
	}
	return Entry{}, nil
}

// message reads a record of the current block.
func (a *archive) message() (Entry, error) {
	r, err := a.block.next()
	if errors.Is(err, io.EOF) {
		a.block = nil
		return Entry{}, nil
	}
	if err != nil {
		return Entry{}, a.failed("block", err)
	}
	if r.tombstone || r.erased || !a.index.live(r.sequence) {
		return Entry{}, nil
	}
	content, err := a.block.content()
	if err != nil {
		return Entry{}, a.failed(fmt.Sprintf("message %d", r.sequence), err)
	}
	m, err := r.message(content)
	return Entry{Message: m}, err
}

// consumer reads a file of a consumer. The configuration comes before the state.
func (a *archive) consumer(h *tar.Header, name, file string) (Entry, error) {
	if file != "meta.inf" && file != "o.dat" {
		return Entry{}, nil
	}
	data, err := a.content(h)
	if err != nil {
		return Entry{}, err
	}
	if file == "meta.inf" {
		if a.pending != nil {
			return Entry{}, fmt.Errorf("%w: consumer %q has no state", ErrDamaged, a.pending.Name)
		}
		a.pending = new(config.Consumer)
		if err := json.Unmarshal(data, a.pending); err != nil {
			return Entry{}, fmt.Errorf("%w: %s: %w", ErrDamaged, h.Name, err)
		}
		return Entry{}, nil
	}
	if a.pending == nil {
		return Entry{}, fmt.Errorf("%w: %s: the consumer has no configuration", ErrDamaged, h.Name)
	}
	state, err := decodeConsumerState(data)
	if err != nil {
		return Entry{}, fmt.Errorf("%s: %w", h.Name, err)
	}
	c := &Consumer{Config: *a.pending, State: state}
	a.pending = nil
	return Entry{Consumer: c}, c.settle(name)
}

// file goes to the next file of the archive.
func (a *archive) file() (*tar.Header, error) {
	h, err := a.tar.Next()
	if errors.Is(err, io.EOF) {
		return nil, a.end()
	}
	if err != nil {
		return nil, a.in.broken("archive", err)
	}
	if len(h.Name) > maxNameBytes {
		return nil, fmt.Errorf("%w: a file name of %d bytes", ErrTooLarge, len(h.Name))
	}
	return h, nil
}

// end reads what the archive may be padded with, which also verifies the last checksum.
func (a *archive) end() error {
	if _, err := io.Copy(io.Discard, a.in); err != nil {
		return a.in.broken("end", err)
	}
	return io.EOF
}

// content reads a small file.
func (a *archive) content(h *tar.Header) ([]byte, error) {
	if h.Size < 0 || h.Size > maxJSONBytes {
		return nil, fmt.Errorf("%w: %s has %d bytes", ErrTooLarge, h.Name, h.Size)
	}
	data, err := take(a.tar, uint64(h.Size))
	if err != nil {
		return nil, a.in.broken(h.Name, err)
	}
	return data, nil
}

// failed keeps the errors that are ours, and explains the others.
func (a *archive) failed(part string, err error) error {
	if errors.Is(err, ErrDamaged) || errors.Is(err, ErrTooLarge) {
		return fmt.Errorf("%s: %w", part, err)
	}
	return a.in.broken(part, err)
}

const indexName = "msgs/index.db"

func isConsumerState(name string) bool {
	return strings.HasPrefix(name, "obs/") && strings.HasSuffix(name, "/o.dat")
}

func isBlock(name string) bool {
	return strings.HasPrefix(name, "msgs/") && strings.HasSuffix(name, ".blk")
}
