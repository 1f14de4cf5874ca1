package vfs

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// syncData is fdatasync: a file that was written in place needs no journal commit for its times.
func syncData(f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if raw.Control(func(fd uintptr) {
		for {
			failed = unix.Fdatasync(int(fd))
			if !errors.Is(failed, unix.EINTR) {
				return
			}
		}
	}) != nil {
		failed = os.ErrClosed // there is no other reason
	}
	if failed != nil {
		return &os.PathError{Op: "fdatasync", Path: f.Name(), Err: failed}
	}
	return nil
}
