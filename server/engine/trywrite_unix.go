//go:build linux || darwin

package engine

import (
	"errors"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// rawWriter writes to a TCP socket without waiting. The socket stays in the care of Go's own poller.
type rawWriter struct{ raw syscall.RawConn }

func newTryWriter(nc net.Conn) tryWriter {
	tcp, ok := nc.(*net.TCPConn)
	if !ok {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	return rawWriter{raw}
}

func (r rawWriter) tryWrite(_ *worker, buffers [][]byte) (n int, err error) {
	failed := r.raw.Write(func(fd uintptr) bool {
		n, err = unix.Writev(int(fd), buffers)
		return true
	})
	if failed != nil {
		return 0, failed
	}
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
		return max(n, 0), errWouldBlock
	}
	return max(n, 0), err
}
