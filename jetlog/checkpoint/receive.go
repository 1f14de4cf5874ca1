package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"

	"runnel/jetlog/segment"
	"runnel/jetlog/vfs"
)

// Fetch opens a file of another server, from an offset on.
type Fetch func(ctx context.Context, f File, offset int64) (io.ReadCloser, error)

// receiveBytes is how much is written at once.
const receiveBytes = 256 << 10

// Receive fetches a file under a name, verifies all that it says about itself, and syncs it; its name is not safe yet. When
// what fetch has opened ends early, or fails, fetch is called again from there on, unless nothing has come since the call
// before.
func Receive(ctx context.Context, fs vfs.FS, name string, f File, keys []*segment.Key, fetch Fetch) error {
	if err := receive(ctx, fs, name, f, fetch); err != nil {
		return fmt.Errorf("receive file %s: %w", f.ID, errors.Join(err, remove(fs, name)))
	}
	if err := verify(fs, name, f, keys); err != nil {
		return fmt.Errorf("receive file %s: %w", f.ID, errors.Join(err, remove(fs, name)))
	}
	return nil
}

func remove(fs vfs.FS, name string) error {
	if _, err := fs.Stat(name); err != nil {
		return nil
	}
	return fs.Remove(name)
}

// receive writes the file.
func receive(ctx context.Context, fs vfs.FS, name string, f File, fetch Fetch) error {
	file, err := fs.Create(name)
	if err != nil {
		return err
	}
	buf, at := make([]byte, receiveBytes), int64(0)
	for at < f.Bytes {
		before := at
		if at, err = attempt(ctx, file, f, at, buf, fetch); at == before {
			if err == nil {
				err = io.ErrUnexpectedEOF
			}
			return errors.Join(fmt.Errorf("at %d of %d: %w", at, f.Bytes, err), file.Close())
		}
	}
	return errors.Join(file.Sync(), file.Close())
}

// attempt fetches once, and returns how far the file is then.
func attempt(ctx context.Context, file vfs.File, f File, at int64, buf []byte, fetch Fetch) (int64, error) {
	if err := ctx.Err(); err != nil {
		return at, err
	}
	r, err := fetch(ctx, f, at)
	if err != nil {
		return at, err
	}
	defer r.Close()
	for at < f.Bytes {
		n, err := r.Read(buf[:min(int64(len(buf)), f.Bytes-at)])
		if n > 0 {
			if _, err := file.WriteAt(buf[:n], at); err != nil {
				return at, err
			}
			at += int64(n)
		}
		if errors.Is(err, io.EOF) {
			return at, nil
		}
		if err != nil {
			return at, err
		}
	}
	return at, nil
}

// verify reads all of the file.
func verify(fs vfs.FS, name string, f File, keys []*segment.Key) error {
	s, err := segment.Open(fs, name, segment.Config{Keys: keys})
	if err != nil {
		return errors.Join(ErrDamaged, err)
	}
	sum := s.Summary()
	if sum.ID.String() != f.ID || sum.Bytes != f.Bytes || sum.Checksum != f.Checksum {
		return errors.Join(fmt.Errorf("it is file %s of %d bytes, want %d: %w", sum.ID, sum.Bytes, f.Bytes, ErrDamaged), s.Close())
	}
	if err := s.Verify(); err != nil {
		return errors.Join(ErrDamaged, err, s.Close())
	}
	return s.Close()
}
