package server

import (
	"math/rand/v2"
	"testing"
	"time"

	"runnel/server/engine"
)

// TestExpiry sets, changes and takes back deadlines at random, and compares what is due with a plain table.
func TestExpiry(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		var x expiry
		defer x.stop()
		begin := time.Now().Add(time.Hour)
		at := func(n int) time.Time { return begin.Add(time.Duration(n) * time.Second) }
		conns := make([]*engine.Conn, 20)
		for i := range conns {
			conns[i] = new(engine.Conn)
		}
		want := map[*engine.Conn]int{}
		for now := range 200 {
			c := conns[random.IntN(len(conns))]
			switch random.IntN(4) {
			case 0:
				x.forget(c)
				delete(want, c)
			case 1, 2:
				n := now + random.IntN(30)
				x.set(c, at(n), "text")
				want[c] = n
			case 3:
				last := -1
				for _, d := range x.take(at(now)) {
					n, ok := want[d.conn]
					if !ok || n > now || n < last {
						t.Fatalf("seed %d: at %d got one for %d after one for %d, known: %v", seed, now, n, last, ok)
					}
					last = n
					delete(want, d.conn)
				}
				for _, n := range want {
					if n <= now {
						t.Fatalf("seed %d: at %d one for %d is still there", seed, now, n)
					}
				}
			}
			if len(x.due) != len(want) || len(x.byConn) != len(want) {
				t.Fatalf("seed %d: %d deadlines, %d connections; want %d", seed, len(x.due), len(x.byConn), len(want))
			}
		}
	}
}

// TestExpiryStopped: after the end nothing is taken on any more.
func TestExpiryStopped(t *testing.T) {
	var x expiry
	x.stop()
	x.set(new(engine.Conn), time.Now(), "text")
	if len(x.due) != 0 || x.timer != nil {
		t.Errorf("%d deadlines and timer %v after the end", len(x.due), x.timer)
	}
}

// BenchmarkExpiry is a connection that comes and goes among many whose credentials end.
func BenchmarkExpiry(b *testing.B) {
	var x expiry
	defer x.stop()
	begin := time.Now().Add(time.Hour)
	for i := range 100_000 {
		x.set(new(engine.Conn), begin.Add(time.Duration(i)*time.Second), "text")
	}
	c := new(engine.Conn)
	b.ReportAllocs()
	for b.Loop() {
		x.set(c, begin, "text")
		x.forget(c)
	}
}
