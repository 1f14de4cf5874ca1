package lines

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"runnel/server/engine/chunks"
	"runnel/server/engine/outbound"
	"runnel/server/engine/sockets"
)

// fakeHost has lines of a test.
type fakeHost struct {
	t       *testing.T
	env     outbound.Env
	worker  *fakeWorker
	running sync.WaitGroup
	lines   int
	slow    []*Line
	parked  int
}

func newHost(t *testing.T) *fakeHost {
	h := &fakeHost{t: t, worker: new(fakeWorker)}
	h.env.Clock.Store(1)
	h.env.Most = func() int { return 64 << 20 }
	t.Cleanup(h.running.Wait)
	return h
}

func (h *fakeHost) Borrow() Worker               { return h.worker }
func (h *fakeHost) GiveBack(Worker)              {}
func (h *fakeHost) Register(*Line) bool          { h.lines++; return true }
func (h *fakeHost) Forget(*Line)                 { h.lines-- }
func (h *fakeHost) Slow(l *Line)                 { h.slow = append(h.slow, l) }
func (h *fakeHost) WriteDeadline() time.Duration { return time.Hour }
func (h *fakeHost) Parked()                      { h.parked++ }
func (h *fakeHost) Go(f func())                  { h.running.Go(f) }

// fakeWorker keeps what it says for one line, until it is flushed.
type fakeWorker struct {
	pressure Pressure
	to       *Line
	batch    chunks.Batch
	scratch  Scratch
}

func (w *fakeWorker) Say(l *Line, b []byte) {
	w.to = l
	w.batch.Own = append(w.batch.Own, b...)
}

func (w *fakeWorker) Flush() {
	if w.batch.Bytes() > 0 {
		w.to.Write(&w.batch, &w.scratch)
		w.batch.Reset()
	}
}
func (w *fakeWorker) Need() int          { return 0 }
func (w *fakeWorker) Pressure() Pressure { return w.pressure }
func (w *fakeWorker) Ease()              { w.pressure.Slow, w.pressure.Publisher = nil, nil }
func (w *fakeWorker) Sweep()             {}
func (w *fakeWorker) Scratch() *Scratch  { return &w.scratch }

// echo is a user who answers each line of text with the same, and counts the bytes. A line is what ends with a line feed.
type echo struct {
	line      *Line
	bytes     int
	withdrawn int
	gone      int
	halted    bool
	impatient bool
}

func (u *echo) Input(w Worker, b []byte) (used int, err error) {
	used = bytes.LastIndexByte(b, '\n') + 1
	u.bytes += used
	if used > 0 {
		w.Say(u.line, b[:used])
	}
	return used, nil
}
func (u *echo) Halted() bool        { return u.halted }
func (u *echo) Suspended() bool     { return false }
func (u *echo) Resume(Worker) error { u.halted = false; return nil }
func (u *echo) Patience() time.Duration {
	if u.impatient {
		return 0
	}
	return ParkTime
}
func (u *echo) Withdraw() { u.withdrawn++ }
func (u *echo) Gone()     { u.gone++ }

// open makes the line of an echo.
func (h *fakeHost) open() *echo {
	u := &echo{line: new(Line)}
	u.line.Open(h, &h.env, 1, u, time.Now(), 0)
	return u
}

// deaf is a transport that takes nothing, as long as it is full.
type deaf struct {
	outbound.Socket
	full  bool
	woken int
}

func (d *deaf) Write(_ *Scratch, buffers [][]byte) (n int, err error) {
	if d.full {
		return 0, sockets.ErrFull
	}
	for _, b := range buffers {
		n += len(b)
	}
	return n, nil
}
func (d *deaf) Arm()   {}
func (d *deaf) Shut()  {}
func (d *deaf) Close() {}
func (d *deaf) Wake()  { d.woken++ }

// crowd has more wait for a line than publishers should add to.
func crowd(l *Line) {
	l.Attach(&deaf{full: true})
	l.Write(&chunks.Batch{Own: make([]byte, outbound.SoftLimit(64<<20)+1)}, new(Scratch))
}

// stream is a connection from which comes what is left of in, as much as fits and most allows at a time.
type stream struct {
	net.Conn
	in    []byte
	most  int
	reads int
}

func (s *stream) Read(b []byte) (int, error) {
	if len(s.in) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), s.most)], s.in)
	s.in = s.in[n:]
	s.reads++
	return n, nil
}

// TestReadBuffer: a buffer grows with what comes, a frame that is not complete does not make it smaller, and it
// shrinks with what comes.
func TestReadBuffer(t *testing.T) {
	h := newHost(t)
	const amount = 16 << 20
	u := h.open()
	u.line.Attach(&deaf{})
	in := &stream{in: bytes.Repeat([]byte("0123456789abcde\n"), amount/16), most: goBufferMax}
	tr := &goTransport{host: h, line: u.line, net: in}
	if got := tr.read(); got != ReasonClientClosed || u.bytes != amount {
		t.Fatalf("ended with %q after %d bytes", got, u.bytes)
	}
	if most := amount/goBufferMax + 100; in.reads > most {
		t.Errorf("%d reads of %d bytes, want %d at most", in.reads, amount, most)
	}
}

func TestResize(t *testing.T) {
	tests := []struct {
		name                  string
		size, had, have, need int
		want                  int
	}{
		{"filled and used up", 4 << 10, 4 << 10, 0, 0, 8 << 10},
		{"filled to the limit", 64 << 10, 64 << 10, 0, 0, 64 << 10},
		{"filled with a part left", 64 << 10, 64 << 10, 100, 150, 64 << 10},
		{"a large frame begins", 64 << 10, 64 << 10, 100, 1 << 20, 1 << 20},
		{"a large frame goes on", 1 << 20, 1 << 19, 1 << 19, 1 << 20, 1 << 20},
		{"a large frame is there", 1 << 20, 1 << 20, 0, 0, 4 << 10},
		{"a line without an end", 4 << 10, 4 << 10, 4 << 10, 0, 8 << 10},
		{"a line without an end and a limit above", 64 << 10, 64 << 10, 64 << 10, 0, 68 << 10},
		{"little came", 64 << 10, 100, 0, 0, 32 << 10},
		{"little came, and part of more", 64 << 10, 100, 50, 0, 64 << 10},
		{"half came", 64 << 10, 32 << 10, 0, 0, 64 << 10},
		{"little came where little fits", 4 << 10, 10, 0, 0, 4 << 10},
	}
	for _, tt := range tests {
		buf := bytes.Repeat([]byte("x"), tt.size)
		got := resize(buf, tt.had, tt.have, tt.need)
		if len(got) != tt.want || !bytes.Equal(got[:tt.have], buf[:tt.have]) {
			t.Errorf("%s: %d bytes, want %d with what is left at the front", tt.name, len(got), tt.want)
		}
	}
}

// timed is a connection that says which write deadlines it was given.
type timed struct {
	net.Conn
	deadlines []time.Time
}

func (d *timed) SetWriteDeadline(at time.Time) error {
	d.deadlines = append(d.deadlines, at)
	return nil
}
func (d *timed) Write(b []byte) (int, error) { return len(b), nil }

// TestDeadlines: a write has a deadline and takes it back, and one that comes while the connection is being closed
// leaves it the deadline of the closing.
func TestDeadlines(t *testing.T) {
	h := newHost(t)
	nc := &timed{}
	tr := &goTransport{host: h, net: nc, line: h.open().line}
	if err := tr.writeWaiting([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if d := nc.deadlines; len(d) != 2 || d[0].IsZero() || !d[1].IsZero() {
		t.Errorf("deadlines %v, want one and then none", d)
	}
	tr.closed = true
	if err := tr.writeWaiting([]byte("x")); !errors.Is(err, net.ErrClosed) || len(nc.deadlines) != 2 {
		t.Errorf("while closing: %v, deadlines %v", err, nc.deadlines)
	}
}

// pipe is an end of a net.Pipe that takes a deadline also when its peer has gone, as sockets do.
type pipe struct{ net.Conn }

func (pipe) SetWriteDeadline(time.Time) error { return nil }

// TestServe: what is read is answered, and the end of the peer is the end of the line.
func TestServe(t *testing.T) {
	h := newHost(t)
	u := h.open()
	near, far := net.Pipe()
	if !u.line.Serve(pipe{near}, []byte("hello\n"), nil) {
		t.Fatal("not served")
	}
	read := func(want string) {
		t.Helper()
		got := make([]byte, len(want))
		if _, err := io.ReadFull(far, got); err != nil || string(got) != want {
			t.Errorf("read %q, %v, want %q", got, err, want)
		}
	}
	read("hello\n")
	if _, err := far.Write([]byte("one\ntw")); err != nil {
		t.Fatal(err)
	}
	read("one\n")
	if _, err := far.Write([]byte("o\n")); err != nil {
		t.Fatal(err)
	}
	read("two\n")
	if err := far.Close(); err != nil {
		t.Fatal(err)
	}
	h.running.Wait()
	if u.gone != 1 || u.withdrawn == 0 || h.lines != 0 || u.line.Reason() != ReasonClientClosed {
		t.Errorf("gone %d times, withdrawn %d times, %d lines, reason %q", u.gone, u.withdrawn, h.lines, u.line.Reason())
	}
}

// TestEnd: only the first reason counts, and what waits is written unless it is dropped.
func TestEnd(t *testing.T) {
	h := newHost(t)
	u := h.open()
	crowd(u.line)
	waits := u.line.PendingBytes()
	u.line.End(ReasonKicked, []byte("bye"), true)
	u.line.End(ReasonShutdown, []byte("again"), true)
	if got := u.line.PendingBytes(); got != waits+len("bye") || u.line.Reason() != ReasonKicked || !u.line.Closing() {
		t.Errorf("%d bytes wait, want %d; reason %q", got, waits+len("bye"), u.line.Reason())
	}
	u.line.End(ReasonShutdown, nil, false)
	if got := u.line.PendingBytes(); got != 0 || u.line.Reason() != ReasonKicked {
		t.Errorf("%d bytes wait after they were dropped; reason %q", got, u.line.Reason())
	}
}

// TestPark: a line is held for as long as that was asked for, and whoever is ended meanwhile does not wait.
func TestPark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		slow, u := h.open(), h.open()
		crowd(slow.line)
		tr := &goTransport{host: h, line: u.line, woken: make(chan struct{}, 1)}
		u.line.transport = tr
		park := func(p Pressure) time.Duration {
			began := time.Now()
			tr.park(p)
			return time.Since(began)
		}
		for _, tt := range []struct {
			name string
			p    Pressure
			want time.Duration
		}{
			{"nothing", Pressure{}, 0},
			{"held", Pressure{Hold: time.Second}, time.Second},
			{"for who does not keep up", Pressure{Slow: slow.line}, ParkTime},
			{"both", Pressure{Slow: slow.line, Hold: time.Second}, time.Second},
			{"for itself", Pressure{Slow: u.line}, 0},
		} {
			if got := park(tt.p); got != tt.want {
				t.Errorf("%s: paused for %v, want %v", tt.name, got, tt.want)
			}
		}
		u.impatient = true
		if got := park(Pressure{Slow: slow.line}); got != 0 {
			t.Errorf("impatient: paused for %v", got)
		}
		tr.Wake()
		if got := park(Pressure{Hold: time.Hour}); got != 0 {
			t.Errorf("woken: paused for %v", got)
		}
	})
}

// TestEndWakes: a line that is ended is woken, since it may be paused.
func TestEndWakes(t *testing.T) {
	h := newHost(t)
	u := h.open()
	d := &deaf{full: true}
	u.line.Attach(d)
	if u.line.End(ReasonKicked, nil, true); d.woken != 1 {
		t.Errorf("woken %d times, want once", d.woken)
	}
}
