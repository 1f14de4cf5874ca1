package sockets_test

import (
	"bytes"
	"errors"
	"net"
	"testing"

	"runnel/server/engine/sockets"
)

// pair returns two ends of a TCP connection.
func pair(t *testing.T) (a, b *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dialled, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = dialled.Close()
		_ = accepted.Close()
	})
	return dialled.(*net.TCPConn), accepted.(*net.TCPConn)
}

func open(t *testing.T) *sockets.Set {
	t.Helper()
	s, err := sockets.Open(4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func duplicate(t *testing.T, c *net.TCPConn) int32 {
	t.Helper()
	fd, err := sockets.Duplicate(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sockets.Close(fd) })
	return fd
}

// await waits until an event satisfies want.
func await(t *testing.T, s *sockets.Set, want func(sockets.Event) bool) {
	t.Helper()
	for range 100 {
		for i := range s.Wait(10_000) {
			if want(s.Event(i)) {
				return
			}
		}
	}
	t.Fatal("the event did not come")
}

func TestReadAndWrite(t *testing.T) {
	a, b := pair(t)
	fd, s := duplicate(t, a), open(t)
	if err := s.Add(fd); err != nil {
		t.Fatal(err)
	}
	var scratch sockets.Vectors
	for _, buffers := range [][][]byte{{[]byte("one")}, {[]byte("two"), nil, []byte("three")}} {
		want := bytes.Join(buffers, nil)
		if n, err := sockets.Write(fd, buffers, &scratch); n != len(want) || err != nil {
			t.Fatalf("wrote %d, %v, want %d", n, err, len(want))
		}
		got := make([]byte, len(want))
		if _, err := b.Read(got); err != nil || !bytes.Equal(got, want) {
			t.Errorf("read %q, %v, want %q", got, err, want)
		}
	}
	buf := make([]byte, 16)
	if n, err := sockets.Read(fd, buf); n != 0 || !errors.Is(err, sockets.ErrFull) {
		t.Errorf("read %d, %v of nothing", n, err)
	}
	if _, err := b.Write([]byte("four")); err != nil {
		t.Fatal(err)
	}
	await(t, s, func(e sockets.Event) bool { return e.FD == fd && e.Readable })
	if n, err := sockets.Read(fd, buf); string(buf[:n]) != "four" || err != nil {
		t.Errorf("read %q, %v", buf[:n], err)
	}
	if err := b.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	await(t, s, func(e sockets.Event) bool { return e.FD == fd && e.Hangup })
	if n, err := sockets.Read(fd, buf); n != 0 || err != nil {
		t.Errorf("read %d, %v at the end", n, err)
	}
}

func TestFull(t *testing.T) {
	a, b := pair(t)
	fd, s := duplicate(t, a), open(t)
	if err := s.Add(fd); err != nil {
		t.Fatal(err)
	}
	var scratch sockets.Vectors
	piece := make([]byte, 1<<20)
	sent := 0
	for err := error(nil); err == nil; {
		var n int
		n, err = sockets.Write(fd, [][]byte{piece}, &scratch)
		sent += n
		if err != nil && !errors.Is(err, sockets.ErrFull) {
			t.Fatal(err)
		}
	}
	for sent > 0 {
		n, err := b.Read(piece)
		if err != nil {
			t.Fatal(err)
		}
		sent -= n
	}
	await(t, s, func(e sockets.Event) bool { return e.FD == fd && e.Writable })
}

func TestBell(t *testing.T) {
	s := open(t)
	if n := s.Wait(0); n != 0 {
		t.Fatalf("%d events of nothing", n)
	}
	s.Ring()
	s.Ring()
	await(t, s, func(e sockets.Event) bool { return e.Bell })
	if !s.Ringing() {
		t.Error("silent although nobody has silenced it")
	}
	s.Silence()
	if n := s.Wait(0); n != 0 || s.Ringing() {
		t.Errorf("%d events after the bell was silenced", n)
	}
}

func TestWriter(t *testing.T) {
	a, b := pair(t)
	w := sockets.NewWriter(a)
	if n, err := w.Write([][]byte{[]byte("one"), []byte("two")}); n != 6 || err != nil {
		t.Fatalf("wrote %d, %v", n, err)
	}
	got := make([]byte, 6)
	if _, err := b.Read(got); err != nil || string(got) != "onetwo" {
		t.Errorf("read %q, %v", got, err)
	}
	for err := error(nil); err == nil; {
		_, err = w.Write([][]byte{make([]byte, 1<<20)})
		if err != nil && !errors.Is(err, sockets.ErrFull) {
			t.Fatal(err)
		}
	}
	if sockets.NewWriter(struct{ net.Conn }{a}) != nil {
		t.Error("a Writer for what is no TCP")
	}
}
