package sockets

import (
	"errors"
	"net"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	interest = unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET
	hangup   = unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR
)

// Set is an edge-triggered epoll set with a bell, which interrupts who waits. One goroutine waits; Add and Ring are for
// any.
type Set struct {
	ep, bell int
	rung     atomic.Bool
	events   []unix.EpollEvent
}

// Open returns a Set that takes up to most events at once.
func Open(most int) (*Set, error) {
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	bell, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, errors.Join(err, unix.Close(ep))
	}
	event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(bell)}
	if err := unix.EpollCtl(ep, unix.EPOLL_CTL_ADD, bell, &event); err != nil {
		return nil, errors.Join(err, unix.Close(bell), unix.Close(ep))
	}
	return &Set{ep: ep, bell: bell, events: make([]unix.EpollEvent, most)}, nil
}

// Close closes what Open has opened. Nobody may ring any more.
func (s *Set) Close() error { return errors.Join(unix.Close(s.ep), unix.Close(s.bell)) }

// Add watches a descriptor from now on, until it is closed.
func (s *Set) Add(fd int32) error {
	event := unix.EpollEvent{Events: interest, Fd: fd}
	return unix.EpollCtl(s.ep, unix.EPOLL_CTL_ADD, int(fd), &event)
}

// Ring interrupts Wait, or the next one.
func (s *Set) Ring() {
	if s.rung.CompareAndSwap(false, true) {
		one := [8]byte{1}
		_, _ = unix.Write(s.bell, one[:]) // fails only when it is ringing already
	}
}

// Silence ends the ringing. What others said before they rang can be looked at afterwards.
func (s *Set) Silence() {
	var count [8]byte
	_, _ = unix.Read(s.bell, count[:])
	s.rung.Store(false)
}

// Ringing tells whether the bell was rung and not silenced.
func (s *Set) Ringing() bool { return s.rung.Load() }

// Wait waits for events, for so many milliseconds at most, or for ever if they are negative, and returns how many there are.
func (s *Set) Wait(milliseconds int) int {
	if milliseconds == 0 {
		// Does not block, so the scheduler need not hear of it.
		n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(s.ep),
			uintptr(unsafe.Pointer(&s.events[0])), uintptr(len(s.events)), 0, 0, 0)
		if errno != 0 {
			return 0
		}
		return int(n)
	}
	n, err := unix.EpollWait(s.ep, s.events, milliseconds)
	if err != nil {
		return 0 // EINTR
	}
	return n
}

// Event is what happened to a descriptor.
type Event struct {
	FD int32
	// Bell says that it is none: the bell rings.
	Bell                       bool
	Readable, Writable, Hangup bool
}

// Event returns one of the events that Wait has found.
func (s *Set) Event(i int) Event {
	e := s.events[i]
	return Event{
		FD: e.Fd, Bell: int(e.Fd) == s.bell, Readable: e.Events&^unix.EPOLLOUT != 0,
		Writable: e.Events&unix.EPOLLOUT != 0, Hangup: e.Events&hangup != 0,
	}
}

// Duplicate returns another descriptor of the connection, which Go's own poller knows nothing of.
func Duplicate(tcp *net.TCPConn) (fd int32, err error) {
	raw, err := tcp.SyscallConn()
	if err != nil {
		return 0, err
	}
	copied := 0
	if failed := raw.Control(func(old uintptr) {
		copied, err = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 0)
	}); failed != nil {
		return 0, failed
	}
	return int32(copied), err
}

// Vectors is the scratch of a Write.
type Vectors []unix.Iovec

// Read reads what there is. It returns ErrFull when there is nothing, and 0 without an error at the end.
func Read(fd int32, b []byte) (int, error) {
	return result(retry(unix.SYS_READ, fd, unsafe.Pointer(unsafe.SliceData(b)), len(b)))
}

// Write offers buffers to a socket and returns how many bytes it took.
func Write(fd int32, buffers [][]byte, scratch *Vectors) (int, error) {
	if len(buffers) == 1 {
		return result(retry(unix.SYS_WRITE, fd, unsafe.Pointer(unsafe.SliceData(buffers[0])), len(buffers[0])))
	}
	all := (*scratch)[:0]
	for _, b := range buffers {
		if len(b) > 0 {
			v := unix.Iovec{Base: unsafe.SliceData(b)}
			v.SetLen(len(b))
			all = append(all, v)
		}
	}
	*scratch = all
	return result(retry(unix.SYS_WRITEV, fd, unsafe.Pointer(unsafe.SliceData(all)), len(all)))
}

// Shutdown ends both directions. It fails, and nothing need be done, when the peer was first.
func Shutdown(fd int32) { _ = unix.Shutdown(int(fd), unix.SHUT_RDWR) }

// Close closes a descriptor; nothing can be done about an error.
func Close(fd int32) { _ = unix.Close(int(fd)) }

// retry makes a system call on a descriptor that does not block, again when a signal interrupted it. So the scheduler need
// not hear of it.
func retry(call uintptr, fd int32, p unsafe.Pointer, n int) (int, unix.Errno) {
	for {
		done, _, errno := unix.RawSyscall(call, uintptr(fd), uintptr(p), uintptr(n))
		if errno == 0 {
			return int(done), 0
		}
		if errno != unix.EINTR {
			return 0, errno
		}
	}
}

func result(n int, errno unix.Errno) (int, error) {
	switch errno {
	case 0:
		return n, nil
	case unix.EAGAIN:
		return 0, ErrFull
	}
	return 0, errno
}
