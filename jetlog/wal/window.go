package wal

import (
	"errors"
	"fmt"
	"io"

	"runnel/jetlog/vfs"
)

// windowBytes is how much of a segment is read at once.
const windowBytes = 1 << 20

// window reads a segment that nobody writes to, in large pieces.
type window struct {
	file   vfs.File
	path   string
	number uint64
	bytes  int64 // length of the file
	buf    []byte
	at     int64 // where buf starts in the file
}

// openWindow opens a segment for reading.
func openWindow(fs vfs.FS, path string, number uint64) (*window, error) {
	f, err := fs.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open log segment: %w", err)
	}
	size, err := f.Size()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read log segment: %w", err), f.Close())
	}
	return &window{file: f, path: path, number: number, bytes: min(size, segmentBytesMax)}, nil
}

// errChanged: what was valid a moment ago is not any more.
var errChanged = errors.New("changed while it was read")

// withWindow opens a segment for the time of do. Errors name the segment.
func withWindow(fs vfs.FS, path string, number uint64, do func(*window) error) error {
	w, err := openWindow(fs, path, number)
	if err != nil {
		return err
	}
	err = errors.Join(do(w), w.file.Close())
	if err != nil {
		return fmt.Errorf("log segment %s: %w", path, err)
	}
	return nil
}

// view returns n bytes from an offset, or fewer at the end of the file. They are valid until the next call.
func (w *window) view(offset int64, n int) ([]byte, error) {
	n = int(max(0, min(int64(n), w.bytes-offset)))
	if skip := offset - w.at; skip >= 0 && skip+int64(n) <= int64(len(w.buf)) {
		return w.buf[skip : skip+int64(n)], nil
	}
	want := int(max(0, min(int64(max(n, windowBytes)), w.bytes-offset)))
	if cap(w.buf) < want {
		w.buf = make([]byte, want)
	}
	w.buf, w.at = w.buf[:want], offset
	got, err := w.file.ReadAt(w.buf, offset)
	w.buf = w.buf[:got]
	if err != nil && !errors.Is(err, io.EOF) {
		w.buf = w.buf[:0]
		return nil, fmt.Errorf("offset %d: %w", offset, err)
	}
	return w.buf[:min(n, got)], nil
}

// header reads the batch header at an offset; it is false if there is no valid one.
func (w *window) header(offset int64) (header, bool, error) {
	b, err := w.view(offset, batchHeader)
	if err != nil {
		return header{}, false, err
	}
	h, ok := decodeHeader(b, w.number, offset, w.bytes-offset)
	return h, ok, nil
}

// search looks for the first valid batch header at or behind an offset, with at least this sequence.
func (w *window) search(offset int64, sequence uint64) (int64, header, bool, error) {
	for at := align(offset); at+batchHeader <= w.bytes; {
		b, err := w.view(at, windowBytes)
		if err != nil || len(b) < batchHeader {
			return 0, header{}, false, err
		}
		i, found := nextBatchMark(b)
		if !found {
			at += int64(len(b)-batchHeader+batchAlign) &^ (batchAlign - 1)
			continue
		}
		at += int64(i)
		if h, ok := decodeHeader(b[i:], w.number, at, w.bytes-at); ok && h.sequence >= sequence {
			return at, h, true, nil
		}
		at += batchAlign
	}
	return 0, header{}, false, nil
}

// records calls each for the records of a batch, up to the first that is not valid, and reports whether
// the batch is as it was written.
func (w *window) records(offset int64, h header, each func(offset int64, r stored)) (bool, error) {
	b, err := w.view(offset, int(h.bytes))
	if err != nil {
		return false, err
	}
	sum, at := uint32(0), batchHeader
	for range h.records {
		r, ok := decodeRecord(b[min(at, len(b)):], w.number, offset+int64(at))
		if !ok {
			return false, nil
		}
		sum = fold(sum, r.sum)
		each(offset+int64(at), r)
		at += r.bytes
	}
	return sum == h.sum && align(at) == int(h.bytes), nil
}

// walk calls each for the batches before an offset, and, with whole false, for the holes among them, with a
// header that says only where they end and which position their records have.
func (w *window) walk(end int64, holes []hole, each func(at int64, h header, whole bool) error) error {
	for at := int64(segmentHeader); at < end; {
		if len(holes) > 0 && holes[0].offset == at {
			h := header{sequence: holes[0].position(), bytes: uint32(holes[0].bytes)}
			if !holes[0].known {
				if err := each(at, h, false); err != nil {
					return err
				}
			}
			at, holes = at+holes[0].bytes, holes[1:]
			continue
		}
		h, ok, err := w.header(at)
		if err == nil && !ok {
			err = fmt.Errorf("offset %d: %w", at, errChanged)
		}
		if err != nil {
			return err
		}
		if err := each(at, h, true); err != nil {
			return err
		}
		at += int64(h.bytes)
	}
	return nil
}
