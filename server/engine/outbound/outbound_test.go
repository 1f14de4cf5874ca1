package outbound

import (
	"testing"

	"runnel/server/engine/chunks"
)

// socket counts what it is told.
type socket struct{ arms, shuts, closes int }

func (s *socket) Arm()   { s.arms++ }
func (s *socket) Shut()  { s.shuts++ }
func (s *socket) Close() { s.closes++ }

// counting counts how often it is woken.
type counting int

func (c *counting) Wake() { *c++ }

// newGate returns a gate for which most bytes may wait.
func newGate(most int) *Gate {
	g := new(Gate)
	env := &Env{Most: func() int { return most }}
	env.Clock.Store(1)
	g.Open(env)
	return g
}

func batch(n int) *chunks.Batch { return &chunks.Batch{Own: make([]byte, n)} }

// busy takes the right to write, so that what comes is queued.
func busy(t *testing.T, g *Gate) {
	t.Helper()
	if v := g.Claim(batch(1)); v != Write {
		t.Fatalf("claim of an idle gate: %d", v)
	}
}

// TestParkOnce: a publisher that is parked again and again for the same line is kept, and woken, once.
func TestParkOnce(t *testing.T) {
	g, s := newGate(64<<20), new(socket)
	publisher := new(counting)
	if g.Park(publisher) {
		t.Error("parked although nothing waits")
	}
	busy(t, g)
	if v := g.Claim(batch(parkBytes + 1)); v != Park {
		t.Fatalf("claim with much waiting: %d", v)
	}
	if _, more := g.Release(s, batch(1), 1); !more {
		t.Fatal("what was queued is forgotten")
	}
	for range 100 {
		if !g.Park(publisher) {
			t.Fatal("not parked although much waits")
		}
	}
	if n := len(g.parked); n != 1 {
		t.Errorf("kept %d times, want once", n)
	}
	for i, want := range []counting{0, 1} {
		g.Take(nil, 1, nil)
		_, woken := g.Took(s, parkBytes/2, parkBytes/2)
		woken.Wake()
		if *publisher != want {
			t.Errorf("after write %d: woken %d times, want %d", i, *publisher, want)
		}
	}
	if len(g.parked) != 0 {
		t.Errorf("%d still parked", len(g.parked))
	}
}

// TestSoftLimit: publishers are parked before their target is cut off, also where little may wait.
func TestSoftLimit(t *testing.T) {
	for _, tt := range []struct{ most, want int }{
		{64 << 20, parkBytes},
		{parkBytes, parkBytes / 2},
		{1000, 500},
		{1, 0},
	} {
		if got := SoftLimit(tt.most); got != tt.want {
			t.Errorf("limit %d: soft limit %d, want %d", tt.most, got, tt.want)
		}
		g, publisher := newGate(tt.most), new(counting)
		busy(t, g)
		g.Claim(batch(tt.want))
		if g.Crowded() || g.Park(publisher) {
			t.Errorf("limit %d: crowded with %d bytes", tt.most, tt.want)
		}
		g.Claim(batch(1))
		if !g.Crowded() || !g.Park(publisher) {
			t.Errorf("limit %d: not crowded with %d bytes", tt.most, tt.want+1)
		}
	}
}

// TestSoftBytes: while memory is scarce less may wait before publishers are parked, and never more than usual.
func TestSoftBytes(t *testing.T) {
	for _, tt := range []struct{ most, soft, want int }{
		{64 << 20, 0, parkBytes},
		{64 << 20, 1000, 1000},
		{1000, 1 << 20, 500},
	} {
		g, publisher := newGate(tt.most), new(counting)
		g.env.SoftBytes.Store(int64(tt.soft))
		busy(t, g)
		g.Claim(batch(tt.want))
		if g.Crowded() || g.Park(publisher) {
			t.Errorf("soft %d of %d: crowded with %d bytes", tt.soft, tt.most, tt.want)
		}
		if v := g.Claim(batch(1)); v != Park || !g.Crowded() || !g.Park(publisher) {
			t.Errorf("soft %d of %d: not crowded with %d bytes", tt.soft, tt.most, tt.want+1)
		}
	}
}

// TestLimits: beyond its limit a gate is slow; what it was extended by counts until all is written.
func TestLimits(t *testing.T) {
	g, s := newGate(1000), new(socket)
	g.Own = 100
	g.Extend(50)
	busy(t, g)
	for _, tt := range []struct {
		bytes int
		want  Verdict
	}{{100, Queued}, {10, Park}, {40, Park}, {1, Slow}} {
		if got := g.Claim(batch(tt.bytes)); got != tt.want {
			t.Errorf("%d more bytes: %d, want %d", tt.bytes, got, tt.want)
		}
	}
	g.Release(s, batch(1), 1)
	for g.Waiting() > 0 {
		g.Take(nil, 1, nil)
		g.Took(s, min(g.Waiting(), 64), 64)
	}
	busy(t, g)
	if got := g.Claim(batch(101)); got != Slow {
		t.Errorf("after all was written: %d, want %d", got, Slow)
	}
}

// TestEnd: a gate shuts the socket when what it had is written, drops what comes, and closes once.
func TestEnd(t *testing.T) {
	g, s := newGate(1000), new(socket)
	busy(t, g)
	if flush, _ := g.Close(s, []byte("bye"), true); flush {
		t.Error("asks for a drain while somebody writes")
	}
	if v := g.Claim(batch(1)); v != Dropped {
		t.Errorf("claim of a closing gate: %d", v)
	}
	if v, more := g.Release(s, batch(1), 1); v != Done || !more || s.shuts != 0 {
		t.Fatalf("released: %d, %t, %d times shut", v, more, s.shuts)
	}
	g.Take(nil, 1, nil)
	g.Took(s, 3, 3)
	g.Gone(s)
	if s.shuts != 1 || s.closes != 1 {
		t.Errorf("shut %d times, closed %d times", s.shuts, s.closes)
	}
}
