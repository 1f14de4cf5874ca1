//go:build linux || darwin

package sockets

import (
	"errors"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// Writer writes to a TCP socket without waiting. The socket stays in the care of Go's own poller.
type Writer struct{ raw syscall.RawConn }

// NewWriter returns a Writer for the connection; nil for one that cannot be written without waiting.
func NewWriter(nc net.Conn) *Writer {
	tcp, ok := nc.(*net.TCPConn)
	if !ok {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	return &Writer{raw}
}

// Write offers buffers to the socket and returns how many bytes it took, with ErrFull if it did not take all.
func (w *Writer) Write(buffers [][]byte) (n int, err error) {
	failed := w.raw.Write(func(fd uintptr) bool {
		n, err = unix.Writev(int(fd), buffers)
		return true
	})
	if failed != nil {
		return 0, failed
	}
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
		return max(n, 0), ErrFull
	}
	return max(n, 0), err
}
